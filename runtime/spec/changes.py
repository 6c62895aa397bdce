"""What each version of NKI changed, as data: rules, documentation and the checker name the same rows.

Source: see the rows; ``nki/migration/index.rst`` ("NKI Migration Guides") and ``release-notes/components/nki.rst`` of
the SDK documentation at v2.32.0 (81ce03ae), the API stubs under ``nki/api/nki`` at each tag, and for what 0.2 takes
beyond its documentation the front end of leanprover/KLR at 7ccd18c.
"""

from __future__ import annotations

from .change import Change
from .changes_03 import CHANGES_03
from .changes_later import CHANGES_04, CHANGES_05, CHANGES_06
from .versions import Version

CHANGES: tuple[Change, ...] = (*CHANGES_03, *CHANGES_04, *CHANGES_05, *CHANGES_06)


def changes(old: Version, new: Version) -> tuple[Change, ...]:
    """What changed after ``old``, up to ``new``, in the order of the versions."""
    return tuple(row for row in CHANGES if old < row.since <= new)


def renamed_parameters(function: str, old: Version, new: Version) -> dict[str, str]:
    """The parameters of a function (``nki.isa.iota``) that have other names at ``new`` than at ``old``, and these."""
    found: dict[str, str] = {}
    renaming = (row for row in CHANGES if row.renamed and old < row.since <= new)
    for name, latest in (pair for row in renaming for pair in row.renamed):
        of, _, parameter = name.partition(":")
        if of == function:
            first = next((each for each, later in found.items() if later == parameter), parameter)
            found[first] = latest
    return found
