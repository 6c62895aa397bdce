"""Codes and names of rules, as a person writes them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem
from nki_migrate import codemods

from .errors import InputError

if TYPE_CHECKING:
    from types import ModuleType

    from .configuration import Configuration


def chosen_codes(option: str, values: tuple[str, ...]) -> frozenset[str]:
    """The codes of an option that is repeatable and takes commas: codes, their beginnings, or names of rules.

    An unknown one is an error that suggests others.
    """
    if not values:
        return frozenset()  # without all rules, which are imported where they are asked for
    try:
        return _codes(values)
    except LookupError as error:
        raise click.UsageError(f"{option}: {error.args[0]}") from None


def require_known(found: Configuration) -> None:
    """Raise ``InputError`` for what the configuration takes for the code or the name of a rule, or for a finding."""
    by_file = list(found.codes_by_file)
    if not by_file and not any(found.codes(key) for key in ("select", "ignore")):
        return
    key = ""
    try:
        for key in ("select", "ignore"):
            _codes(found.codes(key))
        key, known = "per-file-ignores", _explain().known_codes()
        for code in by_file:
            if not code or not any(each.startswith(code.upper()) for each in known):
                raise LookupError(f"no rule and no finding has the code {code!r}{suggestion(code.upper(), known)}")
    except LookupError as error:
        raise InputError(f"{os.path.relpath(found.path)}: {key}: {error.args[0]}") from None


def _codes(values: Iterable[str]) -> frozenset[str]:
    """The codes that words stand for. Raises ``LookupError``."""
    codes: set[str] = set()
    for word in (word.strip() for value in values for word in value.split(",")):
        named = {code for code, rule in codemods.RULES.items() if rule.name == word.lower()}
        if not named and not (word and any(code.startswith(word.upper()) for code in codemods.RULES)):
            known = [*codemods.RULES, *(rule.name for rule in codemods.RULES.values())]
            close = suggestion(word.upper() if word[-1:].isdigit() else word.lower(), known)
            raise LookupError(f"no rule has the code or name {word!r}{close}")
        codes |= named or {word.upper()}
    return frozenset(codes)


def suggestion(word: str, known: Iterable[str]) -> str:
    close = get_close_matches(word, known, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(sorted(close))}?" if close else " (see nki-migrate rules)."


def completed_codes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The codes and names of rules that a shell proposes behind the last comma of an option."""
    before, comma, word = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{known}", help=rule.summary)
        for code, rule in codemods.RULES.items()
        for known in _begun(word, code, rule.name)
    ]


def completed_subjects(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What ``explain`` explains, as a shell proposes it: codes of rules and findings, names of rules, and topics."""
    explain = _explain()
    names = {code: name for code, name, *_ in explain.rules_rows()[1:]}
    codes = {code: explain.described(code) for code in explain.known_codes()}
    found = [
        CompletionItem(known, help=subject.summary)
        for code, subject in codes.items()
        if subject is not None
        for known in _begun(incomplete, code, names.get(code, ""))
    ]
    return found + [CompletionItem(topic.lower()) for topic in explain.TOPICS if topic.lower().startswith(incomplete)]


def _explain() -> ModuleType:
    """What knows all codes, which a start does without."""
    from . import explain

    return explain


def _begun(word: str, code: str, name: str) -> list[str]:
    """The code, if ``word`` begins it in either case; the name, if it is one and ``word`` begins that."""
    return [code] * code.startswith(word.upper()) + [name] * bool(word and name.startswith(word))
