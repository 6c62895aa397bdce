"""Instructions under a mask of the first elements, row by row: whole rows, and a part of the next one."""

from __future__ import annotations

import ast

from ..analysis.instructions import Instruction
from ..analysis.scope import Scope
from ..expr.emission import Refuse
from ..expr.frames import Staircase
from ..expr.operands import Operand
from ..render.flat_masks import ELEMENTWISE, parts
from ..syntax.codes import ISA_DESTINATION as DESTINATION
from ..syntax.codes import MASKS


def guard_rows(scope: Scope, node: ast.expr, instruction: Instruction, stairs: Staircase, fresh: bool) -> None:
    """An elementwise instruction may compute whole rows of a new tile: what the mask leaves out is never read."""
    reduces = any(name == "reduce_res" for name, _ in instruction.arguments)
    if not fresh or instruction.function not in ELEMENTWISE or reduces:
        message = f"{instruction.function} under a mask of the first elements, row by row"
        raise Refuse(node, MASKS, message, "split the rows by hand")
    scope.guard((f"{stairs.some} > 0",))


def copy_rows(scope: Scope, node: ast.expr, instruction: Instruction, target: Operand, stairs: Staircase) -> None:
    """A DMA of whole rows, and one of a part of the next row."""
    given = dict(instruction.arguments)
    source = given.pop("src")
    assert isinstance(source, Operand)
    scope.apply(DESTINATION, node)
    others = "".join(f", {name}={value}" for name, value in given.items())
    for size, (dst, src) in parts(scope, node, [target, source], stairs):
        guards = scope.output.guards
        scope.guard((f"{size} > 0",))
        scope.emit(f"{scope.nisa}.dma_copy(dst={dst}, src={src}{others})")
        scope.output.guards = guards
