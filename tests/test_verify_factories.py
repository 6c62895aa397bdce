"""Cases of functions that make kernels: what both versions launch is compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.verify import proved

OLD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def make(rows, columns):
    @nki.jit
    def kernel(x):
        out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(x[0:rows, 0:columns]))
        return out

    return rows, kernel


def number(rows):
    return rows


def idle(rows):
    return lambda x: x
"""
CASE = """\
[[case]]
kernel = "{kernel}"
{more}
[case.make]
{make}
[case.args]
x = {{shape = [16, 8], dtype = "float32"}}
"""


@pytest.fixture
def verified(tmp_path: Path):  # type: ignore[no-untyped-def]
    """What comes of a case of the file."""
    (tmp_path / "before.py").write_text(OLD)
    (tmp_path / "after.py").write_text(rewrite(OLD, Options(unsafe=True)).source)

    def verify(cases: str):  # type: ignore[no-untyped-def]
        (tmp_path / "cases.toml").write_text(cases)
        return proved(tmp_path / "before.py", tmp_path / "after.py")

    return verify


def test_what_a_function_makes_is_compared(verified) -> None:  # type: ignore[no-untyped-def]
    proof = verified(CASE.format(kernel="make", make="rows = 16\ncolumns = 8", more=""))
    assert [(result.kernel, result.verdict.value) for result in proof.results] == [("make", "equal")]


def test_a_function_without_a_case_is_undecided(verified) -> None:  # type: ignore[no-untyped-def]
    (result,) = verified("").results
    assert (result.kernel, result.verdict.value) == ("make", "undecided")
    assert result.problems[0].line == 7 and "[case.make]" in result.problems[0].help


@pytest.mark.parametrize(
    ("kernel", "make", "more", "message"),
    [
        ("number", "rows = 16", "", "'number' gives nothing that could be launched"),
        ("idle", "rows = 16", "", "what 'idle' gives launches no kernel"),
        ("idle", "rows = 16", "grid = 2", "a function that launches its kernel itself takes no grid"),
        ("make", "rows = 16", "", "missing 1 required positional argument"),
    ],
)
def test_what_makes_no_kernel_is_an_error(verified, kernel: str, make: str, more: str, message: str) -> None:  # type: ignore[no-untyped-def]
    results = verified(CASE.format(kernel=kernel, make=make, more=more)).results
    (found,) = [result for result in results if result.kernel == kernel and result.verdict.value == "error"]
    assert message in found.problems[0].message
