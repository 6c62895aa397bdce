"""Differences that a version of NKI makes itself: one call, and another meaning in the version of the new kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..events import Event
from ..spec.changes import changes
from ..spec.versions import version
from .trace import Run
from .verdict import LevelVerdict, Verdict


def explained(verdict: LevelVerdict, before: Run, after: Run) -> LevelVerdict:
    """``verdict``; one that is *different* has a note for each change between the two versions that may be why.

    Such a change is of an instruction that either run executed. The verdict stays: whether nothing else differs is not
    known.
    """
    if verdict.verdict is not Verdict.DIFFERENT:
        return verdict
    return replace(verdict, notes=(*verdict.notes, *_notes(before, after)))


def _notes(before: Run, after: Run) -> Iterator[str]:
    if not before.version or not after.version:
        return
    executed = {
        name for run in (before, after) for program in run.programs for e in program.events for name in _names(e)
    }
    for row in changes(version(before.version), version(after.version)):
        if row.kind == "differs" and executed & set(row.events):
            yield f"NKI {row.since} itself changed this ({row.name}): {row.what}"


def _names(event: Event) -> tuple[str, ...]:
    """An event as rows of changes name it: by its instruction, and with the operator that it was told."""
    return (event.op, *(f"{event.op}:{value}" for key, value in event.attributes if key == "op"))
