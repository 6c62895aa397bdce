"""TileLang-Ascend behind the port of :mod:`nki_migrate.codemods.dialect`: which files are its own, and its guard."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from nki_migrate.runtime.ascend.plans.names import Names

from ..dialect import Dialect
from ..model import Options, Outcome
from .check import check
from .driver import rewrite
from .goals import GOALS, Settings, settings_of
from .module import AscendModule
from .registry import RULES

_EVIDENCE = re.compile(
    rb"\balloc_(?:ub|L1|L0A|L0B|L0C)\b|\bannotate_address\b|\bTL_ASCEND_|\bis_npu\s*=|\btilelang\.ascend\b"
    rb"|\bT\.(?:memory_pool|buffer_alias|workspace|memory_stats|memory_trace|is_aligned|MemoryError|free)\b"
    rb"|\bT\.allocate\(|\bT\.stream\(|\.assign\(|T\.alloc_buffer\("
)
"""What only kernels of TileLang-Ascend, or of the seed's document about it, say."""
_STRONG = re.compile(
    rb"\balloc_(?:ub|L1|L0A|L0B|L0C)\b|\bannotate_address\b|\bTL_ASCEND_|\bis_npu\s*=|\btilelang\.ascend\b"
)


def claims(data: bytes) -> bool:
    """Is a file one of TileLang-Ascend? Then it imports ``tilelang``, and says what only that language says."""
    if b"tilelang" not in data or not _EVIDENCE.search(data):
        return False
    return bool(_STRONG.search(data)) or _names_seed(data)


def _names_seed(data: bytes) -> bool:
    """Does the file use a function of the seed's document that TileLang does not have?"""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return False
    names = Names.of(tree)
    only = ("memory_pool", "buffer_alias", "workspace", "memory_stats", "memory_trace", "is_aligned", "MemoryError")
    found = {names(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return bool(found & {*only, "free", "stream", "allocate"}) or any(
        isinstance(node, ast.Call) and names(node.func) == "alloc_buffer" for node in ast.walk(tree)
    )


Places = Mapping[str, tuple[str, int | None, int]]


def addresses(text: str, settings: Settings) -> dict[str, Places]:
    """For each kernel that can be planned: its buffers, with memory, address and bytes."""
    module = AscendModule(text, Options(), settings)
    return {read.kernel.name: module.plan(read).plan.addresses() for read in module.kernels if read.program is not None}


def objections(text: str, outcome: Outcome, options: Options) -> Iterator[str]:
    """A kernel whose buffers are elsewhere after the rewrite, unless the goal is to let the compiler place them."""
    settings = settings_of(options)
    if settings.goal == "mainline":
        return
    before, after = addresses(text, settings), addresses(outcome.source, settings)
    for name, places in before.items():
        if name not in after:
            yield f"the memory of '{name}' could be planned before, and cannot be after"
            continue
        for buffer, place in places.items():
            now = after[name].get(buffer)
            if settings.goal in ("unpinned", "developer"):
                place, now = (place[0], None, place[2]), now and (now[0], None, now[2])
            if now != place:
                yield f"'{buffer}' of '{name}' is at {place} before and at {now} after"


DIALECT = Dialect("ascend", claims, RULES, tuple(GOALS), rewrite, check, objections)
