"""Where the parts of tiles that engines read and write start: at partitions that they reach, or not.

Beta 1 moves a tile without an address, or a part of one, to where its engine reaches it. Beta 2 refuses such an access.
Source: Trainium/Inferentia2 architecture guide, "Accessing SBUF/PSUM tensors using compute engines"
(:func:`~nki_migrate.runtime.spec.instructions.start_partitions`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.instructions import ANY, ENGINES, INSTRUCTIONS, start_partitions

from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Operand, cut_item
from ..expr.values import Tile
from ..syntax import codes

if TYPE_CHECKING:
    from ..analysis.instructions import Instruction
    from ..analysis.scope import Scope
    from ..expr.frames import Clamp

CODE = codes.ISA_DESTINATION
_STARTS = start_partitions(1)
_QUARTER, _HALF = _STARTS[1], _STARTS[2]
_WHY = "engines reach parts of tiles from certain partitions on only"


def check_partitions(
    scope: Scope,
    node: ast.AST,
    instruction: Instruction,
    target: Operand,
    clamps: Sequence[Clamp] = (),
    inside: Sequence[Clamp] = (),
) -> None:
    """Raise :class:`Refuse` about an operand that no engine reaches as it lies; what only a trace tells is assumed.

    ``clamps`` cut the destination, ``inside`` what is read.
    """
    row = INSTRUCTIONS.get(instruction.function, ANY)
    if not ENGINES[row.engine].aligned:
        return
    read = [(name, value, inside) for name, value in instruction.arguments if isinstance(value, Operand)]
    for role, view, cuts in [("dst", target, clamps), *read]:
        part = view.origin if view.is_view else view
        if role not in row.anywhere and part is not None and isinstance(part.value, Tile):
            _check_part(scope, node, view, part, cuts)


def _check_part(scope: Scope, node: ast.AST, view: Operand, part: Operand, cuts: Sequence[Clamp]) -> None:
    start, count = _extent(scope, part, cuts)
    if _is_multiple(scope, start, _HALF):
        return  # 64 partitions at most are behind the second half's start
    first, size = _number(scope, start), _number(scope, count)
    if _is_multiple(scope, start, _QUARTER) and size is not None and size <= _QUARTER:
        return
    if first is not None and (first % _QUARTER or (size or 0) > _QUARTER):
        legal = ", ".join(map(str, start_partitions(size if size is not None else 1)))
        what = f"'{part.base}' is accessed at {count} partitions from partition {first}: they may start at {legal}"
        help = "a DMA reaches every partition: copy them to a tile of their own with nisa.dma_copy, or move the tile"
        raise Refuse(node, CODE, what, help)
    scope.assume(_condition(scope, view, start, count), _WHY)


def _extent(scope: Scope, part: Operand, cuts: Sequence[Clamp]) -> tuple[str, str]:
    """The first partition of an access, and the number of its partitions."""
    if part.pattern is not None:
        rows = [clamp for clamp in cuts if clamp.position == 0]
        return part.first, rows[0].size if rows else part.pattern[0].count
    if not part.items:
        return "0", part.rows
    item = cut_item(part.items[0], part.cuts(cuts).get(0))
    return item.start, item.count


def _is_multiple(scope: Scope, text: str, number: int) -> bool:
    """Is an expression provably a multiple of a number?"""
    return all(coefficient % number == 0 for coefficient in _terms(scope, text).values())


def _number(scope: Scope, text: str) -> int | None:
    """The integer that an expression is, or ``None`` where that cannot be seen."""
    terms = _terms(scope, text)
    return terms.get((), 0) if set(terms) <= {()} else None


def _terms(scope: Scope, text: str) -> algebra.Polynomial:
    """An expression with the number of partitions for ``nl.tile_size.pmax``, which is one on every device."""
    named = re.compile(rf"(?<![\w.]){re.escape(scope.nl)}\.tile_size\.pmax\b")
    definitions = {name: named.sub(_PARTITIONS, value) for name, value in scope.sizes.definitions.items()}
    return algebra.normal(named.sub(_PARTITIONS, text), definitions)


_PARTITIONS = "128"


def _condition(scope: Scope, view: Operand, start: str, count: str) -> str:
    """What a kernel takes for true of an access, as Python says it of names that the function has."""
    if not algebra.names(start) | algebra.names(count) <= scope.names.env.keys():
        return f"'{view.base}' starts where an engine reaches its partitions"
    whole = f"{algebra.paren(start)} % {_HALF} == 0"
    size = _number(scope, count)
    if size is not None and size > _QUARTER:
        return whole
    quarter = f"{algebra.paren(start)} % {_QUARTER} == 0"
    return quarter if size is not None else f"{whole} or {quarter} and {algebra.paren(count)} <= {_QUARTER}"
