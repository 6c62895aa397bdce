"""TileLang-Ascend: memory calls written for what the project really has, and plans of memory written into the source.

:func:`rewrite` takes the files of one run and gives an outcome each, for one of the :data:`GOALS`; :func:`check` says
what is wrong with the memory of the kernels of a file. Everything is an edit of a span of the original text.
"""

from __future__ import annotations

from .check import check
from .dialect import DIALECT, claims
from .driver import rewrite, rewrite_module
from .goals import GOALS, Settings, settings_of
from .registry import RULES

__all__ = ["DIALECT", "GOALS", "RULES", "Settings", "check", "claims", "rewrite", "rewrite_module", "settings_of"]
