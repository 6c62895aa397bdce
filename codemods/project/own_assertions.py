"""What the source itself asserts of the ranks and sizes of tensors: facts, whatever a rewrite would take them to be."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..expr.emission import Refuse
from ..syntax import codes
from ..syntax.node_index import indexed, of_kinds
from ..syntax.nodes import assignment_counts, is_shape, with_names


@dataclass(frozen=True)
class _Fact:
    """Which numbers ``subject`` may be (a text, with ranks as ``len(x.shape)``); ``named`` stand in the condition."""

    subject: str
    allows: Callable[[int], bool]
    named: frozenset[int]

    def implies(self, other: _Fact) -> bool:
        """Does the other one allow each number that this one does? Both change at the numbers that they name only."""
        near = {n + step for n in self.named | other.named for step in (-1, 0, 1)}
        return self.subject == other.subject and all(other.allows(n) for n in near if self.allows(n))

    def excludes(self, other: _Fact) -> bool:
        """Is there no number that both allow?"""
        near = {n + step for n in self.named | other.named for step in (-1, 0, 1)}
        return self.subject == other.subject and not any(self.allows(n) and other.allows(n) for n in near)


_MOST = 16
_ORDER: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: int.__eq__,
    ast.NotEq: int.__ne__,
    ast.Lt: int.__lt__,
    ast.LtE: int.__le__,
    ast.Gt: int.__gt__,
    ast.GtE: int.__ge__,
}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def check_own(function: ast.FunctionDef, statement: ast.stmt | None, condition: str, what: str) -> None:
    """Raise :class:`Refuse` about ``statement`` if it is to be rewritten for what the source says is otherwise."""
    against = contradicted(function, condition)
    if against is not None:
        message = f"this would be rewritten for {what} ({condition}), and line {against.lineno} asserts otherwise"
        raise Refuse(statement or function, codes.INDEX_VECTORS, message, "name every dimension of the tensor here")


def contradicted(function: ast.FunctionDef, condition: str) -> ast.Assert | None:
    """The assertion of a function, made whenever it runs, that never holds together with ``condition``; or ``None``."""
    ours = list(_facts(ast.parse(condition, mode="eval").body))
    names = {n.id for n in ast.walk(ast.parse(condition)) if isinstance(n, ast.Name)}
    counts = assignment_counts(function)
    if not ours or any(counts[name] > 1 for name in names):
        return None
    for statement in _always_run(function.body):
        if isinstance(statement, ast.Assert):
            theirs = list(_facts(_with_shapes(function, statement.test)))
            if any(one.excludes(other) for one in ours for other in theirs):
                return statement
    return None


def tells(known: ast.expr, test: ast.expr) -> bool:
    """Does ``test``, which says of one number, or of a data type, what it may be, hold wherever ``known`` does?"""
    ours, theirs = _choices(known), _choices(test)
    if ours is not None and theirs is not None:
        return ours[0] == theirs[0] and ours[1] <= theirs[1]
    wanted = list(_facts(test)) if isinstance(test, ast.Compare) else []
    return any(fact.implies(ours) for ours in wanted for fact in _facts(known))


def _choices(test: ast.expr) -> tuple[str, frozenset[str]] | None:
    """The subject of ``x in (a, b)``, and the texts that it may be; ``None`` for another test."""
    match test:
        case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple(elts=elements)]):
            return ast.unparse(left), frozenset(map(ast.unparse, elements))
    return None


def least_rank(function: ast.FunctionDef, test: ast.expr, name: str) -> int:
    """The least rank of the tensor ``name`` where ``test`` holds; 0 where it does not tell."""
    ranks = [fact for fact in _facts(_with_shapes(function, test)) if fact.subject == f"len({name}.shape)"]
    allowed = [n for n in range(_MOST) if all(fact.allows(n) for fact in ranks)]
    return allowed[0] if ranks and allowed else 0


@indexed
def same_shape(function: ast.FunctionDef, name: str) -> frozenset[str]:
    """The other tensors that a function asserts to have the shape of ``name``, whenever it comes to its end, or makes
    with it.

    All of them are bound once. An assertion behind a statement that may return is not made always.
    """
    counts = assignment_counts(function)
    if counts[name] > 1:
        return frozenset()
    found = {name}
    groups = [group for test in _asserted_at_the_top(function) for group in _shape_groups(_with_shapes(function, test))]
    groups += _declared_alike(function)
    for _ in groups:  # one may join two others
        found.update(*(group for group in groups if not found.isdisjoint(group)))
    return frozenset(other for other in found - {name} if counts[other] <= 1)


def _declared_alike(function: ast.FunctionDef) -> Iterator[frozenset[str]]:
    """``out = nl.ndarray(x.shape, dtype=...)``: ``out`` and ``x``."""
    for statement in of_kinds(function, ast.Assign):
        target, made = statement.targets[0], statement.value
        if isinstance(target, ast.Name) and isinstance(made, ast.Call) and getattr(made.func, "attr", "") == "ndarray":
            given = [*made.args[:1], *(keyword.value for keyword in made.keywords if keyword.arg == "shape")]
            owners = (shape.value.id for shape in given if is_shape(shape) and isinstance(shape.value, ast.Name))
            yield from (frozenset((target.id, owner)) for owner in owners)


def _asserted_at_the_top(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """The conditions of the assertions that each run of a function makes."""
    for statement in function.body:
        if isinstance(statement, ast.Assert):
            yield statement.test
        elif of_kinds(statement, ast.Return):
            return


def _shape_groups(test: ast.expr) -> Iterator[frozenset[str]]:
    """Names of tensors whose whole shapes are equal where ``test`` holds."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _shape_groups(part)
    elif isinstance(test, ast.Compare) and all(isinstance(operator, ast.Eq) for operator in test.ops):
        sides = [side for side in (test.left, *test.comparators) if is_shape(side)]
        yield frozenset(side.value.id for side in sides if isinstance(side.value, ast.Name))


def _always_run(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.For):
            yield from _always_run(statement.body)


def _facts(test: ast.expr) -> Iterator[_Fact]:
    """What a condition says of single numbers."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _facts(part)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, operator, right = test.left, type(test.ops[0]), test.comparators[0]
        if _number(left) is not None:
            left, operator, right = right, _MIRRORED.get(operator, operator), left
        number, elements = _number(right), right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else None
        if number is not None and operator in _ORDER:
            order = _ORDER[operator]
            yield _Fact(_subject(left), lambda n: order(n, number), frozenset({number}))
        elif elements is not None and operator is ast.In and all(_number(e) is not None for e in elements):
            numbers = frozenset(n for n in map(_number, elements) if n is not None)
            yield _Fact(_subject(left), numbers.__contains__, numbers)
        elif elements is not None and operator is ast.Eq and ast.unparse(left).endswith(".shape"):
            count = len(elements)
            yield _Fact(f"len({ast.unparse(left)})", lambda n: n == count, frozenset({count}))


def _subject(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and node.attr == "ndim":
        return f"len({ast.unparse(node.value)}.shape)"
    return ast.unparse(node)


def _with_shapes(function: ast.FunctionDef, test: ast.expr) -> ast.expr:
    """A condition with ``x.shape`` for names that stand for it."""
    counts = assignment_counts(function)
    assigned = [s for s in function.body if isinstance(s, ast.Assign) and len(s.targets) == 1]
    shapes = {
        s.targets[0].id: s.value
        for s in assigned
        if isinstance(s.targets[0], ast.Name) and counts[s.targets[0].id] == 1
        if is_shape(s.value)
    }

    if not shapes:
        return test
    return with_names(test, shapes.get)


def _number(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
