"""What a local name was declared as, where one ``nl.ndarray`` or ``nl.zeros`` says it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..spec import beta2
from .walk import Context

_MAKERS = ("nki.language.ndarray", "nki.language.zeros")


@dataclass(frozen=True)
class Declaration:
    """``buffer`` and ``dtype`` are names of ``nki.language``, empty where they are not known; so is a ``rank`` of 0."""

    buffer: str = ""
    dtype: str = ""
    rank: int = 0


UNKNOWN = Declaration()


def declaration(node: ast.expr, context: Context) -> Declaration:
    """What is known of the tensor that ``node``, a name, holds wherever it stands."""
    if not isinstance(node, ast.Name) or context.function is None or node.id not in context.tensors:
        return UNKNOWN
    nodes = context.module.own_nodes(context.function)
    bound = [n for n in nodes if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)]
    made = [
        n.value
        for n in nodes
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in n.targets)
    ]
    if len(bound) != 1 or len(made) != 1 or not isinstance(made[0], ast.Call):
        return UNKNOWN
    name = context.qualified(made[0].func) or ""
    entry = beta2.symbol(name, context.target)
    return _read(made[0], entry, context) if name in _MAKERS and entry is not None else UNKNOWN


def _read(call: ast.Call, entry: beta2.Symbol, context: Context) -> Declaration:
    given = dict(zip((parameter.name for parameter in entry.parameters or ()), call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    shape = given.get("shape")
    rank = len(shape.elts) if isinstance(shape, (ast.Tuple, ast.List)) else 0
    is_plain = rank and not any(isinstance(size, ast.Starred) for size in getattr(shape, "elts", ()))
    return Declaration(
        _language(given.get("buffer"), context), _language(given.get("dtype"), context), rank if is_plain else 0
    )


def _language(node: ast.expr | None, context: Context) -> str:
    name = (context.qualified(node) or "") if node is not None else ""
    return name.removeprefix("nki.language.") if name.startswith("nki.language.") else ""
