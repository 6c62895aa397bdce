"""Data types as Beta 2 spells them: of numpy, as strings, their bytes and their limits (rule NKI005)."""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.dtypes import ITEMSIZE, LIMITS

from ..analysis.objects import changing_part
from ..analysis.scope import Scope
from ..expr.tables import dtype_name
from ..expr.values import DType
from ..syntax.codes import DATA_TYPES
from .support import dtype_named_function, itemsize_function, limit_function


def dtype_text(scope: Scope, node: ast.expr) -> str:
    """Beta 2 text of a data type, which outlives its statement. Strings such as ``"float32"`` become ``nl.float32``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = dtype_name(f"np.{node.value}") or node.value
        scope.apply(DATA_TYPES, node)
        return f"{scope.nl}.{name}"
    if isinstance(node, ast.Call) and _is_named(scope, node) and not changing_part(scope, node):
        return scope.evaluator.render(scope, node)
    return scope.evaluator.render_named(scope, node, "dtype")


def is_dtype(scope: Scope, node: ast.expr) -> bool:
    """Is an expression a data type?"""
    if isinstance(node, ast.IfExp):
        return is_dtype(scope, node.body) and is_dtype(scope, node.orelse)
    if isinstance(node, ast.Call):
        return _is_named(scope, node)
    if isinstance(node, ast.Name) and isinstance(scope.names.env.get(node.id), DType):
        return True
    if (
        isinstance(node, ast.Attribute)
        and node.attr == "dtype"
        and scope.evaluator.operand(scope, node.value) is not None
    ):
        return True
    qualified = scope.qualified(node)
    if qualified is None:
        return False
    return dtype_name(qualified) is not None or (qualified.startswith("nl.") and qualified[3:] in ITEMSIZE)


def _is_named(scope: Scope, node: ast.Call) -> bool:
    """Is a call ``getattr(nl, config.lse_dtype)``: the data type that a string names?"""
    builtin = isinstance(node.func, ast.Name) and node.func.id == "getattr" and "getattr" not in scope.names.assigned
    if not builtin or len(node.args) != 2 or node.keywords or scope.qualified(node.args[0]) != "nl":
        return False
    name = node.args[1]
    spelled = name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else ""
    return "dtype" in spelled


def named_dtype(scope: Scope, node: ast.Call) -> str | None:
    """The data type that a string names, looked up; ``None`` for any other call."""
    if not _is_named(scope, node):
        return None
    scope.apply(DATA_TYPES, node)
    return f"{dtype_named_function(scope)}({scope.evaluator.render(scope, node.args[1])})"


def itemsize(scope: Scope, dtype: str) -> str:
    """Source text of the bytes of one element of type ``dtype``: a number where source tells, else a computation."""
    known = scope.sizes.itemsizes.get(dtype)
    if known is not None:
        return known
    text = _itemsize(scope, ast.parse(dtype, mode="eval").body)
    return text if text is not None else f"{itemsize_function(scope)}({dtype})"


def limited_type(scope: Scope, node: ast.expr) -> ast.expr | None:
    """The type whose limit ``nl.finfo(t).min`` is; ``None`` for any other expression."""
    known = isinstance(node, ast.Attribute) and node.attr in LIMITS["float32"]
    call = node.value if isinstance(node, ast.Attribute) and known else None
    if not isinstance(call, ast.Call) or scope.qualified(call.func) not in ("nl.finfo", "np.finfo"):
        return None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return given[0] if len(given) == 1 else None


def limit(scope: Scope, node: ast.Attribute) -> str | None:
    """``nl.finfo(t).min`` as a number, or as a look-up where only a trace tells the type."""
    dtype = limited_type(scope, node)
    if dtype is None:
        return None
    scope.apply(DATA_TYPES, node)
    text = dtype_text(scope, dtype)
    known = LIMITS.get(scope.evaluator.type_name(scope, text) or "")
    return f"{limit_function(scope, node.attr)}({text})" if known is None else repr(known[node.attr])


def _itemsize(scope: Scope, node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        value = scope.names.env.get(node.id)
        if isinstance(value, DType) and node.id in scope.names.dtypes:
            return _itemsize(scope, ast.parse(scope.names.dtypes[node.id], mode="eval").body)
        bound = scope.module.symbols.imports.get(node.id)
        return str(ITEMSIZE[bound.alias.name]) if bound and bound.alias.name in ITEMSIZE and value is None else None
    if isinstance(node, ast.IfExp):
        body, orelse = _itemsize(scope, node.body), _itemsize(scope, node.orelse)
        return f"({body} if {ast.unparse(node.test)} else {orelse})" if body and orelse else None
    if isinstance(node, ast.Attribute) and node.attr in ITEMSIZE and node.attr != "dtype":
        return str(ITEMSIZE[node.attr])
    return None
