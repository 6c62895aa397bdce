"""Do the blocks of a tensor fit into their memory, as the emulator counts?

What the source does not tell of their sizes counts as 1: so much they take at least. The emulator's own accounting is
:mod:`nki_migrate.runtime.hazards.capacity`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.dtypes import ITEMSIZE
from nki_migrate.runtime.spec.memory import MODEL

from ..expr.emission import Refuse
from ..render.dtypes import type_name
from ..syntax import codes

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.declarations import Plan

_HELP = "fill and use the blocks in one loop, so that each lives in one iteration, or keep fewer of them"


def report_excess(scope: Scope, plan: Plan) -> None:
    """Report a tensor all of whose blocks are alive at once, and need more of a partition than there is."""
    space = MODEL.space(plan.space)
    limit, needed = space.extents[MODEL.default], bytes_needed(scope, plan)
    if needed > limit:
        message = (
            f"the blocks of '{plan.name}' need at least {needed} bytes of each partition of {space.title}, "
            f"which has {limit}"
        )
        scope.module.report(Refuse(plan.node, codes.BLOCK_DIMENSIONS, message, _HELP), informs=True)


def bytes_needed(scope: Scope, plan: Plan) -> int:
    """The bytes of each partition that all blocks of a tensor take at least."""
    space = MODEL.space(plan.space)
    sizes = [scope.constant(size) for size in (*plan.blocks, *plan.dims[1:])]
    whole = plan.dims[0].endswith("tile_size.pmax")
    rows = space.rows if whole else scope.constant(plan.dims[0]) or 1
    itemsize = ITEMSIZE.get(type_name(scope, plan.dtype) or "", 1)
    return prod(size if size is not None else 1 for size in sizes) * itemsize * space.kept(rows) // space.rows
