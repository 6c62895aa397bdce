"""``nki.isa``: scalar registers (2.28 signatures)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import values
from .operands import tile
from .registers import Register, element, one_element, register_of
from .signature import builtin
from .tensor import NkiTensor


@builtin
def register_alloc(x: Any = None) -> Register:
    """A new register that holds ``x``: an integer, the element of a tensor, or 0."""
    if isinstance(x, NkiTensor):
        return Register(element(x))
    return Register(0 if x is None else values.integer(x))


@builtin
def register_move(dst: Any, imm: Any) -> Register:
    """Put a compile-time integer into a register."""
    register = register_of(dst)
    register.set(values.integer(imm))
    return register


@builtin
def register_load(dst: Any, src: Any) -> Register:
    """Load the one element of a tensor into a register."""
    register = register_of(dst)
    register.set(element(tile(src)))
    return register


@builtin
def register_store(dst: Any, src: Any) -> Register:
    """Store a register into a one-element tensor."""
    register = register_of(src)
    target = one_element(tile(dst))
    target[...] = np.asarray(register.content).astype(target.dtype)
    return register
