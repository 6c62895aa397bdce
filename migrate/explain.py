"""The rules as a table, and one code explained with an example from the goldens."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nki_migrate import codemods
from nki_migrate.runtime.spec.comparison import ANY, EXEMPTIONS, HBM_KINDS, SCALE_TYPES, SCALES, UNSAID

from . import languages

if TYPE_CHECKING:
    from nki_migrate.codemods import Rule
    from nki_migrate.runtime.legality import RuleDoc

    from .surfaces.outcomes import OutcomeDoc


def rules_rows() -> list[tuple[str, str, str, str]]:
    """A heading, then code, name, applicability and summary of each rule."""
    return [("CODE", "NAME", "APPLICABILITY", "SUMMARY"), *(_row(rule) for rule in _rules())]


def rules_table() -> str:
    """The same as text, one rule a line."""
    rows = rules_rows()
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
    )
    return "\n".join(lines)


def rules_json() -> str:
    """The same as a JSON list."""
    keys = ("code", "name", "applicability", "summary")
    return json.dumps([dict(zip(keys, _row(rule), strict=True)) for rule in _rules()], indent=2)


def _rules() -> list[Rule]:
    return [rule for _, rule in sorted(_all_rules().items())]


def _row(rule: Rule) -> tuple[str, str, str, str]:
    return rule.code, rule.name, rule.applicability, _plain(rule.summary)


def codes_of(word: str) -> list[str]:
    """The codes of the rules of that name; else the word as codes are written."""
    return [rule.code for rule in _rules() if rule.name == word.lower()] or [word.upper()]


def known_codes() -> list[str]:
    """Every code that ``explain`` knows."""
    return sorted({*_all_rules(), *_documents()})


def _all_rules() -> dict[str, Rule]:
    """The rules of all kernel languages, by code."""
    return {**codemods.RULES, **languages.rules()}


def _documents() -> dict[str, RuleDoc | OutcomeDoc]:
    """What the checker finds, and what is said of whole files and of verdicts."""
    from nki_migrate.runtime.legality import CODES as ILLEGAL

    from .surfaces.outcomes import CODES as OUTCOMES

    return {**ILLEGAL, **OUTCOMES}


@dataclass(frozen=True)
class Description:
    """A code for people: its name, one sentence, and the whole text."""

    name: str
    summary: str
    text: str


def described(code: str) -> Description | None:
    """What is known of ``code``; ``None`` for an unknown one."""
    text = explanation(code)
    if text is None:
        return None
    rule = _all_rules().get(code)
    if rule is not None:
        return Description(rule.name, _plain(rule.summary), text)
    doc = _documents()[code]
    return Description(doc.name, doc.message, text)


def explanation(code: str) -> str | None:
    """The text of ``explain CODE``; ``None`` for an unknown code."""
    if code in TOPICS:
        return TOPICS[code]()
    rule = _all_rules().get(code)
    if rule is not None:
        return _rule_text(rule)
    documents = _documents()
    return f"{code} {documents[code]}" if code in documents else None


def _comparison() -> str:
    """What ``verify`` does not compare, from the table that the comparison goes by."""
    rows = [
        (f"{_subject(e.subject, ANY)}{f' ({e.where})' if e.where else ''}", e.attribute, e.reason) for e in EXEMPTIONS
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    table = [f"  {a.ljust(widths[0])}  {b.ljust(widths[1])}  {reason}" for a, b, reason in rows]
    unsaid = [f"  {name}: {', '.join(map(str, values))}" for name, values in UNSAID.items()]
    kinds = [
        f"  {version}: {', '.join(f'nl.{a} is nl.{b}' for a, b in named.items())}"
        for version, named in HBM_KINDS.items()
    ]
    parts = (
        "verify compares all that an instruction or a tensor is told: operands by their places, operators, numbers, "
        "engines, modes of DMA, kinds of HBM. It does not compare what is listed here.",
        "\n".join(table),
        "Options that say what leaving them out says are left out:",
        "\n".join(unsaid),
        "The two kinds of HBM have these names:",
        "\n".join(kinds),
        f"Operands of microscaling ({', '.join(sorted(SCALES))}) may change their type:",
        "\n".join(f"  {later}: {before} before NKI 0.5" for later, before in SCALE_TYPES.items()),
        "A rule of rewrite that adds or leaves out instructions declares it, and verify lists what it met as a note.",
    )
    return "comparison: what verify does not compare, and why\n\n" + "\n\n".join(parts)


def _subject(subject: str, anything: str) -> str:
    records = {"Event": "an instruction", "Operand": "an operand", "TileRow": "a tile", "HbmTensor": "a tensor in HBM"}
    return "any instruction" if subject == anything else records.get(subject, subject)


TOPICS = {"COMPARISON": _comparison}
"""What ``explain`` explains besides codes, by its name in upper case."""


def _rule_text(rule: Rule) -> str:
    parts = [f"{rule.code} {rule.name} [{rule.applicability}]", rule.summary, textwrap.dedent(rule.explanation).strip()]
    said = [] if rule.plugin else [_LEFT.format(code=rule.code)]
    return "\n\n".join([*map(_plain, [*parts, *said]), *_example(rule)])


_LEFT = """What a rewrite leaves under {code} is marked in the file that it writes: kernel code stops at the construct,
``assert False, "nki-migrate {code}: ..."``, and does not run to other numbers; other code has a comment there.
``rewrite`` and ``check`` find the mark again until someone has resolved the finding and taken the mark away."""


def _plain(text: str) -> str:
    """Docstrings mark code as reStructuredText does, a terminal's reader is used to single backticks."""
    return text.replace("``", "`")


def _example(rule: Rule) -> list[str]:
    """Before and after of the rule's shortest golden, and the names of the others."""
    from nki_migrate.golden import GOLDENS

    goldens = sorted((GOLDENS[name] for name in rule.goldens), key=lambda golden: len(golden.before))
    if not goldens:
        return []
    first, *others = goldens
    parts = [
        f"Before (golden/{first.name}/before.py):\n\n{_listing(first.before)}",
        f"After (golden/{first.name}/after.py):\n\n{_listing(first.after)}",
    ]
    if others:
        parts.append("More examples: " + ", ".join(f"golden/{golden.name}" for golden in others))
    return parts


def _listing(source: str) -> str:
    return textwrap.indent(source.strip("\n"), "    ")
