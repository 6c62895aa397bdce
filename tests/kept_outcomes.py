"""What rewrites of goldens gave, kept for all tests of one session that do not ask how it is computed.

Several files of tests rewrite the same goldens with the same options, and each worker of xdist did so for itself. Each
session has a folder of its own, so none can read what other codemods wrote. Tests of a second rewrite, or of codemods
that stand in for others, call these themselves.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

from kept_replies import keep
from nki_migrate.codemods import Options, Outcome, rewrite


class KeptOutcomes:
    """Rewrites no golden twice the same way. ``folder`` is the session's, of all its processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def __call__(self, source: str, options: Options, filename: str = "<string>") -> Outcome:
        kept = self._folder / hashlib.sha256(pickle.dumps((source, options, filename))).hexdigest()
        if kept.exists():
            known: Outcome = pickle.loads(kept.read_bytes())
            return known
        outcome = rewrite(source, options, filename)
        keep(outcome, kept)
        return outcome
