"""Index vectors: ``nl.arange`` and ``nl.mgrid`` and the affine expressions built from them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Axis, Grid, Index, Term, Value
from ..syntax import codes
from .vector_ranks import check_sum

if TYPE_CHECKING:
    from ..analysis.scope import Scope

CODE = codes.INDEX_VECTORS
COMPONENTS = {"p": 0, "x": 1, "y": 2, "z": 3, "w": 4}
_uids = itertools.count()


def index_value(scope: Scope, node: ast.expr, label: str = "") -> Value | None:
    """The :class:`Index` or :class:`Grid` that an expression is, ``None`` when it holds no index vector."""
    if isinstance(node, ast.Name):
        value = scope.names.env.get(node.id)
        return value if isinstance(value, Index | Grid) else None
    if isinstance(node, ast.Call) and scope.qualified(node.func) == "nl.arange":
        return _arange(scope, node, label)
    if isinstance(node, ast.Attribute) and node.attr in COMPONENTS:
        return _component(scope, node)
    if isinstance(node, ast.Subscript):
        if scope.qualified(node.value) == "nl.mgrid":
            return _mgrid(scope, node, label)
        base = index_value(scope, node.value, label)
        if isinstance(base, Grid) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            return base.components[node.slice.value]
        return reshaped(base, node) if isinstance(base, Index) else None
    if isinstance(node, ast.BinOp):
        return _combined(scope, node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = index_value(scope, node.operand)
        return negated(inner) if isinstance(inner, Index) else None
    if isinstance(node, ast.IfExp):
        return _chosen(scope, node)
    if isinstance(node, ast.Call):
        found = scope.evaluator.called(scope, node)
        return found if isinstance(found, Index | Grid) else None
    return None


def simplified(scope: Scope, vector: Index) -> Index:
    """A vector without the vectors of one element in its sum, which are numbers: what is left may be one vector.

    Nor with those that it takes no times, ``0 * i``. A factor that is 1 under a name is 1. One vector stays.
    """
    single = [term for term in vector.terms if is_single(scope, term)][: len(vector.terms) - 1]
    starts = (algebra.multiply(term.coefficient, term.axis.start) for term in single)
    left = (term for term in vector.terms if term not in single)
    terms = tuple(replace(term, coefficient="1") if scope.constant(term.coefficient) == 1 else term for term in left)
    return replace(vector, terms=terms, offset=algebra.add(vector.offset, *starts))


def first_value(vector: Index) -> str:
    """The number that the first element of a vector is."""
    return algebra.add(vector.offset, *(algebra.multiply(t.coefficient, t.axis.start) for t in vector.terms))


def is_single(scope: Scope, term: Term) -> bool:
    """Does a term have one value, whatever element of its vector it is asked for?"""
    return scope.constant(term.axis.size) == 1 or scope.constant(term.coefficient) == 0


def _chosen(scope: Scope, node: ast.IfExp) -> Index | None:
    """``i if flag else 2 * i``: one vector, whose coefficients the flag chooses."""
    a, b = index_value(scope, node.body), index_value(scope, node.orelse)
    return (
        None if a is None and b is None else chosen(node, a, b, lambda: scope.evaluator.render_stable(scope, node.test))
    )


def chosen(node: ast.expr, a: Value | None, b: Value | None, tested: Callable[[], str]) -> Index:
    """One of two vectors on the same axes; ``tested`` gives the text of the condition that chooses the first."""
    if not (isinstance(a, Index) and isinstance(b, Index)) or _places(a) != _places(b):
        raise Refuse(node, CODE, "a choice between different index vectors", "write one access in each branch")
    test = tested()

    def either(one: str, other: str) -> str:
        return one if one == other else algebra.choice(test, one, other)

    terms = tuple(
        replace(t, coefficient=either(t.coefficient, u.coefficient)) for t, u in zip(a.terms, b.terms, strict=True)
    )
    return replace(a, terms=terms, offset=either(a.offset, b.offset))


def _places(index: Index) -> object:
    return index.ndim, index.mates, [(t.axis, t.position) for t in index.terms]


def new_axis(start: str, size: str, label: str = "") -> Axis:
    """An iteration axis that no other vector has."""
    return Axis(next(_uids), start, size, label)


def _arange(scope: Scope, node: ast.Call, label: str) -> Index:
    return arange(node, [scope.evaluator.render_stable(scope, argument) for argument in node.args], label)


def arange(node: ast.Call, bounds: list[str], label: str) -> Index:
    """The index vector of a call of ``nl.arange``, given the texts of its arguments."""
    if node.keywords or not 1 <= len(bounds) <= 2:
        raise Refuse(node, CODE, "arange with keywords or a step", "write the subscript as a slice or as .ap(...)")
    start, stop = ("0", bounds[0]) if len(bounds) == 1 else bounds
    return Index(1, (Term(new_axis(start, algebra.subtract(stop, start), label), "1", 0),))


def _mgrid(scope: Scope, node: ast.Subscript, label: str) -> Grid:
    return mgrid(node, lambda part: scope.evaluator.render_stable(scope, part), label)


def mgrid(node: ast.Subscript, text: Callable[[ast.expr], str], label: str) -> Grid:
    """The grid of ``nl.mgrid[...]``; ``text`` gives the text of a bound."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    components = []
    for position, part in enumerate(parts):
        if not isinstance(part, ast.Slice) or part.step is not None or part.upper is None:
            raise Refuse(node, CODE, "mgrid with a step or without a bound", "write the subscript as .ap(...)")
        start = text(part.lower) if part.lower is not None else "0"
        size = algebra.subtract(text(part.upper), start)
        letter = next((c for c, p in COMPONENTS.items() if p == position), str(position))
        components.append(Index(len(parts), (Term(new_axis(start, size, f"{label}_{letter}"), "1", position),)))
    terms = tuple(term for component in components for term in component.terms)
    return Grid(tuple(replace(c, mates=tuple(t for t in terms if t not in c.terms)) for c in components))


def components_of(scope: Scope, elements: list[ast.expr]) -> list[ast.expr]:
    """``x[grid]`` is ``x[grid.p, grid.x]``: a subscript of the components, in their order."""
    grid = index_value(scope, elements[0]) if len(elements) == 1 and not isinstance(elements[0], ast.Slice) else None
    if not isinstance(grid, Grid) or len(grid.components) > len(COMPONENTS):
        return elements
    names = list(COMPONENTS)[: len(grid.components)]
    return [ast.copy_location(ast.Attribute(elements[0], name, ast.Load()), elements[0]) for name in names]


def _component(scope: Scope, node: ast.Attribute) -> Index | None:
    base = index_value(scope, node.value)
    if not isinstance(base, Grid):
        return None
    return base.components[COMPONENTS[node.attr]]


def reshaped(base: Index, node: ast.Subscript) -> Index:
    """``i[:, None]``: new dimensions of extent 1 move the terms."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    moved: dict[int, int] = {}
    old = 0
    for new, part in enumerate(parts):
        if isinstance(part, ast.Constant) and part.value is None:
            continue
        if not isinstance(part, ast.Slice) or part.lower or part.upper or part.step:
            raise Refuse(node, CODE, "an index vector is itself indexed", "write the subscript as a slice")
        moved[old] = new
        old += 1
    if old != base.ndim:
        raise Refuse(node, CODE, "an index vector is itself indexed", "write the subscript as a slice")
    terms = tuple(replace(term, position=moved[term.position]) for term in base.terms)
    mates = tuple(replace(term, position=moved[term.position]) for term in base.mates)
    return replace(base, ndim=len(parts), terms=terms, mates=mates)


def _combined(scope: Scope, node: ast.BinOp) -> Index | None:
    left, right = index_value(scope, node.left), index_value(scope, node.right)
    if left is None and right is None:
        return None
    if isinstance(left, Grid) or isinstance(right, Grid):
        raise Refuse(node, CODE, "arithmetic on an mgrid object", "use its components")
    if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        raise _not_affine(node)
    a = left if isinstance(left, Index) else _scalar(scope, node.left)
    b = right if isinstance(right, Index) else _scalar(scope, node.right)
    return combined(node, a, b)


def combined(node: ast.BinOp, a: Index, b: Index) -> Index:
    """The vector that an operation on two gives (a number is a vector of no dimension)."""
    if isinstance(node.op, ast.Add | ast.Sub):
        check_sum(node, a, b)
        return _sum(a, _scaled(b, "-1") if isinstance(node.op, ast.Sub) else b)
    if isinstance(node.op, ast.Mult) and not (a.ndim and b.ndim):
        return _scaled(a, b.offset) if a.ndim else _scaled(b, a.offset)
    raise _not_affine(node)


def _not_affine(node: ast.BinOp) -> Refuse:
    message = "an index vector in an expression that is not affine"
    return Refuse(node, CODE, message, "write the access as .ap(...) or as a loop")


def negated(index: Index) -> Index:
    return _scaled(index, "-1")


def _scalar(scope: Scope, node: ast.expr) -> Index:
    return Index(0, (), scope.evaluator.render_stable(scope, node))


def _scaled(index: Index, factor: str) -> Index:
    if factor == "1":
        return index
    terms = tuple(replace(t, coefficient=_times(t.coefficient, factor)) for t in index.terms)
    return replace(index, terms=terms, offset=_times(index.offset, factor))


def _times(a: str, b: str) -> str:
    if "-1" in (a, b):
        other = b if a == "-1" else a
        if other in ("0", "1", "-1"):
            return {"0": "0", "1": "-1", "-1": "1"}[other]
        return f"-{algebra.paren(other)}"
    return algebra.multiply(a, b)


def _sum(a: Index, b: Index) -> Index:
    ndim = max(a.ndim, b.ndim)
    terms: dict[Axis, Term] = {}
    for index in (a, b):
        for term in index.terms:
            placed = replace(term, position=term.position + ndim - index.ndim)
            if term.axis in terms:
                total = algebra.add(terms[term.axis].coefficient, term.coefficient)
                placed = replace(placed, coefficient=total)
            terms[term.axis] = placed
    if algebra.is_negative(b.offset) and a.offset != "0":
        offset = algebra.subtract(a.offset, algebra.negative(b.offset))
    else:
        offset = algebra.add(a.offset, b.offset)
    mates = {replace(mate, position=mate.position + ndim - index.ndim) for index in (a, b) for mate in index.mates}
    mates = {mate for mate in mates if mate.axis not in terms}
    ordered = tuple(sorted(mates, key=lambda m: m.position))
    return Index(ndim, tuple(terms.values()), offset, ordered, a.loose or b.loose)
