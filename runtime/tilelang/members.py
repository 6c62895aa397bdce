"""The names of the language that the emulator has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MEMBERS: dict[str, Any] = {}


def member(function: Callable[..., Any]) -> Callable[..., Any]:
    MEMBERS[function.__name__] = function
    return function
