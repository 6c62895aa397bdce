"""The changes of a dry run on stdout: those of a file as soon as it and all files before it are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TextIO

from . import output
from .discover import STDIN
from .notebook_reports import parts
from .patch import unified_diff
from .progress import Files
from .reports import Report


class Changes(Files):
    """Prints diffs, or a line a file (``stat``), in the order of ``paths``, whatever the order in which they are done.

    ``context`` is the lines around each change, ``stdin_filename`` the name of standard input. One that ``waits``
    prints when it is finished, and not before.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        stat: bool = False,
        context: int = 3,
        stdin_filename: str | None = None,
        waits: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        super().__init__("rewrite", stream)
        self._paths = list(paths)
        self._stat, self._context, self._stdin_filename, self._waits = stat, context, stdin_filename, waits
        self._prints = False
        self._next = 0
        self._known: dict[str, Report] = {}
        self._printed: set[str] = set()

    def begin(self, sizes: Mapping[str, int]) -> None:
        """Work on files begins; all others are done."""
        super().begin(sizes)
        self._prints = not self._waits
        self._print_known()

    def ended(self, report: Report) -> None:
        """A file's report is there: what changes is printed in its turn."""
        if report.status == "changed":
            self._known[report.path] = report
        super().ended(report)
        self._print_known()

    def finish(self, reports: Sequence[Report]) -> None:
        """Print the changes that are not printed yet: those of ``reports``, which are all."""
        for report in reports:
            if report.status == "changed" and report.path not in self._printed:
                self._print(report)

    def _print_known(self) -> None:
        while self._prints and self._next < len(self._paths) and self._paths[self._next] not in self._left:
            report = self._known.pop(self._paths[self._next], None)
            if report is not None:
                self._print(report)
            self._next += 1

    def _print(self, report: Report) -> None:
        self.end()
        self._printed.add(report.path)
        if report.path == STDIN and self._stdin_filename is not None:
            report = replace(report, path=self._stdin_filename)
        if self._stat:
            output.print_lines([output.stat_line(report)], err=False)
            return
        for path, before, after in parts(report):
            output.print_diff(unified_diff(path, before, after, self._context, is_added=report.is_added))
