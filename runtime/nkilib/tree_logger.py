"""``nkilib.core.utils.tree_logger``: allocation logs as a tree."""

from __future__ import annotations

from dataclasses import dataclass

from ..beta2.objects import NKIObject
from .logging import Logger, LogLevel


@dataclass(frozen=True)
class _Entry:
    text: str
    depth: int


class TreeLogger(NKIObject):
    """Collects lines with a depth and prints them as a tree when it is flushed; active at level ``DEBUG`` only."""

    def __init__(self, name: str, logger: Logger) -> None:
        self.name, self.logger = name, logger
        self._entries: list[_Entry] = []
        self._active = logger.is_enabled_for(LogLevel.DEBUG)

    def log(self, msg: str, depth: int, is_scope_boundary: bool = False) -> None:
        """Remember a line. Depth 0 stands at the margin, deeper lines hang from a branch."""
        if self._active:
            self._entries.append(_Entry(msg, depth))

    def flush(self) -> None:
        """Print what was collected, as the documentation of SbufManager shows it, and forget it."""
        if not self._entries:
            return
        print("\n".join([f"[{self.name}] Allocations:", *tree_lines(self._entries)]))
        self._entries.clear()


def tree_lines(entries: list[_Entry]) -> list[str]:
    """One line an entry. The last entry before the tree returns to a smaller depth gets the closing branch."""
    lines: list[str] = []
    open_depths: set[int] = set()
    for entry in reversed(entries):
        open_depths = {depth for depth in open_depths if depth <= entry.depth}
        branch = ""
        if entry.depth:
            branch = "│   " * (entry.depth - 1) + ("├── " if entry.depth in open_depths else "└── ")
        open_depths.add(entry.depth)
        lines.append(f"    {branch}{entry.text}")
    return lines[::-1]
