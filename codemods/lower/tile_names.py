"""Names for tiles that Beta 1 had without one: what they are of, and what was done to it (``scores_transposed``)."""

from __future__ import annotations

import ast
import re

from ..analysis.instructions import Instruction
from ..analysis.scope import Scope
from ..expr.operands import Operand
from ..syntax.nodes import written_names

_NAME = re.compile(r"[A-Za-z_]\w*(?=$|\[)")
_LONGEST = 24
"""Characters of a name that is made of two."""
_NUMBER = re.compile(r"-?\d+(\.\d*)?$")
_TILE = re.compile(r"_tile(_\d+)?$")
_RESULTS: dict[type[ast.operator], str] = {
    ast.Add: "sum",
    ast.Sub: "difference",
    ast.Mult: "product",
    ast.Div: "quotient",
    ast.Mod: "remainder",
}
_DONE = {
    "load": "tile",
    "load_transpose2d": "transposed",
    "dma_copy": "tile",
    "nc_transpose": "transposed",
    "transpose": "transposed",
    "broadcast_rows": "broadcast",
    "broadcast_to": "broadcast",
    "astype": "converted",
    "static_cast": "converted",
    "tensor_copy": "copy",
    "copy": "copy",
    **{name: name for name in "max min sum mean exp log sqrt rsqrt square reciprocal tanh sigmoid".split()},
}
"""What an operation of one tile is called in the name of its result."""
_REDUCTIONS = ("tensor_reduce", "all_reduce")
_REDUCED = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "product"}
_MADE = {
    "tensor_scalar": {
        "multiply": "scaled",
        "add": "shifted",
        "subtract": "shifted",
        "maximum": "max",
        "minimum": "min",
    },
    "tensor_tensor": {"multiply": "scaled", "add": "accumulated", "subtract": "difference", "maximum": "max"},
}
"""What an instruction with an operator makes of a tile, in the name of the tile that takes its place."""
_HINTS = {
    "tensor_reduce": "reduced",
    "nc_matmul": "product",
    "matmul": "product",
    "memset": "filled",
    "tensor_copy_predicated": "chosen",
}
"""What an instruction makes, in the name of a tile that the source has no name for."""


def result_name(scope: Scope, instruction: Instruction, node: ast.expr | None = None) -> str:
    """A name for the tile that an instruction makes; ``node`` is the nested computation that it is, if any.

    Where the source has that name, often for the very thing that is made of this tile, it is a longer one.
    """
    name = _result_name(scope, instruction, node)
    of = _operand(instruction)
    if of is None or not name.startswith(f"{of[0]}_") or name not in written_names(scope.outermost):
        return name
    base, done = of[1].base.partition("[")[0], name.removeprefix(of[0])
    longer = f"{of[0]}_loaded" if done == "_tile" else f"{base}{done}"
    return longer if _NAME.fullmatch(longer) and scope.unused(longer) == longer else name


def _result_name(scope: Scope, instruction: Instruction, node: ast.expr | None) -> str:
    operation = instruction.function if node is None else _operation(scope, node)
    of = _operand(instruction)
    if of is not None and instruction.function == "tensor_copy" and of[1].space == "psum":
        return f"{of[0].removesuffix('_psum')}_sbuf"
    if of is not None and (done := _DONE.get(operation)):
        return f"{of[0]}_{done}"
    if of is not None and instruction.function == "tensor_scalar" and (factor := _factor(instruction)):
        is_negative = _NUMBER.match(factor) and float(factor) == -1
        return f"neg_{of[0]}" if is_negative else f"{of[0]}_scaled"
    if isinstance(node, ast.BinOp):
        operation = _RESULTS.get(type(node.op), "")
    hint = _HINTS.get(operation, operation)
    name = f"{hint}_tile" if hint else "tile"
    return name if scope.unused(name) == name else _of_two(instruction, operation) or name


def name_of_more(scope: Scope, name: str, instruction: Instruction, node: ast.expr) -> str:
    """A name for the result of what reads the tile ``name`` and is to be bound to that name."""
    operation = _operation(scope, node)
    reduced = _REDUCED.get(str(dict(instruction.arguments).get("op", "")).rpartition(".")[2], "reduced")
    done = reduced if operation in _REDUCTIONS else _DONE.get(operation, "")
    own, base = _operand(instruction), _TILE.sub("", name)
    if done and own is not None and own[0] == base:
        return f"{own[0]}_{done}"
    done = _made_by_operator(instruction)
    return f"{base}_{done}" if done else f"new_{name}"


def _made_by_operator(instruction: Instruction) -> str:
    """What the last operator of an elementwise instruction, or its activation, makes of a tile; empty for others."""
    given = dict(instruction.arguments)
    if instruction.function == "activation":
        return str(given.get("op", "")).rpartition(".")[2]
    last = next((given[key] for key in ("op1", "op0", "op") if key in given), "")
    return _MADE.get(instruction.function, {}).get(str(last).rpartition(".")[2], "")


def _of_two(instruction: Instruction, operation: str) -> str:
    """``q_times_cos``, where both names are short; empty for other operations, and for one operand."""
    word = {"product": "times", "multiply": "times", "sum": "plus", "add": "plus"}.get(operation, "")
    views = [value for _, value in instruction.arguments if isinstance(value, Operand)]
    names = [_TILE.sub("", found.group()) for view in views if (found := _NAME.match(view.base))]
    text = f"_{word}_".join(names)
    return text if word and len(names) == len(views) == 2 and len(text) <= _LONGEST else ""


def _factor(instruction: Instruction) -> str:
    """The number that an instruction does nothing with but to multiply by it; empty for any other instruction."""
    given = dict(instruction.arguments)
    operator, factor = str(given.get("op0", "")), given.get("operand0")
    alone = given.keys() <= {"data", "op0", "operand0", "reverse0"} and operator.endswith(".multiply")
    return factor if alone and isinstance(factor, str) else ""


def _operation(scope: Scope, node: ast.expr) -> str:
    """The function of NKI, or the method of a tensor, that a nested computation calls; empty for an operator."""
    if not isinstance(node, ast.Call):
        return ""
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return (scope.qualified(node.func) or method).rpartition(".")[2]


def _operand(instruction: Instruction) -> tuple[str, Operand] | None:
    """The name of the first tensor that an instruction reads, without ``_tile`` or ``_`` at its end, and the tensor."""
    view = next((value for _, value in instruction.arguments if isinstance(value, Operand)), None)
    found = _NAME.match(view.base) if view is not None else None
    if view is None or found is None:
        return None
    return _TILE.sub("", found.group()).rstrip("_") or found.group(), view
