"""One rule, one file: its documents, the version that it serves, examples as data, and its ``rewrite``."""

from __future__ import annotations
