"""Do the blocks of a tensor fit into their memory, as the emulator counts?

What the source does not tell of their sizes counts as 1: so much they take at least. The emulator's own accounting is
:mod:`nki_migrate.runtime.hazards.capacity`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.dtypes import ITEMSIZE
from nki_migrate.runtime.spec.memory import MODEL

from ..expr.declarations import Alive
from ..expr.emission import Refuse
from ..render.dtypes import type_name
from ..syntax import codes

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.declarations import Plan

_HELP = "fill and use the blocks in one loop, so that each lives in one iteration, or keep fewer of them"


def report_excess(scope: Scope, plan: Plan, statements: Sequence[ast.stmt]) -> None:
    """Report tensors all of whose blocks are alive at once, and need more of a partition than there is.

    ``statements`` are those that use the tensor ``plan``, in its block; others are those that were asked of before.
    """
    space, start = MODEL.space(plan.space), plan.statement if plan.fill is not None else statements[0]
    first, last = (scope.block.index(s) for s in (start, (statements or [start])[-1]))
    limit, needed = space.extents[MODEL.default], bytes_needed(scope, plan)
    alive = Alive(plan.name, plan.space, scope.block, first, last, needed)
    together = max((_beside(scope, alive, gap) for gap in range(first, max(last, first + 1))), key=_bytes_of)
    scope.memory.alive = (*scope.memory.alive, alive)
    if _bytes_of(together) <= limit or (needed <= limit and any(_bytes_of([other]) > limit for other in together)):
        return
    *others, _ = together
    if needed > limit or not others:
        what = f"the blocks of '{plan.name}' need"
    else:
        named = ", ".join(f"'{other.name}' ({other.needed})" for other in others)
        what = f"the blocks of {named} and '{plan.name}' ({needed}) are alive at once, and need"
        needed = _bytes_of(together)
    message = f"{what} at least {needed} bytes of each partition of {space.title}, which has {limit}"
    scope.module.report(Refuse(plan.node, codes.BLOCK_DIMENSIONS, message, _HELP), informs=True)


def report_excess_of_iteration(scope: Scope, plan: Plan, blocks: tuple[str, ...], loop: ast.stmt) -> None:
    """Report a tensor of which one iteration of a loop needs more of a partition than there is.

    ``blocks`` are its block dimensions, 1 for those that the loop, and those around it, go over.
    """
    space = MODEL.space(plan.space)
    limit, needed = space.extents[MODEL.default], bytes_needed(scope, replace(plan, blocks=blocks))
    if needed > limit:
        message = (
            f"the blocks of '{plan.name}' that one iteration of the loop in line {loop.lineno} uses need at least "
            f"{needed} bytes of each partition of {space.title}, which has {limit}"
        )
        scope.module.report(Refuse(plan.node, codes.BLOCK_DIMENSIONS, message, _HELP), informs=True)


def _beside(scope: Scope, alive: Alive, gap: int) -> list[Alive]:
    """The tensors of its space and block that are alive between statement ``gap`` and the next one, it among them."""
    same = (a for a in scope.memory.alive if a.space == alive.space and a.block is alive.block and a.name != alive.name)
    return [*(a for a in same if a.first <= gap < a.last), alive]


def _bytes_of(tensors: Sequence[Alive]) -> int:
    return sum(tensor.needed for tensor in tensors)


def bytes_needed(scope: Scope, plan: Plan) -> int:
    """The bytes of each partition that all blocks of a tensor take at least."""
    space = MODEL.space(plan.space)
    sizes = [scope.constant(size) for size in (*plan.blocks, *plan.dims[1:])]
    whole = plan.dims[0].endswith("tile_size.pmax")
    rows = space.rows if whole else scope.constant(plan.dims[0]) or 1
    itemsize = ITEMSIZE.get(type_name(scope, plan.dtype) or "", 1)
    return prod(size if size is not None else 1 for size in sizes) * itemsize * space.kept(rows) // space.rows
