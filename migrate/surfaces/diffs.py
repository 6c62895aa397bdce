"""A change of a file as HTML: hunks with the line numbers of both sides, changed words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from .markup import element, escaped

_CONTEXT = 3
_WORDS = re.compile(r"\w+|\s+|.", re.S)
_SIMILAR = 0.4  # below, two lines have nothing to do with one another, and marks would only confuse


@dataclass(frozen=True)
class Diff:
    """A change: its hunks as a table (empty when nothing changed), and how many lines it adds and removes."""

    table: str
    added: int
    removed: int


def diff_of(before: str, after: str) -> Diff:
    """The change from ``before`` to ``after``."""
    old, new = before.split("\n"), after.split("\n")
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    changed = [(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]
    rows = [row for group in matcher.get_grouped_opcodes(_CONTEXT) for row in _hunk(old, new, group)] if changed else []
    table = element("table", *rows, class_="diff") if rows else ""
    return Diff(table, sum(added for _, added in changed), sum(removed for removed, _ in changed))


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[tuple[str, int, int, int, int]]) -> Iterator[str]:
    first, last = group[0], group[-1]
    place = f"@@ -{first[1] + 1},{last[2] - first[1]} +{first[3] + 1},{last[4] - first[3]} @@"
    yield element("tr", element("td", escaped(place), colspan=3), class_="hunk")
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            yield from (
                _row(" ", i + 1, j + 1, escaped(old[i])) for i, j in zip(range(i1, i2), range(j1, j2), strict=True)
            )
            continue
        marked = {i1 + n: _marked(old[i1 + n], new[j1 + n]) for n in range(min(i2 - i1, j2 - j1))}
        yield from (_row("-", i + 1, None, marked[i][0] if i in marked else escaped(old[i])) for i in range(i1, i2))
        for j in range(j1, j2):
            pair = marked.get(j - j1 + i1)
            yield _row("+", None, j + 1, pair[1] if pair else escaped(new[j]))


def _row(sign: str, old: int | None, new: int | None, content: str) -> str:
    numbers = (element("td", str(number or ""), class_="n") for number in (old, new))
    line = element("td", element("span", sign, class_="sign"), content or " ", class_="line")
    return element("tr", *numbers, line, class_={"-": "removed", "+": "added"}.get(sign))


def _marked(old: str, new: str) -> tuple[str, str]:
    """Both lines with their differing words marked, if they are two versions of one line."""
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < _SIMILAR:
        return escaped(old), escaped(new)
    sides: tuple[list[str], list[str]] = ([], [])
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        for side, words in zip(sides, (a[i1:i2], b[j1:j2]), strict=True):
            text = escaped("".join(words))
            side.append(text if tag == "equal" or not text else element("mark", text))
    return "".join(sides[0]), "".join(sides[1])
