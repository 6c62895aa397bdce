"""Loops cut short, for kernels whose sizes are numbers of their source; and how far the indices of arguments reach."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from nki_migrate.case_text import case_toml
from nki_migrate.cli import main
from nki_migrate.judging import Limits
from nki_migrate.runtime.abridging import abridged, steps
from nki_migrate.runtime.cases import Case, CaseError, TensorSpec, read_cases
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.messages import Probe, Request
from nki_migrate.runtime.pool import pool
from nki_migrate.suggest import Budget, suggestions

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n"
FIXED = """
TILES = 7

def start(t):
    return 64 * t

@nki.jit
def scaled(x, gains):
    out = nl.ndarray((TILES * 64, 96), dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = nl.mgrid[0:64, 0:96]
    for t in nl.affine_range(TILES):
        gain = nl.load(gains[t, nl.arange(1)[:, None], nl.arange(96)[None, :]])
        tile = nl.load(x[start(t) + rows, columns], mask=columns < 90)
        nl.store(out[start(t) + rows, columns], nl.multiply(tile, gain.broadcast_to((64, 96))), mask=columns < 90)
    return out
"""


@pytest.mark.parametrize(
    ("values", "taken"),
    [
        (range(3), [0, 1, 2]),
        (range(4), [0, 1, 3]),
        (range(2, 40, 3), [2, 5, 38]),
        (range(9, 0, -1), [9, 8, 1]),
        (range(0), []),
    ],
)
def test_a_loop_takes_its_first_two_steps_and_its_last(values: range, taken: list[int]) -> None:
    assert list(steps(values)) == list(values)
    with abridged((5, 64)):
        assert [list(steps(range(n))) for n in (5, 6, 64)] == [[0, 1, 4], [0, 1, 2, 3, 4, 5], [0, 1, 63]]
    with abridged():
        assert list(steps(values)) == taken


def test_a_case_says_that_it_is_abridged(tmp_path: Path) -> None:
    case = Case("k", "one", "", args={"x": TensorSpec((4, 4), "float32")}, abridged=True)
    (tmp_path / "cases.toml").write_text(case_toml(case, tmp_path))
    assert read_cases(tmp_path / "cases.toml").cases[0].abridged
    (tmp_path / "cases.toml").write_text('[[case]]\nkernel = "k"\nabridged = "3"\n')
    bad = read_cases(tmp_path / "cases.toml").bad
    assert "abridged is '3': it is true, or the most steps" in bad[0].message and not issubclass(
        type(bad[0]), CaseError
    )


def asked(tmp_path: Path, source: str, *, sketch: bool, **args: tuple[int, ...]) -> Probe | Failure:
    (tmp_path / "k.py").write_text(HEAD + source)
    given = {name: TensorSpec(shape, "float32") for name, shape in args.items()}
    with pool(1) as workers:
        request = Request("probe", str(tmp_path / "k.py"), Case("scaled", "", "", args=given), sketch=sketch)
        reply = workers.submit(request).result()
    assert isinstance(reply, (Probe, Failure))
    return reply


def test_one_run_tells_how_far_all_indices_reach(tmp_path: Path) -> None:
    reply = asked(tmp_path, FIXED, sketch=True, x=(2, 2), gains=(2, 2, 2))
    assert isinstance(reply, Probe), reply
    assert dict(reply.reach) == {"x": (448, 90), "gains": (7, 2, 96)}


def test_without_being_asked_an_index_out_of_bounds_is_an_error(tmp_path: Path) -> None:
    reply = asked(tmp_path, FIXED, sketch=False, x=(448, 96), gains=(6, 1, 96))
    assert isinstance(reply, Failure) and "Out-of-bound access for tensor `gains`" in reply.message and not reply.reach


def test_an_index_of_a_tile_is_noted_in_a_sketch(tmp_path: Path) -> None:
    source = FIXED.replace("nl.multiply(tile, gain", "nl.multiply(tile[rows + 1, columns], gain")
    reply = asked(tmp_path, source, sketch=True, x=(448, 96), gains=(7, 1, 96))
    assert isinstance(reply, Probe) and reply.outgrown == ((64, 65),) and not reply.reach, reply


SLOW = """
@nki.jit
def much(x):
    out = nl.ndarray((128 * 40, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    rows, columns = nl.mgrid[0:128, 0:512]
    for t in nl.affine_range(40):
        tile = nl.load(x[128 * t + rows, columns])
        for _ in nl.sequential_range(4000):
            tile[...] = nl.add(tile, 1.0)
        nl.store(out[128 * t + rows, columns], tile)
    return out
"""


def test_a_kernel_that_runs_for_minutes_gets_an_abridged_case_that_verify_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.py"
    file.write_text(HEAD + SLOW)
    with pool(1) as workers:
        (found,) = suggestions(workers, str(file), (), Budget(10.0, Limits(1.0, 4 << 30)))
    assert [case.abridged for case in found.cases] == [True], found
    assert found.cases[0].args["x"].shape == (5120, 512)
    (tmp_path / "cases.toml").write_text(case_toml(found.cases[0], tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["verify", "--migrate", "--unsafe", "--no-cache", str(file)])
    assert not ended.value.code
    said = capsys.readouterr().out
    assert "abridged, so that loops of NKI took their first two steps and their last: much, suggested 1" in said


GRID = """
@nki.jit
def scaled(x, gains):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = nl.mgrid[0:32, 0:64]
    rows, columns = rows + 32 * nl.program_id(0), columns + 64 * nl.program_id(1)
    nl.store(out[rows, columns], nl.multiply(nl.load(x[rows, columns]), nl.load(gains[rows, columns])))
    return out
"""


LOCAL = """
def scaled(x, gains):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    for k in nl.affine_range(6):
        part = nl.multiply(tile[:, nl.ds(k * 16, 16)], nl.load(gains))
        nl.store(out[:, nl.ds(k * 16, 16)], part)
    return out
"""


def test_sizes_of_tiles_that_are_too_small_are_told_and_given_to_the_arguments_that_have_them(tmp_path: Path) -> None:
    """No index of ``x`` tells its size: a tile that is loaded from all of it is too small for six chunks."""
    source = f"@nki.jit{LOCAL}"
    reply = asked(tmp_path, source, sketch=True, x=(64, 20), gains=(64, 16))
    assert isinstance(reply, Probe) and reply.outgrown == ((20, 96),) and not reply.reach, reply
    refused = asked(tmp_path, source, sketch=False, x=(64, 20), gains=(64, 16))
    assert isinstance(refused, Failure) and "tensor `tile` on dimension 1" in refused.message and not refused.outgrown
    with pool(1) as workers:
        (found,) = suggestions(workers, str(tmp_path / "k.py"), (), Budget(20.0, Limits(60.0, 4 << 30)))
    assert found.cases[0].args["x"].shape[1] >= 96 and found.tried <= 24


def test_all_programs_of_a_grid_are_seen_though_an_output_is_as_small_as_an_argument(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(HEAD + GRID)
    args = {name: TensorSpec((32, 32), "float32") for name in ("x", "gains")}
    with pool(1) as workers:
        case = Case("scaled", "", "", grid=(2, 3), args=args)
        reply = workers.submit(Request("probe", str(tmp_path / "k.py"), case, sketch=True)).result()
        assert isinstance(reply, Probe) and dict(reply.reach) == {"x": (64, 192), "gains": (64, 192)}, reply
        (found,) = suggestions(workers, str(tmp_path / "k.py"), (), Budget(20.0, Limits(60.0, 4 << 30)))
    rows, columns = found.cases[0].args["x"].shape
    assert found.cases[0].grid == (2, 2) and rows >= 64 and columns >= 128


WHOLE = """
@nki.jit
def scaled(x):
    blocks = nl.ndarray((6, nl.par_dim(64), 32), dtype=x.dtype, buffer=nl.sbuf)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for b in nl.affine_range(6):
        blocks[b] = nl.load(x[b])
    for b in range(5):
        doubled = nl.ndarray((nl.par_dim(64), 32), dtype=x.dtype, buffer=nl.sbuf)
        doubled[...] = nl.add(blocks[0], blocks[5])
        nl.store(out[b], doubled)
    for b in nl.affine_range(6):
        nl.store(out[b], blocks[b])
    return out
"""


def test_loops_of_python_run_whole_and_block_tensors_have_all_their_blocks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.py").write_text(HEAD + WHOLE)
    case = Case("scaled", "one", "", args={"x": TensorSpec((6, 64, 32), "float32")}, abridged=True)
    (tmp_path / "cases.toml").write_text(case_toml(case, tmp_path))
    with pytest.raises(SystemExit):
        main(["verify", "--migrate", "--unsafe", "--no-cache", str(tmp_path / "k.py")])
    said = capsys.readouterr().out
    assert "1 case: 1 equal" in said, said


AHEAD = """
@nki.jit
def scaled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = nl.ndarray((nl.par_dim(64), 7, 32), dtype=x.dtype, buffer=nl.sbuf)
    tiles[:, 0, :] = nl.load(x[0])
    for b in nl.sequential_range(6):
        tiles[:, b + 1, :] = nl.load(x[b + 1])
        nl.store(out[b], tiles[:, b, :])
    return out
"""


def test_a_kernel_whose_steps_use_what_others_write_is_not_abridged(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(HEAD + AHEAD)
    with pool(1) as workers:
        case = Case("scaled", "", "", args={"x": TensorSpec((7, 64, 32), "float32")})
        whole, cut = (
            workers.submit(Request("probe", str(tmp_path / "k.py"), each)).result()
            for each in (case, replace(case, abridged=True))
        )
    assert isinstance(whole, Probe) and isinstance(cut, Failure) and "use what others write" in cut.message


CHUNKS = """\
@nki.jit
def chunked(x):
    \"\"\"x: (16384, 2048), which its loops know.\"\"\"
    out = nl.ndarray((16384, 2048), dtype=x.dtype, buffer=nl.shared_hbm)
    for n in nl.affine_range(128):
        row = nl.ndarray((128, 2048), dtype=nl.float32, buffer=nl.sbuf)
        for c in nl.affine_range(4):
            row[:, c * 512 : (c + 1) * 512] = nl.load(x[n * 128 : (n + 1) * 128, c * 512 : (c + 1) * 512])
        for step in nl.sequential_range(64):
            row[...] = nl.tanh(row)
        nl.store(out[n * 128 : (n + 1) * 128, :], row)
    return out
"""


def test_loops_whose_steps_are_all_used_run_whole_in_an_abridged_case(tmp_path: Path) -> None:
    """Of a row that four steps write, three would leave a part that nothing has written."""
    file = tmp_path / "k.py"
    file.write_text(HEAD + CHUNKS)
    with pool(1) as workers:
        (found,) = suggestions(workers, str(file), (), Budget(10.0, Limits(1.0, 4 << 30)))
    assert [case.abridged for case in found.cases] == [(128,)], found
    for loops, text in (((128,), "[128]"), (8, "8"), (1, "true")):
        cases = case_toml(replace(found.cases[0], abridged=loops), tmp_path)
        assert f"\nabridged = {text}\n" in cases
        (tmp_path / "cases.toml").write_text(cases)
        assert read_cases(tmp_path / "cases.toml").cases[0].abridged == loops
