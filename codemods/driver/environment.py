"""What the names are that a module binds at its top level: numbers, functions of NKI, data types."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from nki_migrate.runtime.spec.dtypes import ITEMSIZE, NUMPY_SPELLINGS

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.tables import dtype_name, is_function
from ..expr.values import Api, DType, OfNumpy, Python, Slice, Value
from ..lower.items import is_python_slice
from ..project.host import read_by_host
from ..project.program import Module
from ..render.numpy_numbers import numpy_number
from ..syntax import codes
from ..syntax.module_level import module_statements, stand_ins
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import bound_by

_NO_FUNCTION = next(n for n in walk(ast.parse("def module(): pass")) if isinstance(n, ast.FunctionDef))


def bind_globals(module: Module) -> None:
    """What the names that the module assigns at top level are."""
    scope = Scope(module, _NO_FUNCTION, False)
    counts: dict[str, int] = {}
    for node in walk(module.source.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts[node.id] = counts.get(node.id, 0) + 1
    changing = _changing_globals(module.source.tree)
    for statement in module_statements(module.source.tree):
        if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
            continue
        target = statement.targets[0]
        if target in stand_ins(module.source.tree):
            continue
        module.environment.definitions |= {
            n: text for n, text in _numbers(module, target, statement.value) if counts[n] == 1
        }
        if isinstance(target, ast.Name):
            value = _global_value(scope, statement.value)
            if target.id in changing:
                value = Python() if isinstance(value, Python) else Value()
            module.environment.values[target.id] = value
            if _is_dtype(scope.qualified(statement.value) or "") and counts[target.id] == 1:
                module.environment.values[target.id] = _global_dtype(module, scope, target.id, statement.value)
            if isinstance(module.environment.values[target.id], Api):
                module.environment.aliases[target.id] = statement


_ARITHMETIC = ast.BinOp | ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Name | ast.Constant | ast.Load


def _numbers(module: Module, target: ast.expr, value: ast.expr) -> Iterator[tuple[str, str]]:
    """The names that an assignment binds to integers, as literals: arithmetic of literals and such names."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for each, node in zip(target.elts, value.elts, strict=True):
            yield from _numbers(module, each, node)
    if not isinstance(target, ast.Name) or not all(isinstance(node, _ARITHMETIC) for node in walk(value)):
        return
    constants = (node.value for node in of_kinds(value, ast.Constant))
    if all(type(constant) is int for constant in constants):
        number = algebra.constant(module.source.segment(value), module.environment.definitions)
        if number is not None:
            yield target.id, str(number)


def _changing_globals(tree: ast.Module) -> set[str]:
    """Names of the module that something else than a plain assignment at its top level binds (again)."""
    statements = module_statements(tree)
    around = (ast.If, ast.Try) if len(statements) > len(tree.body) else ()
    other = [s for s in statements if not isinstance(s, (ast.Assign, ast.FunctionDef, ast.ClassDef, *around))]
    told = {name for node in of_kinds(tree, ast.Global) for name in node.names}
    assigned = Counter(name for s in statements if isinstance(s, ast.Assign) for name in bound_by(s))
    guarded = {name for s in set(statements) - set(tree.body) if isinstance(s, ast.Assign) for name in bound_by(s)}
    return told.union({n for n in guarded if assigned[n] > 1}, *(bound_by(statement) for statement in other))


def _global_value(scope: Scope, value: ast.expr) -> Value:
    qualified = scope.qualified(value)
    if qualified is not None and is_function(qualified):
        return Api(qualified)
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return Python(value.value > 0)
    if qualified is not None and qualified.startswith("nl.tile_size."):
        return Python(positive=True)
    dtype = numpy_number(scope, value, scope.module.environment.values)
    if dtype is not None:
        return OfNumpy(dtype=dtype, made=value)
    if isinstance(value, ast.Call) and _is_constant_slice(scope, value):
        return Slice(scope.module.source.segment(value), value)
    return Python()


def _is_constant_slice(scope: Scope, call: ast.Call) -> bool:
    """Is it ``slice(...)`` or ``nl.ds(...)`` of numbers that are written out?"""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    is_made = scope.qualified(call.func) == "nl.ds" or is_python_slice(scope, call)
    return is_made and all(isinstance(argument, ast.Constant) for argument in given)


def _global_dtype(module: Module, scope: Scope, name: str, value: ast.expr) -> DType:
    """A data type that the module names: rewritten where it stands, or in the kernels where host code needs it too."""
    qualified = scope.qualified(value) or ""
    text = f"{scope.nl}.{dtype_name(qualified) or qualified.partition('.')[2]}"
    module.environment.dtypes[name] = text
    if not qualified.startswith("np."):
        return DType(name)
    if read_by_host(module, name) or not module.options.enabled(codes.DATA_TYPES):
        return DType(text)
    module.plan.edits.expressions[value] = text
    module.plan.applied[codes.DATA_TYPES] += 1
    return DType(name)


def _is_dtype(qualified: str) -> bool:
    root, _, rest = qualified.partition(".")
    return root in ("nl", "np") and (rest in ITEMSIZE or (root == "np" and rest in NUMPY_SPELLINGS))
