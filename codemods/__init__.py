"""Reads Beta 1 source, knows facts about it, rewrites it. User code is never executed here."""

from .model import Finding, Options, Outcome, Rule
from .module import rewrite, rewrite_together
from .program import components
from .rules.registry import RULES

__all__ = ["RULES", "Finding", "Options", "Outcome", "Rule", "components", "rewrite", "rewrite_together"]
