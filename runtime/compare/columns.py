"""Two tiles of one column each: Beta 1 has a ``tensor_tensor`` there, where what is written has a ``tensor_scalar``.

``nl.add(tile, column)`` repeats the column along the tile. The width is a run's, not the source's: the new kernel has
the instruction that is right for every width, and for one column both read and write the same elements, and compute
the same. Of integers of 32 bits they do not: ``tensor_tensor`` is exact there. Source: rule NKI022, and the
instructions' documentation ("tensor_tensor", "Note: 32-bit integer operators").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..events import Event, Operand
from ..spec.operators import one_spelling

_EXACT = frozenset({"int32", "uint32"})


def as_scalar(old: Event, new: Event) -> Iterator[Event]:
    """The ``tensor_scalar`` that the ``tensor_tensor`` ``old`` may be where ``new`` is one: either side may be data."""
    if (old.op, new.op) != ("tensor_tensor", "tensor_scalar"):
        return
    if [operand.role for operand in old.operands] != ["dst", "data1", "data2"]:
        return
    dst, left, right = old.operands
    if not all(_is_column(operand) for operand in old.operands) or {left.dtype, right.dtype} <= _EXACT:
        return
    told = dict(old.attributes)
    operator = told.pop("op")
    if operator == "power":
        return  # it runs on another engine than a tensor_scalar
    for data, operand, is_reversed in ((left, right, False), (right, left, True)):
        recorded, is_swapped = one_spelling(operator, is_reversed)
        computed: list[tuple[str, Any]] = [("op0", recorded)]
        if is_swapped:
            computed.append(("reverse0", True))
        operands = dst, replace(data, role="data"), replace(operand, role="operand0")
        yield replace(old, op=new.op, operands=operands, attributes=(*computed, *told.items()))


def _is_column(operand: Operand) -> bool:
    """Is there one element in each partition?"""
    return all(size == 0 and partitions for partitions, size, _ in operand.steps)
