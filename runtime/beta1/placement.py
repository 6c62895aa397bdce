"""Direct allocation: the addresses of a tensor's logical tiles, by a function or in turns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError, shown
from ..spec.hardware import PSUM_BANK_BYTES, PSUM_BANKS
from .base import Shape
from .tokens import PSUM, SBUF, Address, Buffer


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
        raise KernelError("", f"{name} must be a tuple of positive ints, got {shown(value)}")
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
    return Buffer("sbuf", "sbuf", lambda index, partitions, nbytes: place(index, partitions, nbytes))  # type: ignore  # called by position


def psum_alloc(func: Any) -> Buffer:
    """PSUM buffer whose logical tile ``idx`` lies at ``func(idx, pdim_size, fdim_size)`` = (bank, partition, byte)."""
    place = _placed("psum", func, ("bank_id", "start_partition", "byte_addr"))
    return Buffer("psum", "psum", lambda index, partitions, nbytes: _in_bank(*place(index, partitions, nbytes)))


def _placed(space: str, func: Any, names: tuple[str, ...]) -> Callable[[Shape, int, int], tuple[int, ...]]:
    """``func`` as the compiler calls it: by keyword, by position where its parameters are called otherwise."""
    if not callable(func):
        raise KernelError("", f"ncc.{space}.alloc takes a function, got {shown(func)}")
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
