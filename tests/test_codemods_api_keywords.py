"""A keyword that no document describes is never dropped: ``nl.affine_range(0, n, step=4)`` lost its step once."""

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


def with_keyword(text: str, call: ast.Call) -> str:
    """The source with one more keyword at a call."""
    lines = text.split("\n")
    line = lines[call.end_lineno - 1].encode()
    head, tail = line[: call.end_col_offset - 1].decode(), line[call.end_col_offset - 1 :].decode()
    before = "\n".join([*lines[: call.end_lineno - 1], head])
    comma = "" if before.rstrip().endswith((",", "(")) else ", "
    return "\n".join([before + comma + "zzz=1" + tail, *lines[call.end_lineno :]])


def calls() -> list[tuple[str, str]]:
    """The first call of each function in the goldens: its name, and the source with one more keyword."""
    found: dict[str, str] = {}
    for path in GOLDENS:
        text = path.read_text(encoding="utf-8")
        for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            if name.partition(".")[0] in ROOTS and is_function(name) and not is_refused(name):
                found.setdefault(name, with_keyword(text, call))
    return sorted(found.items())


CALLS = calls()
ELSEWHERE = {"ncc.enable_stack_allocator", "nl.program_ndim"}
"""A decorator that goes, and what a launch grid that is known takes the place of: the result is that of no keyword."""


def test_the_goldens_call_most_functions() -> None:
    assert len(CALLS) > 80


@pytest.mark.parametrize(("name", "source"), CALLS, ids=[name for name, _ in CALLS])
def test_a_keyword_that_no_document_describes_is_never_dropped(name: str, source: str) -> None:
    outcome = rewrite(source, Options(unsafe=True))
    said = any("'zzz'" in finding.message for finding in outcome.findings)
    assert said or "zzz" in outcome.source or name in ELSEWHERE


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
