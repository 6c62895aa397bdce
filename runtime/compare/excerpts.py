"""Excerpts of an address map: the tiles around one."""

from __future__ import annotations

from .trace import Program, TileRow

NEIGHBOURS = 2
"""Tiles that an excerpt shows on each side of its own."""


def facts(tile: TileRow | None) -> tuple[object, ...]:
    """What a declaration says of a tile, and where it lies."""
    if tile is None:
        return ()
    return tile.label, tile.space, tile.partition, tile.byte, tile.partitions, tile.nbytes, tile.dtype


def map_excerpt(program: Program, uid: int) -> tuple[str, ...]:
    """The pinned tiles around the tile ``uid`` in its memory, by address, its own line marked; empty if not pinned."""
    own = next((tile for tile in program.tiles if tile.uid == uid and tile.pinned), None)
    if own is None:
        return ()
    rows = {facts(tile): tile for tile in program.tiles if tile.pinned and tile.space == own.space}
    ordered = sorted(rows.values(), key=lambda tile: (tile.byte or 0, tile.partition or 0, tile.uid))
    at = next(n for n, tile in enumerate(ordered) if facts(tile) == facts(own))
    shown = ordered[max(at - NEIGHBOURS, 0) : at + NEIGHBOURS + 1]
    return tuple(_map_line(tile, facts(tile) == facts(own)) for tile in shown)


def _map_line(tile: TileRow, own: bool) -> str:
    partition, byte = tile.partition or 0, tile.byte or 0
    place = (
        f"{tile.space} partitions {partition}-{partition + tile.partitions - 1} bytes {byte}-{byte + tile.nbytes - 1}"
    )
    return f"{'>' if own else ' '} {place}: {tile.label}"
