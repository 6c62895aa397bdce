"""An index that other code gives may be a slice: of one row, it has as many elements as a number takes."""

from __future__ import annotations

import numpy as np
import pytest
from first_rung import Options, rewrite, rewrite_together

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"
KERNEL = """

@nki.jit
def k(y{parameters}):
    out = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
{made}
        b = nl.load(y[{index}])
        nl.store(out[{index}], value=nl.subtract(b, nl.max(b, axis=1)))
    return out
"""


def source(top: str, index: str, made: str = "pass", parameters: str = "") -> str:
    return HEAD + top + "\n" + KERNEL.format(index=index, made=f"        {made}", parameters=parameters)


def unknown(text: str) -> set[str]:
    """The indices that a finding names."""
    return {f.message.partition("'")[2][:-4] for f in rewrite(text).findings if "what the index" in f.message}


@pytest.mark.parametrize(
    ("top", "index", "made", "parameters"),
    [
        ("from sizes import part", "part", "pass", ""),
        ("from sizes import rows", "rows(i)", "pass", ""),
        ("from sizes import rows", "part", "part = rows(i)", ""),
        ("from sizes import rows", "part", "part = rows(i) if i else 0", ""),
        ("from sizes import rows", "part", "part: int = rows(i)", ""),
        ("from sizes import part", "first", "first, n = part, 1", ""),
        ("from sizes import parts", "first", "first, second = parts", ""),
        ("from sizes import part", "part or 0", "pass", ""),
        ("from sizes import part", "parts['a']", "parts = {'a': part}", ""),
        ("from sizes import rows", "parts[i]", "parts = [rows(j) for j in range(4)]", ""),
        ("import sizes", "sizes.part", "pass", ""),
        ("import sizes", "sizes.parts[i]", "pass", ""),
        ("PARTS = [slice(0, 1), slice(1, 2)]", "PARTS[i]", "pass", ""),
        ("", "part", "pass", ", part=slice(0, 1)"),
        ("", "part", "part = slice(i, i + 1) if i else 0", ""),
    ],
)
def test_what_other_code_gives_may_be_a_slice(top: str, index: str, made: str, parameters: str) -> None:
    assert unknown(source(top, index, made, parameters)) == {index}


@pytest.mark.parametrize(
    ("top", "index", "made", "parameters"),
    [
        ("from sizes import first", "first + i", "pass", ""),
        ("from sizes import part", "n", "first, n = part, 1", ""),
        ("from sizes import rows", "part", "part = 2 * rows(i)", ""),
        ("from sizes import rows", "part", "part = int(rows(i))", ""),
        ("import math", "part", "part = math.floor(i)", ""),
        ("FIRST = 0", "FIRST", "pass", ""),
        ("PART = slice(0, 1)", "PART", "pass", ""),
        ("", "part", "part = slice(i, i + 1)", ""),
        ("FIRST = 0\ndef other(FIRST=slice(0, 1)):\n    FIRST = slice(1, 2)", "FIRST", "pass", ""),
        ("ROWS = [3, 2, 1, 0]", "ROWS[i]", "pass", ""),
        ("", "row", "pass", ", row"),
        ("", "row", "pass", ", row=0"),
        ("", "row", "loop = nl.sequential_range if out else nl.affine_range\n        for row in loop(4): pass", ""),
    ],
)
def test_arithmetic_gives_no_slice_and_constants_are_read_and_slices_of_a_name_written_out(
    top: str, index: str, made: str, parameters: str
) -> None:
    assert unknown(source(top, index, made, parameters)) == set()


@pytest.mark.parametrize("given", ["rows(i)", "p=rows(i)", "PART"])
def test_a_function_that_indexes_with_what_it_gets_gets_a_number(given: str) -> None:
    helper = "from sizes import rows, PART\n\n\ndef part_of(y, p):\n    return nl.load(y[p])\n"
    text = source(helper, "i").replace("nl.load(y[i])", f"part_of(y, {given})")
    found, *_ = rewrite(text).findings  # the others are of what is done with the part
    assert found.message == f"it is not known what '{given.removeprefix('p=')}' is, with which 'part_of' indexes"
    assert "nl.load" not in rewrite(text.replace(f"(y, {given})", "(y, i + rows(i))")).source


def test_a_constant_of_another_module_is_read_where_that_is_at_hand() -> None:
    kernel = source("from sizes import ROW, PART", "ROW") + source("", "PART").replace("def k", "def k2")[len(HEAD) :]
    sizes = HEAD + "\nROW = 3\nPART = slice(0, 1)\n"
    found = rewrite_together({"k.py": kernel, "sizes.py": sizes})["k.py"].findings
    assert {f.message for f in found if "index" in f.message} == {"it is not known what the index 'PART' is"}


UNCALLED = """
def normed(y, out, i{default}):
    row = y[{index}]
    tile = nl.load(y[{index}])
    nl.store(out[{index}], value=nl.subtract(tile, nl.max(tile, axis=1)))
"""
CALLING = """

@nki.jit
def kernel(y):
    out = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.shared_hbm)
    for n in range(4):
        normed(y, out, {given})
    return out
"""


@pytest.mark.parametrize(
    ("index", "default"),
    [("i", ""), ("i", "=0"), ("i if y is None else i", "")],
)
def test_a_helper_that_nothing_calls_asserts_that_its_index_is_a_number(run_source, index: str, default: str) -> None:
    text = rewrite(HEAD + "\n" + UNCALLED.format(index=index, default=default), Options(unsafe=True)).source
    y = np.arange(4 * 8 * 16, dtype=np.float32).reshape(4, 8, 16)
    text = "import nki\n" + text
    (result,) = run_source(text + CALLING.format(given="n"), {"y": y})
    assert np.array_equal(result, y - y.max(axis=2, keepdims=True))
    with pytest.raises(Exception, match="rewritten for a number as index"):
        run_source(text + CALLING.format(given="slice(n, n + 1)"), {"y": y})


def test_a_helper_that_is_called_asserts_nothing_of_its_index() -> None:
    text = HEAD + "\n" + UNCALLED.format(index="i", default="") + CALLING.format(given="n")
    assert "isinstance" not in rewrite(text).source
    assert "isinstance" not in rewrite(source("", "row", "pass", ", row")).source
    arithmetic = UNCALLED.format(index="i + 1", default="")
    assert "isinstance" not in rewrite(HEAD + "\n" + arithmetic).source


def test_one_of_two_things_is_no_index_of_a_helper_that_nothing_calls() -> None:
    findings = rewrite(HEAD + "\n" + UNCALLED.format(index="i or 0", default="")).findings
    assert "it is not known what the index 'i or 0' is" in {finding.message for finding in findings}
