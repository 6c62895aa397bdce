"""The search for cases: what errors ask for, the order in which proposals run, and cases that show the kernel."""

from __future__ import annotations

import ast
import io
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from nki_migrate import progress, suggest_command
from nki_migrate.cli import main
from nki_migrate.runtime.cases import Case, ObjectSpec, TensorSpec, read_cases
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.compare.condition import Condition
from nki_migrate.runtime.compare.trace import Compared
from nki_migrate.runtime.explaining import explained
from nki_migrate.runtime.messages import Probe
from nki_migrate.suggest_clock import Clock
from nki_migrate.suggest_cover import covering
from nki_migrate.suggest_repairs import repairs
from nki_migrate.suggest_search import Hunt, Share, constants

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n"


def case(**args: object) -> Case:
    specs = {name: TensorSpec(value, "float32") if isinstance(value, tuple) else value for name, value in args.items()}
    return Case("k", "", "cases.toml", args=specs)


def never() -> bool:
    """The time is never over."""
    return False


def after(rounds: int) -> Callable[[], bool]:
    """The time is over after so many rounds."""
    asked = itertools.count()
    return lambda: next(asked) >= rounds


def failure(message: str, *compared: Compared) -> Failure:
    return Failure(False, message, compared=compared)


def shapes(found: Case) -> dict[str, object]:
    return {name: getattr(value, "shape", value) for name, value in found.args.items()}


def tuple_wanted() -> Failure:
    """This file has such a line: rows, columns = sizes."""
    line = next(
        n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "rows, columns = sizes" in text
    )
    return Failure(True, "the emulator does not model iterating over a tensor", __file__, line)


def longer_wanted() -> Failure:
    return replace(tuple_wanted(), message="ValueError: not enough values to unpack (expected 4, got 2)")


MESSAGES: dict[str, tuple[Failure, Case, dict[str, object]]] = {
    "out of bounds": (
        failure(
            "err: Out-of-bound access for tensor `x` on dimension 1: index range [0, 511] exceed dimension size of 128"
        ),
        case(x=(128, 128)),
        {"x": (128, 512)},
    ),
    "partitions": (
        failure("err_num_partition_exceed_arch_limit: number of partitions 256 of 'load' exceed architecture"),
        case(x=(256, 64)),
        {"x": (128, 64)},
    ),
    "operands of other ranks": (
        failure("number of partitions (dimension 0) mismatch in parameters (x[128, 128], y[64, 3, 5]) of 'add'"),
        case(x=(128, 128), y=(1, 1)),
        {"x": (64, 3, 5), "y": (1, 1)},
    ),
    "a tile of an operand of another rank": (
        failure("number of partitions (dimension 0) mismatch in parameters (x[128, 32], y[64, 3, 5]) of 'add'"),
        case(x=(128, 256), y=(1, 1)),
        {"x": (64, 256), "y": (1, 1)},
    ),
    "annotation": (
        failure("shape of `data[128, 128]` does not match the expected shape of [64, 512]"),
        case(x=(128, 128), y=(2, 2)),
        {"x": (64, 512), "y": (2, 2)},
    ),
    "rank": (
        failure("ValueError: not enough values to unpack (expected 3, got 2)"),
        case(x=(64, 32)),
        {"x": (2, 64, 32)},
    ),
    "indices": (failure("too many indices for float32 x[512] in hbm: 2"), case(x=(512,)), {"x": (2, 512)}),
    "indices of a part": (
        failure("too many indices for float32 x[512] in hbm: 2"),
        case(x=(4, 512)),
        {"x": (2, 4, 512)},
    ),
    "a tuple of numbers": (tuple_wanted(), case(sizes=(4, 8)), {"sizes": (2, 2)}),
    "a longer tuple": (longer_wanted(), case(x=(128, 4), sizes=[2, 3]), {"x": (128, 4), "sizes": (2, 3, 3, 3)}),
    "multiple of a part that is some size": (
        failure("", Compared("Mod", "n // 2", "128", 2, 128)),
        case(x=(2, 4), y=(2, 4, 4)),
        {"x": (2, 256), "y": (2, 256, 256)},
    ),
    "reshape": (failure("cannot reshape float32 w[8, 8] in hbm to (1, 8)"), case(w=(8, 8)), {"w": (8,)}),
    "reshape to tiles": (
        failure("cannot reshape float32 a[128] in hbm to (0, 128, 1000)"),
        case(a=(128,), b=(128,)),
        {"a": (256_000,), "b": (256_000,)},
    ),
    "sequence": (failure("TypeError: cannot unpack non-iterable int object"), case(size=2), {"size": (3, 3)}),
    "loop that does not run": (
        failure("output 0 of the kernel, 'r', is never written to"),
        case(x=(64,)),
        {"x": (512,)},
    ),
    "equal": (failure("", Compared("Eq", "n", "m", 128, 256)), case(x=(128,), y=(256,)), {"x": (256,), "y": (256,)}),
    "shapes": (
        failure("", Compared("Eq", "v.shape", "(b, d)", (128, 128), (2, 64))),
        case(q=(128, 128), v=(128, 128)),
        {"q": (128, 128), "v": (2, 64)},
    ),
    "multiple": (failure("", Compared("Mod", "n", "512", 640, 512)), case(x=(640, 3)), {"x": (1024, 3)}),
    "multiple of a part": (failure("", Compared("Mod", "n // 2", "512", 64, 512)), case(x=(128, 3)), {"x": (1024, 3)}),
    "bound": (failure("", Compared("LtE", "n", "128", 512, 128)), case(x=(512, 3)), {"x": (128, 3)}),
    "an axis of all tensors": (
        failure("", Compared("GtE", "n", "512", 128, 512)),
        case(q=(128, 128), k=(128, 128)),
        {"q": (128, 512), "k": (128, 512)},
    ),
    "two axes": (
        failure("", Compared("Mod", "c", "128", 2, 128)),
        case(x=(2, 2, 2), w=(2, 2)),
        {"x": (2, 128, 2), "w": (128, 2)},
    ),
    "least": (failure("", Compared("GtE", "n", "128", 64, 128)), case(x=(64, 3)), {"x": (128, 3)}),
    "among": (failure("", Compared("In", "n", "SIZES", 2, (128, 256))), case(n=2), {"n": 256}),
}


@pytest.mark.parametrize(("error", "before", "after"), MESSAGES.values(), ids=MESSAGES)
def test_a_message_gives_what_it_names(error: Failure, before: Case, after: dict[str, object]) -> None:
    assert after in [shapes(found) for found in repairs(before, error)]


def test_an_axis_becomes_one_before_all_of_its_size_do() -> None:
    asked = failure("", Compared("Eq", "rows", "1", 128, 1))
    found = [shapes(each) for each in repairs(case(x=(128, 64), y=(64, 128)), asked)]
    assert found[0] == {"x": (1, 64), "y": (64, 128)} and {"x": (1, 64), "y": (64, 1)} in found


@pytest.mark.parametrize("dtype", ["uint16", "float8_e4m3"])
def test_data_types_are_those_that_are_asked_for(dtype: str) -> None:
    asked = failure("", Compared("Eq", "y.dtype", "wanted", "float32", dtype))
    first = next(repairs(case(x=(4, 4), y=(4, 4)), asked))
    assert isinstance(first.args["y"], TensorSpec) and first.args["y"].dtype == dtype


Kernel = Callable[[Case], Probe | Failure]


def asking(kernel: Kernel) -> Callable[[Sequence[Case]], list[Probe | Failure]]:
    return lambda cases: [kernel(each) for each in cases]


def test_what_came_farther_is_repaired_first() -> None:
    """Each size has to be 2048, and only the failure of the first that is not says so."""

    def kernel(asked: Case) -> Probe | Failure:
        for line, name in enumerate("abcdef", 10):
            size = asked.args[name].shape[0]
            if size != 2048:
                wanted = Compared("Eq", name, "2048", size, 2048)
                return Failure(False, "no", "k.py", line, trail=(("k.py", line),), compared=(wanted,))
        return Probe(1, 6, 0.1)

    start = case(a=(2,), b=(3,), c=(5,), d=(7,), e=(11,), f=(13,))
    found = Hunt(iter([start]), []).go_on(asking(kernel), Share.until(never))
    assert found.found is not None and set(shapes(found.found[0]).values()) == {(2048,)} and found.tried < 60


def test_the_failure_that_came_farthest_is_the_reason() -> None:
    def kernel(asked: Case) -> Failure:
        far = asked.args["x"].shape[0] == 512
        return Failure(False, "far" if far else "near", "k.py", 3, reached=5 if far else 1)

    found = Hunt(iter([case(x=(128,))]), [512]).go_on(asking(kernel), Share.until(after(300)))
    assert found.found is None and found.best is not None and found.best[1].message == "far"


def test_the_first_proposals_of_a_kernel_run_when_others_have_had_all_the_time() -> None:
    found = Hunt(iter([case(x=(128,))]), []).go_on(asking(lambda asked: Probe(1, 1, 0.1)), Share.until(lambda: True))
    assert found.found is not None and found.tried == 1


@pytest.mark.parametrize("line", [0, 9])
def test_a_run_that_took_too_long_hides_no_failure(line: int) -> None:
    def kernel(asked: Case) -> Failure:
        if asked.args["x"].shape[0] == 512:
            return Failure(False, "the run did not end within 6 seconds", "k.py", line, reached=9)
        return Failure(False, "ValueError: never", "k.py", 3, reached=1)

    for first in (128, 512):
        found = Hunt(iter([case(x=(first,))]), [512, 128]).go_on(asking(kernel), Share.until(after(300)), is_last=False)
        assert found.stopped and found.obstacle is not None and found.obstacle[1].message == "ValueError: never"


def test_loops_run_twice_and_a_tail_and_each_side_are_kept() -> None:
    def kernel(asked: Case) -> Probe | Failure:
        size, flag = asked.args["x"].shape[0], bool(asked.args["flag"])
        sides = Condition("k.py", 3, "flag", flag, not flag)
        return Probe(1, -(-size // 128), 0.1, (sides,))

    first = case(x=(128,), flag=False)
    kept = covering((first, Probe(1, 1, 0.1)), [], asking(kernel), never)
    assert [shapes(each) for each in kept.cases] == [
        {"x": (256,), "flag": False},
        {"x": (228,), "flag": False},
        {"x": (256,), "flag": True},
    ]
    assert not kept.unseen


def test_a_side_of_a_condition_that_no_case_takes_is_told() -> None:
    def kernel(asked: Case) -> Probe | Failure:
        return Probe(1, 1, 0.1, (Condition("k.py", 3, "n > 9000", False, True),))

    first = case(x=(128,))
    covered = covering((first, Probe(1, 1, 0.1)), [], asking(kernel), never)
    assert covered.unseen == ("`n > 9000` (k.py:3) is never true",)


@pytest.mark.parametrize(("idle", "shown"), [(True, [128]), (False, [128, 8])])
def test_sizes_that_leave_an_argument_unread_show_no_side_of_a_condition(idle: bool, shown: list[int]) -> None:
    """A loop over chunks of 128 has no step where the depth is 8: what the kernel stores is computed of nothing."""

    def kernel(asked: Case) -> Probe | Failure:
        small = shapes(asked)["x"][0] < 16
        return Probe(1, 1, 0.1, (Condition("k.py", 3, "depth < 16", small, not small),), unread=idle and small)

    covered = covering((case(x=(128,)), Probe(1, 1, 0.1)), [], asking(kernel), never)
    assert [shapes(each)["x"][0] for each in covered.cases if shapes(each)["x"][0] != 100] == shown


@pytest.mark.parametrize("text", ["ndim == 1", "len(x.shape) == 1", "rank == 1", "n_dims < 2"])
def test_a_condition_on_a_rank_has_a_case_on_each_side(text: str) -> None:
    def kernel(asked: Case) -> Probe | Failure:
        is_vector = len(asked.args["x"].shape) == 1
        return Probe(1, 1, 0.1, (Condition("k.py", 3, text, is_vector, not is_vector),))

    covered = covering((case(x=(128,)), Probe(1, 1, 0.1)), [], asking(kernel), never)
    assert not covered.unseen
    assert {len(shapes(each)["x"]) for each in covered.cases} == {1, 2}


def found_for(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str], seconds: str = "10") -> tuple[str, str]:
    """What ``cases suggest`` prints of a file: cases, and what it says of them."""
    path = tmp_path / "k.py"
    path.write_text(HEAD + text)
    with pytest.raises(SystemExit):
        main(["cases", "suggest", "--jobs", "2", "--seconds", seconds, str(path)])
    return capsys.readouterr()


OUT = "    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)\n"


def test_an_assert_of_a_loaded_tile_gives_the_shape_of_its_tensor(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    body = "    first = nl.load(x[1])\n    assert first.shape == (128, 64)\n    nl.store(out, first)\n    return out\n"
    out, err = found_for(tmp_path, "@nki.jit\ndef k(x):\n" + OUT + body, capsys)
    assert ", 128, 64], dtype" in out, err


def test_tensors_of_one_shape_are_reshaped_together() -> None:
    message = "cannot reshape float32 b[4, 4] in hbm to (128, 3, 64)"
    first = next(repairs(case(a=(2, 2), b=(4, 4), c=(4, 4)), failure(message)))
    assert shapes(first) == {"a": (2, 2), "b": (128, 3, 64), "c": (128, 3, 64)}


def test_parts_of_other_kernels_do_not_take_the_time_of_the_kernel(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    """Ten parts of a kernel that no launch can run stand before it."""
    part = "@nki.jit\ndef part_{0}(tile, n):\n    assert n > 77 * tile.shape[1]\n"
    part += "    tile[...] = nl.multiply(tile, n)\n\n\n"
    calls = "".join(f"    part_{n}(first, 9999)\n" for n in range(10))
    kernel = "@nki.jit\ndef k(x):\n" + OUT + "    first = nl.load(x[0:128, 0:64])\n" + calls
    text = "".join(part.format(n) for n in range(10)) + kernel + "    nl.store(out, first)\n    return out\n"
    out, err = found_for(tmp_path, text, capsys, "6")
    assert 'kernel = "k"' in out, err


def test_a_function_that_takes_tiles_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tiles.py"
    path.write_text(HEAD + "@nki.jit\ndef k(tile):\n    tile[...] = nl.multiply(tile, 2.0)\n    return tile\n")
    with pytest.raises(SystemExit) as end:
        main(["cases", "suggest", "--jobs", "2", "--seconds", "8", str(path)])
    assert end.value.code == 1 and "seems to take tiles" in capsys.readouterr().err


def test_a_kernel_that_assigns_to_its_own_tensor_of_hbm_takes_no_tiles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names an argument, too, but what it may not assign to is the kernel's own."""
    path = tmp_path / "own.py"
    own = "    own = nl.ndarray((128, 4), dtype=x.dtype, buffer=nl.hbm)\n    own[...] = nl.load(x)\n"
    path.write_text(f"{HEAD}@nki.jit\ndef k(x):\n{own}    return own\n")
    with pytest.raises(SystemExit) as end:
        main(["cases", "suggest", "--jobs", "2", "--seconds", "4", str(path)])
    said = capsys.readouterr().err
    assert end.value.code == 1 and "err_unsupported_memory" in said and "seems to take tiles" not in said


@pytest.mark.parametrize(
    "body",
    [
        "    a = nl.load(x[0:128, 0:512])\n    b = nl.load(y[0:128, 0:512])\n    c = nl.add(a, b)",
        "    n, p, f = x.shape\n    assert (n * f) % 96 == 0 and p == 64\n    assert y.shape == (f, p)\n"
        "    c = nl.add(nl.load(x[0]), nl.load_transpose2d(y))",
        "    assert x.dtype == nl.bfloat16\n    if x.shape[0] != 3 * y.shape[1]:\n        raise ValueError('3')\n"
        "    c = nl.load(x[0:y.shape[1], 0:7])",
    ],
    ids=["literal slices", "asserts", "conditions that raise"],
)
def test_kernels_whose_sizes_only_their_errors_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    text = f"{HEAD}@nki.jit\ndef k(x, y):\n{body}\n    out = nl.ndarray(c.shape, dtype=c.dtype, buffer=nl.shared_hbm)\n"
    (tmp_path / "k.py").write_text(f"{text}    nl.store(out, value=c)\n    return out\n")
    with pytest.raises(SystemExit) as end:
        main(["cases", "suggest", "--jobs", "2", str(tmp_path / "k.py"), "--seconds", "60"])
    out, err = capsys.readouterr()
    (tmp_path / "cases.toml").write_text(out)
    assert end.value.code == 0, err
    assert read_cases(tmp_path / "cases.toml").bad == ()


def test_a_tile_larger_than_memory_is_the_reason_not_the_loop_that_did_not_run() -> None:
    """With 128 rows the loop does not run and nothing is written; with more, each run meets the same limit."""

    def kernel(asked: Case) -> Failure:
        if asked.args["x"].shape[0] < 256:
            return Failure(False, "'out' is never written to", "k.py", 9, reached=7)
        return Failure(False, "number of partitions 256 exceed 128", "k.py", 5, reached=2)

    found = Hunt(iter([case(x=(128,))]), [256, 512]).go_on(asking(kernel), Share.until(after(300)))
    assert found.obstacle is not None and found.obstacle[1].line == 5 and found.alike >= 2


def test_failures_of_several_kinds_at_a_line_are_not_alike() -> None:
    def kernel(asked: Case) -> Failure:
        return Failure(False, f"size {asked.args['x'].shape}", "k.py", 5)

    found = Hunt(iter([case(x=(128,))]), [256, 512]).go_on(asking(kernel), Share.until(after(300)))
    assert found.obstacle is not None and found.alike == 0


def asked(operator: str, left: str, before: object, after: object) -> Failure:
    return failure("AssertionError", Compared(operator, left, str(after), before, after))


def test_a_field_that_an_assert_names_is_given() -> None:
    start = replace(case(x=(128, 64)), args={"x": TensorSpec((128, 64), "float32"), "c": ObjectSpec("C", {"n": 3})})
    wanted = {
        asked("Truth", "c.fast", False, True): {"n": 3, "fast": True},
        asked("Mod", "c.n", 3, 4): {"n": 4},
        asked("GtE", "c.n", 3, 512): {"n": 512},
        asked("In", "c.kind", "p", ("q", "r")): {"n": 3, "kind": "q"},
    }
    for each, fields in wanted.items():
        assert ObjectSpec("C", fields) in [found.args["c"] for found in repairs(start, each)], each


def test_an_argument_that_should_be_true_is_an_order_of_dimensions_or_a_tensor() -> None:
    found = [shapes(each).get("order") for each in repairs(case(x=(2, 3, 4)), asked("Truth", "order", None, True))]
    assert (0, 2, 1) in found and (2, 1, 0) in found and True in found and (128, 128) in found
    flag = [each.args["flag"] for each in repairs(case(x=(2,), flag=True), asked("Truth", "flag", True, False))]
    assert flag == [False]


def test_a_tensor_of_too_few_dimensions_gets_more() -> None:
    """This file has such a line: columns = x.shape[2]."""
    lines = enumerate(Path(__file__).read_text().splitlines(), 1)
    line = next(n for n, text in lines if "columns = x.shape[2]" in text)
    found = repairs(case(x=(8, 8)), Failure(False, "IndexError: tuple index out of range", __file__, line))
    assert (2, 8, 8) in [shapes(each)["x"] for each in found]


def test_tensors_of_one_shape_get_dimensions_together() -> None:
    found = repairs(case(x=(8,), y=(8,), z=(4,)), failure("too many indices for float32 y[] in hbm: 2"))
    assert shapes(next(found)) == {"x": (2, 2, 8), "y": (2, 2, 8), "z": (4,)}


def test_what_an_assert_asks_the_truth_of_is_told() -> None:
    def kernel(order: object, turned: bool) -> None:
        assert order or not turned

    try:
        kernel(None, True)
    except AssertionError as error:
        told = explained(Failure(False, "AssertionError"), error)
    assert {(each.left, each.after) for each in told.compared} == {("order", True), ("turned", False)}


def test_what_is_never_modelled_is_not_tried_to_the_end() -> None:
    def kernel(asked: Case) -> Failure:
        return Failure(True, "the emulator does not model it", "k.py", 5)

    starts = [case(x=(size,)) for size in range(1, 500)]
    found = Hunt(iter(starts), []).go_on(asking(kernel), Share.until(never))
    assert found.hopeless and found.tried < 60 and not found.out_of_time


def test_the_clock_counts_what_ran_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers run 3, 1, 1 and 2 seconds in 4: what else the machine does takes nothing of the time."""
    monkeypatch.setattr("time.process_time", lambda: 5.0)
    clock = Clock(2)
    clock.add([3.0, 1.0, 1.0, 2.0])
    assert clock.seconds == 4.0
    assert clock.over(4.0)() and not clock.over(4.5)()


LOOP = """@nki.jit
def tiled(x):
    (n,) = x.shape
    columns = 2000
    out = nl.ndarray((128, n // 128), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = x.reshape((128, n // 128))
    for i in nl.affine_range(n // (nl.tile_size.pmax * columns)):
        tile = nl.load(rows[:, i * columns : (i + 1) * columns])
        nl.store(out[:, i * columns : (i + 1) * columns], value=tile)
    return out
"""


def test_what_a_kernel_divides_by_is_a_size() -> None:
    tree = ast.parse(LOOP)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    assert constants(tree, definition)[:4] == [256000, 128, 512000, 256]


def test_a_loop_over_large_tiles_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.py").write_text(HEAD + LOOP)
    with pytest.raises(SystemExit) as end:
        main(["cases", "suggest", str(tmp_path / "k.py"), "--jobs", "1", "--seconds", "40"])
    (tmp_path / "cases.toml").write_text(capsys.readouterr().out)
    sizes = {each.args["x"].shape[0] for each in read_cases(tmp_path / "cases.toml").cases}
    assert end.value.code == 0 and all(size >= 256000 for size in sizes)


def test_the_reason_says_that_no_argument_changes_a_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.py").write_text(
        HEAD + LOOP.replace("nl.load(rows[", "nl.zeros((256, columns), dtype=x.dtype, buffer=nl.sbuf)  # [")
    )
    with pytest.raises(SystemExit) as end:
        main(["cases", "suggest", str(tmp_path / "k.py"), "--jobs", "1", "--seconds", "10"])
    said = capsys.readouterr().err
    assert end.value.code == 1 and "none passed k.py:11" in said and "number of partitions 256" in said
    assert "no argument seems to change it" in said


def test_a_keyword_that_a_function_has_not_ends_the_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = LOOP.replace("nl.affine_range(n // (nl.tile_size.pmax * columns))", "nl.affine_range(0, n, step=128)")
    (tmp_path / "k.py").write_text(HEAD + steps)
    with pytest.raises(SystemExit) as end:
        main(["cases", "suggest", str(tmp_path / "k.py"), "--jobs", "1", "--seconds", "60"])
    said = capsys.readouterr().err
    assert end.value.code == 1 and "seconds were over" not in said
    assert (
        "keyword argument 'step': pass the bounds by position; all 24 proposals that ended there failed alike" in said
    )


def test_a_terminal_is_told_how_many_proposals_have_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(suggest_command, "StatusLine", lambda stream=stream: progress.StatusLine(stream))
        (tmp_path / "k.py").write_text(HEAD + LOOP)
        with pytest.raises(SystemExit):
            main(["cases", "suggest", str(tmp_path / "k.py"), "--jobs", "1", "--seconds", "40"])
        assert ("cases suggest: tiled; 0 proposals tried, at most " in stream.getvalue()) is stream.isatty()
        assert stream.getvalue().endswith("\r\x1b[K") is stream.isatty()
        assert "\x1b" not in capsys.readouterr().err


def test_a_number_of_programs_is_the_grid() -> None:
    asked = Compared("Eq", "nl.num_programs(1)", "heads", 1, 8)
    failure = Failure(False, "AssertionError", "k.py", 1, compared=(asked,))
    assert next(repairs(case(x=(128,)), failure)).grid == (1, 8)
