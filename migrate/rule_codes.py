"""Codes and names of rules, as a person writes them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import click


def chosen_codes(option: str, values: tuple[str, ...]) -> frozenset[str]:
    """The codes of an option that is repeatable and takes commas: codes, their beginnings, or names of rules.

    An unknown one is an error that suggests others.
    """
    if not values:
        return frozenset()  # without all rules, which take a while to import
    from nki_migrate.codemods import RULES

    codes: set[str] = set()
    for word in (word.strip() for value in values for word in value.split(",")):
        named = {code for code, rule in RULES.items() if rule.name == word.lower()}
        if not named and not (word and any(code.startswith(word.upper()) for code in RULES)):
            known = [*RULES, *(rule.name for rule in RULES.values())]
            close = suggestion(word.upper() if word[-1:].isdigit() else word.lower(), known)
            raise click.UsageError(f"{option}: no rule has the code or name {word!r}{close}")
        codes |= named or {word.upper()}
    return frozenset(codes)


def suggestion(word: str, known: Iterable[str]) -> str:
    close = get_close_matches(word, known, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(sorted(close))}?" if close else " (see nki-migrate rules)."
