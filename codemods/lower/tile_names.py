"""Names for tiles that Beta 1 had without one: what they are of, and what was done to it (``scores_transposed``)."""

from __future__ import annotations

import ast
import re

from ..analysis.instructions import Instruction
from ..analysis.scope import Scope
from ..expr.operands import Operand

_NAME = re.compile(r"[A-Za-z_]\w*(?=$|\[)")
_TILE = re.compile(r"_tile(_\d+)?$")
_RESULTS: dict[type[ast.operator], str] = {
    ast.Add: "sum",
    ast.Sub: "difference",
    ast.Mult: "product",
    ast.Div: "quotient",
}
_DONE = {
    "load": "tile",
    "load_transpose2d": "transposed",
    "dma_copy": "tile",
    "nc_transpose": "transposed",
    "transpose": "transposed",
    "broadcast_rows": "broadcast",
    "tensor_copy": "copy",
    "copy": "copy",
    **{name: name for name in "max min sum mean exp log sqrt rsqrt square reciprocal tanh sigmoid".split()},
}
"""What an operation of one tile is called in the name of its result."""
_HINTS = {"tensor_reduce": "reduced", "nc_matmul": "product", "matmul": "product"}


def result_name(scope: Scope, instruction: Instruction, node: ast.expr | None = None) -> str:
    """A name for the tile that an instruction makes; ``node`` is the nested computation that it is, if any."""
    operation = instruction.function if node is None else _operation(scope, node)
    of = _operand(instruction)
    if of is not None and instruction.function == "tensor_copy" and of[1].space == "psum":
        return f"{of[0].removesuffix('_psum')}_sbuf"
    if of is not None and (done := _DONE.get(operation)):
        return f"{of[0]}_{done}"
    if isinstance(node, ast.BinOp):
        operation = _RESULTS.get(type(node.op), "")
    hint = _HINTS.get(operation, operation)
    return f"{hint}_tile" if hint else "tile"


def _operation(scope: Scope, node: ast.expr) -> str:
    """The function of NKI that a nested computation calls; empty for an operator."""
    return (scope.qualified(node.func) or "").rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _operand(instruction: Instruction) -> tuple[str, Operand] | None:
    """The name of the first tensor that an instruction reads, without ``_tile`` at its end, and the tensor."""
    view = next((value for _, value in instruction.arguments if isinstance(value, Operand)), None)
    found = _NAME.match(view.base) if view is not None else None
    if view is None or found is None:
        return None
    return _TILE.sub("", found.group()) or found.group(), view
