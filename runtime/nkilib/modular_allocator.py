"""``nkilib.core.utils.modular_allocator``: lists of SBUF tensors that share addresses modulo a number of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..beta2 import language
from ..beta2.buffers import BUFFERS
from ..beta2.objects import NKIObject
from .allocator import align_to as aligned
from .allocator import num_elts, sizeinbytes
from .kernel_assert import kernel_assert


class ModularAllocator(NKIObject):
    """Gives out SBUF addresses upwards from ``initial_address``."""

    def __init__(self, initial_address: int = 0) -> None:
        self._address = initial_address

    def get_current_address(self) -> int:
        return self._address

    def set_current_address(self, address: int) -> None:
        self._address = address

    def alloc_sbuf_tensor(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        block_dim: Sequence[int] | None = None,
        num_free_tiles: Sequence[int] | None = None,
        base_partition: int = 0,
        align_to: int | None = None,
    ) -> Any:
        """A tensor, or nested lists of tensors with the lengths of ``block_dim``.

        In dimension ``d`` tile ``i`` lies where tile ``i % num_free_tiles[d]`` lies; without ``num_free_tiles`` no
        two tiles share memory. ``align_to`` aligns the first address.
        """
        if align_to is not None:
            self._address = aligned(self._address, align_to)
        blocks = list(block_dim or ())
        buffers = blocks if num_free_tiles is None else list(num_free_tiles)
        kernel_assert(
            len(blocks) == len(buffers),
            f"block_dim length ({len(blocks)}) must match num_free_tiles length ({len(buffers)})",
        )
        tile_bytes = num_elts(shape[1:]) * sizeinbytes(dtype)
        start, steps = self._address, [prod(buffers[d + 1 :]) * tile_bytes for d in range(len(buffers))]

        def tiles(depth: int, address: int) -> Any:
            if depth == len(blocks):
                return language.ndarray(shape, dtype, BUFFERS["sbuf"], address=(base_partition, address))
            return [tiles(depth + 1, address + i % buffers[depth] * steps[depth]) for i in range(blocks[depth])]

        allocated = tiles(0, start)
        self._address = start + prod(buffers) * tile_bytes
        return allocated
