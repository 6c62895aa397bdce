"""Declaring tensors: ``nl.ndarray`` and its relatives."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

from .. import naming, session, sites
from ..errors import KernelError, location_of, user_frame
from ..memory import Array, poisoned
from ..spec.comparison import HBM_KINDS
from . import state
from .buffers import Buffer
from .tensor import NkiTensor

_UNNAMED = "tensor"


def declare(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    buffer: Buffer,
    name: str | None,
    address: tuple[int, int] | None,
    values: Array | None = None,
) -> NkiTensor:
    """A new tensor in ``buffer``; ``name`` must be unique, without it the tensor is named after its variable.

    On chip it lies at ``address`` (partition, byte), or where the compiler likes, on the memory of ``values``.
    """
    front, frame = state.current(), user_frame(sys._getframe(2))  # it is the emulator that calls this function
    if buffer.space == "hbm":
        if address is not None:
            raise KernelError("", f"address= is for sbuf and psum tensors, this one is in {buffer.name}")
        return _declare_hbm(front, frame, shape, dtype, buffer, name)
    placement = "automatic" if address is None else "manual"
    if front.placement != placement:
        front.place(placement)
    label, block = _name(front, name, frame)
    machine = session.current().machine
    alloc = machine.allocate(
        buffer.name, shape, dtype, name=label, block=block, address=address, location=location_of(frame), values=values
    )
    if address is None and not name:
        sites.remember(frame, alloc.declaration, buffer)
    return NkiTensor(alloc, alloc.array())


def declared_again(shape: object, dtype: object, buffer: object) -> NkiTensor | None:
    """An automatic tile without a name of its own that the same place in the kernel has declared before.

    ``None`` where it has not, or not with these arguments: they have to be judged.
    """
    frame = sys._getframe(3)  # it is a built-in function that calls this one: for a kernel, or for another (nl.zeros)
    site = sites.known(frame, shape, dtype, buffer) or sites.known(user_frame(frame), shape, dtype, buffer)
    running = session.RUNNING.get()
    if site is None or running is None:
        return None
    if running.front.placement != "automatic":
        running.front.place("automatic")
    whole = site.memory()
    return NkiTensor(running.machine.automatic(site.declaration, whole), whole)


def result_tile(shape: tuple[int, ...], dtype: np.dtype[Any], buffer: Buffer, *, written: bool) -> NkiTensor:
    """The tile that a function of the language gives. ``written``: does it write all of it at once, unless it raises?

    Then nobody can read what was there before, and the memory is not filled.
    """
    frame = user_frame(sys._getframe(2))
    site = sites.known(frame, shape, dtype, buffer)
    running = session.RUNNING.get()
    memory = np.empty(shape, dtype) if written and 0 not in shape else None
    if site is None or running is None:
        return declare(shape, dtype, buffer, None, None, memory)
    if running.front.placement != "automatic":
        running.front.place("automatic")
    whole = site.memory() if memory is None else memory
    return NkiTensor(running.machine.automatic(site.declaration, whole), whole)


def _name(front: state.State, name: str | None, frame: FrameType | None) -> naming.Name:
    """``name``, or that of the variable which ``frame`` assigns the tensor to."""
    if name:
        front.claim(name)
        return name, ()
    return (naming.declared_name(frame) if frame is not None else None) or (_UNNAMED, ())


def _declare_hbm(
    front: state.State,
    frame: FrameType | None,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    buffer: Buffer,
    name: str | None,
) -> NkiTensor:
    machine = session.current().machine
    label, block = _name(front, name, frame)
    private = buffer.name == "private_hbm"
    key = name or front.unique("".join([label, *(f"_{i}" for i in block)]))
    memory = None if private else front.shared.tensors.get(key)
    if memory is None:
        memory = poisoned(shape, dtype)
        if not private:
            front.shared.tensors[key] = memory
    elif memory.shape != shape or memory.dtype != dtype:
        raise KernelError("", f"Tensor {key} has mismatched shape or dtype across program instances")
    alloc = machine.allocate_hbm(memory, name=key, role="scratch" if private else "output", location=location_of(frame))
    front.declared[alloc.uid] = buffer.name
    alloc.kind = HBM_KINDS["beta2"][buffer.name]
    return NkiTensor(alloc, memory)


def constant(data: Array, name: str) -> NkiTensor:
    """A compile-time constant: ``data`` in HBM."""
    alloc = session.current().machine.allocate_hbm(data, name=name, role="constant")
    return NkiTensor(alloc, alloc.array())
