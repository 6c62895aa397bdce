"""Lists of tiles as source text: the loops that fill them."""

from __future__ import annotations

from collections.abc import Sequence

from . import algebra


def nth(name: str, index: Sequence[str]) -> str:
    """``name[i][j]``."""
    return name + "".join(f"[{i}]" for i in index)


def list_of_tiles(
    name: str,
    blocks: Sequence[str],
    index: Sequence[str],
    before: Sequence[str],
    element: str,
    tiles: Sequence[str] = (),
) -> list[str]:
    """Lines that fill a (nested) list with ``element``, the tile of the block ``index``; ``before`` each of them.

    ``tiles`` are how many tiles there are in each dimension, where they differ from the blocks: the blocks after them
    are those tiles again.
    """
    if all(size == "1" for size in blocks):
        return [*before, f"{name} = {'[' * len(blocks)}{element}{']' * len(blocks)}"]
    if len(blocks) == 1 and not before and tiles and tiles[0] == "1":
        again = f"    {name}.append({name}[0])"
        return [f"{name} = [{element}]", f"for {index[0]} in range(1, {blocks[0]}):", again]
    body = [*before, f"{nth(name, index[:-1])}.append({element})"]
    return [f"{name} = []", *_filled(name, blocks, index, body, tiles or blocks, 0)]


def _filled(
    name: str, blocks: Sequence[str], index: Sequence[str], body: Sequence[str], tiles: Sequence[str], depth: int
) -> list[str]:
    variable, row = index[depth], nth(name, index[:depth])
    lines = [f"for {variable} in range({tiles[depth]}):"]
    if depth + 1 < len(blocks):
        inner = [f"{row}.append([])", *_filled(name, blocks, index, body, tiles, depth + 1)]
    else:
        inner = list(body)
    lines += [f"    {line}" for line in inner]
    if tiles[depth] != blocks[depth]:
        again = f"{row}[{algebra.subtract(variable, tiles[depth])}]"
        lines += [f"for {variable} in range({tiles[depth]}, {blocks[depth]}):", f"    {row}.append({again})"]
    return lines


def statements(lines: Sequence[str]) -> list[str]:
    """Lines grouped into top-level statements."""
    found: list[str] = []
    for line in lines:
        if line.startswith(" "):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found
