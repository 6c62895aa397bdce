"""Reads kernel source, knows facts about it, rewrites it. User code is never executed here.

What the package offers is loaded when it is asked for: who needs only a class of :mod:`.model` (``verify`` does)
does not wait for the parser and all rules.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .driver.backlog import may_have_backlog
    from .driver.migration import rewrite, rewrite_together
    from .driver.module import with_imports
    from .driver.plugins import plugin_rules
    from .driver.rulebook import RULES
    from .model import Finding, Options, Outcome, Rule
    from .project.links import components, imports_alone
    from .project.vendor_kernels import homes, imports_shipped, shipped_names

__all__ = [
    "RULES",
    "Finding",
    "Options",
    "Outcome",
    "Rule",
    "components",
    "homes",
    "imports_alone",
    "imports_shipped",
    "may_have_backlog",
    "plugin_rules",
    "rewrite",
    "rewrite_together",
    "shipped_names",
    "with_imports",
]
_HOMES = {
    "RULES": "driver.rulebook",
    **dict.fromkeys(("Finding", "Options", "Outcome", "Rule"), "model"),
    **dict.fromkeys(("components", "imports_alone"), "project.links"),
    **dict.fromkeys(("homes", "imports_shipped", "shipped_names"), "project.vendor_kernels"),
    "may_have_backlog": "driver.backlog",
    **dict.fromkeys(("rewrite", "rewrite_together"), "driver.migration"),
    "with_imports": "driver.module",
    "plugin_rules": "driver.plugins",
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
