"""Reads Beta 1 source, knows facts about it, rewrites it. User code is never executed here."""

from .backlog import backlog, may_have_backlog
from .links import components
from .model import Finding, Options, Outcome, Rule
from .module import rewrite, rewrite_together, with_imports
from .rules.registry import RULES
from .vendor_kernels import homes, shipped_names

__all__ = [
    "RULES",
    "Finding",
    "Options",
    "Outcome",
    "Rule",
    "backlog",
    "components",
    "homes",
    "may_have_backlog",
    "rewrite",
    "rewrite_together",
    "shipped_names",
    "with_imports",
]
