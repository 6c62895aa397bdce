"""``nl.where``: one of two tiles, or of a tile and a number, element by element."""

from __future__ import annotations

from dataclasses import replace

from ..analysis.instructions import Instruction, Part
from ..expr.operands import Operand
from ..expr.values import Mask
from ..render.dtypes import Promotion, asserted_promotion, is_of_type, scalar_type, type_name
from ..render.masks import compares_vectors, mask_value
from ..render.patterns import common_dims, of_rank, spread
from ..rules.masks import clip
from ..syntax.codes import MASKS
from ..syntax.codes import NL_COMPUTE as CODE
from .compute import Call, copy_of, materialized
from .elementwise import same_sizes


def chosen_elements(call: Call) -> Instruction:
    """The second choice everywhere, then the first one where the condition holds.

    A first choice that is a number is there first, so that it needs no tile of its own.
    """
    mask = _mask(call)
    if mask is not None:
        return _chosen_by_mask(call, mask)
    condition, x, y = _operands(call)
    found = _promotion(call, x, y)
    is_reversed = not isinstance(x, Operand)
    first, source = (x, y) if is_reversed else (y, x)
    if not (isinstance(source, Operand) and is_of_type(call.scope, source.dtype, found)):
        source = materialized(call.scope, call.node, _filled(source, condition.dims, found.dtype))
    filled = _filled(first, condition.dims, found.dtype)
    given: list[tuple[str, Operand | str]] = [("src", source), ("predicate", _predicate(call, condition))]
    given += [("reverse_pred", "True")] if is_reversed else []
    explicit = call.has("dtype")
    return Instruction("tensor_copy_predicated", given, condition.dims, found.dtype, explicit=explicit, first=filled)


def _promotion(call: Call, x: Operand | str, y: Operand | str) -> Promotion:
    """The type of the result."""
    types = [
        side.dtype if isinstance(side, Operand) else scalar_type(call.scope, call.arguments[name])
        for name, side in (("x", x), ("y", y))
    ]
    dtype = call.dtype()
    return Promotion(dtype) if dtype else asserted_promotion(call.scope, *types)


def _mask(call: Call) -> Mask | None:
    """The mask of index vectors that the condition is; ``None`` for a tile."""
    node = call.arguments.get("condition")
    if node is None or not compares_vectors(call.scope, node):
        return None
    mask = mask_value(call.scope, node)
    return mask if mask is not None and mask.of_vectors else None


def _chosen_by_mask(call: Call, mask: Mask) -> Instruction:
    """The second choice everywhere, then the first one in the part that the mask leaves."""
    scope = call.scope
    ranks = {bound.ndim for bound in mask.bounds if not bound.loose}
    x, y = (of_rank(scope, v, *ranks) if isinstance(v, Operand) and len(ranks) == 1 else v for v in _sides(call))
    tiles = [side for side in (x, y) if isinstance(side, Operand)]
    dims = tiles[0].dims
    if dims is None:
        raise call.refuse(
            CODE, "nl.where of a tile of unknown rank by a mask", "load or slice it with all its dimensions"
        )
    same_sizes(scope, call.node, tiles[0], tiles[-1])
    found = _promotion(call, x, y)
    chosen, rest = (_filled(side, dims, found.dtype) for side in (x, y))
    return replace(chosen, explicit=call.has("dtype"), first=rest, part=_part(call, mask))


def _part(call: Call, mask: Mask) -> Part:
    """What a mask leaves of a place."""
    scope = call.scope
    scope.apply(MASKS, call.node)
    outside = scope.output.guards
    scope.output.guards = ()
    scope.guard(mask.conditions)
    clip(scope, call.arguments["condition"], mask)
    part = Part(scope.masks.clamps, scope.output.guards)
    scope.masks.clamps, scope.output.guards = {}, outside
    return part


def _operands(call: Call) -> tuple[Operand, Operand | str, Operand | str]:
    """The condition and the two choices, those that are tiles in the shape of the result."""
    condition = call.tensor("condition")
    x, y = _sides(call)
    tiles = [side for side in (x, y) if isinstance(side, Operand)]
    if condition.dims is None:
        raise call.refuse(CODE, "nl.where with a condition of unknown rank", "load or slice it with all its dimensions")
    dims = common_dims(call.scope, (condition, *tiles))
    if dims is not None:
        condition = spread(call.scope, call.node, condition, dims)
        x, y = (spread(call.scope, call.node, v, dims) if isinstance(v, Operand) else v for v in (x, y))
    for side in (x, y):
        if isinstance(side, Operand):
            same_sizes(call.scope, call.node, condition, side)
    return condition, x, y


def _sides(call: Call) -> tuple[Operand | str, Operand | str]:
    """The two choices, one of which is a tile."""
    if call.optional_dtype():
        raise call.refuse(CODE, "nl.where into a type that may be None", "pass a type, or none")
    if call.scope.masks.clamps or call.scope.masks.stairs is not None:
        raise call.refuse(CODE, "nl.where under a mask", "use slices in place of the mask")
    x, y = call.value("x"), call.value("y")
    if not isinstance(x, Operand) and not isinstance(y, Operand):
        raise call.refuse(CODE, "nl.where between two numbers", "multiply the condition, and add the second number")
    return x, y


def _filled(value: Operand | str, dims: tuple[str, ...] | None, dtype: str | None) -> Instruction:
    """A tile of ``dims`` with the values of another tile, or with a number, as ``dtype``."""
    if isinstance(value, Operand):
        return replace(copy_of(value), dtype=dtype)
    return Instruction("memset", [("value", value)], dims, dtype)


def _predicate(call: Call, condition: Operand) -> Operand:
    """A condition in a type that Beta 2 takes for one: unsigned integers."""
    if type_name(call.scope, condition.dtype) in ("uint8", "uint16", "uint32"):
        return condition
    nl = call.scope.nl
    given: list[tuple[str, Operand | str]] = [("data", condition), ("op0", f"{nl}.not_equal"), ("operand0", "0.0")]
    return materialized(
        call.scope, call.node, Instruction("tensor_scalar", given, condition.dims, f"{nl}.uint8", like=condition.like)
    )
