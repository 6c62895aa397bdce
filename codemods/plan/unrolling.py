"""Loops over tensors that are written out, ``for t, out in ((a, out_a), (b, out_b)):``: their bodies, one by one.

Beta 1 unrolls such a loop when it traces the kernel. Its tensors may have different shapes and types, so that each pass
is rewritten by itself. A variable that the body only reads is what it stands for in that pass; another one is bound to
it in front of the pass. What stands for a variable is a name, a constant, or a function or type of NKI, so that it
means the same in each pass.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..model import Options
from ..project.program import Module, program_of
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.module_level import module_statements
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import bound_by, parents_of
from ..syntax.source import Source
from .edited_text import EditedText, arranged
from .line_origins import (
    Edit,
    Line,
    between,
    comments_in,
    dedented,
    edited,
    end_of_header,
    inside_strings,
    last_line,
    lines_of,
    margin_of,
)

_MOST_LINES = 240
"""How many lines the passes of one loop may have together."""
_NUMBERS = {"range", "len", "min", "max", "int", "float", "abs", "print", "isinstance", "str"}
"""Functions of Python that take numbers, or nothing that a kernel computes with."""
_OF_NUMBERS = {"nl.affine_range", "nl.sequential_range", "nl.static_range", "nl.ds", "nl.par_dim", "nl.arange"}
_LATE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp, ast.JoinedStr)
"""What may read a variable in a later pass, or reads it where its text has no place of its own."""


@dataclass(frozen=True)
class _Loop:
    """A loop that is written out: in each pass its variables (or tuples of them) stand for expressions."""

    statement: ast.For
    passes: tuple[tuple[tuple[ast.expr, ast.expr], ...], ...]
    read: frozenset[str]
    """The variables that nothing but the body reads, and that the body does not bind."""


def unrolled(sources: Mapping[str, Source], options: Options) -> dict[str, EditedText]:
    """Modules by path, with such loops as their passes; one loop may stand in another."""
    concerned = {path for path, source in sources.items() if options.enabled(CODE) and _may_have(source)}
    plain = {path: EditedText(lines_of(source.text)) for path, source in sources.items() if path not in concerned}
    if not concerned:
        return plain
    program = program_of(sources, options)
    return plain | {path: _result(program.modules[path]) for path in concerned}


def _may_have(source: Source) -> bool:
    return any(_rows(loop) for loop in of_kinds(source.tree, ast.For))


def _result(module: Module) -> EditedText:
    source = module.source
    loops: list[_Loop] = []
    touched: set[str] = set()
    for outer in module_statements(source.tree):
        if isinstance(outer, ast.FunctionDef) and outer in module.program.kernel_code:
            found = list(_outermost(module, outer, outer))
            loops += found
            touched |= {outer.name} if found else set()
    gone: set[int] = set()
    above: dict[int, list[Line]] = {}
    for loop in loops:
        gone |= {*range(loop.statement.lineno, last_line(source, loop.statement) + 1)}
        above[loop.statement.lineno] = _block(source, loop)
    applied = Counter({CODE: len(loops)}) if loops else Counter()
    return EditedText(arranged(lines_of(source.text), gone, above, (0, [])), [], applied, touched)


def _outermost(module: Module, function: ast.FunctionDef, node: ast.AST) -> Iterator[_Loop]:
    """The loops of a function that are written out, but for those in others."""
    for child in ast.iter_child_nodes(node):
        loop = _loop(module, function, child) if isinstance(child, ast.For) else None
        if loop is not None:
            yield loop
        else:
            yield from _outermost(module, child if isinstance(child, ast.FunctionDef) else function, child)


def _loop(module: Module, function: ast.FunctionDef, statement: ast.For) -> _Loop | None:
    """A loop as what its passes are; ``None`` for one that stays."""
    rows = _rows(statement)
    source, bound = module.source, {name for part in statement.body for name in bound_by(part)}
    values = [value for row in rows for _, value in row]
    if not rows or not all(_is_fixed(module, value, bound | bound_by(statement.target)) for value in values):
        return None
    if statement.orelse or _leaves(statement) or not _takes_tensors(module, statement, rows):
        return None
    first, last = end_of_header(source, statement) + 1, last_line(source, statement)
    lines = range(first, last + 1)
    alone = first <= statement.body[0].lineno and not inside_strings(source.text) & {*lines, statement.lineno}
    if not alone or len(lines) * len(rows) > _MOST_LINES or margin_of(source, statement).strip():
        return None
    variables = bound_by(statement.target)
    read = {name for name in variables - bound if not _is_read_late(function, statement, name)}
    return _Loop(statement, tuple(rows), frozenset(read))


def _rows(statement: ast.For) -> list[tuple[tuple[ast.expr, ast.expr], ...]]:
    """What the variables of a loop over a display are in each pass; nothing for any other loop."""
    elements = _elements(statement.iter)
    rows = [_matched(statement.target, element) for element in elements]
    return [tuple(row) for row in rows if row is not None] if None not in rows else []


def _elements(iterable: ast.expr) -> list[ast.expr]:
    """The elements of ``(a, b)``, ``[a, b]``, ``zip((a, b), (c, d))`` and ``enumerate((a, b))``."""
    if isinstance(iterable, ast.Tuple | ast.List):
        return [] if any(isinstance(e, ast.Starred) for e in iterable.elts) else list(iterable.elts)
    plain = isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and not iterable.keywords
    if not plain or not isinstance(iterable, ast.Call) or not isinstance(iterable.func, ast.Name):
        return []
    columns = [_elements(argument) if isinstance(argument, ast.Tuple | ast.List) else [] for argument in iterable.args]
    if not columns or not all(columns):
        return []
    if iterable.func.id == "enumerate" and len(columns) == 1:
        columns = [[ast.Constant(number) for number in range(len(columns[0]))], *columns]
    elif iterable.func.id != "zip":
        return []
    return [ast.Tuple(list(row), ast.Load()) for row in zip(*columns, strict=False)]


def _matched(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]] | None:
    """The variables of a target, each with its part of a value; ``None`` where they do not match."""
    if isinstance(target, ast.Name):
        return [(target, value)]
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
        return None
    if len(target.elts) != len(value.elts):
        return None
    parts = [_matched(*pair) for pair in zip(target.elts, value.elts, strict=True)]
    return [pair for part in parts if part is not None for pair in part] if None not in parts else None


def _is_fixed(module: Module, value: ast.expr, bound: set[str]) -> bool:
    """Does an expression mean the same in each pass of a loop that binds some names?"""
    match value:
        case ast.Constant():
            return not (isinstance(value.value, str | bytes) and value.lineno != value.end_lineno)
        case ast.Name(id=name):
            return name not in bound
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case ast.Tuple(elts=parts):
            return all(_is_fixed(module, part, bound) for part in parts)
        case ast.Attribute():
            root = module.symbols.host_name(value).partition(".")[0]
            return root in ("nl", "nisa", "np") and not bound & {n.id for n in of_kinds(value, ast.Name)}
    return False


def _leaves(statement: ast.For) -> bool:
    """May the body end a pass of the loop, or all of it?"""
    pending: list[ast.AST] = list(statement.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Break | ast.Continue):
            return True
        pending += [
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.stmt | ast.ExceptHandler) and not isinstance(child, ast.For | ast.While)
        ]
    return False


def _takes_tensors(module: Module, statement: ast.For, rows: Sequence[Sequence[tuple[ast.expr, ast.expr]]]) -> bool:
    """Does the body use a variable that is no constant as a tensor or a function, and not as a number alone?"""
    plain = ast.Constant | ast.UnaryOp
    named = {t.id for row in rows for t, value in row if isinstance(t, ast.Name) and not isinstance(value, plain)}
    parents = parents_of(statement)
    names = [n for part in statement.body for n in of_kinds(part, ast.Name) if n.id in named]
    return any(_is_tensor_use(module, name, parents[name]) for name in names)


def _is_tensor_use(module: Module, name: ast.Name, parent: ast.AST) -> bool:
    if isinstance(parent, ast.Subscript | ast.Attribute):
        return parent.value is name
    if isinstance(parent, ast.keyword):
        return parent.arg not in ("name", "mask")
    if not isinstance(parent, ast.Call):
        return False
    own = isinstance(parent.func, ast.Name) and parent.func.id in _NUMBERS
    return parent.func is name or not (own or module.symbols.host_name(parent.func) in _OF_NUMBERS)


def _is_read_late(function: ast.FunctionDef, statement: ast.For, name: str) -> bool:
    """Is a variable read behind its loop, or in it by what runs later or has no text of its own?"""
    inside = set(walk(statement))
    for node in of_kinds(function, *_LATE):
        if node is not function and any(n.id == name for n in of_kinds(node, ast.Name)):
            return True
    other = [
        n
        for loop in of_kinds(function, ast.For)
        if loop not in inside and statement not in set(walk(loop)) and name in bound_by(loop.target)
        for part in loop.body
        for n in walk(part)
    ]
    known = inside | set(other)
    uses = (n for n in of_kinds(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load))
    comprehended = any(
        name in {n.id for n in of_kinds(c.target, ast.Name)} for c in of_kinds(function, ast.comprehension)
    )
    return comprehended or any(n not in known for n in uses)


def _block(source: Source, loop: _Loop) -> list[Line]:
    """The lines of all passes, with the comments of the loop's header in front."""
    statement, margin = loop.statement, margin_of(source, loop.statement)
    own, begin = margin_of(source, statement.body[0]), end_of_header(source, statement)
    said = comments_in(source, range(statement.lineno, begin + 1))
    block = [Line(margin + text, number) for number, text in said]
    for row in loop.passes:
        texts = {t.id: _atom(source, value) for t, value in row if isinstance(t, ast.Name)}
        block += [
            Line(f"{margin}{name} = {text}", statement.lineno) for name, text in texts.items() if name not in loop.read
        ]
        edits = [
            Edit(*source.span(name), texts[name.id])
            for part in statement.body
            for name in of_kinds(part, ast.Name)
            if name.id in loop.read
        ]
        lines = between(edited(source, edits), begin + 1, last_line(source, statement))
        block += [dedented(line, own).indented(margin) for line in lines]
        while not block[-1].text.strip():
            block.pop()
    return block


def _atom(source: Source, value: ast.expr) -> str:
    """The text of an expression as a part of others."""
    text = source.segment(value) if hasattr(value, "lineno") else ast.unparse(value)
    return f"({text})" if isinstance(value, ast.UnaryOp) else ast.unparse(value) if "\n" in text else text
