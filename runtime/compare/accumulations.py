"""DMAs that add to their destination: a copy with ``dst_rmw_op`` up to NKI 0.2, ``dma_compute`` since 0.3.

Source: NKI Migration Guides, 0.3.0, "nisa.dma_copy, dst_rmw_op and unique_indices removed".
"""

from __future__ import annotations

from dataclasses import replace

from ..events import Event

_CHOSEN = frozenset({"dst_rmw_op", "dge_mode", "engine", "priority"})
"""Attributes of the copy that ``dma_compute`` does not have: its mode of DMA is the compiler's choice."""


def as_computed(old: Event, new: Event) -> Event:
    """``old``, or the ``dma_compute`` that an accumulating copy is where ``new`` is one.

    The destination stands among the sources, first or last, as it does in ``new``.
    """
    if old.op != "dma_copy" or new.op != "dma_compute":
        return old
    operator = dict(old.attributes).get("dst_rmw_op")
    if operator is None or [operand.role for operand in old.operands] != ["dst", "src"]:
        return old
    dst, src = old.operands
    summands = [dst, src] if _adds_to_first(new) else [src, dst]
    reads = tuple(replace(operand, role=f"src{number}") for number, operand in enumerate(summands))
    attributes = tuple(pair for pair in old.attributes if pair[0] not in _CHOSEN)
    return replace(old, op="dma_compute", operands=(dst, *reads), attributes=(("op", operator), *attributes))


def _adds_to_first(event: Event) -> bool:
    """Does a ``dma_compute`` name its destination as the first source?"""
    roles = {operand.role: operand for operand in event.operands}
    dst, first = roles.get("dst"), roles.get("src0")
    return dst is not None and first is not None and replace(first, role="dst") == dst
