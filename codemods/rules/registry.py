"""All rules, read from their modules: the docstring's first line is ``CODE name: summary``."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from ..model import Rule


def load() -> dict[str, Rule]:
    """Import every rule module, and collect the rules by code."""
    package = importlib.import_module(__package__)
    rules = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name != "registry":
            rule = _rule(importlib.import_module(f"{__package__}.{info.name}"))
            rules[rule.code] = rule
    return dict(sorted(rules.items()))


def _rule(module: ModuleType) -> Rule:
    headline, _, rest = (module.__doc__ or "").partition("\n")
    code, _, title = headline.partition(" ")
    name, _, summary = title.partition(": ")
    applicability = getattr(module, "APPLICABILITY", "safe")
    return Rule(code, name, applicability, summary, rest.strip(), tuple(module.GOLDENS))


RULES: dict[str, Rule] = load()
