"""From arguments of Beta 2 instructions to operands, and from results to destinations."""

from __future__ import annotations

from math import prod

from .. import isa, session
from ..errors import KernelError, SizesDiffer
from ..isa.operators import apply_alu
from ..memory import Array, View, address_of, view_of
from ..numerics import convert
from . import values
from .tensor import NkiTensor
from .values import ReduceCmd

Scalar = int | float


def tile(value: object) -> NkiTensor:
    """A tensor operand, with dynamic offsets read."""
    if not isinstance(value, NkiTensor):
        raise KernelError("", f"expecting tensor access, got '{values.kind(value)}'")
    return value.resolved()


def on_chip(value: object, name: str) -> NkiTensor:
    """A tensor operand of a compute engine: in SBUF or PSUM."""
    found = value if type(value) is NkiTensor else tile(value)
    if found.alloc.space == "hbm":
        raise KernelError("", f"{name} must be in SBUF or PSUM, '{found.label}' is in HBM: use nki.isa.dma_copy")
    return found


def in_sbuf(value: object, name: str, instruction: str) -> NkiTensor:
    found = value if type(value) is NkiTensor else tile(value)
    if found.alloc.space != "sbuf":
        raise KernelError(
            "", f"{instruction}: {name} must be in SBUF, '{found.label}' is in {found.alloc.space.upper()}"
        )
    return found


def immediate_or_column(value: object, data: NkiTensor, name: str) -> View | Scalar:
    """A number, or a tensor with one element for each partition of ``data``.

    The tensor may have more partitions than ``data``: the front end does not mind, the lanes of ``data`` read theirs.
    """
    if type(value) is float or not isinstance(value, NkiTensor):
        return values.number(value)
    column, lanes_ = on_chip(value, name), data.array.shape[0]
    array = column.array
    partitions = array.shape[0]
    if partitions < lanes_ or array.size != partitions:
        raise KernelError(
            "",
            f"{name} must be a number or have one element for each of the {lanes_} partitions, its shape is "
            f"{column.shape}",
        )
    return column if partitions == lanes_ else view_of(column.alloc, array[:lanes_])


def same_extent(instruction: str, roles: tuple[str, str], first: NkiTensor, second: NkiTensor) -> None:
    """Check that the operands have equal partitions and equal elements a partition: nothing broadcasts in Beta 2."""
    if first.array.shape != second.array.shape and extent(first) != extent(second):
        raise SizesDiffer(
            "",
            f"{instruction}: {roles[0]} has (partitions, elements) {extent(first)} and {roles[1]} has "
            f"{extent(second)}: they must be equal, nothing is broadcast",
        )


def extent(tensor: NkiTensor) -> tuple[int, int]:
    """(partitions, elements a partition)."""
    return tensor.array.shape[0], prod(tensor.array.shape[1:])


def not_both_in_psum(instruction: str, a: NkiTensor, b: NkiTensor, names: str) -> None:
    if a.alloc.space == b.alloc.space == "psum":
        raise KernelError("", f"{instruction}: {names} cannot both reside in PSUM")


def deliver(result: isa.Result, dst: NkiTensor, where: Array | None = None, accumulate: bool | None = None) -> None:
    """Write ``result`` to ``dst``; they must have the same partitions and the same elements a partition."""
    given, wanted = result.values.shape, dst.array.shape
    if given != wanted:
        found = given[0], prod(given[1:])
        if found != extent(dst):
            raise SizesDiffer(
                "",
                f"{result.op}: the result has (partitions, elements) {found}, dst has {extent(dst)}: they must be "
                "equal, nothing is broadcast",
            )
        result.values = result.values.reshape(wanted)
    if where is not None:
        where = where.reshape(wanted)
    isa.commit(session.current().machine, result, dst, where, accumulate)


def deliver_with(result: isa.Result, dst: NkiTensor, role: str, second: object, column: Array) -> None:
    """:func:`deliver`, and write (P, 1) ``column`` to the tensor ``second`` of that ``role`` unless it is ``None``.

    More partitions than P are let be: the lanes write theirs.
    """
    if second is None:
        deliver(result, dst)
        return
    whole, lanes_ = on_chip(second, role), column.shape[0]
    if extent(whole)[0] < lanes_ or extent(whole)[1] != 1:
        raise KernelError("", f"{role} must have shape ({lanes_}, 1), it has {whole.shape}")
    also = whole if extent(whole)[0] == lanes_ else view_of(whole.alloc, whole.array[:lanes_])
    result.also_writes = (*result.also_writes, (role, also))
    deliver(result, dst)
    also.array[...] = convert(column, also.array.dtype).reshape(also.array.shape)


def lanes(tensor: NkiTensor) -> slice:
    """The compute lanes that work on ``tensor``: its partitions, counted in the tile where the compiler places it."""
    alloc = tensor.alloc
    first = (address_of(tensor.array) - alloc.start) // alloc.pitch
    return slice(first, first + tensor.array.shape[0])


def accumulate(registers: Array, command: ReduceCmd, operator: str, column: Array | None, start: Array | float) -> None:
    """Update the accumulators ``registers`` (P, 1) with one instruction's reduction ``column`` (P, 1).

    ``start`` is what a reset or a load puts into them.
    """
    if command in (ReduceCmd.reset, ReduceCmd.reset_reduce, ReduceCmd.load_reduce):
        registers[...] = start
    if command in (ReduceCmd.reduce, ReduceCmd.reset_reduce, ReduceCmd.load_reduce):
        if column is None:
            raise KernelError("", f"reduce_cmd.{command.name} needs a reduce_op")
        registers[...] = apply_alu(operator, registers, column)
