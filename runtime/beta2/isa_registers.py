"""``nki.isa``: scalar registers (2.28 signatures)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import session
from . import state, values
from .operands import tile
from .registers import Register, register_of
from .signature import builtin
from .tensor import NkiTensor, element, one_element


@builtin("nki.isa")
def register_alloc(t: Any = None, x: Any = None) -> Register:
    """A new register that holds an integer, the element of a tensor, or 0. (The parameter is ``t`` in 0.2, ``x``
    from 0.3 on, which takes no tensor.)"""
    start = x if t is None else t
    if isinstance(start, NkiTensor) and state.rules().alloc_reads:
        return Register(element(start))
    return Register(0 if start is None else values.integer(start))


@builtin("nki.isa")
def register_move(dst: Any, imm: Any = None, src: Any = None) -> Register:
    """Put a compile-time integer, or from 0.3 on the value of another register, into a register."""
    register = register_of(dst)
    given = src if imm is None else imm
    register.set(given.content if isinstance(given, Register) and imm is None else values.integer(given))
    return register


@builtin("nki.isa")
def register_load(dst: Any, src: Any) -> Register:
    """Load the one element of a tensor into a register."""
    register = register_of(dst)
    register.set(element(tile(src)))
    return register


@builtin("nki.isa")
def register_store(dst: Any, src: Any) -> Register:
    """Store a register into a one-element tensor."""
    register = register_of(src)
    place = tile(dst)
    target = one_element(place)
    target[...] = np.asarray(register.content).astype(target.dtype)
    untracked(place)
    return register


def untracked(tensor: NkiTensor) -> None:
    """Note that something that is no instruction of an engine wrote ``tensor``."""
    recorder = session.current().machine.recorder
    if recorder is not None:
        recorder.untracked.add(tensor.alloc.uid)
