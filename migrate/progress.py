"""A line on a person's terminal that says how far a long run is."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from .reports import Report

_PATIENCE = 1.0
"""Seconds before the first line: a short run shows none."""


class StatusLine:
    """One line on stderr, written over itself, only where that is a terminal; nothing of it stays."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = False
        self._began = time.monotonic()

    def write(self, line: str) -> None:
        """Show ``line`` in place of the last one, once the run has taken a moment."""
        if time.monotonic() - self._began < _PATIENCE or not self._is_watched():
            return
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r\x1b[K{line[:width]}")
        self._stream.flush()
        self._shown = True

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False

    def _is_watched(self) -> bool:
        return self._stream is not None and self._stream.isatty() and os.environ.get("TERM") != "dumb"


class Progress(StatusLine):
    """How many of ``verify``'s cases are done, which run, and about how long the others will take."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._cases = self._done = 0
        self._expected = self._spent = 0.0

    def begin(self, cases: int, known: int, seconds: float) -> None:
        """``known`` of the ``cases`` are done already, the others are expected to take ``seconds`` on one processor."""
        self._began = time.monotonic()
        self._cases, self._done, self._expected = cases, known, seconds

    def ended(self, seconds: float) -> None:
        """A case that was expected to take ``seconds`` has ended."""
        self._done += 1
        self._spent += seconds

    def show(self, running: Sequence[tuple[str, float]]) -> None:
        """Say what runs: names and seconds so far."""
        names = ", ".join(f"{name} ({seconds:.0f} s)" for name, seconds in running)
        self.write(f"verify: {self._done} of {self._cases} cases{self._left()}; running: {names}")

    def _left(self) -> str:
        """The time that what is expected will take, at the pace so far; empty before anything has ended."""
        if not self._spent:
            return ""
        seconds = (time.monotonic() - self._began) * max(self._expected - self._spent, 0.0) / self._spent
        return f", about {seconds:.0f} s left"


class Files(StatusLine):
    """How many files of a run are done, at what rate, and about how long the others will take.

    ``what`` is what happens to them. The time that is left is that of their bytes: files are of all sizes.
    """

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._what = what
        self._files = self._bytes = 0
        self._left: dict[str, int] = {}
        self._alone: Mapping[str, int] = {}
        self._began_work = self._began

    def read(self, count: int, files: Collection[object]) -> None:
        """``count`` of the ``files`` are read, and none is worked on yet."""
        self.write(f"{self._what}: {count} of {len(files)} files read")

    def begin(self, sizes: Mapping[str, int]) -> None:
        """Work on files begins: paths, and bytes."""
        self._began_work = time.monotonic()
        self._left = dict(sizes)
        self._files, self._bytes = len(sizes), sum(sizes.values())

    def alone(self, sizes: Mapping[str, int]) -> None:
        """Large files, paths and bytes, are worked on now, and nothing beside them; none any more where it is empty."""
        self._alone = sizes
        self.show()

    def ended(self, report: Report) -> None:
        """A file's report is there."""
        self._left.pop(report.path, None)
        self.show()

    def show(self) -> None:
        """Say how far the run is."""
        done, seconds = self._files - len(self._left), time.monotonic() - self._began_work
        left = sum(self._left.values())
        rest = f"{seconds:.0f} s so far"
        if done and left < self._bytes:
            rest = f"{done / seconds:.1f} a second, about {seconds * left / (self._bytes - left):.0f} s left"
        large = "".join(f"; alone: {path} ({size // 1000} kB)" for path, size in self._alone.items())
        self.write(f"{self._what}: {done} of {self._files} files, {rest}{large}")
