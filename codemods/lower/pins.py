"""Tensors that ``sbuf.mod_alloc`` pins: what a manager must know about each of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.declarations import Pinned
from ..expr.emission import New
from ..expr.values import Allocator
from ..plan.address_functions import first_byte
from ..plan.allocator_classes import class_of, tiles_of
from ..render.type_names import itemsize
from ..rules.block_dimensions import all_used, uses
from ..syntax import codes
from .addresses import layout, scalar, tuple_sizes

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.declarations import Plan


def pinned(scope: Scope, plan: Plan, style: str, loop: ast.For | None, written: tuple[New, ...]) -> Pinned:
    """The facts about a tensor that was just declared."""
    allocator = plan.buffer
    assert isinstance(allocator, Allocator)
    given = {k.arg: k.value for k in allocator.call.keywords if k.arg}
    free = _tiles(scope, allocator, given, plan.blocks)
    tiles = (free or ("1",) * len(plan.blocks)) if plan.blocks else ()
    unsuited = _unsuited(plan, given, tiles)
    several = tuple(size for size in tiles if scope.constant(size) != 1)
    dims = (plan.dims[0], *several, *plan.dims[1:]) if style == "fold" else plan.dims
    size = itemsize(scope, plan.dtype)
    row = layout(scope, (), (), plan.dims, plan.dtype).row_bytes
    base = scalar(scope, given, "base_addr")
    if allocator.kind == "alloc":
        handed = first_byte(scope, allocator.call, plan.blocks, row)
        base, unsuited = (handed, "") if handed is not None else (base, unsuited)
    turns = several[0] if style == "loop" and several else ""
    reserved = algebra.multiply(*tiles, row)
    partition = scalar(scope, given, "base_partition")
    ring = _is_ring(scope, plan, tiles, style)
    return Pinned(
        *(plan, style, loop, written, base, partition, reserved, dims, tiles, turns, unsuited, size),
        in_loop=bool(scope.place.loops),
        ring=ring,
        indexed=ring and plan.fill is None and not uses(scope, plan.name, len(plan.blocks)).other,
    )


def _unsuited(plan: Plan, given: dict[str, ast.expr], tiles: tuple[str, ...]) -> str:
    assert isinstance(plan.buffer, Allocator)
    if plan.buffer.kind == "alloc":
        return "its function is not seen to put one tile behind the other, from a byte that the kernel knows, upwards"
    if plan.buffer.kind == "object":
        return "not all addresses that its object hands out can be told where the kernel is read"
    if plan.buffer.condition:
        return "a condition decides whether it is pinned"
    if "num_par_tiles" in given:
        return "its blocks lie in different partitions"
    if len(tiles) != len(plan.blocks):
        return "num_free_tiles has another rank than its blocks"
    return ""


def _tiles(scope: Scope, allocator: Allocator, given: dict[str, ast.expr], blocks: tuple[str, ...]) -> tuple[str, ...]:
    held = class_of(scope.module, allocator.call) if allocator.kind == "object" else None
    if held is not None:
        return tiles_of(scope, held[1], allocator.call)
    if allocator.kind == "alloc":
        return blocks
    return (
        tuple_sizes(scope, given.get("num_free_tiles"), codes.SBUF_MOD_ALLOC) if allocator.kind == "mod_alloc" else ()
    )


def _is_ring(scope: Scope, plan: Plan, tiles: tuple[str, ...], style: str) -> bool:
    """Are the tiles to be declared apart from the blocks: maybe more of them, or filled anew by each block?"""
    if style != "list" or tiles == plan.blocks or len(tiles) != len(plan.blocks):
        return False
    return plan.fill is not None or not all(all_used(scope, n, b) for n, b in zip(tiles, plan.blocks, strict=True))
