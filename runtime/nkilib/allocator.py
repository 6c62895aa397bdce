"""``nkilib.core.utils.allocator``: the stack and heap allocator of SBUF, as of nki-library 0759719 (SDK 2.28).

Addresses, errors and quirks are those of that version (``reference/beta2.md`` sections 3.2 and 3.3): the room left
is tested before the address is aligned, the heap is aligned at the end of a tensor, and a heap tensor that is not
a multiple of four bytes long gives back less than it took; :mod:`.flaws` reports them. ``VERSIONS.md`` tells the
public versions apart. The log is the documentation's: it leaves out a section
that starts over when nothing follows in its scope, and counts the bytes that the scope held until then as freed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ..beta2 import language
from ..beta2.buffers import BUFFERS, Buffer
from ..beta2.objects import NKIObject
from ..beta2.tensor import NkiTensor
from ..packed import type_name
from ..spec.dtypes import ITEMSIZE
from .flaws import Ledger
from .kernel_assert import kernel_assert
from .logging import Logger, get_logger
from .tree_logger import TreeLogger

_SBUF = BUFFERS["sbuf"]
_SIZES = {name: size for name, size in ITEMSIZE.items() if name not in ("bool_", "tfloat32")}
_SIZES |= {"float8e4": 1, "float8e5": 1}
_HEAP_ALIGNMENT = 4


def sizeinbytes(dtype: object) -> int:
    """Bytes of one element. The library does not know ``bool_`` and ``tfloat32``."""
    size = _SIZES.get(_type_name(dtype))
    if size is None:
        kernel_assert(False, f"dtype size unknown! {dtype}")
    assert size is not None
    return size


def _type_name(dtype: object) -> str:
    """The type's name in ``nki.language``. A packed type (``..._x4``) is a structured one here, its text is no name."""
    return _numpy_name(dtype) if isinstance(dtype, np.dtype) else str(dtype)


@cache
def _numpy_name(dtype: np.dtype[Any]) -> str:
    return type_name(dtype) if dtype.names else str(dtype)


def align_to(value: int, alignment: int) -> int:
    """The smallest multiple of ``alignment`` that is not below ``value``."""
    return -(-value // alignment) * alignment


def num_elts(shape: Sequence[int]) -> int:
    """Number of elements of a shape."""
    return prod(shape)


def _floor(value: int, alignment: int) -> int:
    return value // alignment * alignment


@dataclass(eq=False)
class _Scope:
    """``wrapped_from`` is where the stack stood when the sections started over, until that is in the log."""

    start: int
    sections: int
    label: str
    section: int = 0
    wrapped_from: int | None = None


@dataclass(eq=False)
class _Peaks:
    """The most bytes in use at one time, and how many allocations there were."""

    stack: int = 0
    heap: int = 0
    both: int = 0
    stack_count: int = 0
    heap_count: int = 0

    def note(self, stack: int, heap: int) -> None:
        self.stack, self.heap = max(self.stack, stack), max(self.heap, heap)
        self.both = max(self.both, stack + heap)


class SbufManager(NKIObject):
    """Gives out SBUF addresses in ``[sb_lower_bound, sb_upper_bound)``: a stack with scopes from below, a heap
    from above.

    With ``use_auto_alloc`` the addresses are counted but not used, the compiler places the tensors. ``logger``
    gets a summary at ``INFO`` and the tree of allocations at ``DEBUG``; by default it is the logger ``SBM``.
    """

    def __init__(
        self,
        sb_lower_bound: int,
        sb_upper_bound: int,
        logger: Logger | None = None,
        use_auto_alloc: bool = False,
        default_stack_alloc: bool = True,
    ) -> None:
        self._lower, self._upper = sb_lower_bound, sb_upper_bound
        self._stack, self._heap = sb_lower_bound, sb_upper_bound
        self._automatic, self._stack_by_default = use_auto_alloc, default_stack_alloc
        self._logger = get_logger("SBM") if logger is None else logger
        self._tree = TreeLogger("SBM", self._logger)
        self._scopes: list[_Scope] = []
        self._heap_tensors: list[tuple[NkiTensor, str]] = []
        self._prefix = ""
        self._peaks = _Peaks()
        self._ledger = Ledger(use_auto_alloc)
        self._logger.info(
            f"SBM initialized: range=[{sb_lower_bound}, {sb_upper_bound}), size={sb_upper_bound - sb_lower_bound} B"
        )

    # --- what it is and how much is left ---

    def is_auto_alloc(self) -> bool:
        return self._automatic

    def is_default_stack_alloc(self) -> bool:
        return self._stack_by_default

    def is_default_heap_alloc(self) -> bool:
        return not self._stack_by_default

    def get_total_space(self) -> int:
        return self._upper - self._lower

    def get_free_space(self) -> int:
        """Bytes between stack and heap."""
        return self._heap - self._stack

    def get_used_space(self) -> int:
        return self.get_total_space() - self.get_free_space()

    def get_stack_curr_addr(self) -> int:
        """Where the next stack tensor starts, before it is aligned; an error in automatic mode."""
        self._need_addresses("get_stack_curr_addr()")
        return self._stack

    def get_heap_curr_addr(self) -> int:
        """Where the next heap tensor ends; an error in automatic mode."""
        self._need_addresses("get_heap_curr_addr()")
        return self._heap

    def align_stack_curr_addr(self, align: int = 32) -> None:
        """Move the stack up to a multiple of ``align``; an error in automatic mode."""
        self._need_addresses("align_stack_curr_addr()")
        self._log_wrap()
        self._stack = align_to(self._stack, align)

    def _need_addresses(self, method: str) -> None:
        if self._automatic:
            self._logger.error(f"{method} is not supported in auto-allocation mode.")
            kernel_assert(False, f"{method} is not supported in auto-allocation mode")

    # --- scopes ---

    def open_scope(self, interleave_degree: int = 1, name: str = "") -> None:
        """Open a scope: what is put on the stack in it is freed when it closes.

        ``interleave_degree`` counts its sections (:meth:`increment_section`).
        """
        scope = _Scope(self._stack, interleave_degree, f"'{name}'" if name else "(unnamed)")
        self._log(f"▶ SCOPE {scope.label} [interleave={interleave_degree}] @ {self._stack}")
        self._scopes.append(scope)
        self._ledger.opened()

    def increment_section(self) -> None:
        """Go to the next section of the innermost scope; after the last one start over at the scope's address."""
        scope = self._scopes[-1]
        self._log_wrap()
        scope.section += 1
        if scope.section == scope.sections:
            scope.section, scope.wrapped_from, self._stack = 0, self._stack, scope.start
            self._ledger.next_section(is_new_round=True)
        else:
            self._ledger.next_section(is_new_round=False)
            self._log(f"↳ section: {scope.section}/{scope.sections} @ {self._stack}")

    def close_scope(self) -> None:
        """Close the innermost scope and free its part of the stack."""
        scope = self._scopes[-1]
        end = self._stack if scope.wrapped_from is None else scope.wrapped_from
        self._stack = scope.start
        self._scopes.pop()
        self._ledger.closed()
        self._log(f"◀ END {scope.label} freed={end - scope.start} B")
        if not self._scopes:
            self._tree.flush()
            self._print_statistics()

    def _log(self, text: str) -> None:
        self._log_wrap()
        self._tree.log(text, len(self._scopes))

    def _log_wrap(self) -> None:
        """Log that the innermost scope's sections started over, now that something follows."""
        scope = self._scopes[-1] if self._scopes else None
        if scope is not None and scope.wrapped_from is not None:
            scope.wrapped_from = None
            self._tree.log(f"↻ section: {scope.section}/{scope.sections} @ {scope.start}", len(self._scopes))

    # --- allocation ---

    def alloc(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        buffer: Buffer = _SBUF,
        name: str | None = None,
        base_partition: int = 0,
        align: int | None = None,
    ) -> NkiTensor:
        """:meth:`alloc_stack` or :meth:`alloc_heap`, whichever is the default of this manager."""
        place = self.alloc_stack if self._stack_by_default else self.alloc_heap
        return place(shape, dtype, buffer=buffer, name=name, base_partition=base_partition, align=align)

    def alloc_stack(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        buffer: Buffer = _SBUF,
        name: str | None = None,
        base_partition: int = 0,
        align: int | None = None,
    ) -> NkiTensor:
        """A tensor on the stack, aligned to ``align`` bytes or to its element; freed when the scope closes."""
        nbytes = self._room_for("Stack", shape, dtype, buffer)
        if not self._scopes:
            self._logger.error("Cannot allocate in stack without an open scope")
            kernel_assert(False, "Cannot allocate in stack without an open scope")
        self._stack = align_to(self._stack, sizeinbytes(dtype) if align is None else align)
        tensor, label = self._declare(shape, dtype, buffer, name, (base_partition, self._stack))
        self._log(f"{label}: {nbytes} B @ {self._stack} {shape} {_type_name(dtype)}")
        self._ledger.stacked(tensor, label, self._stack, nbytes)
        self._stack += nbytes
        self._peaks.stack_count += 1
        self._peaks.note(self._stack - self._lower, self._upper - self._heap)
        return tensor

    def alloc_heap(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        buffer: Buffer = _SBUF,
        name: str | None = None,
        base_partition: int = 0,
        align: int | None = None,
    ) -> NkiTensor:
        """A tensor at the low end of the heap, freed by :meth:`pop_heap`. ``align`` is for the tensor's end."""
        nbytes = self._room_for("Heap", shape, dtype, buffer)
        before = self._heap
        if align is not None:
            self._heap = _floor(self._heap, align)
        address = self._heap - nbytes
        self._heap = _floor(address, _HEAP_ALIGNMENT)
        tensor, label = self._declare(shape, dtype, buffer, name, (base_partition, address))
        self._heap_tensors.append((tensor, label))
        self._ledger.heaped(tensor, label, address, nbytes, before - self._heap)
        self._peaks.heap_count += 1
        self._peaks.note(self._stack - self._lower, self._upper - self._heap)
        self._log(f"[HEAP+] {label}: {nbytes} B @ {self._heap} {shape} {_type_name(dtype)}")
        return tensor

    def pop_heap(self) -> None:
        """Free the heap tensor that was allocated last."""
        if not self._heap_tensors:
            self._logger.error("Heap underflow: pop called on empty heap")
            kernel_assert(False, "Heap underflow: pop called on empty heap")
        tensor, label = self._heap_tensors[-1]
        nbytes = num_elts(tensor.shape[1:]) * sizeinbytes(tensor.dtype)
        before = self._heap
        self._heap = _floor(before + nbytes, _HEAP_ALIGNMENT)
        self._heap_tensors.pop()
        self._ledger.popped(self._heap - before)
        self._log(f"[HEAP-] FREE {label}: {nbytes} B, remaining={len(self._heap_tensors)}")

    def alloc_hbm(
        self, shape: tuple[int, ...], dtype: Any, buffer: Buffer = BUFFERS["shared_hbm"], name: str | None = None
    ) -> NkiTensor:
        """A tensor in HBM, with this manager's name prefix."""
        return language.ndarray(shape, dtype=dtype, buffer=buffer, name=self._prefixed(name))

    def _room_for(self, kind: str, shape: Sequence[int], dtype: object, buffer: Buffer) -> int:
        """Bytes a partition of the tensor; raises when they do not fit between stack and heap (not yet aligned)."""
        kernel_assert(buffer == _SBUF, f"alloc_{kind.lower()} is only supported for SBUF tensors")
        nbytes = num_elts(shape[1:]) * sizeinbytes(dtype)
        if not self._automatic and self._stack + nbytes > self._heap:
            self._logger.error(f"{kind} OOM: requested={nbytes} B, available={self._heap - self._stack} B")
            self._tree.flush()
            self._print_statistics()
            kernel_assert(False, f"{kind} out of memory")
        return nbytes

    def _declare(
        self, shape: tuple[int, ...], dtype: object, buffer: Buffer, name: str | None, address: tuple[int, int]
    ) -> tuple[NkiTensor, str]:
        label = self._prefixed(name)
        if self._automatic:
            tensor = language.ndarray(shape=shape, dtype=dtype, buffer=buffer, name=label)
        else:
            tensor = language.ndarray(shape=shape, dtype=dtype, buffer=buffer, name=label, address=address)
        return tensor, label or "(unnamed)"

    # --- names and logs ---

    def set_name_prefix(self, prefix: str) -> None:
        """Put ``prefix`` before the names of all tensors that follow."""
        self._prefix = prefix

    def get_name_prefix(self) -> str:
        return self._prefix

    def _prefixed(self, name: str | None) -> str | None:
        return None if name is None else f"{self._prefix}{name}"

    def flush_logs(self) -> None:
        """Print the tree of allocations collected so far."""
        self._tree.flush()

    def _print_statistics(self) -> None:
        total, peaks = self.get_total_space(), self._peaks
        self._logger.info(
            f"[SBM] SB memory statistics: max_usage={peaks.both} B ({peaks.both * 100 // total}%), "
            f"free={total - peaks.both} B, stack={peaks.stack} B ({peaks.stack_count} allocs), heap={peaks.heap} B "
            f"({peaks.heap_count} allocs)"
        )


def create_auto_alloc_manager(logger: Logger | None = None) -> SbufManager:
    """A manager over the whole SBUF that leaves addresses to the compiler."""
    return SbufManager(0, language.tile_size.total_available_sbuf_size, logger, use_auto_alloc=True)
