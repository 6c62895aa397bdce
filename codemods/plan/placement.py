"""What Beta 2 cannot do with the place that an instruction writes to, or reads from."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..render.flat_masks import ELEMENTWISE
from ..syntax import codes
from ..syntax.codes import MASKS

if TYPE_CHECKING:
    from ..analysis.instructions import Instruction
    from ..analysis.scope import Scope
    from ..expr.frames import Clamp


def check_skipped_rows(scope: Scope, node: ast.expr, instruction: Instruction, target: Operand) -> None:
    """Rows out of bounds can be skipped where the bounds are those of the tensor that Beta 2 sees."""
    operands = [target, *(value for _, value in instruction.arguments if isinstance(value, Operand))]
    skips = "oob_mode" in dict(instruction.arguments) and any((o.origin or o).joined for o in operands)
    if skips and not scope.module.options.unsafe:
        raise Refuse(
            node,
            codes.INDEX_VECTORS,
            "rows of a part of a tensor, some of which may be skipped: Beta 2 knows only the tensor's own end",
            "--unsafe takes an index that is out of bounds to be out of the tensor, too",
            "review",
        )


def check_starts(node: ast.expr, instruction: Instruction, target: Operand, clamps: list[Clamp]) -> None:
    """What a lower bound leaves starts later: so it can, where each element is computed on its own.

    Engines read and write from certain partitions on only; DMAs from any.
    """
    later = [clamp for clamp in clamps if clamp.start != "0"]
    if not later:
        return
    if instruction.function not in ELEMENTWISE | {"dma_copy", "memset"} or instruction.precut:
        raise Refuse(node, MASKS, f"a mask with a lower bound of {instruction.function}", "clamp the operands by hand")
    operands = [target, *(value for _, value in instruction.arguments if isinstance(value, Operand))]
    if any(view.dynamic or view.rows_at is not None for view in operands):
        raise Refuse(node, MASKS, "a mask with a lower bound of a dynamic access", "clamp the operands by hand")
    if instruction.function != "dma_copy" and any(0 in view.cuts(later) for view in operands):
        raise Refuse(node, MASKS, "a mask with a lower bound of partitions", "clamp the operands by hand")
