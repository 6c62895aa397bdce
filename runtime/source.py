"""Where a frame is in the source of its file: the call, the condition, the loop, or the function that it runs.

Files are read through ``linecache`` and parsed once; which expression an instruction is of, :mod:`.positions` says.
"""

from __future__ import annotations

import ast
import dis
import linecache
import sys
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from .errors import user_frame
from .positions import COMPREHENSION_CODES, Span, span_at, span_of
from .spec.grammar import children, statements
from .trees import parsed

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


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


def definition_name(code: CodeType) -> str:
    """The name of a function in its file, behind those of the classes and functions that it stands in.

    Empty when there is no source.
    """
    source = source_of(code.co_filename, {})
    node: ast.AST | None = source.definition(code.co_name, code.co_firstlineno) if source is not None else None
    names: list[str] = []
    while node is not None and source is not None:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.insert(0, node.name)
        node = source.parents.get(node)
    return ".".join(names)


def leaves_loop(frame: FrameType, *, except_at_end: bool) -> str:
    """``"return"``, ``"break"`` or ``"continue"`` when the body of the loop that runs in ``frame`` has one.

    Else ``""``.

    ``except_at_end`` passes over a ``return`` that is the last statement of the body, or of the loop that ends it. A
    ``continue`` counts where its condition may differ from one iteration to another.
    """
    key = (id(frame.f_code), frame.f_lasti, except_at_end)
    if key not in _EXITS:
        source = source_at(frame)
        loop = source.loop_at(frame) if source is not None else None
        last = last_statement(loop) if loop is not None and except_at_end else None
        found = "" if loop is None or source is None else _exit_in(loop.body, last, _varying(loop, source.parents))
        _EXITS[key] = (frame.f_code, found)
    return _EXITS[key][1]


_EXITS: dict[tuple[int, int, bool], tuple[CodeType, str]] = {}
"""By ``id`` of the code, which is kept alive: the hash of a code object is that of all its constants."""


def has_plain_for(frame: FrameType) -> bool:
    """Is it a ``for`` statement of ``frame`` that asks its own iterator for the next value?

    Not when a call does (``next``, ``list``), another iterator (``zip``), or a comprehension.
    """
    key = (id(frame.f_code), frame.f_lasti)
    if key not in _PLAIN:
        source = source_at(frame)
        loop = source.loop_at(frame) if source is not None else None
        comprehends = frame.f_code.co_name in COMPREHENSION_CODES
        comprehends |= source is not None and source.comprehends_at(frame)
        plain = frame.f_code.co_code[_instruction(frame)] == _FOR_ITER and not comprehends
        _PLAIN[key] = (frame.f_code, plain and (loop is None or not _passes_on(loop.iter)))
    return _PLAIN[key][1]


def bound_in_loop(frame: FrameType) -> frozenset[str] | None:
    """The local names that the body of the ``for`` statement that runs in ``frame`` may bind or delete.

    With those that functions inside bind for it (``nonlocal``). ``None`` where the bytecode does not tell: Python moves
    the handlers of exceptions away from the body.
    """
    code = frame.f_code
    key = (id(code), frame.f_lasti)
    if key not in _BINDS:
        instructions, inner = _bindings(code)
        body = _body_of_loop(code, instructions, _instruction(frame))
        _BINDS[key] = (code, None if body is None else frozenset((*body, *inner)))
    return _BINDS[key][1]


_BINDS: dict[tuple[int, int], tuple[CodeType, frozenset[str] | None]] = {}


def _bindings(code: CodeType) -> tuple[list[dis.Instruction], list[str]]:
    """The instructions of ``code``, and what functions inside bind for it: read once, not for each of its loops."""
    known = _BINDINGS.get(id(code))
    if known is None:
        inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _stores(part)]
        known = _BINDINGS[id(code)] = (code, list(dis.get_instructions(code)), inner)
    return known[1:]


_BINDINGS: dict[int, tuple[CodeType, list[dis.Instruction], list[str]]] = {}
"""By ``id`` of the code, which is kept alive."""


def _body_of_loop(code: CodeType, instructions: list[dis.Instruction], at: int) -> list[str] | None:
    """What the body of the ``for`` whose ``FOR_ITER`` is at ``at`` binds, without the target of the loop itself."""
    ends = [i.argval for i in instructions if i.offset == at and i.opname == "FOR_ITER"]
    handles = code.co_exceptiontable if hasattr(code, "co_exceptiontable") else b""  # Python 3.10 has SETUP_FINALLY
    if not ends or handles or any("SETUP" in i.opname for i in instructions):
        return None
    body = [i for i in instructions if at < i.offset < ends[0]]
    return _stored(body[1:] if body and body[0].opname == "STORE_FAST" else body)


def _stores(code: CodeType) -> list[str]:
    """The names of functions around it that ``code``, or code inside it, binds."""
    found = [name for name in _stored(dis.get_instructions(code)) if name in code.co_freevars]
    return found + [n for part in code.co_consts if isinstance(part, CodeType) for n in _stores(part)]


def _stored(instructions: Iterable[dis.Instruction]) -> list[str]:
    found: list[str] = []
    for instruction in instructions:
        if "STORE_" in instruction.opname or "DELETE_" in instruction.opname:
            named = instruction.argval
            found += named if isinstance(named, tuple) else [named] if isinstance(named, str) else []
    return found


def _instruction(frame: FrameType) -> int:
    """The offset of the instruction that ``frame`` runs.

    While a generator makes the next value of a loop, Python 3.12 and later have gone on to the cache behind it; Python
    3.10 stays at what extends the argument of an instruction, such as the target of a long jump.
    """
    at = frame.f_lasti
    while frame.f_code.co_code[at] == _CACHE:
        at -= 2
    while frame.f_code.co_code[at] == dis.EXTENDED_ARG:
        at += 2
    return at


_FOR_ITER = dis.opmap["FOR_ITER"]
_CACHE = dis.opmap.get("CACHE", -1)
_PLAIN: dict[tuple[int, int], tuple[CodeType, bool]] = {}
_WRAPPERS = ("enumerate", "filter", "iter", "map", "reversed", "zip")


def _passes_on(iterated: ast.expr) -> bool:
    called = iterated.func if isinstance(iterated, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in _WRAPPERS


def last_statement(loop: ast.For) -> ast.stmt:
    """The statement that ends ``loop``: of the innermost one, where loops end in loops."""
    last = loop.body[-1]
    return last_statement(last) if isinstance(last, ast.For) else last


def _varying(loop: ast.For, parents: dict[ast.AST, ast.AST]) -> frozenset[str]:
    """The names that ``loop``, or one around it, binds: the indices, and what the bodies assign."""
    outermost: ast.AST = loop
    at: ast.AST | None = loop
    while at is not None and not isinstance(at, _SCOPES):
        outermost = at if isinstance(at, ast.For) else outermost
        at = parents.get(at)
    names = (node for node in ast.walk(outermost) if isinstance(node, ast.Name))
    return frozenset(node.id for node in names if isinstance(node.ctx, ast.Store))


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _exit_in(
    body: list[ast.stmt], passed: ast.stmt | None, varying: frozenset[str], nested: bool = False, varies: bool = False
) -> str:
    """What leaves the body of a loop; ``nested`` in another loop, ``varies`` under a condition on ``varying`` names."""
    for statement in body:
        if statement is passed:
            continue
        if isinstance(statement, ast.Return):
            return "return"
        leaves = isinstance(statement, ast.Break) or (varies and isinstance(statement, ast.Continue))
        if leaves and not nested:
            return type(statement).__name__.lower()
        if isinstance(statement, _SCOPES):
            continue
        inner = nested or isinstance(statement, (ast.For, ast.While))
        test = ast.walk(statement.test) if isinstance(statement, ast.If) else ()
        chosen = varies or any(isinstance(node, ast.Name) and node.id in varying for node in test)
        for field in ("body", "orelse", "finalbody"):
            found = _exit_in(getattr(statement, field, []) or [], passed, varying, inner, chosen)
            if found:
                return found
    return ""


# --- from a frame to the statement -----------------------------------------------------------------------------------


class Source:
    """One source file: its tree, the parent of every node, and its calls by where they end."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.tree = parsed("".join(lines))
        self.parents: dict[ast.AST, ast.AST] = {}
        self.calls: dict[tuple[int, int], ast.Call] = {}
        self.operations: set[Span] = set()
        self.tests: dict[Span, tuple[str, ast.expr]] = {}
        self.comprehended: set[Span] = set()
        self.loops: list[ast.For] = []
        nodes: list[ast.AST] = [self.tree]
        for node in nodes:  # grows as it is read: breadth first
            below = children(node)
            nodes += below
            self.parents.update(dict.fromkeys(below, node))
            if isinstance(node, ast.For):
                self.loops.append(node)
            elif isinstance(node, ast.comprehension):
                self.comprehended.add(span_of(node.iter))
            elif isinstance(node, COMPREHENSIONS):
                self.comprehended.add(span_of(node))  # what Python 3.12 says of the loop
            elif isinstance(node, ast.Call):
                self.calls[(node.end_lineno or 0, node.end_col_offset or 0)] = node
            elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
                self.operations.add(span_of(node))
            elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
                kind = "expression" if isinstance(node, ast.IfExp) else "statement"
                # Python up to 3.11 gives the jump the place of the whole statement, later versions that of the test.
                self.tests[span_of(node)] = (kind, node.test)
                for test in _parts_of_test(node.test):
                    self.tests[span_of(test)] = (kind, test)

    def test_at(self, frame: FrameType) -> tuple[str, ast.expr] | None:
        """The condition whose truth is asked in ``frame``, with ``"statement"`` (if, while) or ``"expression"``."""
        return self.tests.get(span_at(frame, self.tree))

    def definition(self, name: str, line: int) -> ast.FunctionDef | None:
        """The function ``name`` whose code starts at ``line`` (at its first decorator)."""
        for node in statements(self.tree):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
                if line in (first, node.lineno):
                    return node
        return None

    def loop_at(self, frame: FrameType) -> ast.For | None:
        """The ``for`` whose iterator is asked for its next value in ``frame``."""
        found = [n for n in self.loops if n.iter.lineno <= frame.f_lineno]
        inside = [n for n in found if frame.f_lineno <= (n.iter.end_lineno or 0)]
        return inside[-1] if inside else None

    def comprehends_at(self, frame: FrameType) -> bool:
        """Does ``frame`` run a comprehension that Python made part of its function (3.12 and later)?"""
        return span_at(frame, self.tree) in self.comprehended

    def call_at(self, frame: FrameType) -> ast.Call | None:
        """The call that runs in ``frame``; an operator is none, though it ends where a call that it reads does."""
        span = span_at(frame, self.tree)
        if span in self.operations:
            return None
        _, end_line, _, end_column = span
        return self.calls.get((end_line or 0, end_column or 0))


def _parts_of_test(test: ast.expr) -> list[ast.expr]:
    """``test`` and the operands of its ``and``, ``or`` and ``not``: whatever is asked for its truth."""
    if isinstance(test, ast.BoolOp):
        return [test, *(part for value in test.values for part in _parts_of_test(value))]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return [test, *_parts_of_test(test.operand)]
    return [test]


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
