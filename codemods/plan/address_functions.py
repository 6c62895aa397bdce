"""The first byte of the tiles that ``sbuf.alloc(function)`` places one behind the other, as ``num_free_tiles`` does.

The function is followed symbolically, over names for the block indices: straight lines of arithmetic, or a factory that
returns such a function.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..expr import algebra
from ..render.expressions import render

if TYPE_CHECKING:
    from ..analysis.scope import Scope

Names = Mapping[str, ast.expr]


def first_byte(scope: Scope, call: ast.Call, blocks: tuple[str, ...], row_bytes: str) -> str | None:
    """The byte of the first tile, if block after block follows it from partition 0; ``None`` where that is not seen."""
    found = _function(scope, call.args[0]) if len(call.args) == 1 and not call.keywords else None
    if found is None:
        return None
    function, closure = found
    index = [f"block__{d}" for d in range(len(blocks))]
    given = {"idx": ast.Tuple([ast.Name(i) for i in index]), "fdim_size": algebra.parse(row_bytes)}
    if [a.arg for a in function.args.args] != ["idx", "pdim_size", "fdim_size"]:
        return None
    place = _returned(scope, function, {**closure, **given})
    if place is None:
        return None
    partition, byte = (ast.unparse(part) for part in place)
    base = algebra.show(algebra.normal(byte, dict.fromkeys(index, "0")))
    steps = [algebra.multiply(i, *blocks[d + 1 :], row_bytes) for d, i in enumerate(index)]
    in_order = algebra.equal(byte, algebra.add(base, *steps), scope.sizes.definitions)
    return base if in_order and algebra.constant(partition, scope.sizes.definitions) == 0 else None


def _function(scope: Scope, node: ast.expr) -> tuple[ast.FunctionDef, dict[str, ast.expr]] | None:
    """The function of the module that ``node`` is or makes, and what it closes over."""
    functions = scope.module.symbols.functions
    if isinstance(node, ast.Name):
        known = functions.get(node.id) if node.id not in scope.names.env else None
        return (known, {}) if known is not None else None
    factory = functions.get(node.func.id) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
    if factory is None or not isinstance(node, ast.Call) or any(k.arg is None for k in node.keywords):
        return None
    inner = _made_by(factory)
    names = [a.arg for a in factory.args.args]
    bound = dict(zip(names, node.args, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg}
    if inner is None or set(bound) != set(names):
        return None
    return inner, {name: algebra.parse(render(scope, value)) for name, value in bound.items()}


def _made_by(factory: ast.FunctionDef) -> ast.FunctionDef | None:
    """The function that a factory defines and returns, if it does nothing else."""
    body = [s for s in factory.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    inner = body[0] if len(body) == 2 and isinstance(body[0], ast.FunctionDef) else None
    last = body[-1].value if isinstance(body[-1], ast.Return) else None
    return inner if inner is not None and isinstance(last, ast.Name) and last.id == inner.name else None


def _returned(scope: Scope, function: ast.FunctionDef, given: Names) -> tuple[ast.expr, ast.expr] | None:
    names = dict(given)
    for statement in function.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if isinstance(statement, ast.Return):
            value = _value(scope, statement.value, names) if statement.value is not None else None
            parts = value.elts if isinstance(value, ast.Tuple) else []
            return (parts[0], parts[1]) if len(parts) == 2 else None
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        value = _value(scope, statement.value, names) if isinstance(statement, ast.Assign) else None
        if value is None or not _bind(target, value, names):
            return None
    return None


def _bind(target: ast.expr | None, value: ast.expr, names: dict[str, ast.expr]) -> bool:
    if isinstance(target, ast.Name):
        names[target.id] = value
        return True
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple) or len(target.elts) != len(value.elts):
        return False
    return all(_bind(each, part, names) for each, part in zip(target.elts, value.elts, strict=True))


def _value(scope: Scope, node: ast.expr, names: Names) -> ast.expr | None:
    """An expression of the function in the names of the kernel; ``None`` where it is no arithmetic."""
    if isinstance(node, ast.Constant):
        return node if type(node.value) is int else None
    if isinstance(node, ast.Name):
        constant = node.id not in scope.names.assigned and node.id in scope.sizes.definitions
        return names.get(node.id, node if constant else None)
    if isinstance(node, ast.Tuple):
        parts = [_value(scope, part, names) for part in node.elts]
        known = [part for part in parts if part is not None]
        return ast.Tuple(known, ast.Load()) if len(known) == len(parts) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        left, right = _value(scope, node.left, names), _value(scope, node.right, names)
        return ast.BinOp(left, node.op, right) if left is not None and right is not None else None
    return _element(_value(scope, node.value, names), node.slice) if isinstance(node, ast.Subscript) else None


def _element(whole: ast.expr | None, at: ast.expr) -> ast.expr | None:
    """``(a, b)[1]``."""
    number = at.value if isinstance(at, ast.Constant) and type(at.value) is int else -1
    return whole.elts[number] if isinstance(whole, ast.Tuple) and 0 <= number < len(whole.elts) else None
