"""Which elements of a result come from which elements of an operand."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from ..events import Event, Operand

Elements = npt.NDArray[np.bool_]
"""A flag for each element of an access, in row-major order."""
SELECTING = frozenset({"affine_select", "range_select", "select_reduce", "tensor_copy_predicated", "where", "select"})
"""Instructions that choose between elements: the chosen ones are taken to be those that were written."""
ELEMENTWISE = frozenset(
    (
        *("activation", "activation_reduce", "dma_copy", "exponential", "invert", "negative", "reciprocal"),
        *("scalar_tensor_tensor", "tensor_copy", "tensor_scalar", "tensor_scalar_reduce", "tensor_tensor"),
    )
)
TRANSPOSING = frozenset({"nc_transpose", "dma_transpose", "transpose"})
MATMULS = frozenset({"nc_matmul", "matmul"})
_ELSEWHERE = frozenset({"sendrecv"})
"""Instructions whose result comes from another core."""
_INDEXED_ROLES = frozenset({"data", "src_buffer"})


def is_indexed(event: Event, operand: Operand) -> bool:
    """Does the instruction use only some elements of ``operand``?

    A gather picks them by indices that only the chip knows; of the scales of MX operands a matmul uses four partitions
    in each 32.
    """
    if event.op == "nc_matmul_mx":
        return "scale" in operand.role
    return "gather" in event.op and operand.role in _INDEXED_ROLES


def reached(event: Event, source: Operand, elements: Elements, target: Operand) -> Elements:
    """The elements of ``target`` that come from the marked ``elements`` of ``source``.

    What is not known to be element by element counts by partitions; where partitions mix, all elements are reached.
    """
    total = prod(count for _, _, count in target.steps)
    if event.op in SELECTING or event.op in _ELSEWHERE:
        return np.zeros(total, np.bool_)
    rows, height = _partitions(source), _partitions(target)
    if event.op in MATMULS:
        return _of_matmul(source.role, elements.reshape(rows, -1), total)
    if event.op in TRANSPOSING and total == elements.size:
        turned: Elements = elements.reshape(rows, -1).T.reshape(-1)
        return turned
    if event.op in ELEMENTWISE and target.role == "dst" and elements.size in (total, height):
        return np.repeat(elements, total // max(elements.size, 1))
    if rows == height:
        return np.repeat(elements.reshape(rows, -1).any(axis=1), total // height)
    return np.full(total, elements.any())


def _of_matmul(role: str, elements: Elements, total: int) -> Elements:
    """``stationary`` (K, M) and ``moving`` (K, N) give (M, N); the old value of (M, N) is added in place."""
    columns = elements.any(axis=0)
    if role == "dst":
        return elements.reshape(-1)
    if total % columns.size:
        return np.full(total, columns.any())
    other = total // columns.size
    return np.repeat(columns, other) if role in ("stationary", "x") else np.tile(columns, other)


def _partitions(operand: Operand) -> int:
    """Partitions of an access: its first dimension (normal form), unless that lies within one partition."""
    if operand.space == "hbm":
        return operand.steps[0][2] if operand.steps else 1
    return operand.steps[0][2] if operand.steps and operand.steps[0][0] else 1
