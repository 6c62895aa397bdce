"""What is known no longer when a name is bound again."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from ..expr import algebra
from ..expr.operands import Operand
from ..expr.values import DType, Gone, Hbm, Object, Python, Tile, Value, texts
from .name_views import described_anew
from .scope import Scope


def kill(scope: Scope, name: str) -> None:
    """``name`` is bound again: sizes and types of other tensors that are written with it are written without it."""
    scope.sizes.named = {text: size for text, size in scope.sizes.named.items() if not _names(text, name)}
    scope.sizes.formulas = {n: text for n, text in scope.sizes.formulas.items() if n == name or not _names(text, name)}
    if scope.names.assigned[name] > 1:
        places = scope.names.joined.get(name, set())
        for other, value in scope.names.env.items():
            read = _read_by_place(value)
            if name in read or (other != name and places & read):
                scope.names.env[other] = value = replace(value, origin=None)  # type: ignore[call-arg]  # it has an origin
            own = other == name or scope.sizes.resized.get(other) == name
            if own or not any(text and _names(text, name) for text in texts(value)):
                continue
            if isinstance(value, Hbm | Tile):
                scope.names.env[other] = described_anew(scope, other, value, name)
            elif isinstance(value, Object):
                scope.names.env[other] = Python()
            elif not (isinstance(value, DType) and value.text == name):
                scope.names.env[other] = Gone(f"was made with '{name}', which is bound again since")


def forget_formulas(scope: Scope, names: Set[str]) -> None:
    """``names`` are bound from here on, or were in a loop: what they were, and what reads them, is not known."""
    kept = {n: text for n, text in scope.sizes.formulas.items() if n not in names}
    scope.sizes.formulas = {n: text for n, text in kept.items() if not any(_names(text, name) for name in names)}


def _names(text: str, name: str) -> bool:
    """Does an expression read a name? Most do not have its letters, so that they need not be parsed."""
    return name in text and name in algebra.names(text)


def _read_by_place(value: Value) -> set[str]:
    """The names that say where a part of a tensor lies."""
    origin = getattr(value, "origin", None)
    return {n for text in place_of(origin) for n in algebra.names(text)} if isinstance(origin, Operand) else set()


def place_of(origin: Operand) -> tuple[str, ...]:
    """The source expressions that say which part of which tensor a name stands for."""
    return (origin.text(()), *origin.prefix)
