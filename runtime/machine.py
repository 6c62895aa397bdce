"""One NeuronCore: its memories, what a kernel declares on them, and the events that it records."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from .errors import KernelError, user_location
from .events import Event, Recorder
from .memory import Allocation, Array, Declaration, allocation_of, poisoned, unwritten
from .spec import hardware
from .spec.instructions import start_partitions


class Machine:
    """One NeuronCore running one kernel: its memories, what was declared on them, and the event stream.

    ``legalizes``: does the compiler place tiles without an address as their accesses need, and move their data where no
    place is right ("This is currently handled by the tensor allocator in Neuron Compiler", architecture guide)?
    """

    def __init__(self, target: hardware.Target, *, record: bool = False, legalizes: bool = False) -> None:
        self.target = target
        self.legalizes = legalizes
        self._declared: list[Allocation | Declaration] = []
        self.recorder = Recorder() if record else None
        self.flaws: list[tuple[str, int, int, str]] = []
        """What an allocator of the library did: kind, the ids of the two allocations, text."""
        self.programs: list[tuple[int, int]] = []
        """Where the programs of a kernel that loops over a launch grid begin: allocations and instructions before."""
        self.in_program = False

    def begin_program(self) -> None:
        """What follows belongs to another program of the launch grid than what was before."""
        self.programs.append((len(self.allocations), self.recorder.begun if self.recorder is not None else 0))

    @property
    def allocations(self) -> list[Allocation]:
        """Every tile and HBM tensor, in the order of declaration.

        Tiles without an address are without their memory, which goes when no tile uses it any more.
        """
        for uid, declared in enumerate(self._declared):
            if isinstance(declared, Declaration):
                self._declared[uid] = allocation_of(uid, declared.space, declared, None)
        return [declared for declared in self._declared if isinstance(declared, Allocation)]

    @property
    def declared(self) -> int:
        """How many tiles and tensors there are."""
        return len(self._declared)

    @cached_property
    def sbuf(self) -> Array:
        """``uint8[128, partition_bytes]``, made when the first tile is pinned to an address."""
        return unwritten(hardware.PARTITIONS, self.target.sbuf_bytes)

    @cached_property
    def psum(self) -> Array:
        """``uint8[128, 16384]``."""
        return unwritten(hardware.PARTITIONS, hardware.PSUM_PARTITION_BYTES)

    def allocate(
        self,
        space: str,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        name: str,
        block: tuple[int, ...] = (),
        address: tuple[int, int] | None = None,
        location: tuple[str, int] | None = None,
        values: Array | None = None,
        numbered: bool = False,
    ) -> Allocation:
        """Declare one on-chip tile of ``shape`` (partitions first) in ``space`` (``"sbuf"`` or ``"psum"``).

        ``address`` is (start partition, byte in the partition); ``None`` leaves the place to the compiler, and the
        tile may take the memory of ``values``, a contiguous array of its shape and type that nothing else uses. Raises
        :class:`KernelError` for a tile that no hardware has room for (direct allocation guide, ``ncc.sbuf.alloc()``
        and Known Limitations).
        """
        partitions, nbytes = shape[0], prod(shape[1:], start=dtype.itemsize)
        place = location or user_location()
        if partitions > hardware.PARTITIONS:
            raise KernelError(
                "err_num_partition_exceed_arch_limit",
                f"number of partitions {partitions} exceed architecture limitation of {hardware.PARTITIONS}",
                file=place[0],
                line=place[1],
            )
        declaration = Declaration(space, name, block, shape, dtype, partitions, nbytes, place, numbered)
        if address is None:
            allocation = self.automatic(declaration, poisoned(shape, dtype) if values is None else values)
            if 0 in shape:
                allocation.whole = None
                allocation._memory = np.zeros((partitions, nbytes or 1), np.uint8)
            return allocation
        self._check_address(space, partitions, nbytes, address, name, *place)
        allocation = allocation_of(len(self._declared), space, declaration, None)
        allocation._memory = self.sbuf if space == "sbuf" else self.psum
        allocation.partition, allocation.byte = allocation.origin = address
        self._declared.append(allocation)
        return allocation

    def automatic(self, declaration: Declaration, whole: Array) -> Allocation:
        """The tile of a declaration that has elements and no address, on the memory of ``whole`` (see allocate)."""
        allocation = Allocation()
        allocation.uid = len(self._declared)
        allocation.space = declaration.space
        allocation.declaration = declaration
        allocation.whole = whole
        self._declared.append(declaration)
        return allocation

    def allocate_hbm(
        self, array: Array, *, name: str, role: str, location: tuple[str, int] | None = None
    ) -> Allocation:
        """Declare an HBM tensor that is ``array``. ``role`` is ``input``, ``output``, ``constant`` or ``scratch``."""
        place = location or user_location()
        declaration = Declaration("hbm", name, (), array.shape, array.dtype, 0, array.nbytes, place)
        allocation = allocation_of(len(self._declared), "hbm", declaration, array)
        allocation.role = role
        self._declared.append(allocation)
        return allocation

    def _check_address(
        self, space: str, partitions: int, nbytes: int, address: tuple[int, int], name: str, file: str, line: int
    ) -> None:
        partition, byte = address
        legal = start_partitions(partitions)
        if partition not in legal:
            raise KernelError(
                "",
                f"start partition {partition} of '{name}' is not legal for a tile of {partitions} partitions: "
                f"it must be one of {', '.join(map(str, legal))}",
                file=file,
                line=line,
            )
        if space == "psum":
            if nbytes > hardware.PSUM_BANK_BYTES:
                raise KernelError(
                    "",
                    f"PSUM tile '{name}' has {nbytes} bytes in a partition, a bank has {hardware.PSUM_BANK_BYTES}",
                    file=file,
                    line=line,
                )
            limit, align = hardware.PSUM_PARTITION_BYTES, hardware.PSUM_MIN_ALIGN
            bank = byte // hardware.PSUM_BANK_BYTES
            if byte >= 0 and nbytes and bank != (byte + nbytes - 1) // hardware.PSUM_BANK_BYTES:
                raise KernelError(
                    "",
                    f"PSUM tile '{name}' at byte {byte} crosses the boundary of bank {bank}",
                    file=file,
                    line=line,
                )
        else:
            limit, align = self.target.sbuf_bytes, hardware.SBUF_MIN_ALIGN
        if byte < 0 or byte + nbytes > limit:
            raise KernelError(
                "",
                f"{space.upper()} tile '{name}' lies at bytes [{byte}, {byte + nbytes}) of a partition, "
                f"{self.target.name} has [0, {limit})",
                file=file,
                line=line,
            )
        if byte % align:
            raise KernelError("", f"address {byte} of '{name}' is not aligned to {align} bytes", file=file, line=line)

    @property
    def events(self) -> list[Event]:
        """The recorded instructions in program order (empty when recording is off)."""
        return self.recorder.events() if self.recorder else []
