"""``nl.load(x[a:b])`` of a tensor whose rank nothing proves: taken to be what its author, or its use, says it is."""

from __future__ import annotations

from ..analysis.evident_ranks import evident_rank
from ..expr.operands import Operand
from ..render.patterns import of_name, of_rank
from .access import operand
from .compute import Call


def of_evident_rank(call: Call, src: Operand) -> Operand:
    """``src`` of the load ``call``, with a rank that the kernel asserts where there is evidence of it."""
    scope = call.scope
    if not src.is_row_slice or src.prefix:
        return src
    rank = evident_rank(scope, call.node, src.base)
    if rank is None or of_rank(scope, of_name(scope, src.base, src.value), rank).dims is None:
        return src
    return operand(scope, call.arguments["src"]) or src
