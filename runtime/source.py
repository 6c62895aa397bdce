"""Where a frame is in the source of its file: the call, the condition, the loop, or the function that it runs.

Files are read through ``linecache`` and parsed once. Positions come from ``co_positions`` where Python has it (3.11),
else calls are counted in evaluation order.
"""

from __future__ import annotations

import ast
import dis
import linecache
import sys
from types import CodeType, FrameType
from typing import Any

from .errors import is_emulator_file

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def user_frame(frame: FrameType | None) -> FrameType | None:
    """``frame`` or the nearest caller of it that is not part of the emulator."""
    while frame is not None and is_emulator_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def condition() -> str:
    """Who asks for an object's truth: ``"statement"`` (if, while), ``"name"`` (``x if name else y``), or ``""``."""
    frame = user_frame(sys._getframe(1))
    source = source_at(frame) if frame is not None else None
    found = source.test_at(frame) if source is not None and frame is not None else None
    if found is None:
        return ""
    kind, test = found
    return kind if kind == "statement" else "name" if isinstance(test, ast.Name) else ""


def asked_by_while() -> bool:
    """Is it the condition of a ``while`` that asks for an object's truth?"""
    frame = user_frame(sys._getframe(1))
    source = source_at(frame) if frame is not None else None
    found = source.test_at(frame) if source is not None and frame is not None else None
    at: ast.AST | None = found[1] if found is not None else None
    while isinstance(at, ast.expr) and source is not None:
        at = source.parents.get(at)
    return isinstance(at, ast.While)


def function_source(code: CodeType) -> ast.FunctionDef | None:
    """The definition of the function that ``code`` belongs to, in its file; ``None`` when there is no source."""
    source = source_of(code.co_filename, {})
    return source.definition(code.co_name, code.co_firstlineno) if source is not None else None


def leaves_loop(frame: FrameType, *, except_at_end: bool) -> str:
    """``"return"`` or ``"break"`` when the body of the loop that runs in ``frame`` has one, else ``""``.

    ``except_at_end`` passes over a ``return`` that is the last statement of the body, or of the loop that ends it.
    """
    key = (id(frame.f_code), frame.f_lasti, except_at_end)
    if key not in _EXITS:
        source = source_at(frame)
        loop = source.loop_at(frame) if source is not None else None
        last = last_statement(loop) if loop is not None and except_at_end else None
        _EXITS[key] = (frame.f_code, _exit_in(loop.body, last, nested=False) if loop is not None else "")
    return _EXITS[key][1]


_EXITS: dict[tuple[int, int, bool], tuple[CodeType, str]] = {}
"""By ``id`` of the code, which is kept alive: the hash of a code object is that of all its constants."""


def last_statement(loop: ast.For) -> ast.stmt:
    """The statement that ends ``loop``: of the innermost one, where loops end in loops."""
    last = loop.body[-1]
    return last_statement(last) if isinstance(last, ast.For) else last


def _exit_in(body: list[ast.stmt], passed: ast.stmt | None, nested: bool) -> str:
    for statement in body:
        if statement is passed:
            continue
        if isinstance(statement, ast.Return):
            return "return"
        if isinstance(statement, ast.Break) and not nested:
            return "break"
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            continue
        inner = nested or isinstance(statement, (ast.For, ast.While))
        for field in ("body", "orelse", "finalbody"):
            found = _exit_in(getattr(statement, field, []) or [], passed, inner)
            if found:
                return found
    return ""


# --- from a frame to the statement -----------------------------------------------------------------------------------


_Span = tuple[int | None, int | None, int | None, int | None]


class Source:
    """One source file: its tree, the parent of every node, and its calls by where they end."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.tree = ast.parse("".join(lines))
        self.parents: dict[ast.AST, ast.AST] = {}
        self.calls: dict[tuple[int, int], ast.Call] = {}
        self.tests: dict[_Span, tuple[str, ast.expr]] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, ast.Call):
                self.calls[(node.end_lineno or 0, node.end_col_offset or 0)] = node
            elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
                kind = "expression" if isinstance(node, ast.IfExp) else "statement"
                # Python 3.11 gives the jump the place of the whole statement, later versions that of the test.
                self.tests[_span(node)] = (kind, node.test)
                for test in _parts_of_test(node.test):
                    self.tests[_span(test)] = (kind, test)

    def test_at(self, frame: FrameType) -> tuple[str, ast.expr] | None:
        """The condition whose truth is asked in ``frame``, with ``"statement"`` (if, while) or ``"expression"``."""
        code = frame.f_code
        if hasattr(code, "co_positions"):
            return self.tests.get(list(code.co_positions())[frame.f_lasti // 2])
        for (first, last, _, _), found in self.tests.items():
            if (first or 0) <= frame.f_lineno <= (last or 0):
                return found
        return None

    def definition(self, name: str, line: int) -> ast.FunctionDef | None:
        """The function ``name`` whose code starts at ``line`` (at its first decorator)."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
                if line in (first, node.lineno):
                    return node
        return None

    def loop_at(self, frame: FrameType) -> ast.For | None:
        """The ``for`` whose iterator is asked for its next value in ``frame``."""
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.For) and n.iter.lineno <= frame.f_lineno]
        inside = [n for n in found if frame.f_lineno <= (n.iter.end_lineno or 0)]
        return inside[-1] if inside else None

    def call_at(self, frame: FrameType) -> ast.Call | None:
        code = frame.f_code
        if hasattr(code, "co_positions"):
            positions = list(code.co_positions())
            _, end_line, _, end_column = positions[frame.f_lasti // 2]
            return self.calls.get((end_line or 0, end_column or 0))
        return self._counted_call(frame)

    def _counted_call(self, frame: FrameType) -> ast.Call | None:
        """The call by its rank among the calls that start on the line (the bytecode has lines only)."""
        line = frame.f_lineno
        at_line = [offset for offset, name in _calls_by_line(frame.f_code).get(line, ())]
        nodes = [
            c for c in self.calls.values() if _bytecode_line(c) == line and self._code_name(c) == frame.f_code.co_name
        ]
        nodes.sort(key=lambda c: (c.end_lineno or 0, c.end_col_offset or 0))
        if frame.f_lasti in at_line and len(nodes) == len(at_line):
            return nodes[at_line.index(frame.f_lasti)]
        return nodes[-1] if nodes else None

    def _code_name(self, node: ast.AST) -> str:
        """``co_name`` of the code object that evaluates ``node``."""
        names = {ast.Lambda: "<lambda>", ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>"}
        names |= {ast.DictComp: "<dictcomp>", ast.GeneratorExp: "<genexpr>"}
        child, at = node, self.parents.get(node)
        while at is not None:
            if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)) and child in at.body:
                return at.name
            if isinstance(at, (ast.Lambda, *COMPREHENSIONS)) and not _is_first_iterator(child, at, node):
                return names[type(at)]
            child, at = at, self.parents.get(at)
        return "<module>"


def _span(node: ast.stmt | ast.expr) -> _Span:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _parts_of_test(test: ast.expr) -> list[ast.expr]:
    """``test`` and the operands of its ``and``, ``or`` and ``not``: whatever is asked for its truth."""
    if isinstance(test, ast.BoolOp):
        return [test, *(part for value in test.values for part in _parts_of_test(value))]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return [test, *_parts_of_test(test.operand)]
    return [test]


def _is_first_iterator(child: ast.AST, comprehension: ast.AST, node: ast.AST) -> bool:
    if not isinstance(comprehension, COMPREHENSIONS) or child is not comprehension.generators[0]:
        return False
    return any(node is inner for inner in ast.walk(comprehension.generators[0].iter))


def _bytecode_line(call: ast.Call) -> int:
    """The line that Python 3.10 gives the CALL instruction: the start of the expression, for a method its name."""
    if isinstance(call.func, ast.Attribute) and not call.keywords:
        return call.func.end_lineno or call.lineno
    return call.lineno


_CALLS: dict[CodeType, dict[int, list[tuple[int, str]]]] = {}


def _calls_by_line(code: CodeType) -> dict[int, list[tuple[int, str]]]:
    if code not in _CALLS:
        lines: dict[int, list[tuple[int, str]]] = {}
        starts = list(code.co_lines())
        for instruction in dis.get_instructions(code):
            if instruction.opname.startswith("CALL"):
                line = next((ln for a, b, ln in starts if a <= instruction.offset < b and ln), 0)
                lines.setdefault(line, []).append((instruction.offset, instruction.opname))
        _CALLS[code] = lines
    return _CALLS[code]


_SOURCES: dict[str, Source | None] = {}


def source_at(frame: FrameType) -> Source | None:
    return source_of(frame.f_code.co_filename, frame.f_globals)


def source_of(filename: str, names: dict[str, Any]) -> Source | None:
    lines = linecache.getlines(filename, names)
    known = _SOURCES.get(filename)
    if known is not None and known.lines is lines:
        return known
    try:
        source = Source(lines) if lines else None
    except SyntaxError:
        source = None
    _SOURCES[filename] = source
    return source
