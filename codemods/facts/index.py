"""Index vectors: ``nl.arange`` and ``nl.mgrid`` and the affine expressions built from them."""

from __future__ import annotations

import ast
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import algebra
from ..emission import Refuse
from .values import Axis, Grid, Index, Term, Value

if TYPE_CHECKING:
    from ..scope import Scope

CODE = "NKI024"
COMPONENTS = {"p": 0, "x": 1, "y": 2, "z": 3, "w": 4}
_uids = itertools.count()


def index_value(scope: Scope, node: ast.expr, label: str = "") -> Value | None:
    """The :class:`Index` or :class:`Grid` that an expression is, ``None`` when it holds no index vector."""
    if isinstance(node, ast.Name):
        value = scope.env.get(node.id)
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
        return _reshaped(base, node) if isinstance(base, Index) else None
    if isinstance(node, ast.BinOp):
        return _combined(scope, node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = index_value(scope, node.operand)
        return _scaled(inner, "-1") if isinstance(inner, Index) else None
    if isinstance(node, ast.IfExp):
        return _chosen(scope, node)
    return None


def _chosen(scope: Scope, node: ast.IfExp) -> Index | None:
    """``i if flag else 2 * i``: one vector, whose coefficients the flag chooses."""
    from ..render import render_stable

    a, b = index_value(scope, node.body), index_value(scope, node.orelse)
    if a is None and b is None:
        return None
    if not (isinstance(a, Index) and isinstance(b, Index)) or _places(a) != _places(b):
        raise Refuse(node, CODE, "a choice between different index vectors", "write one access in each branch")
    test = render_stable(scope, node.test)

    def either(one: str, other: str) -> str:
        return one if one == other else f"{algebra.paren(one)} if {test} else {algebra.paren(other)}"

    terms = tuple(
        replace(t, coefficient=either(t.coefficient, u.coefficient)) for t, u in zip(a.terms, b.terms, strict=True)
    )
    return replace(a, terms=terms, offset=either(a.offset, b.offset))


def _places(index: Index) -> object:
    return index.ndim, index.mates, [(t.axis, t.position) for t in index.terms]


def _axis(start: str, size: str, label: str) -> Axis:
    return Axis(next(_uids), start, size, label)


def _arange(scope: Scope, node: ast.Call, label: str) -> Index:
    from ..render import render_stable

    bounds = [render_stable(scope, argument) for argument in node.args]
    if node.keywords or not 1 <= len(bounds) <= 2:
        raise Refuse(node, CODE, "arange with keywords or a step", "write the subscript as a slice or as .ap(...)")
    start, stop = ("0", bounds[0]) if len(bounds) == 1 else bounds
    return Index(1, (Term(_axis(start, algebra.subtract(stop, start), label), "1", 0),))


def _mgrid(scope: Scope, node: ast.Subscript, label: str) -> Grid:
    from ..render import render_stable

    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    components = []
    for position, part in enumerate(parts):
        if not isinstance(part, ast.Slice) or part.step is not None or part.upper is None:
            raise Refuse(node, CODE, "mgrid with a step or without a bound", "write the subscript as .ap(...)")
        start = render_stable(scope, part.lower) if part.lower is not None else "0"
        size = algebra.subtract(render_stable(scope, part.upper), start)
        letter = next((c for c, p in COMPONENTS.items() if p == position), str(position))
        components.append(Index(len(parts), (Term(_axis(start, size, f"{label}_{letter}"), "1", position),)))
    terms = tuple(term for component in components for term in component.terms)
    return Grid(tuple(replace(c, mates=tuple(t for t in terms if t not in c.terms)) for c in components))


def _component(scope: Scope, node: ast.Attribute) -> Index | None:
    base = index_value(scope, node.value)
    if not isinstance(base, Grid):
        return None
    return base.components[COMPONENTS[node.attr]]


def _reshaped(base: Index, node: ast.Subscript) -> Index:
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
    return Index(len(parts), terms, base.offset, mates)


def _combined(scope: Scope, node: ast.BinOp) -> Index | None:
    left, right = index_value(scope, node.left), index_value(scope, node.right)
    if left is None and right is None:
        return None
    if isinstance(left, Grid) or isinstance(right, Grid):
        raise Refuse(node, CODE, "arithmetic on an mgrid object", "use its components")
    if isinstance(node.op, ast.Add | ast.Sub):
        sign = "-1" if isinstance(node.op, ast.Sub) else "1"
        a = left if isinstance(left, Index) else _scalar(scope, node.left)
        b = right if isinstance(right, Index) else _scalar(scope, node.right)
        return _sum(a, _scaled(b, sign))
    if isinstance(node.op, ast.Mult) and (left is None) != (right is None):
        vector, factor = (left, node.right) if isinstance(left, Index) else (right, node.left)
        assert isinstance(vector, Index)
        return _scaled(vector, _scalar(scope, factor).offset)
    raise Refuse(
        node, CODE, "an index vector in an expression that is not affine", "write the access as .ap(...) or as a loop"
    )


def _scalar(scope: Scope, node: ast.expr) -> Index:
    from ..render import render_stable

    return Index(0, (), render_stable(scope, node))


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
    if b.offset.startswith("-") and a.offset != "0":
        offset = algebra.subtract(a.offset, b.offset[1:])
    else:
        offset = algebra.add(a.offset, b.offset)
    mates = {replace(mate, position=mate.position + ndim - index.ndim) for index in (a, b) for mate in index.mates}
    mates = {mate for mate in mates if mate.axis not in terms}
    return Index(ndim, tuple(terms.values()), offset, tuple(sorted(mates, key=lambda m: m.position)))
