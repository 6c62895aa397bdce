"""Reads Beta 1 source, knows facts about it, rewrites it. User code is never executed here."""

from .model import Finding, Options, Outcome, Rule
from .module import rewrite
from .rules.registry import RULES

__all__ = ["RULES", "Finding", "Options", "Outcome", "Rule", "rewrite"]
