"""Tensors that are declared with contents: ``nl.zeros`` and its relatives."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from .. import isa
from ..errors import KernelError
from ..isa.core import owned, recorded, rounded
from ..memory import SMALL, Array
from .assignment import assign
from .base import Shape, Tensor
from .blocks import BlockTensor
from .declarations import Tiles, declared_in, known_tiles, logical_tile
from .pending import Call, call_of, number
from .state import State, state
from .tensor import Tile
from .tokens import PSUM, SBUF, Buffer, dtype_of, engine_of


def zeros(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    """Declare a tensor of zeros in SBUF or PSUM."""
    return _filled(sys._getframe(1), shape, 0, dtype, buffer, name)


def ones(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    """Declare a tensor of ones in SBUF or PSUM."""
    return _filled(sys._getframe(1), shape, 1, dtype, buffer, name)


def full(shape: Any, fill_value: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    """Declare a tensor in SBUF or PSUM whose elements are all ``fill_value``."""
    return _filled(sys._getframe(1), shape, fill_value, dtype, buffer, name)


def zeros_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    """Declare a tensor of zeros with the shape (and type) of ``a``."""
    return _filled(sys._getframe(1), a.shape, 0, a.dtype if dtype is None else dtype, buffer, name)


def memset(shape: Any, value: Any, dtype: Any, *, mask: Any = None, engine: Any = None, **_: Any) -> Tile:
    """A tile of ``shape`` (the first dimension is the partition) filled with ``value``."""
    call = call_of("memset", mask)
    if engine is not None:
        call.told(engine=engine_of(engine))
    wanted = tuple(int(n) for n in shape)
    kind = dtype_of(dtype)
    result = None if call.region.skip else isa.memset(cut(wanted, call), number(value, "value", "memset"), kind)
    return call.give(result, wanted, kind, explicit=True)


def cut(shape: Shape, call: Call) -> Shape:
    """What the mask of ``call`` leaves of ``shape``."""
    cuts = [call.region.interval(d, len(shape), n) for d, n in enumerate(shape)]
    return tuple(n if c is None else c.high - c.low for c, n in zip(cuts, shape, strict=True))


def _filled(frame: FrameType, shape: Any, value: Any, dtype: Any, buffer: Any, name: str) -> Tensor:
    place = SBUF if buffer is None else buffer
    if isinstance(place, Buffer) and place.space == "hbm":
        raise KernelError(
            "err_hbm_tensor_with_init_value_not_supported", "Creating HBM tensor with init value is not supported."
        )
    current = state()
    known = None if isinstance(value, Tensor) else known_tiles(current, frame, shape, dtype, place)
    if known is not None and () in known.made and not current.simulated:
        return _filled_again(current, frame, known, number(value, "value", "assignment"))
    direct = isinstance(place, Buffer) and place.address_of is not None
    if direct and not current.options.stack_allocator and not current.options.force_auto_alloc:
        raise KernelError(
            "err_tensor_creation_on_scratchpad_with_init_value_not_supported",
            "Creating SBUF/PSUM tensor with init value is not supported in allocated NKI kernels.",
        )
    tensor = declared_in(frame, shape, dtype, buffer, name)
    if isinstance(tensor, BlockTensor):
        tensor.fill(value)
    else:
        assign(tensor, value)
    return tensor


def _filled_again(current: State, frame: FrameType, declared: Tiles, value: int | float) -> Tile:
    """Another tile of a declaration, on whose memory ``value`` is already."""
    tile = logical_tile(current, declared, (), current.scope, _filling(declared, value))
    if declared.buffer is PSUM:
        tile.alloc.opened = value != 0  # as pending.opens says
    machine = current.machine
    if machine.recorder is not None:
        result = isa.result_of("memset", tile.array, (), (("value", value),))
        call_of("memset", None, frame).note(result)
        recorded(machine, result, tile)
    return tile


def _filling(declared: Tiles, value: int | float) -> Array:
    """Memory of a tile that is filled with ``value``."""
    last = declared.filled
    if last is not None and last[0] is value:  # -0.0 equals 0.0, and 1 equals 1.0
        again: Array = last[1].copy()
        return again
    values = owned(rounded(isa.memset(declared.shape, value, declared.dtype), declared.shape, declared.dtype))
    if values.nbytes <= SMALL:
        declared.filled = value, values.copy()
    return values
