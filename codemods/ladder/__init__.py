"""NKI 0.2 and later, written for a later version: one rung after another.

:func:`climbed` takes the outcomes of files that import from each other to a version; :data:`RULES` are the rules, each
with its documents; :func:`sources_of` tells by evidence which versions files are of.
"""

from __future__ import annotations

from .driver import climbed, sources_of
from .evidence import Source
from .program import program_of
from .registry import RULES, changes_of

__all__ = ["RULES", "Source", "changes_of", "climbed", "program_of", "sources_of"]
