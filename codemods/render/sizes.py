"""What the source tells of sizes: shapes that it unpacks, and what it asserts."""

from __future__ import annotations

import ast
from dataclasses import replace

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.values import Hbm, Python, Tile
from ..project.own_assertions import same_shape
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import is_shape


def unpacked_sizes(scope: Scope, value: ast.expr, names: list[str | None]) -> dict[str, Hbm] | None:
    """``a, b = x.shape`` (or a name that is a part of it): what its names tell of ``x``, whose dimensions they are.

    They are those of all tensors that the function asserts to have its shape. ``None``: ``value`` is no shape.
    """
    found = _unpacked_shape(scope, value)
    if found is None:
        return None
    tensor, first = found
    told: dict[str, Hbm] = {}
    known = scope.names.env.get(tensor)
    if isinstance(known, Hbm) and known.dims is None and None not in names:
        sizes = [n if n and n != "_" and scope.names.assigned[n] == 1 else "" for n in [*[""] * first, *names]]
        dims = tuple(n or f"{tensor}.shape[{d}]" for d, n in enumerate(sizes))
        told[tensor] = Hbm(dims, known.dtype)
        if scope.names.assigned[tensor] <= 1:
            named = {f"{tensor}.shape[{d}]": size for d, size in enumerate(sizes) if size}
            scope.sizes.told = replace(scope.sizes.told, alike={**named, **scope.sizes.told.alike})
        for other in same_shape(scope.function, tensor):
            alike = scope.names.env.get(other)
            if isinstance(alike, Hbm) and alike.dims is None and not alike.view:
                told[other] = replace(alike, dims=dims)
    return told


def _unpacked_shape(scope: Scope, value: ast.expr) -> tuple[str, int] | None:
    """The tensor whose shape ``value`` is, and the dimension that it begins with: ``x.shape``, ``x.shape[1:]``."""
    if isinstance(value, ast.Name) and value.id in scope.sizes.definitions:
        value = algebra.parse(scope.sizes.definitions[value.id])
    first = 0
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        lower = value.slice.lower
        if value.slice.upper or value.slice.step or not isinstance(lower, ast.Constant) or type(lower.value) is not int:
            return None
        first, value = lower.value, value.value
    return (value.value.id, first) if is_shape(value) and isinstance(value.value, ast.Name) else None


def _asserted_shape(scope: Scope, test: ast.Compare) -> None:
    """The dimensions of a tensor that are said to equal a tuple of numbers and of names that are bound once."""
    sides = (test.left, test.comparators[0])
    shape, sizes = sides if is_shape(test.left) else sides[::-1]
    if not isinstance(test.ops[0], ast.Eq) or not is_shape(shape) or not isinstance(sizes, ast.Tuple):
        return
    if not isinstance(shape.value, ast.Name) or not all(_is_steady(scope, size) for size in sizes.elts):
        return
    tensor = scope.names.env.get(shape.value.id)
    if isinstance(tensor, Hbm) and tensor.dims is not None and len(tensor.dims) == len(sizes.elts):
        for name, size in zip(tensor.dims, sizes.elts, strict=True):
            _asserted_number(scope, name, _number(scope, size))
    dims = tuple(scope.evaluator.render(scope, size) for size in sizes.elts)
    if isinstance(tensor, Hbm) and tensor.dims is None and not tensor.view:
        scope.names.env[shape.value.id] = replace(tensor, dims=dims)
    elif isinstance(tensor, Tile) and tensor.dims is None and not (tensor.view or tensor.blocks):
        scope.names.env[shape.value.id] = replace(tensor, dims=dims, ranks=(), perhaps_column=False)


def _asserted_alike(scope: Scope, test: ast.Compare) -> None:
    """The numbers under names that are bound once, and the sizes of tensors, that are said to be equal, always."""
    if scope.place.branch or scope.place.loops or not all(isinstance(operator, ast.Eq) for operator in test.ops):
        return
    known = scope.sizes.told.alike
    sides = [scope.canonical(ast.unparse(side)) for side in (test.left, *test.comparators) if _is_once(scope, side)]
    sides = list(dict.fromkeys(known.get(side, side) for side in sides))
    same = {side: sides[0] for side in sides[1:] if isinstance(algebra.parse(side), ast.Name | ast.Subscript)}
    if same:
        alike = {**{side: same.get(one, one) for side, one in known.items()}, **same}
        scope.sizes.told = replace(scope.sizes.told, alike=alike)


def _is_once(scope: Scope, side: ast.expr) -> bool:
    """Is an expression a number under a name that is bound once, or a size of a tensor in HBM under such a name?"""
    match side:
        case ast.Name(name):
            return isinstance(scope.names.env.get(name), Python) and scope.names.assigned[name] <= 1
        case ast.Subscript(ast.Attribute(ast.Name(tensor), "shape"), ast.Constant(int())):
            return isinstance(scope.names.env.get(tensor), Hbm) and scope.names.assigned[tensor] <= 1
    return False


def _number(scope: Scope, size: ast.expr) -> int | None:
    """The number that a size is, as far as the source tells."""
    plain = all(
        isinstance(n, ast.Name | ast.Constant | ast.BinOp | ast.operator | ast.expr_context) for n in walk(size)
    )
    steady = plain and scope.names.are_fixed(n.id for n in of_kinds(size, ast.Name))
    return scope.constant(ast.unparse(size)) if steady else None


def _asserted_number(scope: Scope, name: str, number: int | None) -> None:
    """A name that is bound once is said to be a number, always."""
    told = (
        isinstance(scope.names.env.get(name), Python)
        and scope.names.assigned[name] <= 1
        and not scope.place.branch
        and not scope.place.loops
    )
    if told and number is not None:
        scope.sizes.definitions.setdefault(name, str(number))
        scope.names.env[name] = Python(number > 0)


def _is_steady(scope: Scope, size: ast.expr) -> bool:
    """Is a size made of numbers, and of names that are bound once, to numbers?"""
    names = {n.id for n in of_kinds(size, ast.Name)}
    once = all(scope.names.assigned[n] <= 1 and isinstance(scope.names.env.get(n, Python()), Python) for n in names)
    return once and all(isinstance(n, ast.Name | ast.Constant | ast.BinOp | ast.operator) for n in walk(size))


def asserted_sizes(scope: Scope, test: ast.expr) -> None:
    """``assert n == 128`` defines ``n``, ``assert n > 0`` makes it positive, ``assert n % t == 0`` a multiple.

    That is known of names that are bound once, and of what is asserted always. ``assert x.shape == (n, 128)`` tells the
    dimensions of a tensor from there on, and defines names that are bound to them. A constant is as good as a number.
    After ``assert a == b == x.shape[1]`` the first name stands for the others.
    """
    if isinstance(test, ast.Compare):
        _asserted_alike(scope, test)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return
    _asserted_shape(scope, test)
    if scope.place.branch or scope.place.loops:
        return
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    number = _number(scope, right)
    if number is None or any(scope.names.assigned[n.id] > 1 for n in of_kinds(left, ast.Name)):
        return
    is_zero = isinstance(operator, ast.Eq) and number == 0
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod) and is_zero:
        multiple = (ast.unparse(left.left), ast.unparse(left.right))
        scope.sizes.told = replace(scope.sizes.told, multiples=(*scope.sizes.told.multiples, multiple))
    if not isinstance(left, ast.Name) or not isinstance(scope.names.env.get(left.id), Python):
        return
    if isinstance(operator, ast.Eq):
        _asserted_number(scope, left.id, number)
    if isinstance(operator, ast.Gt | ast.GtE):
        scope.names.env[left.id] = Python(number + isinstance(operator, ast.Gt) > 0)
