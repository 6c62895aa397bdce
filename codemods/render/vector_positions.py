"""Which dimension of an access each index vector walks, and which vectors are numbers.

``x[one * 0 + b, i_p, i_f]`` is ``x[b, i_p, i_f]``: the first vector has one value, and ``i_p`` walks its dimension.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..expr.operands import Item
from ..expr.values import Index, Value
from .index import first_value, is_single, simplified

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def positioned(scope: Scope, vectors: list[Value | None], rank: int) -> list[Index | Item | None]:
    """What the vectors of an access of ``rank`` dimensions walk; one number where another walks is a point."""
    reduced = [_walking(scope, v) if isinstance(v, Index) else None for v in vectors]
    taken = {only_position(v, rank) for v in reduced if v is not None and not _is_single(scope, v)}
    found: list[Index | Item | None] = []
    for vector in reduced:
        if vector is not None and _is_single(scope, vector) and _position(vector, rank) in taken:
            found.append(Item(first_value(vector), "1", point=True))
        else:
            found.append(vector)
            taken.add(only_position(vector, rank) if vector is not None else None)
    return found


def only_position(vector: Index, rank: int) -> int | None:
    """The dimension that a vector walks one by one; ``None`` for strides and sums of axes."""
    if len(vector.terms) != 1 or vector.terms[0].coefficient != "1":
        return None
    return _position(vector, rank)


def _walking(scope: Scope, vector: Index) -> Index:
    """A vector without what is one number in it, and one of one element without its factor.

    What Beta 1 makes of vectors of different sizes in one dimension is not known: their sum stays.
    """
    if len({term.position for term in vector.terms}) < len(vector.terms):
        return vector
    vector = simplified(scope, vector)
    if not _is_single(scope, vector) or scope.constant(vector.terms[0].axis.size) != 1:
        return vector
    term = vector.terms[0]
    steady = replace(term, axis=replace(term.axis, start="0"), coefficient="1")
    return replace(vector, terms=(steady,), offset=first_value(vector))


def _is_single(scope: Scope, vector: Index) -> bool:
    """Is a vector one number, repeated where it walks others' dimensions?"""
    return len(vector.terms) == 1 and is_single(scope, vector.terms[0])


def _position(vector: Index, rank: int) -> int:
    """The dimension of an access of ``rank`` dimensions in which the first term of a vector stands."""
    return vector.terms[0].position + rank - vector.ndim
