"""Functions of other modules that compute a slice: it stands where they are called, or the call is left."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite_together

CHUNK = "import neuronxcc.nki.language as nl\n\n\ndef chunk(index, size=16):\n    return nl.ds(index * size, size)\n"
KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as {language}
{imported}


def host(n):
    chunk = slice(n, n + 1)
    return chunk


@nki.jit
def k(x):
    out = {language}.ndarray((64, 32), dtype=x.dtype, buffer={language}.shared_hbm)
    for i in {language}.affine_range(4):
        part = {call}
        {language}.store(out[part, :], value={language}.load(x[part, :]))
    return out
"""
IMPORTED = {
    "as it is called": ("from sizes import chunk", "chunk(i, 16)", "nl", CHUNK),
    "with a default": ("from sizes import chunk", "chunk(i)", "nl", CHUNK),
    "by keyword": ("from sizes import chunk", "chunk(size=8 + 8, index=i)", "nl", CHUNK),
    "under another name": ("from sizes import chunk as rows", "rows(i, 16)", "nl", CHUNK),
    "of a module with another name for NKI": (
        "from sizes import chunk",
        "chunk(i, 16)",
        "nl",
        CHUNK.replace("as nl", "as lang").replace("nl.ds", "lang.ds"),
    ),
    "in a module with another name for NKI": ("from sizes import chunk", "chunk(i, 16)", "lang", CHUNK),
    "on several lines": (
        "from sizes import chunk",
        "chunk(i, 16)",
        "nl",
        CHUNK.replace("nl.ds(index * size, size)", "nl.ds(\n        index * size,\n        size,\n    )"),
    ),
    "a slice of Python": (
        "from sizes import chunk",
        "chunk(i, 16)",
        "nl",
        "def chunk(index, size):\n    return slice(index * size, (index + 1) * size)\n",
    ),
}


def rewritten(imported: str, call: str, language: str, sizes: str) -> tuple[str, list[str]]:
    kernel = KERNEL.format(imported=imported, call=call, language=language)
    outcomes = rewrite_together({"kernel.py": kernel, "sizes.py": sizes}, Options(unsafe=True))
    return outcomes["kernel.py"].source, [f.message for f in outcomes["kernel.py"].findings]


@pytest.mark.parametrize("how", IMPORTED)
def test_the_slice_stands_where_the_function_is_called(how: str) -> None:
    source, findings = rewritten(*IMPORTED[how])
    language = IMPORTED[how][2]
    part = "i * 16 : (i + 1) * 16" if how == "a slice of Python" else f"{language}.ds("
    assert findings == []
    assert f"[{part}" in source and "part" not in source


OTHERS = {
    "it reads a name of its module": CHUNK.replace("size=16", "size").replace("index * size", "index * SIZE")
    + "SIZE = 16\n",
    "it has steps": CHUNK.replace("    return", "    index = index + 0\n    return"),
    "it calls another function": CHUNK.replace("index * size", "first(index)")
    + "\n\ndef first(i):\n    return i * 16\n",
}


@pytest.mark.parametrize("why", OTHERS)
def test_other_functions_are_not_written_out(why: str) -> None:
    source, _ = rewritten("from sizes import chunk", "chunk(i, 16)", "nl", OTHERS[why])
    assert "chunk(i, 16)" in source


def test_a_name_that_the_kernel_binds_itself_is_its_own() -> None:
    source, _ = rewritten("from sizes import chunk", "nl.ds(i * 16, 16); chunk = min; size = chunk(i, 16)", "nl", CHUNK)
    assert "chunk(i, 16)" in source
