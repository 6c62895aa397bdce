"""Files in, outcomes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from nki_migrate.runtime.spec.tilelang import LATEST, position

from ..model import Finding, Options, Outcome
from ..syntax.drafts import applied, definitions_in, without_overlaps
from .module import Module
from .registry import MODULES

OLDEST = "0.1.7"
"""The version that a file is written for when neither an option nor its project says so."""
NKI = Options().target
_ROUNDS = 8


def rewrite(sources: Mapping[str, str], options: Options | None = None) -> dict[str, Outcome]:
    """Rewrite each file, by path. ``options.source`` and ``options.target`` are versions of TileLang."""
    return {path: rewrite_module(text, options, path) for path, text in sources.items()}


def rewrite_module(text: str, options: Options | None = None, filename: str = "<string>") -> Outcome:
    """Rewrite one file. Raises ``SyntaxError`` when ``text`` does not parse.

    Drafts that change the same text are made in one round after the other; the findings are those of the first.
    """
    options = options or Options()
    source, target = versions(options)
    after, count, touched = text, Counter[str](), set[str]()
    findings: tuple[Finding, ...] = ()
    for round_number in range(_ROUNDS):
        module = planned(after, source, target, options)
        if round_number == 0:
            findings = tuple(sorted(set(module.findings)))
        chosen = without_overlaps(module.drafts)
        if not chosen:
            break
        for draft in chosen:
            count[draft.code] += 1
            touched |= definitions_in(module, draft.node, draft.edits)
        after = applied(after, [edit for draft in chosen for edit in draft.edits])
    return Outcome(after, findings, count, frozenset(touched))


def versions(options: Options) -> tuple[str, str]:
    """The versions to rewrite from and to."""
    source, target = options.source or OLDEST, options.target
    return source, target if target and target != NKI else LATEST


def planned(text: str, source: str, target: str, options: Options) -> Module:
    """A file with the drafts and findings of all rules that serve ``target``. Raises ``SyntaxError``."""
    module = Module(text, source, target, options)
    for rule in MODULES:
        if position(rule.SINCE) <= module.target and options.enabled(rule.CODE):
            rule.rewrite(module)
    return module
