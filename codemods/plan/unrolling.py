"""Loops over tensors that are written out, ``for t, out in ((a, out_a), (b, out_b)):``: their bodies, one by one.

Beta 1 unrolls such a loop when it traces the kernel. Its tensors may have different shapes and types, so that each pass
is rewritten by itself. A variable that the body only reads is what it stands for in that pass; another one is bound to
it in front of the pass. What stands for a variable is a name, a constant, or a function or type of NKI, so that it
means the same in each pass. A list that has a name may be looped over, too, or indexed in a loop over
``nl.static_range(len(tensors))``, where the function binds that name and those of its elements once.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..model import Options
from ..project.program import Module
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.module_level import module_statements
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.nodes import assignment_counts, bound_by, is_name, parents_of, way_to
from ..syntax.source import Source
from .edited_text import EditedText, arranged, edited_where
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
_READERS = {"len", "enumerate", "zip"}


_Row = tuple[tuple[ast.expr, ast.expr], ...]
"""The variables of a loop, each with what it is in one pass."""


@dataclass(frozen=True)
class _Loop:
    """A loop that is written out: what its variables are in each pass.

    ``given`` are the places of the body that read a variable as the loop bound it, by its name, where these are all and
    can be told; ``lists`` are the lists with a name of which the loop takes elements.
    """

    statement: ast.For
    passes: tuple[_Row, ...]
    given: Mapping[str, frozenset[ast.AST]]
    lists: Mapping[str, ast.Assign]

    def element(self, subscript: ast.Subscript, row: _Row) -> ast.expr | None:
        """The element of such a list that a subscript is in one pass."""
        index = next((v for t, v in row if is_name(t, ast.unparse(subscript.slice))), None)
        known = self.lists.get(subscript.value.id) if isinstance(subscript.value, ast.Name) else None
        number = index.value if isinstance(index, ast.Constant) and isinstance(index.value, int) else -1
        elements = _displayed(known.value) if known is not None else []
        return elements[number] if 0 <= number < len(elements) else None


def unrolled(sources: Mapping[str, Source], options: Options) -> dict[str, EditedText]:
    """Modules by path, with such loops as their passes; one loop may stand in another."""
    return edited_where(sources, options, lambda source: options.enabled(CODE) and _may_have(source), _result)


def _may_have(source: Source) -> bool:
    return any(_Function(source, f).rows(loop) for f in of_kinds(source.tree, ast.FunctionDef) for loop in _loops(f))


def _result(module: Module) -> EditedText:
    source = module.source
    loops: list[_Loop] = []
    gone: set[int] = set()
    touched: set[str] = set()
    for outer in module_statements(source.tree):
        if isinstance(outer, ast.FunctionDef) and outer in module.program.kernel_code:
            for function in of_kinds(outer, ast.FunctionDef):
                found = list(_outermost(module, _Function(source, function), function))
                loops += found
                touched |= {outer.name} if found else set()
                gone |= {n for s in _unused(function, found) for n in range(s.lineno, (s.end_lineno or s.lineno) + 1)}
    above: dict[int, list[Line]] = {}
    for loop in loops:
        gone |= {*range(loop.statement.lineno, last_line(source, loop.statement) + 1)}
        above[loop.statement.lineno] = _block(source, loop)
    applied = Counter({CODE: len(loops)}) if loops else Counter()
    return EditedText(arranged(lines_of(source.text), gone, above, (0, [])), [], applied, touched)


def _loops(node: ast.AST) -> Iterator[ast.For]:
    """The loops of a function, but for those of functions in it."""
    for child in children(node):
        if isinstance(child, ast.For):
            yield child
        if not isinstance(child, ast.FunctionDef | ast.expr):
            yield from _loops(child)


def _outermost(module: Module, function: _Function, node: ast.AST) -> Iterator[_Loop]:
    """The loops of a function that are written out, but for those in others."""
    for child in children(node):
        loop = _loop(module, function, child) if isinstance(child, ast.For) else None
        if loop is not None:
            yield loop
        elif not isinstance(child, ast.FunctionDef | ast.expr):
            yield from _outermost(module, function, child)


def _unused(function: ast.FunctionDef, loops: Sequence[_Loop]) -> Iterator[ast.Assign]:
    """The lists of which loops that are written out take elements, and that nothing else reads."""
    inside = {node for loop in loops for node in walk(loop.statement)}
    kept = {n.id for loop in loops for n in of_kinds(loop.statement, ast.Name) if not _is_taken(loop, n)}
    for name, statement in {name: s for loop in loops for name, s in loop.lists.items()}.items():
        uses = [n for n in of_kinds(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
        if name not in kept and all(n in inside for n in uses) and _stands_alone(function, statement):
            yield statement


def _is_taken(loop: _Loop, name: ast.Name) -> bool:
    """Does a loop that is written out no longer name a list in this place?"""
    if name in set(walk(loop.statement.iter)):
        return True
    parent = parents_of(loop.statement).get(name)
    return isinstance(parent, ast.Subscript) and all(loop.element(parent, row) is not None for row in loop.passes)


def _stands_alone(function: ast.FunctionDef, statement: ast.stmt) -> bool:
    """Has a statement lines of its own, in a block with others?"""
    block = way_to(function, statement)[-1][0]
    lines = {*range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)}
    return len(block) > 1 and not any(s is not statement and s.lineno in lines for s in block)


def _loop(module: Module, function: _Function, statement: ast.For) -> _Loop | None:
    """A loop as what its passes are; ``None`` for one that stays."""
    rows = function.rows(statement)
    bound = {name for part in statement.body for name in bound_by(part)}
    values = [value for row in rows for _, value in row]
    if not rows or not all(_is_fixed(module, value, bound | bound_by(statement.target)) for value in values):
        return None
    loop = _Loop(statement, tuple(rows), function.given(statement), function.lists(statement))
    known = (e for s in loop.lists.values() for e in _displayed(s.value))
    if not all(_is_fixed(module, element, bound) for element in known):
        return None
    whole = not statement.orelse and not _leaves(statement) and _takes_tensors(module, loop)
    return loop if whole and _fits(module.source, loop) else None


def _fits(source: Source, loop: _Loop) -> bool:
    """Has the body of a loop lines of its own, which can be moved, and not too many of them?"""
    statement = loop.statement
    lines = range(end_of_header(source, statement) + 1, last_line(source, statement) + 1)
    alone = lines.start <= statement.body[0].lineno and not margin_of(source, statement).strip()
    moves = inside_strings(source.text).isdisjoint({*lines, statement.lineno})
    return alone and moves and len(lines) * len(loop.passes) <= _MOST_LINES


@dataclass(frozen=True)
class _Function:
    """A function, whose loops may be over lists that have a name."""

    source: Source
    node: ast.FunctionDef

    def rows(self, statement: ast.For) -> list[_Row]:
        """What the variables of a loop over a display are in each pass; nothing for any other loop."""
        rows = [_matched(statement.target, element) for element in self._elements(statement)]
        return [tuple(row) for row in rows if row is not None] if None not in rows else []

    def _elements(self, statement: ast.For) -> list[ast.expr]:
        """The elements of ``(a, b)``, of ``zip`` and ``enumerate`` of displays, and the indices of a list."""
        iterable = statement.iter
        if not isinstance(iterable, ast.Call):
            return self._columns(statement, [iterable])[0]
        function = ast.unparse(iterable.func)
        if function.endswith("static_range"):
            size = iterable.args[0] if len(iterable.args) == 1 else None
            counted = isinstance(size, ast.Call) and is_name(size.func, "len") and len(size.args) == 1
            return _numbers(self._columns(statement, size.args)[0]) if counted and isinstance(size, ast.Call) else []
        paired = function == "zip" or (function == "enumerate" and len(iterable.args) == 1)
        columns = self._columns(statement, iterable.args) if paired and not iterable.keywords else []
        if not columns or not all(columns):
            return []
        columns = [_numbers(columns[0]), *columns] if function == "enumerate" else columns
        return [ast.Tuple(list(row), ast.Load()) for row in zip(*columns, strict=False)]

    def _columns(self, statement: ast.For, sequences: Sequence[ast.expr]) -> list[list[ast.expr]]:
        named = self.lists(statement) if any(isinstance(s, ast.Name) for s in sequences) else {}
        lists = {name: assigned.value for name, assigned in named.items()}
        return [_displayed(lists.get(s.id) if isinstance(s, ast.Name) else s) for s in sequences]

    def lists(self, statement: ast.For) -> dict[str, ast.Assign]:
        """The lists and tuples with a name that a loop reads, each of which is the same whenever the loop runs."""
        read = {n.id for n in of_kinds(statement, ast.Name)}
        above = [s for block, at in way_to(self.node, statement) for s in block[:at] if isinstance(s, ast.Assign)]
        named = {t.id: s for s in above for t in s.targets if isinstance(t, ast.Name) and len(s.targets) == 1}
        return {name: s for name, s in named.items() if name in read and self._is_steady(name, s)}

    def _is_steady(self, name: str, assigned: ast.Assign) -> bool:
        """Is a name that of one list, whose elements are names that are bound once, in front of it?"""
        elements = _displayed(assigned.value)
        names = {n.id for element in elements for n in of_kinds(element, ast.Name)}
        stored = [n for n in of_kinds(self.node, ast.Name) if n.id in names and not isinstance(n.ctx, ast.Load)]
        counts = assignment_counts(self.node)
        in_front = all(n.lineno < assigned.lineno for n in stored)
        once = counts[name] == 1 and all(counts[n] <= 1 for n in names)
        return bool(elements) and once and in_front and self._is_kept(name)

    def _is_kept(self, name: str) -> bool:
        """Is a list only measured, indexed and looped over, in this function alone?"""
        parents = parents_of(self.node)
        inner = {n for part in self._late for n in walk(part)}
        uses = [n for n in of_kinds(self.node, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
        return all(use not in inner and _keeps(use, parents[use]) for use in uses)

    def given(self, statement: ast.For) -> dict[str, frozenset[ast.AST]]:
        """Where the body of a loop reads each variable as the loop bound it: up to where it binds it first.

        A variable that is read behind the loop, by what runs later, or where it has no text of its own, is not there.
        """
        found: dict[str, frozenset[ast.AST]] = {}
        for name in bound_by(statement.target):
            at = next((n for n, part in enumerate(statement.body) if name in bound_by(part)), None)
            binding = statement.body[at] if at is not None else None
            plain = isinstance(binding, ast.Assign) and [ast.unparse(t) for t in binding.targets] == [name]
            if self._is_read_late(name) or not (plain or (at is None and self._is_own(statement, name))):
                continue
            parts: list[ast.AST] = [*statement.body[:at]]
            parts += [binding.value] if isinstance(binding, ast.Assign) else []
            found[name] = frozenset(n for part in parts for n in walk(part) if is_name(n, name))
        return found

    @property
    def _late(self) -> list[ast.AST]:
        return [n for n in walk(self.node) if isinstance(n, _LATE) and n is not self.node]

    def _is_read_late(self, name: str) -> bool:
        """Is a name one of what runs later, or read where it has no text of its own?"""
        parts = [*self._late, *(c.target for c in of_kinds(self.node, ast.comprehension))]
        return any(is_name(n, name) for part in parts for n in walk(part))

    def _is_own(self, statement: ast.For, name: str) -> bool:
        """Is a variable read in its loop alone, and in other loops that bind it, too?"""
        inside = set(walk(statement))
        others = [f for f in of_kinds(self.node, ast.For) if name in bound_by(f.target) and f not in inside]
        known = {n for f in others if statement not in set(walk(f)) for part in f.body for n in walk(part)} | inside
        uses = (n for n in of_kinds(self.node, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load))
        return all(n in known for n in uses)


def _displayed(value: ast.expr | None) -> list[ast.expr]:
    """The elements of a list or tuple that is written out; nothing for anything else."""
    plain = isinstance(value, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in value.elts)
    return list(value.elts) if plain and isinstance(value, ast.Tuple | ast.List) else []


def _numbers(elements: Sequence[ast.expr]) -> list[ast.expr]:
    return [ast.Constant(number) for number in range(len(elements))]


def _keeps(use: ast.Name, parent: ast.AST) -> bool:
    """Is a list what it was behind a use of its name?"""
    if isinstance(parent, ast.Subscript):
        return parent.value is use and isinstance(parent.ctx, ast.Load) and not isinstance(parent.slice, ast.Slice)
    if isinstance(parent, ast.For):
        return parent.iter is use
    read = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in _READERS
    return read and isinstance(parent, ast.Call) and use in parent.args


def _matched(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]] | None:
    """The variables of a target, each with its part of a value; ``None`` where they do not match."""
    if isinstance(target, ast.Name):
        return [(target, value)]
    parts = _displayed(target), _displayed(value)
    if not parts[0] or len(parts[0]) != len(parts[1]):
        return None
    pairs = [_matched(*pair) for pair in zip(*parts, strict=True)]
    return [pair for part in pairs if part is not None for pair in part] if None not in pairs else None


def _is_fixed(module: Module, value: ast.expr, bound: set[str]) -> bool:
    """Does an expression mean the same in each pass of a loop that binds some names?"""
    match value:
        case ast.Constant():
            return not hasattr(value, "lineno") or value.lineno == value.end_lineno
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
            for child in children(node)
            if isinstance(child, ast.stmt | ast.ExceptHandler) and not isinstance(child, ast.For | ast.While)
        ]
    return False


def _takes_tensors(module: Module, loop: _Loop) -> bool:
    """Does the body use a variable, or an element, that is no constant as a tensor or a function, not as a number?"""
    plain = ast.Constant | ast.UnaryOp
    named = {t.id for row in loop.passes for t, v in row if isinstance(t, ast.Name) and not isinstance(v, plain)}
    parents = parents_of(loop.statement)
    nodes = [n for part in loop.statement.body for n in walk(part)]
    uses = [n for n in nodes if isinstance(n, ast.Name) and n.id in named]
    taken = [n for n in nodes if isinstance(n, ast.Subscript) and loop.element(n, loop.passes[0]) is not None]
    return any(_is_tensor_use(module, node, parents[node]) for node in (*uses, *taken))


def _is_tensor_use(module: Module, node: ast.expr, parent: ast.AST) -> bool:
    """Is an expression that stands in another one a tensor or a function there, for all that can be seen?"""
    if isinstance(parent, ast.Subscript | ast.Attribute):
        return parent.value is node
    if isinstance(parent, ast.keyword):
        return parent.arg not in ("name", "mask")
    if not isinstance(parent, ast.Call):
        return False
    own = isinstance(parent.func, ast.Name) and parent.func.id in _NUMBERS
    return parent.func is node or not (own or module.symbols.host_name(parent.func) in _OF_NUMBERS)


def _block(source: Source, loop: _Loop) -> list[Line]:
    """The lines of all passes, with the comments of the loop's header in front."""
    statement, margin = loop.statement, margin_of(source, loop.statement)
    own, begin = margin_of(source, statement.body[0]), end_of_header(source, statement)
    said = comments_in(source, range(statement.lineno, begin + 1))
    block = [Line(margin + text, number) for number, text in said]
    for row in loop.passes:
        texts = {t.id: _atom(source, value) for t, value in row if isinstance(t, ast.Name)}
        bound = {name: text for name, text in texts.items() if name not in loop.given}
        block += [Line(f"{margin}{name} = {text}", statement.lineno) for name, text in bound.items()]
        lines = between(edited(source, _edits(source, loop, row, texts)), begin + 1, last_line(source, statement))
        block += [dedented(line, own).indented(margin) for line in lines]
        while not block[-1].text.strip():
            block.pop()
    return block


def _edits(source: Source, loop: _Loop, row: _Row, texts: Mapping[str, str]) -> list[Edit]:
    """What the body reads of the loop's variables, and takes of lists, in one pass."""
    subscripts = [n for part in loop.statement.body for n in of_kinds(part, ast.Subscript)]
    known = [(n, value) for n in subscripts if (value := loop.element(n, row)) is not None]
    taken = [Edit(*source.span(n), _atom(source, value)) for n, value in known]
    read = [Edit(*source.span(n), texts[name]) for name, places in loop.given.items() for n in places]
    return [*taken, *(e for e in read if not any(other.start <= e.start < other.end for other in taken))]


def _atom(source: Source, value: ast.expr) -> str:
    """The text of an expression as a part of others."""
    text = source.segment(value) if hasattr(value, "lineno") else ast.unparse(value)
    return f"({text})" if isinstance(value, ast.UnaryOp) else ast.unparse(value) if "\n" in text else text
