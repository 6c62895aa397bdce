"""What a name is after two branches, or at the head of a loop: what both agree on, described through the name."""

from __future__ import annotations

from dataclasses import replace

from ..expr.values import EITHER, DType, Hbm, Tile, Value, either_rank, merge
from .name_views import parameter_value


def merged(name: str, a: Value | None, b: Value | None) -> Value:
    """What ``name`` is after two branches; what they do not agree on is described through the name itself."""
    known = merge(a, b)
    if known == DType(""):
        return DType(name)
    if isinstance(a, Hbm) and isinstance(b, Hbm) and type(known) is Value:
        dtype = a.dtype if a.dtype == b.dtype else f"{name}.dtype"
        return Hbm(_common_dims(name, a.dims, b.dims), dtype, a.view or b.view, untold=a.untold or b.untold)
    return _merged_tiles(name, a, b, known) if isinstance(a, Tile) and isinstance(b, Tile) else known


def _merged_tiles(name: str, a: Tile, b: Tile, known: Value) -> Value:
    """What ``name`` is after two branches that leave a tile each; ``known`` is what they agree on."""
    if not (a.blocks or b.blocks):
        if type(known) is Value:
            space = a.space if a.space == b.space else EITHER
            dims = _common_dims(name, a.dims, b.dims)
            column = _is_column(a) or _is_column(b)
            view, ranks = a.view or b.view, either_rank(a, b) if dims is None else ()
            known = Tile(space, dims, None, view=view, perhaps_column=column, ranks=ranks, untold=a.untold or b.untold)
        if isinstance(known, Tile) and known.dtype is None:
            return replace(known, dtype=f"{name}.dtype")
    if type(known) is Value and len(a.blocks) == len(b.blocks):
        return _merged_blocks(name, a, b)
    return known


def _is_column(tile: Tile) -> bool:
    """Has a tile one element in each partition, or may it have?"""
    return tile.perhaps_column or (tile.dims is not None and all(size == "1" for size in tile.dims[1:]))


def _merged_blocks(name: str, a: Tile, b: Tile) -> Value:
    """Two tensors with as many block dimensions, each a list of tiles."""
    alike = a.style == b.style == "list" and a.space == b.space and a.dims is not None and b.dims is not None
    if not alike or [n == "1" for n in a.dims or ()] != [n == "1" for n in b.dims or ()]:
        return Value()
    seen = parameter_value(name, a)
    assert isinstance(seen, Tile)
    return replace(seen, view=a.view or b.view, optional=a.optional or b.optional, untold=a.untold or b.untold)


def _common_dims(name: str, a: tuple[str, ...] | None, b: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Sizes that hold for either of two tensors; ``None`` where the ranks differ.

    One of size 1 is then not seen to broadcast: Beta 2 refuses operands of different sizes.
    """
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else f"{name}.shape[{d}]" for d, (m, n) in enumerate(zip(a, b, strict=True)))
