"""A condition of the user's code, and how it went, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Condition:
    """A condition or comparison that ran, with its ``text``: was it ever true, was it ever false?"""

    file: str
    line: int
    text: str
    true: bool
    false: bool
