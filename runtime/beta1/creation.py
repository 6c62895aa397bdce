"""Declaring tensors: ``nl.ndarray`` and its relatives, constants, and direct allocation."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import isa, sites
from ..errors import KernelError, location_of, user_frame
from ..isa.core import owned, recorded, rounded
from ..memory import SMALL, Allocation, Array, poisoned
from ..naming import declared_name, is_fixed
from ..numerics import convert
from ..positions import COMPREHENSION_CODES
from ..spec.hardware import PSUM_BANK_BYTES, PSUM_BANKS
from .base import Shape, Tensor, sibling
from .blocks import BlockTensor, BlockTiles, split_shape
from .pending import Call, call_of, number
from .state import State, state
from .tensor import Tile, tile_of, whole
from .tokens import PRIVATE_HBM, PSUM, SBUF, SHARED_HBM, Address, Buffer, dtype_of

if TYPE_CHECKING:
    from .loops import Loop


def ndarray(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    """Declare a tensor with undefined contents; ``buffer`` defaults to ``nl.sbuf``.

    ``shape`` is ``(*blocks, par_dim(P), *free)``; without ``par_dim`` the first dimension is the partition dimension.
    """
    return _declared(sys._getframe(1), shape, dtype, buffer, name)


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


def empty_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    """Declare a tensor with the shape (and type) of ``a`` and undefined contents."""
    return _declared(sys._getframe(1), a.shape, a.dtype if dtype is None else dtype, buffer, name)


def memset(shape: Any, value: Any, dtype: Any, *, mask: Any = None, engine: Any = None, **_: Any) -> Tile:
    """A tile of ``shape`` (the first dimension is the partition) filled with ``value``."""
    call = call_of("memset", mask)
    wanted = tuple(int(n) for n in shape)
    kind = dtype_of(dtype)
    result = None if call.region.skip else isa.memset(_cut(wanted, call), value, kind)
    return call.give(result, wanted, kind)


def _cut(shape: Shape, call: Call) -> Shape:
    cuts = [call.region.interval(d, len(shape), n) for d, n in enumerate(shape)]
    return tuple(n if c is None else c.high - c.low for c, n in zip(cuts, shape, strict=True))


def shared_constant(constant: Any, dtype: Any = None, **_: Any) -> Tile:
    """A numpy array as a constant in HBM, to be loaded; converted to ``dtype``."""
    current = state()
    array = np.asarray(constant)
    kind = dtype_of(array.dtype if dtype is None else dtype)
    stored = np.ascontiguousarray(convert(array, kind))
    frame = user_frame(sys._getframe(1))
    name, _block = _name(current, frame, "", "constant")
    alloc = current.machine.allocate_hbm(stored, name=name, role="constant", location=location_of(frame))
    current.immutable.add(alloc.uid)
    return whole(alloc, PRIVATE_HBM)


def shared_identity_matrix(n: int, dtype: Any = np.uint8, **_: Any) -> Tile:
    """The identity matrix of size ``n`` as a constant in HBM."""
    return shared_constant(np.identity(n), dtype)


# --- declarations ----------------------------------------------------------------------------------------------------


def _declared(frame: FrameType, shape: Any, dtype: Any, buffer: Any, name: str) -> Tensor:
    """The tensor that a kernel declares in ``frame``, or the emulator for it."""
    place = SBUF if buffer is None else buffer
    current = state()
    known = _known(current, frame, shape, dtype, place)
    if known is not None:
        return _tensor(current, known)
    return _judged(current, user_frame(frame), shape, dtype_of(dtype), place, name)


@dataclass(eq=False)
class _Tiles:
    """A declaration on chip: ``blocks`` of tiles of ``shape`` (one tile where that is empty).

    ``first`` is the block index of the first one, if there is any. ``made`` are those that have no address and were
    made before, by block index; ``filled`` is what one was filled with last.
    """

    name: str
    position: Shape
    blocks: Shape
    shape: Shape
    dtype: np.dtype[Any]
    buffer: Buffer
    location: tuple[str, int]
    made: dict[Shape, sites.Declared] = field(default_factory=dict)
    filled: tuple[int | float, Array] | None = None
    first: Shape | None = field(init=False)

    def __post_init__(self) -> None:
        self.first = None if 0 in self.blocks else (0,) * len(self.blocks)


@dataclass(frozen=True, eq=False, slots=True)
class _Site:
    """A place in a kernel's ``code`` that declared ``tiles`` without an address.

    ``shape`` is the argument, ``kinds`` the types of its items.
    """

    code: CodeType
    shape: tuple[int, ...]
    kinds: tuple[type, ...]
    tiles: _Tiles


_SITES: dict[tuple[int, int], _Site] = {}
"""By ``id`` of the code, which is kept alive, and by the place."""


def _known(current: State, frame: FrameType, shape: Any, dtype: Any, buffer: Any) -> _Tiles | None:
    """What the place in the kernel declares with these arguments, where it has declared just this before."""
    site = _SITES.get((id(frame.f_code), frame.f_lasti))
    if site is None or type(shape) is not tuple or current.strict:
        return None
    tiles = site.tiles
    if tiles.dtype is not dtype or tiles.buffer is not buffer or site.kinds != tuple(map(type, shape)):
        return None
    return tiles if site.shape == shape else None


def _judged(current: State, frame: FrameType | None, shape: Any, dtype: np.dtype[Any], place: Any, name: str) -> Tensor:
    if not isinstance(place, Buffer):
        raise KernelError("", f"buffer must be one of nl.sbuf, nl.psum, nl.hbm or an allocation, got {place!r}")
    location = location_of(frame)
    named, position = _name(current, frame, name, "tile")
    if place.space == "hbm":
        return _in_hbm(current, tuple([int(n) for n in shape]), dtype, place, named, location)
    blocks, tile = split_shape(shape, on_chip=True)
    if blocks and current.strict:
        raise KernelError(
            "err_leading_dimension_of_tensor_must_be_partition",
            f"The leading dimension of SBUF/PSUM tensors must be the partition dimension: '{named}' has blocks first",
        )
    if len(tile) < 2:
        raise KernelError("", f"Insufficient rank: '{named}' has shape {tile}, a tile has at least two dimensions")
    declared = _Tiles(named, position, blocks, tile, dtype, place, location)
    made = _tensor(current, declared)
    if place.address_of is None and frame is not None and type(shape) is tuple and is_fixed(frame):
        _SITES[id(frame.f_code), frame.f_lasti] = _Site(frame.f_code, shape, tuple(map(type, shape)), declared)
    return made


def _tensor(current: State, declared: _Tiles) -> Tensor:
    """The tensor of a declaration. Tiles without an address are made when they are used, but for the first one."""
    blocks, first = declared.blocks, declared.first
    if not blocks:
        return _made(current, declared, (), current.scope)
    tiles = _Blocks(current, declared)
    if declared.buffer.address_of is not None and not current.options.force_auto_alloc:
        for index in itertools.product(*(range(n) for n in blocks)):
            tiles.at(index)
    elif first is not None:
        tiles.made[first] = _made(current, declared, first, current.scope)
    return BlockTensor(tiles, blocks)


class _Blocks(BlockTiles):
    """The logical tiles of a tensor that is ``declared`` where the loops of ``scope`` run."""

    __slots__ = ("_current", "_declared", "_scope")

    def __init__(self, current: State, declared: _Tiles) -> None:
        self.made = {}
        self._current = current
        self._declared = declared
        self._scope = current.scope

    def _make(self, index: Shape) -> Tile:
        return _made(self._current, self._declared, index, self._scope)

    def __getattr__(self, name: str) -> Any:
        """``name``, ``shape``, ``dtype`` and ``buffer``."""
        return getattr(self._declared, name)


def _made(current: State, declared: _Tiles, index: Shape, scope: tuple[Loop, ...], values: Array | None = None) -> Tile:
    """The logical tile ``index`` of a declaration; ``values`` is memory that one which was made before may take."""
    known = declared.made.get(index)
    if known is not None and not current.simulated:
        memory = known.memory() if values is None else values
        alloc = current.machine.automatic(known.declaration, memory)
        alloc.scope = scope
        current.automatic.append(alloc.uid)
        return tile_of(alloc, memory.view(), declared.dtype, 0, declared.shape, declared.buffer)
    alloc = _allocated(current, declared, index)
    alloc.scope = scope
    if alloc.byte is None:
        current.automatic.append(alloc.uid)
    else:
        current.direct.append(alloc)
    made = whole(alloc, declared.buffer)
    made.dtype = declared.dtype
    return made


def _allocated(current: State, declared: _Tiles, index: Shape) -> Allocation:
    """One logical tile of a declaration; its address from the buffer's function, unless allocation is automatic."""
    address: Address | None = None
    buffer, shape, dtype = declared.buffer, declared.shape, declared.dtype
    if buffer.address_of is None or current.options.force_auto_alloc:
        dtype = current.stored(dtype)
    else:
        address = buffer.address_of(index, shape[0], prod(shape[1:]) * dtype.itemsize)
    alloc = current.machine.allocate(
        buffer.space,
        shape,
        dtype,
        name=declared.name,
        block=(*declared.position, *index),
        address=address,
        location=declared.location,
    )
    if address is None and not current.simulated and 0 not in shape:
        declared.made[index] = sites.Declared.by(alloc.declaration)
    return alloc


def _in_hbm(
    current: State, shape: Shape, dtype: np.dtype[Any], buffer: Buffer, name: str, location: tuple[str, int]
) -> Tile:
    """A tensor in HBM. The programs of a launch see one and the same ``shared_hbm`` tensor."""
    machine = current.machine
    if buffer is SHARED_HBM:
        _check_kernel_level(current, name)
        order = current.shared_created
        current.shared_created += 1
        if order == len(current.shared):
            current.shared.append(poisoned(shape, dtype))
        array = current.shared[order]
        if (array.shape, array.dtype) != (shape, dtype):
            raise KernelError("", f"shared_hbm tensor '{name}' differs between the programs of the grid")
    else:
        array = poisoned(shape, dtype)
    alloc = machine.allocate_hbm(array, name=name, role="scratch", location=location)
    current.hbm.append(alloc)
    return whole(alloc, buffer)


def _check_kernel_level(current: State, name: str) -> None:
    frame = user_frame(sys._getframe(1))
    while frame is not None and frame.f_code.co_name in COMPREHENSION_CODES:
        frame = frame.f_back
    elsewhere = frame is not None and frame.f_code not in current.codes
    inside = "a loop" if current.scope else "another function" if elsewhere else ""
    if inside:
        raise KernelError(
            "err_shared_hbm_must_in_kernel_level",
            f"shared_hbm buffer can only be created top level kernel scope: '{name}' is created inside {inside}",
        )


def _filled(frame: FrameType, shape: Any, value: Any, dtype: Any, buffer: Any, name: str) -> Tensor:
    place = SBUF if buffer is None else buffer
    if isinstance(place, Buffer) and place.space == "hbm":
        raise KernelError(
            "err_hbm_tensor_with_init_value_not_supported", "Creating HBM tensor with init value is not supported."
        )
    current = state()
    known = None if isinstance(value, Tensor) else _known(current, frame, shape, dtype, place)
    if known is not None and () in known.made and not current.simulated:
        return _filled_again(current, frame, known, number(value, "value", "assignment"))
    direct = isinstance(place, Buffer) and place.address_of is not None
    if direct and not current.options.stack_allocator and not current.options.force_auto_alloc:
        raise KernelError(
            "err_tensor_creation_on_scratchpad_with_init_value_not_supported",
            "Creating SBUF/PSUM tensor with init value is not supported in allocated NKI kernels.",
        )
    tensor = _declared(frame, shape, dtype, buffer, name)
    if isinstance(tensor, BlockTensor):
        for index in itertools.product(*(range(n) for n in tensor.blocks)):
            tensor[index if len(index) > 1 else index[0]][...] = value
    else:
        sibling("assignment").assign(tensor, value)
    return tensor


def _filled_again(current: State, frame: FrameType, declared: _Tiles, value: int | float) -> Tile:
    """Another tile of a declaration, on whose memory ``value`` is already."""
    tile = _made(current, declared, (), current.scope, _filling(declared, value))
    if declared.buffer is PSUM:
        tile.alloc.opened = value != 0  # as pending.opens says
    machine = current.machine
    if machine.recorder is not None:
        result = isa.result_of("memset", tile.array, (), (("value", value),))
        call_of("memset", None, frame).note(result)
        recorded(machine, result, tile)
    return tile


def _filling(declared: _Tiles, value: int | float) -> Array:
    """Memory of a tile that is filled with ``value``."""
    last = declared.filled
    if last is not None and last[0] is value:  # -0.0 equals 0.0, and 1 equals 1.0
        again: Array = last[1].copy()
        return again
    values = owned(rounded(isa.memset(declared.shape, value, declared.dtype), declared.shape, declared.dtype))
    if values.nbytes <= SMALL:
        declared.filled = value, values.copy()
    return values


def _name(current: State, frame: FrameType | None, given: str, kind: str) -> tuple[str, Shape]:
    """The variable that the declaration is assigned to, else the name that the kernel gives, else a neutral one."""
    found = declared_name(frame) if frame is not None else None
    return found or (given or f"{kind}_{current.machine.declared}", ())


# --- direct allocation -----------------------------------------------------------------------------------------------


def modulo(tiles: Shape, index: Shape) -> int:
    """Number of the physical tile for the block ``index``: each index modulo its extent, in row-major order of
    ``tiles``.

    ``tiles`` may be longer than ``index`` (its trailing extents stay in the strides) and larger than the block
    dimensions.
    """
    total = 0
    for d, (n, i) in enumerate(zip(tiles, index, strict=False)):
        total += (i % n) * prod(tiles[d + 1 :])
    return total


def sbuf_mod_alloc(
    *, base_addr: int, base_partition: int = 0, num_par_tiles: Any = (), num_free_tiles: Any = ()
) -> Buffer:
    """SBUF buffer whose logical tiles take turns on ``num_free_tiles`` (and ``num_par_tiles``) physical tiles."""
    par, free = _counts("num_par_tiles", num_par_tiles), _counts("num_free_tiles", num_free_tiles)

    def address(index: Shape, partitions: int, nbytes: int) -> Address:
        return base_partition + partitions * modulo(par, index), base_addr + nbytes * modulo(free, index)

    return Buffer("sbuf", "sbuf", address)


def psum_mod_alloc(
    *,
    base_bank: int,
    base_addr: int = 0,
    base_partition: int = 0,
    num_bank_tiles: Any = (),
    num_par_tiles: Any = (),
    num_free_tiles: Any = (),
) -> Buffer:
    """PSUM buffer whose logical tiles take turns on ``num_bank_tiles`` banks."""
    bank_tiles = _counts("num_bank_tiles", num_bank_tiles)
    par, free = _counts("num_par_tiles", num_par_tiles), _counts("num_free_tiles", num_free_tiles)

    def address(index: Shape, partitions: int, nbytes: int) -> Address:
        partition = base_partition + partitions * modulo(par, index)
        return _in_bank(base_bank + modulo(bank_tiles, index), partition, base_addr + nbytes * modulo(free, index))

    return Buffer("psum", "psum", address)


def _counts(name: str, value: Any) -> Shape:
    counts = tuple(value) if isinstance(value, (tuple, list)) else None
    if counts is None or any(not isinstance(n, (int, np.integer)) or n < 1 for n in counts):
        raise KernelError("", f"{name} must be a tuple of positive ints, got {value!r}")
    return tuple(int(n) for n in counts)


def _in_bank(bank: int, partition: int, byte: int) -> Address:
    """Partition and flat PSUM byte of a place in a bank. Byte and partition must be 0 (guide, known limitation 2)."""
    if not 0 <= bank < PSUM_BANKS:
        raise KernelError("", f"PSUM bank {bank} does not exist: there are {PSUM_BANKS}")
    if partition or byte:
        raise KernelError(
            "",
            f"a PSUM tile must start at partition 0 and byte 0 of its bank, got partition {partition} and byte {byte}",
        )
    return partition, bank * PSUM_BANK_BYTES + byte


def sbuf_alloc(func: Any) -> Buffer:
    """SBUF buffer whose logical tile ``idx`` lies at ``func(idx, pdim_size, fdim_size)`` = (start partition, byte)."""
    place = _placed("sbuf", func, ("start_partition", "byte_addr"))
    return Buffer("sbuf", "sbuf", lambda index, partitions, nbytes: place(index, partitions, nbytes))  # type: ignore


def psum_alloc(func: Any) -> Buffer:
    """PSUM buffer whose logical tile ``idx`` lies at ``func(idx, pdim_size, fdim_size)`` = (bank, partition, byte)."""
    place = _placed("psum", func, ("bank_id", "start_partition", "byte_addr"))
    return Buffer("psum", "psum", lambda index, partitions, nbytes: _in_bank(*place(index, partitions, nbytes)))


def _placed(space: str, func: Any, names: tuple[str, ...]) -> Callable[[Shape, int, int], tuple[int, ...]]:
    """``func`` as the compiler calls it: by keyword, by position where its parameters are called otherwise."""
    if not callable(func):
        raise KernelError("", f"ncc.{space}.alloc takes a function, got {func!r}")
    by_keyword = _accepts_keywords(func)

    def place(index: Shape, partitions: int, nbytes: int) -> tuple[int, ...]:
        if by_keyword:
            given = func(idx=index, pdim_size=partitions, fdim_size=nbytes)
        else:
            given = func(index, partitions, nbytes)
        values = tuple(given) if isinstance(given, (tuple, list)) else ()
        if len(values) != len(names) or any(not isinstance(v, (int, np.integer)) for v in values):
            raise KernelError(
                "",
                f"the function of ncc.{space}.alloc must return ({', '.join(names)}), all ints; for block {index} it "
                f"returned {given!r}",
            )
        return tuple(int(v) for v in values)

    return place


def _accepts_keywords(func: Any) -> bool:
    try:
        inspect.signature(func).bind(idx=(), pdim_size=1, fdim_size=1)
    except (TypeError, ValueError):
        return False
    return True


def sbuf_auto_alloc() -> Buffer:
    """``nl.sbuf``: the compiler chooses the address."""
    return SBUF


def psum_auto_alloc() -> Buffer:
    """``nl.psum``: the compiler chooses the bank."""
    return PSUM
