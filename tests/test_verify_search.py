"""``verify --search``: what the cases do not show is looked for, and shrunk."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import Case, DtypeSpec, TensorSpec, read_cases
from nki_migrate.variants import edges, sizes, smaller, variations, weight
from nki_migrate.verdicts import Proof
from nki_migrate.verify_command import Asked, verified

OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def doubled(x):
    rows, columns = x.shape
    assert columns % 2 == 0
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    p = nl.arange(128)[:, None]
    f = nl.arange(columns)[None, :]
    for i in nl.affine_range((rows + 127) // 128):
        t = nl.load(x[i * 128 + p, f], mask=(i * 128 + p < rows))
        nl.store(out[i * 128 + p, f], value=nl.multiply(t, 2.0), mask=(i * 128 + p < rows))
    return out
"""
NEW = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(x):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range((rows + 127) // 128):
        n = min(128, rows - i * 128)
        t = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        u = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=t[0:n], src=x[i * 128:i * 128 + n])
        nisa.tensor_scalar(dst=u, data=t, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[i * 128:i * 128 + n], src=u[0:n])
    return out
"""
CASE = '[[case]]\nkernel = "doubled"\n[case.args]\nx = {shape = [256, 16], dtype = "float32"}\n'


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    Path("before.py").write_text(OLD)
    Path("cases.toml").write_text(CASE)

    def searched(new: str, seconds: float, **options: object) -> Proof:
        Path("after.py").write_text(new)
        asked = Asked(("before.py", "after.py"), jobs=2, no_cache=True, search=seconds, **options)  # type: ignore[arg-type]
        return verified(asked).proof

    return searched


def smallest(proof: Proof, directory: Path) -> Case:
    """The case that the search found, read back from what it printed."""
    (note,) = [note for note in proof.notes if "smallest case" in note]
    (directory / "found.toml").write_text(note.partition("\n")[2])
    (case,) = read_cases(directory / "found.toml").cases
    return case


def test_a_right_migration_is_noted_with_what_was_tried(search) -> None:  # type: ignore[no-untyped-def]
    proof = search(NEW, 0.0)
    assert [result.verdict.value for result in proof.results] == ["equal"]
    (note,) = proof.notes
    assert note.endswith("none disagrees") and " refused by the old kernel" in note


def test_edge_tiles_are_tried_whatever_the_time_and_shrunk(search, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    proof = search(NEW.replace("(rows + 127) // 128", "max(rows // 128, 1)"), 0.0)
    first, found = proof.results
    assert (first.verdict.value, found.verdict.value) == ("equal", "different")
    shape = smallest(proof, tmp_path).args["x"].shape
    assert shape == (129, 2), "no smaller one has a remainder, and the old kernel wants even columns"
    assert found.case == "search: x 129x2" and proof.exit_code == 1


def test_a_failure_of_the_new_kernel_alone_is_found(search) -> None:  # type: ignore[no-untyped-def]
    proof = search(NEW.replace("n = min(128, rows - i * 128)", "n = 128\n        assert rows % 128 == 0"), 0.0)
    assert [result.verdict.value for result in proof.results] == ["equal", "error"]
    assert [problem.side for problem in proof.results[1].problems] == ["after"]


def test_a_failure_does_not_hide_other_numbers(search) -> None:  # type: ignore[no-untyped-def]
    new = NEW.replace("    return out", "    if columns == 8:\n        nisa.memset(dst=t, value=0.0)\n    return out")
    proof = search(new.replace("    out =", '    assert rows != 8, "no"\n    out ='), 0.0)
    assert [result.verdict.value for result in proof.results] == ["equal", "different"]


def test_an_assertion_of_a_rewrite_is_a_note(search) -> None:  # type: ignore[no-untyped-def]
    check = "assert rows % 128 == 0, 'rewritten for whole tiles'\n    out ="
    proof = search(NEW.replace("n = min(128, rows - i * 128)", "n = 128").replace("out =", check, 1), 0.0)
    assert [result.verdict.value for result in proof.results] == ["equal"]
    assert (
        "6 stopped by the new kernel, which is not written for them (line 10: AssertionError: rewritten for"
        in proof.notes[0]
    )


def test_an_assertion_of_a_function_that_a_rewrite_added_is_a_note(search) -> None:  # type: ignore[no-untyped-def]
    """One that both versions define asserts what the author wants: there the new kernel alone fails."""
    check = 'def whole(rows):\n    assert rows % 128 == 0, "whole: a tail"\n\n\n@nki.jit'
    new = NEW.replace("@nki.jit", check, 1).replace("    out =", "    whole(rows)\n    out =", 1)
    proof = search(new.replace("n = min(128, rows - i * 128)", "n = 128"), 0.0)
    assert [result.verdict.value for result in proof.results] == ["equal"]
    assert "not written for them (line 8: AssertionError: whole: a tail)" in proof.notes[0]
    Path("before.py").write_text(OLD.replace("@nki.jit", check.replace("% 128 == 0", "> 0"), 1))
    proof = search(new, 0.0)
    assert [result.verdict.value for result in proof.results] == ["equal", "error"]


def test_a_failure_where_the_old_kernel_touches_nothing_is_a_note(search) -> None:  # type: ignore[no-untyped-def]
    old = OLD.replace("    assert columns % 2 == 0\n", "").replace("nl.arange(columns)", "nl.arange(columns - 3)")
    Path("before.py").write_text(old)
    Path("cases.toml").write_text(CASE.replace("256, 16", "256, 4"))
    new = NEW.replace("columns = x.shape", "columns = x.shape[0], x.shape[1] - 3", 1).replace(
        "n], src", "n, 0:columns], src"
    )
    new = new.replace("src=x[i * 128:i * 128 + n]", "src=x[i * 128:i * 128 + n, 0:columns]")
    proof = search(new.replace("n = min(", 'assert columns > 0, "none"\n        n = min('), 0.0)
    assert [result.verdict.value for result in proof.results] == ["equal"]
    assert "which is not written for them (line 12: AssertionError: none)" in proof.notes[0]


def test_types_that_only_beta1_multiplies_are_a_note(search) -> None:  # type: ignore[no-untyped-def]
    old = OLD.partition("@")[0].replace("language as nl", "language as nl\nimport neuronxcc.nki.isa as nisa") + SUMMED
    Path("before.py").write_text(old)
    Path("cases.toml").write_text(CASE.replace("256, 16", "8, 16").replace("float32", "bfloat16"))
    proof = verified(Asked(("before.py",), migrate=True, jobs=2, no_cache=True, search=4.0)).proof
    assert {result.verdict.value for result in proof.results} == {"equal"}
    assert any("nc_matmul: stationary is float32, moving is bfloat16" in note for note in proof.notes)


SUMMED = """
@nki.jit
def doubled(x):
    rows, columns = x.shape
    out = nl.ndarray((columns, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    twos = nl.full((rows, 4), 2.0, dtype=nl.bfloat16)
    nl.store(out, value=nl.copy(nisa.nc_matmul(nl.load(x), twos)))
    return out
"""
FILLED = """
@nki.jit
def doubled(x):
    out = nl.ndarray((2, 16), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((2, 16), dtype=x.dtype, buffer=nl.sbuf)
    FILL
    return out
"""


def test_sizes_of_one_that_only_beta1_repeats_are_a_note(search) -> None:  # type: ignore[no-untyped-def]
    """Two rows are filled with one; a larger tensor that the new kernel alone refuses stays a disagreement."""
    Path("cases.toml").write_text(CASE.replace("256, 16", "2, 16"))
    old = OLD.partition("@")[0] + FILLED.replace("(2, 16)", "(nl.par_dim(2), 16)").replace("((nl.par_dim(2)", "((2", 1)
    Path("before.py").write_text(old.replace("FILL", "tile[...] = nl.load(x)\n    nl.store(out, value=tile)"))
    copied = "nisa.dma_copy(dst=tile, src=x)\n    nisa.dma_copy(dst=out, src=tile)"
    new = NEW.partition("@")[0] + FILLED.replace("FILL", copied)
    found = search(new, 0.0)
    assert [result.verdict.value for result in found.results] == ["equal"]
    assert "1 stopped by the new kernel" in found.notes[0] and "elements" in found.notes[0]
    Path("before.py").write_text(old.replace("FILL", "tile[...] = nl.load(x[0:2])\n    nl.store(out, value=tile)"))
    found = search(new, 0.0)
    assert [result.verdict.value for result in found.results] == ["equal", "error"]


def test_other_types_and_seeds_are_tried_while_there_is_time(search, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The old kernel multiplies 16-bit numbers to 32-bit ones."""
    proof = search(NEW.replace("dtype=nl.float32", "dtype=x.dtype"), 60.0)
    assert proof.results[1].verdict.value == "different"
    assert smallest(proof, tmp_path).args["x"].dtype in ("bfloat16", "float16")


def test_what_is_different_already_is_not_searched(search) -> None:  # type: ignore[no-untyped-def]
    proof = search(NEW.replace("operand0=2.0", "operand0=3.0"), 5.0)
    assert proof.notes == ("nothing was searched: no case is equal",) and len(proof.results) == 1


# --- variations ------------------------------------------------------------------------------------------------------

TENSORS = st.builds(
    TensorSpec,
    st.lists(st.integers(1, 300), min_size=1, max_size=2).map(tuple),
    st.sampled_from(["float32", "bfloat16", "int32"]),
    st.just("zeros"),
)
CASES = st.builds(
    lambda a, b, n, grid, seed: Case(
        "k", "c", "cases.toml", 1, grid, None, seed, {"a": a, "b": b, "n": n, "kind": DtypeSpec("float32")}),
    TENSORS, TENSORS, st.integers(0, 600), st.lists(st.integers(1, 4), max_size=2).map(tuple), st.integers(0, 9),
)  # fmt: skip


@settings(deadline=None, max_examples=50)
@given(CASES)
def test_variations_are_the_same_every_time_and_never_repeat(case: Case) -> None:
    first = list(islice(variations(case), 60))
    assert first == list(islice(variations(case), 60))
    assert len({repr(variant) for variant in first} | {repr(case)}) == len(first) + 1


@settings(deadline=None, max_examples=50)
@given(CASES)
def test_every_size_has_its_edges_tried(case: Case) -> None:
    tried = {size for variant in edges(case) for tensor in ("a", "b") for size in variant.args[tensor].shape}
    for size in sizes(case):
        assert {size + 1, size - 1} - {0} <= tried
        if size > 128:
            assert {size // 128 * 128 - 1, size // 128 * 128 + 1} <= tried | {size}  # the size itself is the case


@settings(deadline=None, max_examples=50)
@given(CASES)
def test_equal_sizes_change_together(case: Case) -> None:
    for variant in edges(case):
        for size in sizes(case):
            places = [(t, n) for t in ("a", "b") for n, s in enumerate(case.args[t].shape) if s == size]
            assert len({variant.args[t].shape[n] for t, n in places}) == 1


@settings(deadline=None, max_examples=50)
@given(CASES)
def test_smaller_cases_are_smaller_or_nearer_to_the_original(case: Case) -> None:
    variant = next(variations(case), case)
    for candidate in smaller(variant, case):
        assert weight(candidate) < weight(variant) or candidate.seed == case.seed


def test_stored_data_keep_their_shape(tmp_path: Path) -> None:
    stored = TensorSpec((4, 4), "int32", str(tmp_path / "x.npy"))
    case = Case("k", "c", "cases.toml", args={"a": TensorSpec((4, 8), "float32"), "b": stored})
    assert all(variant.args["b"] == stored for variant in islice(variations(case), 200))
