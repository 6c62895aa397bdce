"""Sizes at which the source of a kernel may change its mind: where its comparisons turn, and what they turn together.

Only reads. A comparison of one unknown (``x.shape[0] % 4 == 3``, ``half < 5`` with ``half = rows // 2``) is evaluated
for every size up to :data:`_LARGEST`; the sizes beside each turn are its thresholds. ``min``, ``max``, ``%`` and ``//``
have the numbers in them. Conditions inside of one another are solved together.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations

from nki_migrate.runtime.cases import Case

from .suggest_expressions import Unknown, evaluated
from .variants import axes, resized, sizes, with_axis, with_number

_LARGEST = 1024
_TURNS = 6
"""Turns of one comparison that are tried: the first ones."""
_SIZE = "size"
_DEPTH = 5


@dataclass(frozen=True)
class Threshold:
    """What a condition asks: for each unknown that it has (by its text) the sizes to try, the telling one first."""

    text: str
    tried: tuple[tuple[str, tuple[int, ...]], ...]


def thresholds(before: Sequence[str], after: Sequence[str]) -> list[Threshold]:
    """The thresholds of two versions' sources, first those that only one version has."""
    found = [{t.text: t for text in texts for t in _of_source(text)} for texts in (before, after)]
    both = {**found[0], **found[1]}
    return sorted(both.values(), key=lambda t: (t.text in found[0] and t.text in found[1]))


def proposed(case: Case, known: Iterable[Threshold]) -> Iterator[Case]:
    """``case`` with sizes and numbers at, below and above the thresholds, each case once."""
    seen = {repr(case.args)}
    for threshold in known:
        for variant in _at(case, threshold):
            if repr(variant.args) not in seen:
                seen.add(repr(variant.args))
                yield variant


def _at(case: Case, threshold: Threshold) -> Iterator[Case]:
    places = [*((None, size) for size in sizes(case)), *axes(case)]
    numbers = [name for name, value in case.args.items() if type(value) is int]
    if len(threshold.tried) == 1:
        for size in threshold.tried[0][1]:
            yield from (_moved(case, place, size) for place in places)
            yield from (with_number(case, name, size) for name in numbers)
        return
    telling = [tried[0] for _, tried in threshold.tried]
    for chosen in permutations(places, len(telling)):
        variant = case
        for place, size in zip(chosen, telling, strict=True):
            variant = _moved(variant, place, size)
        yield variant


def _moved(case: Case, place: tuple[str | None, int], size: int) -> Case:
    name, axis = place
    return resized(case, axis, size) if name is None else with_axis(case, name, axis, size)


# --- from source to conditions ---------------------------------------------------------------------------------------


def _of_source(text: str) -> Iterator[Threshold]:
    tree = ast.parse(text)
    module = _bound(tree.body)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            names = {**module, **_bound(function.body)}
            yield from _of_statements(function.body, names, ())


def _bound(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """The names that are assigned once, with what they are assigned."""
    found: dict[str, list[ast.expr]] = {}
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).extend([node.value] * 2)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _of_statements(
    body: Sequence[ast.stmt], names: Mapping[str, ast.expr], above: tuple[ast.expr, ...]
) -> Iterator[Threshold]:
    """The thresholds of statements that run under the conditions ``above``."""
    for statement in body:
        test = statement.test if isinstance(statement, (ast.If, ast.While)) else None
        if test is not None:
            yield from _together((*above, test), names)
        for field, value in ast.iter_fields(statement):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                inside = above if test is None else (*above, _negated(test) if field == "orelse" else test)
                yield from _of_statements(value, names, inside)
            elif not isinstance(statement, ast.Assert):
                parts = value if isinstance(value, list) else [value]
                yield from (
                    t for part in parts if isinstance(part, ast.AST) for t in _of_expression(part, names, above)
                )


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _of_expression(
    expression: ast.AST, names: Mapping[str, ast.expr], above: tuple[ast.expr, ...]
) -> Iterator[Threshold]:
    for node in ast.walk(expression):
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            yield from _together((*above, node), names)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            yield from _beside(node, (node.right,), names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("min", "max"):
            yield from _beside(node, node.args, names)


def _beside(node: ast.expr, parts: Iterable[ast.expr], names: Mapping[str, ast.expr]) -> Iterator[Threshold]:
    """One less than each number among ``parts``, the number, and one more."""
    for part in parts:
        value = _value(_inlined(part, names, {}), {})
        if type(value) is int and 0 < value <= _LARGEST:
            yield Threshold(ast.unparse(node), ((_SIZE, tuple(n for n in (value, value + 1, value - 1) if n > 0)),))


def _together(conditions: tuple[ast.expr, ...], names: Mapping[str, ast.expr]) -> Iterator[Threshold]:
    """What makes the last condition turn, with those around it holding, each part of an ``and`` by itself."""
    parts = [part for condition in conditions for part in _conjuncts(condition)]
    asked: dict[str, list[ast.expr]] = {}
    for part in parts:
        unknowns: dict[str, str] = {}
        inlined = _inlined(part, names, unknowns)
        if len(set(unknowns)) == 1:
            asked.setdefault(next(iter(unknowns)), []).append(inlined)
    tried = tuple((text, sizes) for text, tests in asked.items() if (sizes := _turns(tests)))
    text = " and ".join(map(ast.unparse, parts))
    if len(tried) > 1:
        yield Threshold(text, tried[:3])
    for unknown, sizes in tried[-1:]:
        yield Threshold(f"{unknown}: {text}", ((unknown, sizes),))


def _conjuncts(condition: ast.expr) -> list[ast.expr]:
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        return [part for value in condition.values for part in _conjuncts(value)]
    return [condition]


def _turns(tests: Sequence[ast.expr]) -> tuple[int, ...]:
    """Sizes at, below and above which all ``tests`` hold or not; those where they hold more rarely come first."""
    truth = {n: all(_value(test, {_SIZE: n}) is True for test in tests) for n in range(1, _LARGEST + 1)}
    turns = [n for n in range(2, _LARGEST + 1) if truth[n] != truth[n - 1]]
    near = [n for turn in turns[:_TURNS] for n in (turn, turn - 1, turn + 1) if 0 < n <= _LARGEST]
    rare = sum(truth.values()) <= _LARGEST // 2
    return tuple(sorted(dict.fromkeys(near), key=lambda n: truth[n] != rare))


def _value(test: ast.expr, values: Mapping[str, object]) -> object:
    try:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = _value(test.operand, values)
            return None if inner is None else not inner
        return evaluated(test, values)
    except Unknown:
        return None


def _inlined(node: ast.expr, names: Mapping[str, ast.expr], unknowns: dict[str, str], depth: int = _DEPTH) -> ast.expr:
    """``node`` with the names that are assigned once replaced; ``unknowns`` collects what else it asks."""
    inlined: ast.expr = _Inliner(names, unknowns, depth).visit(copy.deepcopy(node))
    return inlined


class _Inliner(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, ast.expr], unknowns: dict[str, str], depth: int) -> None:
        self.names, self.unknowns, self.depth = names, unknowns, depth

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in ("min", "max", "len", "int"):
            return node
        if self.depth and node.id in self.names:
            return _inlined(self.names[node.id], self.names, self.unknowns, self.depth - 1)
        return self._unknown(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        value = _value(node, {})
        return ast.Constant(value) if type(value) is int else self._unknown(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._unknown(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if ast.unparse(node.func) in ("min", "max", "int"):
            node.args = [self.visit(argument) for argument in node.args]
            return node
        return self._unknown(node)

    def _unknown(self, node: ast.expr) -> ast.expr:
        self.unknowns[ast.unparse(node)] = _SIZE
        return ast.Name(_SIZE, ast.Load())


def first(case: Case, known: Sequence[Threshold], count: int) -> list[Case]:
    """The first ``count`` proposals."""
    return list(islice(proposed(case, known), count))
