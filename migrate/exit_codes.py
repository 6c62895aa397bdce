"""Exit codes, and what they say of reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reports import Report

DONE, LEFT, FAILED, INTERRUPTED, UNREAD = 0, 1, 2, 130, 141
"""The last two are what a shell says of a program that SIGINT or SIGPIPE ended."""

MEANING = "Exit codes: 0 nothing left to do, 1 changes or findings, 2 could not do its work."


def exit_code(reports: Iterable[Report], changes_are_done: bool) -> int:
    """Of a command that made ``reports``; ``changes_are_done`` says that changed files were written."""
    reports = list(reports)
    if any(report.status == "failed" for report in reports):
        return FAILED
    if any(not report.is_done or (report.status == "changed" and not changes_are_done) for report in reports):
        return LEFT
    return DONE
