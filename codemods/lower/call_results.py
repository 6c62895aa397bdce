"""What calls of a file's functions give, under the names that they are bound to in the caller."""

from __future__ import annotations

from dataclasses import replace

from nki_migrate.runtime.spec.dtypes import ITEMSIZE

from ..analysis.name_views import described, parameter_value
from ..analysis.scope import Scope
from ..expr.values import Hbm, Several, Tensors, Tile, Value
from ..project.program import Module


def of_call(scope: Scope, home: Module, value: Value, name: str) -> Value:
    """What a call of a function of ``home`` returned, under the name it is bound to: a tile has its type."""
    seen = named(value, name)
    if isinstance(value, Tile) and isinstance(seen, Tile) and not value.blocks:
        alias, _, dtype = (value.dtype or "").rpartition(".")
        if dtype in ITEMSIZE and alias == home.alias("nl"):
            return replace(seen, dtype=f"{scope.nl}.{dtype}")
    return seen


def named(value: Value, name: str) -> Value:
    """A tensor that a call returned, described through the name it is bound to."""
    if isinstance(value, Tile):
        return described(name, replace(value, declaration=None))
    return parameter_value(name, value)


def parts_of(result: Value, names: list[str | None]) -> list[Value]:
    """What the names of ``a, b = function(...)`` are."""
    if isinstance(result, Several) and len(result.parts) == len(names):
        return [named(part, name or "") for part, name in zip(result.parts, names, strict=True)]
    if isinstance(result, Tensors) and not result.empty:
        return [Hbm(None, f"{name}.dtype") for name in names]
    return [Value() for _ in names]
