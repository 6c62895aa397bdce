"""Reads Beta 1 source, knows facts about it, rewrites it. User code is never executed here."""

from .model import Finding, Options, Outcome, Rule
from .rules.registry import load

RULES: dict[str, Rule] = load()

from .module import rewrite  # noqa: E402  (the rules register themselves first)

__all__ = ["RULES", "Finding", "Options", "Outcome", "Rule", "rewrite"]
