"""A result whose destination is not known yet.

A Beta 1 instruction returns a tile, but ``t[i] = nisa.f(x)`` writes straight into ``t[i]``. So an instruction computes
at once, its place in the event stream is reserved, and the :class:`Pending` that it returns is written when it is
assigned (:mod:`.assignment`), or into a tile of its own on any other use.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

from .. import isa
from ..errors import KernelError, NotModelled, shown
from ..isa.access import check_reads
from ..isa.core import Result, commit, fit, keep, owned, recorded, rounded
from ..memory import Allocation, Array, Computed, View
from ..naming import Name
from ..numerics import DTYPES, FLOAT32, convert, is_integer
from ..options import Options, options
from ..session import RUNNING
from ..sites import PLACES, Place, place_of
from ..spec.operators import BITWISE
from .base import Shape, Tensor
from .indirect import scatter
from .regions import EVERYWHERE, Region, both, region
from .rows import in_rows
from .state import State, state
from .tensor import NOTHING, Access, Tile, tile_of
from .tokens import PSUM, SBUF, Buffer

_NO_NAME: Name = ("", ())


class Pending(Tile):
    """The result of an instruction on its way to its destination.

    ``result`` is ``None`` when a mask kept the instruction from executing, ``where`` the part of the destination that
    is written, ``explicit`` whether the kernel gave ``dtype=``. It is ``waiting`` until it has a destination: as soon
    as it is used as a tile, it has one of its own.
    """

    __slots__ = ("explicit", "op", "result", "site", "state", "waiting", "where")

    op: str
    result: Result | None
    where: Region
    explicit: bool
    site: Place
    state: State
    waiting: bool

    def hold(
        self,
        call: Call,
        result: Result | None,
        shape: Shape,
        dtype: np.dtype[Any],
        buffer: Buffer,
        where: Region,
        explicit: bool = False,
    ) -> None:
        """Be what ``call`` computed, with the arguments of :meth:`Call.give`."""
        self.dtype = dtype
        self.shape = shape
        self.restriction = None
        self.indexed_by = ()
        self.buffer = buffer
        self.result = result
        self.where = where
        self.explicit = explicit
        self.op = call.op
        self.site = call.site
        self.state = call.state
        self.waiting = True
        self.part_of = NOTHING

    def __getattr__(self, name: str) -> Any:
        """``alloc``, ``array`` and ``offset``: there are none of them before it is used as a tile."""
        if name not in ("alloc", "array", "offset"):
            raise AttributeError(name)
        return getattr(self.settle(), name)

    def settled(self) -> Tile:
        return self.settle()

    def settle(self) -> Tile:
        """Give the result an automatic tile of its own."""
        if self.waiting:
            self.waiting = False
            self.state.pending.discard(self)
            made = _made(
                self.state,
                self.op,
                self.site,
                self.result,
                self.shape,
                self.dtype,
                self.buffer,
                self.where,
                _NO_NAME,
            )
            self.alloc, self.array, self.offset, self.result = made.alloc, made.array, made.offset, None
        return self


def implied(result: Tile) -> Tile:
    """``result``, whose type the kernel did not ask for: what it is assigned to is written in its own type at once."""
    if isinstance(result, Pending):
        result.explicit = False
    return result


def _made(
    current: State,
    op: str,
    site: Place,
    result: Result | None,
    shape: Shape,
    dtype: np.dtype[Any],
    buffer: Buffer,
    where: Region,
    bound: Name,
) -> Tile:
    """An automatic tile that holds ``result``.

    Where the whole result is written, the array of its values (or a copy, when it is not free) becomes the memory.
    ``bound`` is the name of what the kernel binds the tile to, empty where it binds it to nothing, and its position.
    """
    machine = current.machine
    stored = current.stored(dtype) if current.simulated else dtype
    asked = buffer.space, op, bound, shape, stored
    values = None
    if result is not None and where is EVERYWHERE:
        check_reads(machine, result)
        values = result.values
        _check_bits(result, stored)
        if values.shape != shape or values.dtype is not stored or result.truncates:
            values = rounded(result, shape, stored)
        values = owned(values)
    known = None if values is None else site.declared(asked)
    if known is not None and values is not None:
        alloc = machine.automatic(known, values)
    else:
        alloc = site.allocated(machine, asked, values)
    alloc.scope = current.scope
    current.implicit[alloc.uid] = None
    array = (alloc.array() if alloc.whole is None else alloc.whole).view()  # an operand is a view, see owned
    tile = tile_of(alloc, array, dtype, 0, shape, buffer)
    if result is None:
        return tile
    if values is None:
        store(current, result, tile, where)
        return tile
    if buffer is PSUM:
        alloc.opened = opens(result)
        if result.accumulates:
            result.restarts = True
            result.attributes = (*result.attributes, ("accumulate", False))
    if machine.recorder is not None:
        recorded(machine, result, tile)
    return tile


def opens(result: Result) -> bool:
    """Does what ``result`` writes to PSUM count as an accumulation group, to which a later ``+=`` adds?

    Not the zeros that a kernel starts from.
    """
    return result.attributes[:1] != (("value", 0),)


class Call:
    """One execution of one instruction: its mask, its place in the program, and what becomes of its result.

    ``region`` is where it executes; where that is to ``skip``, the mask keeps it from executing at all.
    """

    __slots__ = ("frame", "op", "options", "region", "sequence", "site", "state")

    op: str
    state: State
    region: Region
    options: Options
    sequence: int | None
    frame: FrameType | None
    site: Place

    def note(self, result: Result) -> None:
        """Tell ``result`` its place in the program, for the recorder."""
        result.sequence, result.location = self.sequence, self.site.location
        if self.options:
            result.attributes = (*result.attributes, *self.options)

    def told(self, **given: Any) -> None:
        """Keep what the kernel says to the instruction besides its operands, for the recorder."""
        if self.sequence is not None:
            self.options = options(**given)

    def reserve(self) -> None:
        """Take the next place in the program. (Again, after an instruction that this one waits for.)"""
        recorder = self.state.machine.recorder
        self.sequence = recorder.reserve() if recorder is not None else None

    def tile(self, role: str, operand: Any, spaces: str = "psum|sbuf") -> Tile:
        """``operand`` as a tile in one of ``spaces``; raises with the documented texts when it is none."""
        if type(operand) is Tile:
            tile: Tile = operand
        elif isinstance(operand, Tile):
            tile = operand.settle() if type(operand) is Pending else operand
        elif isinstance(operand, Tensor):
            tile = operand.as_tile()
        else:
            raise KernelError("", f"expected operand '{role}' of '{self.op}' to be a tile, got {shown(operand)}")
        alloc = tile.alloc
        if alloc.space not in spaces:
            raise KernelError(
                "err_unsupported_memory",
                f"Expected operand '{role}' of '{self.op}' to be in address space '{spaces}', but got a tile in "
                f"'{alloc.space}' instead.",
            )
        scope, now = alloc.scope, self.state.scope
        if scope is not now and scope and now[: len(scope)] != scope:
            raise _out_of_scope(alloc)
        return tile

    def source(self, role: str, operand: Any, spaces: str = "psum|sbuf") -> Tile:
        """:meth:`tile` of an operand that is read: this call executes only where its mask holds, too."""
        tile = self.tile(role, operand, spaces)
        if tile.restriction is not None:
            self.region = both(self.region, tile.restriction)
        return tile

    def view(self, tile: Tile) -> View:
        """``tile`` as an operand, cut to where this call executes."""
        return tile if self.region is EVERYWHERE and type(tile) is not Access else tile.view_in(self.region)

    def operand(self, role: str, value: Any) -> View | float | int:
        """A number, or a tile as an operand."""
        if isinstance(value, Tensor):
            return self.view(self.tile(role, value))
        return number(value, role, self.op)

    def give(
        self,
        result: Result | None,
        shape: Shape,
        dtype: np.dtype[Any],
        *,
        explicit: bool = False,
        buffer: Buffer = SBUF,
        where: Region | None = None,
    ) -> Tile:
        """The instruction's result as the kernel receives it: waiting for its destination, or in a tile that it names.

        ``shape`` is that of the whole result, ``where`` the part that is written (default: where the call executes).
        """
        site = self.site
        written = self.region if where is None else where
        bound = site.bound if site.fixed else site.bound_in(self.frame)
        if result is not None and self.sequence is not None:
            self.note(result)
        if bound is not None:
            return _made(self.state, self.op, site, result, shape, dtype, buffer, written, bound)
        pending = Pending()
        pending.hold(self, result, shape, dtype, buffer, written, explicit)
        self.state.pending.add(pending)
        return pending

    def unnamed(self, result: Result, shape: Shape, dtype: np.dtype[Any]) -> Tile:
        """The instruction's result in a tile of SBUF that the kernel has no name for."""
        return _made(self.state, self.op, self.site, result, shape, dtype, SBUF, self.region, _NO_NAME)

    def partitions(self, count: int) -> slice:
        """The partitions that take part, ``count`` of them."""
        first = self.region.box[0].low if 0 in self.region.box else 0
        return slice(first, first + count)

    def second(self, role: str, values: Array, dst: Tensor, result: Result) -> None:
        """Write a second result (``reduce_res=``, ``dst_idx=``), cut as the partitions of this call are."""
        tile = self.tile(role, dst)
        rows = self.region.box.get(0)
        where = EVERYWHERE if rows is None else Region(tile.ndim, {0: rows})
        view = tile.view_in(where)
        view.array[...] = convert(fit(values, view.array.shape), view.array.dtype)
        result.also_writes = (*result.also_writes, (role, view))

    def write(self, result: Result, dst: Tensor, *, where: Region | None = None) -> None:
        """Write the result of an instruction that has an explicit destination."""
        if self.sequence is not None:
            self.note(result)
        store(self.state, result, dst.as_tile(), self.region if where is None else where)


def call_of(op: str, mask: Any = None, frame: FrameType | None = None) -> Call:
    """The execution of the instruction ``op`` that begins now; ``frame`` is the kernel's, where that is known."""
    running = RUNNING.get()  # state(), without a call
    call = Call()
    call.state = current = state() if running is None or type(running.front) is not State else running.front
    if current.pending:
        keep_waiting(current)
    call.op = op
    call.options = ()
    call.region = EVERYWHERE if mask is None else region(mask)
    recorder = current.machine.recorder
    call.sequence = None if recorder is None else recorder.reserve()
    if frame is None:
        frame = sys._getframe(2)  # most instructions make their call themselves
    site = PLACES.get((id(frame.f_code), frame.f_lasti))
    if site is None:
        frame, site = place_of(frame)
    call.frame = frame
    call.site = site
    return call


def keep_waiting(current: State) -> None:
    """Let the results that wait for their destination survive what is written now."""
    for pending in current.pending:
        if pending.result is not None:
            keep(pending.result)


def number(value: Any, role: str, op: str) -> float | int:
    """``value`` as a Python number; raises when it is none."""
    if type(value) is float or type(value) is int:
        number: float | int = value
        return number
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, np.generic) and value.dtype in DTYPES.values():
        return int(value) if is_integer(value.dtype) else float(value)
    raise KernelError("", f"expected operand '{role}' of '{op}' to be a tile or a number, got {shown(value)}")


def store(current: State, result: Result, dst: Tile, where: Region, overwrite: bool = True) -> None:
    """Round ``result`` into the part ``where`` of ``dst``.

    ``overwrite`` starts a new PSUM accumulation group; otherwise a matmul result is added to the open one. What other
    instructions write to PSUM counts as a group of its own, so that a later ``+=`` adds to it.
    """
    machine, alloc = current.machine, dst.alloc
    _check_bits(result, dst.dtype)
    scope, now = alloc.scope, current.scope
    if scope is not now and scope and now[: len(scope)] != scope:
        raise _out_of_scope(alloc)
    space = alloc.space
    if space == "hbm":
        check_mutable(current, dst)
        _check_independent(current, dst, where)
    plain = type(dst) is Tile
    if not plain and dst.gather is not None:
        scatter(machine, result, dst, where)
        return
    if 0 in (dst.array.strides if plain else dst.strides):
        dst = _without_repeats(dst, result.values.shape, where)
    if plain and where is EVERYWHERE:
        view: View = dst
        chosen = None
    else:
        view = dst.view_in(where)
        chosen = where.where(view.array.shape)
    if space == "psum":
        if result.accumulates and overwrite:
            result.restarts = True
            alloc.set_group(view.array, False, chosen)
        elif not result.accumulates:
            alloc.set_group(view.array, opens(result))
    if chosen is None:
        commit(machine, result, view)
        return
    # what is out of bounds is skipped by the one DMA, in both versions: only a mask makes two of it
    parts = in_rows(result, view, chosen) if where.valid is None else ((result, view, chosen),)
    for part, target, left in parts:
        if left is not None and isinstance(target, Computed):
            _scattered(current, result, dst, where)
            return
        commit(machine, part, target, where=left)


def _check_bits(result: Result, dtype: np.dtype[Any]) -> None:
    """A bitvec operator leaves bits: "the input/output data types must be integer types" (``nisa.tensor_tensor``)."""
    found = result.values.dtype
    if found is FLOAT32 or found.kind not in "iu" or dtype.kind in "iub":
        return
    for role, operator in result.attributes:
        if role in ("op", "op0", "op1") and operator in BITWISE:
            raise KernelError("", f"'{operator}' works on the bits of integers, its destination is {dtype.name}")


def _scattered(current: State, result: Result, dst: Tile, where: Region) -> None:
    """Write elements that a mask leaves of an access of which others may be out of bounds."""
    if dst.space == "psum":
        raise NotModelled("a mask that ties dimensions, on a part of a PSUM tile that may be out of bounds")
    scatter(current.machine, result, dst, where)


def _without_repeats(dst: Tile, values: Shape, where: Region) -> Tile:
    """``dst`` with each element once, where an index repeats it and ``values`` are broadcast along it anyway.

    (``out[grid.p, 0]`` has the shape of the grid.)
    """
    if where.residual or len(values) != dst.ndim:
        return dst
    pairs = zip(dst.shape, dst.strides, values, strict=True)
    shape = tuple(1 if stride == 0 and n == 1 else extent for extent, stride, n in pairs)
    return dst if shape == dst.shape else dst.part(dst.offset, shape, dst.strides, dst.limits)


def accumulate(call: Call, result: Result, dst: Tile) -> None:
    """Add ``result`` to ``dst`` in memory, as a DMA engine does (``dst_rmw_op``, ``atomic_rmw``)."""
    call.note(result)
    if dst.space == "hbm":
        check_mutable(call.state, dst)
    scatter(call.state.machine, result, dst, call.region, add=True)


def _out_of_scope(alloc: Allocation) -> KernelError:
    """The error of a tensor that is used after the loop in which it was declared."""
    return KernelError(
        "err_local_variable_used_out_of_scope",
        f"Local variable '{alloc.name}' is referenced outside of its parent scope: it is a tensor of the loop body "
        f"that created it in line {alloc.line}",
    )


def _check_independent(current: State, dst: Tile, where: Region) -> None:
    """Raise when two iterations of an ``affine_range`` write to the same place in HBM."""
    for loop in current.scope:
        if not loop.parallel or dst.gather is not None or where.residual:
            continue
        if loop.writes_again((dst.alloc.uid, dst.offset, dst.shape, dst.strides, tuple(where.box.items()))):
            raise KernelError(
                "err_unexpected_output_dependencies",
                f"Unexpected output dependencies, different iterations of a parallel loop write to the same place of "
                f"`{dst.name}`",
            )


def check_mutable(current: State, dst: Tile) -> None:
    if dst.alloc.uid in current.immutable:
        raise KernelError(
            "err_cannot_update_immutable_parameter",
            f"Cannot update immutable parameter: parameter `{dst.name}` is immutable by default",
        )
    current.written.add(dst.alloc.uid)


def in_sbuf(call: Call, operand: Any) -> Any:
    """An operand of TensorE. A result that has no declaration goes where its user needs it: the compiler copies it.

    Source: ``reference/attention.py:999-1002`` of nki-samples multiplies by what ``nc_transpose`` returns.
    """
    if isinstance(operand, Tile) and operand.buffer is PSUM and operand.alloc.uid in call.state.implicit:
        return copied_to_sbuf(call, operand)
    return operand


def copied_to_sbuf(call: Call, operand: Tile) -> Tile:
    """A copy of a PSUM tile that the compiler makes for ``call``, whose engine cannot read it where it is."""
    copying = call_of("tensor_copy")
    result = isa.copy("tensor_copy", copying.view(copying.source("src", operand)))
    copying.note(result)
    call.reserve()
    return copying.unnamed(result, operand.shape, operand.dtype)
