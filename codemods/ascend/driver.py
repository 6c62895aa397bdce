"""Files in, outcomes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..model import Finding, Options, Outcome
from ..syntax.drafts import applied, definitions_in, without_overlaps
from .goals import Settings, settings_of
from .module import AscendModule
from .registry import MODULES

_ROUNDS = 12


def rewrite(sources: Mapping[str, str], options: Options | None = None) -> dict[str, Outcome]:
    """Rewrite each file, by path, for the goal that ``options.target`` names."""
    return {path: rewrite_module(text, options) for path, text in sources.items()}


def rewrite_module(text: str, options: Options | None = None, settings: Settings | None = None) -> Outcome:
    """Rewrite one file. Raises ``SyntaxError`` when ``text`` does not parse.

    Drafts that change the same text are made in one round after the other; the findings are those of the first, which
    has the lines of the input.
    """
    options = options or Options()
    settings = settings or settings_of(options)
    after, count, touched = text, Counter[str](), set[str]()
    removed: list[str] = []
    found: tuple[Finding, ...] = ()
    for number in range(_ROUNDS):
        module = planned(after, options, settings)
        if number == 0:
            found = tuple(sorted(set(module.findings)))
        chosen = without_overlaps(module.drafts)
        if not chosen:
            break
        for draft in chosen:
            count[draft.code] += 1
            touched |= definitions_in(module, draft.node, draft.edits)
        after = applied(after, [edit for draft in chosen for edit in draft.edits])
    return Outcome(after, found, count, frozenset(touched), removed_comments=tuple(removed))


def planned(text: str, options: Options, settings: Settings) -> AscendModule:
    """A file with the drafts and findings of the rules of the goal. Raises ``SyntaxError``."""
    module = AscendModule(text, options, settings)
    for rule in MODULES:
        goals = getattr(rule, "GOALS", None)
        if options.enabled(rule.CODE) and (goals is None or settings.goal in goals):
            rule.rewrite(module)
    return module
