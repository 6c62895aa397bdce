"""``.gitignore`` files, entry by entry as git reads them.

Own code, as ``pathspec.GitIgnoreSpec`` (which black brings along) disagrees with git: behind ``build`` it reads
``!build/**`` as taking the directory back, it cannot read ``!`` or ``[z-a].py``, which are no patterns to git, and its
older versions know no answer but yes and no, which nested files need. tests/test_files_discover.py shows it.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_ANY_DEPTH = None  # the component ** of a pattern, which may have more stars

CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \t", "cntrl": "\x00-\x1f\x7f", "digit": "0-9", "graph": '"-~!',
    "lower": "a-z", "print": " -~", "punct": ":-@!-/[-`{-~", "space": " \t-\r", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
"""What ``[[:alpha:]]`` stands for, which Python's patterns do not have."""


@dataclass(frozen=True)
class _Pattern:
    """One line: a regular expression for each component of a path, ``None`` for ``**``."""

    components: tuple[re.Pattern[str] | None, ...]
    negated: bool
    only_directories: bool


@dataclass(frozen=True)
class Rules:
    """The patterns of the ``.gitignore`` in the directory ``base``."""

    base: str
    patterns: tuple[_Pattern, ...]


def rules_of(directory: str) -> Iterator[Rules]:
    """The rules of a directory, if it has any. Raises ``OSError`` for a ``.gitignore`` that cannot be read."""
    path = os.path.join(directory, ".gitignore")
    if os.path.isfile(path):
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            yield pattern_rules(directory, file.read().split("\n"))


def pattern_rules(base: str, lines: Iterable[str]) -> Rules:
    """The rules that a ``.gitignore`` with these lines in the directory ``base`` would hold."""
    return Rules(os.path.abspath(base or os.curdir), tuple(pattern for line in lines for pattern in _patterns(line)))


def ignored(path: str, is_directory: bool, rules: tuple[Rules, ...]) -> bool:
    """Do the rules (outermost first) exclude this entry? The last pattern that matches it decides.

    An entry of an excluded directory is excluded whatever the patterns say: do not ask for it.
    """
    absolute = os.path.abspath(path)
    for rule in reversed(rules):
        inside = absolute.removeprefix(os.path.join(rule.base, ""))
        components = tuple((inside if inside != absolute else os.path.relpath(absolute, rule.base)).split(os.sep))
        for pattern in reversed(rule.patterns):
            if (is_directory or not pattern.only_directories) and _matches(pattern.components, components):
                return not pattern.negated
    return False


def _matches(pattern: tuple[re.Pattern[str] | None, ...], path: tuple[str, ...]) -> bool:
    if not pattern or not path:
        return not pattern and not path
    head, *rest = pattern
    if head is not _ANY_DEPTH:
        return head.match(path[0]) is not None and _matches(tuple(rest), path[1:])
    if not rest:
        return True
    return any(_matches(tuple(rest), path[depth:]) for depth in range(len(path)))


def _patterns(line: str) -> Iterator[_Pattern]:
    """The pattern of one line; none for a comment, an empty line, or what git takes for no pattern."""
    line = re.sub(r"(?<!\\) +$", "", line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return
    negated = line.startswith("!")
    text = line[1:] if negated else line
    only_directories = text.endswith("/")
    text = text.removesuffix("/")
    anchored = "/" in text
    text = text.removeprefix("/")
    if text:
        components = tuple(_component(component) for component in text.split("/"))
        yield _Pattern(components if anchored else (_ANY_DEPTH, *components), negated, only_directories)


def _component(glob: str) -> re.Pattern[str] | None:
    if re.fullmatch(r"\*{2,}", glob):
        return _ANY_DEPTH
    glob = re.sub(r"\[:(\w+):\]", lambda match: CLASSES.get(match[1], match[0]), glob)
    glob = re.sub(r"\\(.)", lambda match: f"[{match[1]}]" if match[1] in "*?[" else match[1], glob)
    return re.compile(fnmatch.translate(glob.replace("[^", "[!")))
