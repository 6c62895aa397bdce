"""Targets in targets, one level at a time: ``s, (p, q) = two(x)`` is ``s, parts = two(x)``, then ``p, q = parts``.

Beta 2 unpacks into names alone, in assignments, and its loops bind one name. So an element or an attribute that stands
among the targets gets a name first, too, and a list of targets is a tuple. Where the value shows its parts,
``s, (p, q) = a, (b, c)``, these are what the names are bound to, and no tuple is made. Python evaluates the whole value
before it binds anything, and binds from left to right; so does what is written.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..model import Options
from ..project.program import Module, numbered
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.node_index import of_kinds
from ..syntax.nodes import is_shape
from ..syntax.source import Source
from ..syntax.targets import Display, Given, is_of_names, is_starred, one_level, paired, stem_of, tuple_of
from .edited_text import EditedText, edited_where
from .line_origins import Edit, definitions_around, edited, margin_of, top_of

_MUTATING = (ast.Subscript, ast.Attribute, ast.List)
"""Targets of which Beta 2 takes one in a statement."""


def unpacked(sources: Mapping[str, Source], options: Options) -> dict[str, EditedText]:
    """Modules by path, whose kernel code binds names alone where it takes tuples apart."""
    return edited_where(sources, options, lambda source: options.enabled(CODE) and any(_nested(source.tree)), _result)


def _nested(node: ast.AST) -> Iterator[ast.Assign | ast.For]:
    """The statements whose targets hold more than names."""
    for statement in of_kinds(node, ast.Assign, ast.For):
        if isinstance(statement, ast.For):
            if not is_of_names(statement.target) or is_starred(statement.target):
                yield statement
        elif isinstance(statement, ast.Assign) and _is_nested(statement):
            yield statement


def _is_nested(statement: ast.Assign) -> bool:
    """Does an assignment bind more than names, or a starred one to a part of what has no name?"""
    targets = statement.targets
    starred = any(map(is_starred, targets)) and not (len(targets) == 1 and _has_name(statement.value))
    chained = sum(isinstance(target, _MUTATING) for target in targets) > 1
    return starred or chained or not all(map(is_of_names, targets))


def _has_name(value: ast.expr) -> bool:
    """Is a value under a name, or the shape of what is?"""
    return isinstance(value, ast.Name) or is_shape(value)


def _result(module: Module) -> EditedText:
    source = module.source
    functions = [f for f in of_kinds(source.tree, ast.FunctionDef) if f in module.program.kernel_code]
    statements = dict.fromkeys(s for function in functions for s in _nested(function))
    taken = set(module.symbols.written)
    touched: set[str] = set()
    edits: list[Edit] = []
    count = 0
    for statement in sorted(statements, key=lambda s: (s.lineno, s.col_offset)):
        found = _Unpacking(source, taken).edits(statement)
        if found is not None:
            edits += found
            count += 1
            touched |= definitions_around(source, statement)
    return EditedText(edited(source, edits), [], Counter({CODE: count}) if count else Counter(), touched)


class _Unpacking:
    """How one statement is written; the names that it gets are ``taken`` from then on."""

    def __init__(self, source: Source, taken: set[str]) -> None:
        self.source, self.taken = source, taken

    def edits(self, statement: ast.Assign | ast.For) -> list[Edit] | None:
        """The edits of a statement; ``None`` where it stays what it is."""
        if isinstance(statement, ast.For):
            return self._of_loop(statement)
        if len(statement.targets) > 1:
            return self._of_chain(statement)
        pairs = paired(statement.targets[0], statement.value)
        return self._of_target(statement) if pairs is None else self._of_pairs(statement, pairs)

    def _of_pairs(self, statement: ast.Assign, pairs: list[tuple[ast.expr, Given]]) -> list[Edit] | None:
        """The value shows what each element gets; what has a name, and is taken apart, needs no other one."""
        bound = {name.id for name in of_kinds(statement.targets[0], ast.Name)}
        own: dict[ast.expr, str] = {
            element: part.id
            for element, part in pairs
            if isinstance(element, Display) and isinstance(part, ast.Name) and part.id not in bound
        }
        split = self._split([element for element, _ in pairs], own)
        if split is None:
            return None
        named = zip(split[0], pairs, strict=True)
        given = [(name, self._value(part)) for name, (element, part) in named if element not in own]
        names, values = [name for name, _ in given], [value for _, value in given]
        single = len(given) == 1
        texts = [f"{names[0]} = {values[0]}" if single else f"{tuple_of(names)} = {tuple_of(values)}"] if given else []
        first, *behind = [*texts, *split[1]]
        return [Edit(*self.source.span(statement), first), *self._behind(statement, behind)]

    def _split(
        self, elements: Sequence[ast.expr], own: Mapping[ast.expr, str] | None = None
    ) -> tuple[list[str], list[str]] | None:
        """Names for elements, some of which have their ``own``, and the statements that take these apart."""
        known = own or {}

        def new(element: ast.expr) -> str:
            return known.get(element) or self._new(stem_of(element))

        return one_level(elements, self.source.segment, new) if elements else None

    def _new(self, name: str) -> str:
        chosen = numbered(name, self.taken)
        self.taken.add(chosen)
        return chosen

    def _value(self, part: Given) -> str:
        if isinstance(part, list):
            return f"[{', '.join(map(self._value, part))}]"
        text = self.source.segment(part)
        return f"({text})" if "\n" in text else text

    def _of_target(self, statement: ast.Assign) -> list[Edit] | None:
        target = statement.targets[0]
        assert isinstance(target, Display)
        split = self._split(target.elts)
        if split is None:
            return None
        names, behind = tuple_of(split[0]), split[1]
        if is_starred(target) and not _has_name(statement.value):
            parts = self._new("parts")
            names, behind = parts, [f"{names} = {parts}", *behind]
        return [Edit(*self.source.span(target), names), *self._behind(statement, behind)]

    def _of_chain(self, statement: ast.Assign) -> list[Edit] | None:
        """``a = b, (c, d) = value``: one target after the other."""
        first, later = statement.targets[0], statement.targets[1:]
        bound = {name.id for target in later for name in of_kinds(target, ast.Name)}
        keeps = isinstance(first, ast.Name) and first.id not in bound
        name = first.id if isinstance(first, ast.Name) and keeps else self._new("value")
        behind: list[str] = []
        for target in later if keeps else statement.targets:
            if not isinstance(target, Display):
                behind.append(f"{self.source.segment(target)} = {name}")
                continue
            split = self._split(target.elts)
            if split is None:
                return None
            behind += [f"{tuple_of(split[0])} = {name}", *split[1]]
        start, stop = self.source.span(first)[0], self.source.span(later[-1])[1]
        return [Edit(start, stop, name), *self._behind(statement, behind)]

    def _of_loop(self, loop: ast.For) -> list[Edit] | None:
        target = loop.target
        assert isinstance(target, Display)
        split = self._split(target.elts)
        if split is None:
            return None
        names, behind = tuple_of(split[0]), split[1]
        if is_starred(target):
            item = self._new("item")
            names, behind = item, [f"{names} = {item}", *behind]
        return [Edit(*self.source.span(target), names), *self._above(loop.body[0], behind)]

    def _behind(self, statement: ast.stmt, texts: list[str]) -> Iterator[Edit]:
        """Statements behind another one."""
        end = self.source.span(statement)[1]
        rest = self.source.text[end:].partition("\n")[0]
        margin = margin_of(self.source, statement)
        if margin.strip() or (rest.strip() and not rest.strip().startswith("#")):
            yield Edit(end, end, "".join(f"; {text}" for text in texts))
        else:
            end += len(rest)
            yield Edit(end, end, "".join(f"\n{margin}{text}" for text in texts))

    def _above(self, first: ast.stmt, texts: list[str]) -> Iterator[Edit]:
        """Statements at the top of the body of a loop, whose ``first`` statement they come before."""
        margin = margin_of(self.source, first)
        if margin.strip():
            start = self.source.span(first)[0]
            yield Edit(start, start, "".join(f"{text}; " for text in texts))
        elif texts:
            start = self.source.offset(top_of(self.source, first), 0)
            yield Edit(start, start, "".join(f"{margin}{text}\n" for text in texts))
