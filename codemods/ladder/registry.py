"""The rules of the ladder, and which changes of which version each one serves: the table of changes says it."""

from __future__ import annotations

import importlib
import pkgutil
import textwrap
from types import ModuleType

from nki_migrate.runtime.spec.change import Change
from nki_migrate.runtime.spec.changes import CHANGES
from nki_migrate.runtime.spec.versions import Version

from ..model import Rule


def _load() -> dict[str, ModuleType]:
    package = importlib.import_module(f"{__package__}.rules")
    modules = (
        importlib.import_module(f"{package.__name__}.{info.name}") for info in pkgutil.iter_modules(package.__path__)
    )
    return {module.CODE: module for module in sorted(modules, key=lambda module: module.CODE)}


MODULES: dict[str, ModuleType] = _load()
"""The modules of the rules, by code."""


def changes_of(code: str) -> tuple[Change, ...]:
    """The changes that a rule serves."""
    return tuple(change for change in CHANGES if change.rule == code)


def rules_at(version: Version) -> list[tuple[ModuleType, str]]:
    """The rules that serve ``version``, each with the kind of the change."""
    kinds = {change.rule: change.kind for change in CHANGES if change.since == version}
    return [(module, kinds[code]) for code, module in MODULES.items() if code in kinds]


def _rule(module: ModuleType) -> Rule:
    headline, _, rest = (module.__doc__ or "").partition("\n")
    code, _, title = headline.partition(" ")
    name, _, summary = title.partition(": ")
    served = [f"Since NKI {change.since}: {change.what}." for change in changes_of(code)]
    sources = "; ".join(dict.fromkeys(change.source for change in changes_of(code)))
    text = "\n".join([rest.strip(), "", *served, f"Source: {sources}."])
    if not module.GOLDENS:
        first = changes_of(code)[0]
        examples = (("Before", first.before), ("After", first.after or "(by hand)"))
        text += "".join(f"\n\n{when}:\n\n{textwrap.indent(code, '    ')}" for when, code in examples)
    return Rule(code, name, getattr(module, "APPLICABILITY", "safe"), summary, text, tuple(module.GOLDENS))


RULES: dict[str, Rule] = {code: _rule(module) for code, module in MODULES.items()}
"""The rules of the ladder, with their documents."""
