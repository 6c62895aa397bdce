"""A change of a file as HTML: hunks with the line numbers of both sides, changed words marked.

A hunk is a list: what was removed is a ``dt``, what was added a ``dd``, and a group of ``dd`` is context. Signs and
line numbers are the style's (its counters start where the hunk says), and end tags that HTML leaves to the parser are
left out: a report of a large repository is mostly diffs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from nki_migrate.codemods.syntax.shared_lines import line_matcher

from .markup import content, element

_CONTEXT = 3
_WORDS = re.compile(r"\w+|\s+|.", re.S)
_SIMILAR = 0.4  # below, two lines have nothing to do with one another, and marks would only confuse


@dataclass(frozen=True)
class Diff:
    """A change: its hunks (empty when nothing changed), and how many lines it adds and removes."""

    hunks: str
    added: int
    removed: int


def diff_of(before: str, after: str) -> Diff:
    """The change from ``before`` to ``after``."""
    old, new = before.split("\n"), after.split("\n")
    matcher = line_matcher(old, new)
    changed = [(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]
    hunks = [_hunk(old, new, group) for group in matcher.get_grouped_opcodes(_CONTEXT)] if changed else []
    return Diff("".join(hunks), sum(added for _, added in changed), sum(removed for removed, _ in changed))


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[tuple[str, int, int, int, int]]) -> str:
    first, last = group[0], group[-1]
    place = f"@@ -{first[1] + 1},{last[2] - first[1]} +{first[3] + 1},{last[4] - first[3]} @@"
    heading = element("p", content(place), class_="hunk")
    start = f"counter-reset: old {first[1]} new {first[3]}"
    return heading + element("dl", *_lines(old, new, group), class_="diff", style=start)


def _lines(old: Sequence[str], new: Sequence[str], group: Sequence[tuple[str, int, int, int, int]]) -> Iterator[str]:
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            yield element("div", *(f"<dd>{content(line)}" for line in old[i1:i2]))
            continue
        pairs = [_marked(old[i1 + n], new[j1 + n]) for n in range(min(i2 - i1, j2 - j1))]
        removed = [marked for marked, _ in pairs] + [content(line) for line in old[i1 + len(pairs) : i2]]
        added = [marked for _, marked in pairs] + [content(line) for line in new[j1 + len(pairs) : j2]]
        yield from (f"<dt>{line}" for line in removed)
        yield from (f"<dd>{line}" for line in added)


def _marked(old: str, new: str) -> tuple[str, str]:
    """Both lines with their differing words marked, if they are two versions of one line."""
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < _SIMILAR:
        return content(old), content(new)
    blocks = [block for block in matcher.get_matching_blocks() if _stands(a[block.a : block.a + block.size])]
    ends = [(0, 0), *((block.a + block.size, block.b + block.size) for block in blocks)]
    starts = [*((block.a, block.b) for block in blocks), (len(a), len(b))]
    sides: tuple[list[str], list[str]] = ([], [])
    for (a1, b1), (a2, b2) in zip(ends, starts, strict=True):
        same = next((block.size for block in blocks if (block.a, block.b) == (a2, b2)), 0)
        for side, words, first, last in ((sides[0], a, a1, a2), (sides[1], b, b1, b2)):
            text = content("".join(words[first:last]))
            side += [element("mark", text) if text else "", content("".join(words[last : last + same]))]
    return "".join(sides[0]), "".join(sides[1])


def _stands(words: Sequence[str]) -> bool:
    """Is what both lines have there more than a bracket or a blank between two differences?"""
    return len("".join(words).strip()) > 2
