"""Reads Beta 1 source, knows facts about it, rewrites it. User code is never executed here."""

from .model import Finding, Options, Outcome, Rule

__all__ = ["RULES", "Finding", "Options", "Outcome", "Rule", "rewrite"]

RULES: dict[str, Rule] = {}


def rewrite(source: str, options: Options = Options(), filename: str = "<string>") -> Outcome:
    """Rewrite one module. Raises ``SyntaxError`` when ``source`` does not parse."""
    compile(source, filename, "exec", dont_inherit=True, flags=0x400)
    return Outcome(source)
