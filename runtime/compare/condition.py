"""Conditions of the user's code, and how they went, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Condition:
    """A condition or comparison that ran, with its ``text``: was it ever true, was it ever false?"""

    file: str
    line: int
    text: str
    true: bool
    false: bool


Sides = tuple[tuple[Condition, ...], tuple[Condition, ...]]
"""The conditions of the old version and of the new one."""


def together(runs: Iterable[Sides]) -> Sides:
    """What all runs asked, each condition once."""
    found: tuple[dict[tuple[str, int, str], Condition], ...] = {}, {}
    for run in runs:
        for known, conditions in zip(found, run, strict=True):
            for c in conditions:
                one = known.setdefault((c.file, c.line, c.text), c)
                known[c.file, c.line, c.text] = replace(one, true=one.true or c.true, false=one.false or c.false)
    return tuple(found[0].values()), tuple(found[1].values())
