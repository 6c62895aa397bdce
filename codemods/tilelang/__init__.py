"""TileLang: allocation calls of one version written for another.

:func:`rewrite` takes the files of one run and gives an outcome each; :data:`RULES` are its rules, each with its
documents. Everything is an edit of a span of the original text, so what no rule touches keeps its bytes.
"""

from __future__ import annotations

from nki_migrate.runtime.spec.tilelang import VERSIONS

from ..dialect import Dialect
from .check import check
from .claims import claims
from .driver import rewrite, rewrite_module
from .registry import RULES, VERSION_MATRIX

DIALECT = Dialect("tilelang", claims, RULES, VERSIONS, rewrite, check)
"""TileLang behind the port of :mod:`nki_migrate.codemods.dialect`."""

__all__ = ["DIALECT", "RULES", "VERSION_MATRIX", "check", "rewrite", "rewrite_module"]
