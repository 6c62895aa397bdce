"""One rule, one file: a code, a name, what it rewrites and why (its docstring), and its goldens."""

from __future__ import annotations
