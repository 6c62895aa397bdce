"""An argument that no document describes is never dropped: ``nl.affine_range(0, n, step=4)`` lost its step once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from first_rung import Options, rewrite
from nki_migrate.codemods.expr.tables import is_function, is_refused

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((512, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    {line}
        nl.store(out[nl.ds(i, 128), 0:64], value=nl.load(x[nl.ds(i, 128), 0:64]))
    return out
"""
GOLDENS = sorted(Path(__file__).parent.parent.glob("golden/*/before.py"))
ROOTS = ("nl", "nisa", "ncc")


def with_argument(text: str, call: ast.Call, argument: str) -> str:
    """The source with one more argument at the end of a call."""
    lines = text.split("\n")
    line = lines[call.end_lineno - 1].encode()
    head, tail = line[: call.end_col_offset - 1].decode(), line[call.end_col_offset - 1 :].decode()
    before = "\n".join([*lines[: call.end_lineno - 1], head])
    comma = "" if before.rstrip().endswith((",", "(")) else ", "
    return "\n".join([before + comma + argument + tail, *lines[call.end_lineno :]])


def calls(argument: str) -> list[tuple[str, str]]:
    """The first call of each function in the goldens that can take one more: its name, and the changed source."""
    found: dict[str, str] = {}
    for path in GOLDENS:
        text = path.read_text(encoding="utf-8")
        for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            fits = "=" in argument or not call.keywords
            if fits and name.partition(".")[0] in ROOTS and is_function(name) and not is_refused(name):
                found.setdefault(name, with_argument(text, call, argument))
    return sorted(found.items())


KEYWORDS, POSITIONS = calls("zzz=1"), calls("zzz")
ELSEWHERE = {"ncc.enable_stack_allocator", "nl.program_ndim", "nl.static_cast"}
"""A decorator that goes, what a launch grid that is known takes the place of, and a call in host code."""


def test_the_goldens_call_most_functions() -> None:
    assert len(KEYWORDS) > 80 and len(POSITIONS) > 50


@pytest.mark.parametrize(("name", "source"), KEYWORDS, ids=[name for name, _ in KEYWORDS])
def test_a_keyword_that_no_document_describes_is_never_dropped(name: str, source: str) -> None:
    outcome = rewrite(source, Options(unsafe=True))
    said = any("'zzz'" in finding.message for finding in outcome.findings)
    assert said or "zzz" in outcome.source or name in ELSEWHERE


@pytest.mark.parametrize(("name", "source"), POSITIONS, ids=[name for name, _ in POSITIONS])
def test_a_position_that_no_document_describes_is_never_dropped(name: str, source: str) -> None:
    outcome = rewrite(source, Options(unsafe=True))
    said = any("positional arguments" in finding.message for finding in outcome.findings)
    assert said or "zzz" in outcome.source or name in ELSEWHERE


def test_a_parameter_by_keyword_only_is_not_taken_by_position() -> None:
    source = KERNEL.format(line="for i in nl.affine_range(4):").replace("64]))", "64], None))")
    outcome = rewrite(source, Options(unsafe=True))
    assert "nl.load with 2 positional arguments, where the documents describe 1" in outcome.findings[0].message


@pytest.mark.parametrize("loop", ["affine_range", "sequential_range", "static_range"])
@pytest.mark.parametrize("given", ["0, 512, step=128", "0, stop=512", "4, size=3"])
def test_a_loop_with_an_unknown_keyword_is_left(loop: str, given: str) -> None:
    outcome = rewrite(KERNEL.format(line=f"for i in nl.{loop}({given}):"), Options(unsafe=True))
    assert any("which no document describes" in finding.message for finding in outcome.findings)
    assert f"nl.{loop}({given})" in outcome.source and 'assert False, "nki-migrate NKI091' in outcome.source


@pytest.mark.parametrize("hint", ["directives=None", "precise_schedule=True"])
def test_hints_of_loops_go(hint: str) -> None:
    outcome = rewrite(KERNEL.format(line=f"for i in nl.affine_range(0, 512, 128, {hint}):"), Options(unsafe=True))
    assert not outcome.findings and "nl.affine_range(0, 512, 128):" in outcome.source


def test_the_help_for_a_position_says_what_the_documents_have() -> None:
    source = KERNEL.format(line="for i in nl.affine_range(4):").replace("64]))", "64], None))")
    (finding,) = (found for found in rewrite(source, Options(unsafe=True)).findings if found.code == "NKI091")
    assert finding.help == "write it as the documents do: nl.load(src, *, mask, dtype)"


def test_nothing_is_taken_of_a_call_that_is_left() -> None:
    body = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((2, 128, 128), dtype=x.dtype, buffer=nl.shared_hbm)
    turned = nl.ndarray((2, nl.par_dim(128), 128), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(2):
        tile = nl.load(x[i, 0:128, 0:128])
        nisa.dma_transpose(turned[i, 0:128, 0:128], tile)
        nl.store(out[i, 0:128, 0:128], value=turned[i, 0:128, 0:128])
    return out
"""
    outcome = rewrite(body, Options(target="0.6", unsafe=True))
    assert [found.line for found in outcome.findings if found.code == "NKI091"] == [12]
    assert not any("as many dimensions" in said.text for said in outcome.asserted)
