"""Where each declaration of the input went: the rewrite's own map from old tiles to new ones.

A rule notes the calls that it plans, with the expression that each replaces. Their lines are known only
once the whole module is written, so they are looked up in the output, by the name that is bound and the call. Where
the two do not correspond one to one (a rule has dropped what another one planned), the map has no entry.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..model import Moved
from ..syntax.node_index import of_kinds, tree_of, walk
from ..syntax.same_form import form


@dataclass(frozen=True)
class Planned:
    """A declaration that a rule plans: ``call`` is its ``nl.ndarray(...)`` (or a manager's), bound to ``name``.

    ``node`` is the expression of the input that made the tile, ``old`` the name that it had there, if any.
    """

    node: ast.expr
    old: str
    name: str
    call: str


_Key = tuple[str, object]


def moved(
    planned: list[Planned], output: str, copies: Mapping[ast.FunctionDef, list[ast.FunctionDef]] | None = None
) -> tuple[Moved, ...]:
    """The map of one module, in the order of the input. ``copies`` of functions stand behind them in the output."""
    if not planned:
        return ()
    wanted: dict[_Key, list[Planned]] = {}
    behind = {
        id(n): (function.end_lineno or 0, number)
        for function, several in (copies or {}).items()
        for number, copied in enumerate(several, start=1)
        for n in walk(copied)
    }

    def place(each: Planned) -> tuple[int, int, int, int]:
        line = each.node.lineno
        return (*behind.get(id(each.node), (line, 0)), line, each.node.col_offset)

    for each in sorted(dict.fromkeys(planned), key=place):
        wanted.setdefault((each.name, form(ast.parse(each.call, mode="eval").body)), []).append(each)
    found: dict[_Key, list[ast.Call]] = {}
    for name, call in _declarations(tree_of(output)):
        found.setdefault((name, form(call)), []).append(call)
    entries = [
        Moved(old.old, _lines(old.node), old.name, _lines(new))
        for key, olds in wanted.items()
        for old, new in _pairs(olds, found.get(key, []))
    ]
    return tuple(sorted(entries, key=lambda entry: (entry.lines, entry.new_lines)))


def declarations(planned: list[Planned], tree: ast.Module) -> dict[str, set[ast.AST]]:
    """The statements of the input that declared what has a name in the output, by that name."""
    wanted: dict[tuple[int, int], set[str]] = {}
    for each in planned:
        wanted.setdefault((each.node.lineno, each.node.col_offset), set()).add(each.name)
    found: dict[str, set[ast.AST]] = {}
    for statement in walk(tree) if wanted else ():
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) and statement.value is not None:
            places = {(n.lineno, n.col_offset) for n in of_kinds(statement.value, ast.expr)}
            for name in {name for place in places & wanted.keys() for name in wanted[place]}:
                found.setdefault(name, set()).add(statement)
    return found


def _pairs(olds: list[Planned], news: list[ast.Call]) -> Iterator[tuple[Planned, ast.Call]]:
    """One old declaration may have become several; of several, each one must have become one."""
    if len(olds) == 1:
        yield from ((olds[0], new) for new in news)
    elif len(olds) == len(news):
        yield from zip(olds, news, strict=True)


def _declarations(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """``name = call(...)``, ``name = [call(...), ...]`` and ``name[...].append(call(...))``, in the order of lines."""
    found: list[tuple[str, ast.Call]] = []
    for node in walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, values = node.targets[0], _elements(node.value)
        elif isinstance(node, ast.Call) and _is_append(node):
            assert isinstance(node.func, ast.Attribute)
            target, values = node.func.value, [node.args[0]]
        else:
            continue
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name):
            found += [(target.id, value) for value in values if isinstance(value, ast.Call)]
    return iter(sorted(found, key=lambda item: (item[1].lineno, item[1].col_offset)))


def _elements(value: ast.expr) -> list[ast.expr]:
    """The elements of a (nested) list; anything else is one."""
    return [e for each in value.elts for e in _elements(each)] if isinstance(value, ast.List) else [value]


def _is_append(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "append" and len(node.args) == 1


def _lines(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno
