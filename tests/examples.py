"""How many examples the slow random tests (``pytest.mark.random``) take, and which examples of a test are among them.

Plain ``pytest`` leaves them out (``-m random`` runs them); ``python tests/bench/random_runs.py`` sets the variable, and
runs them, as ``.ci/run`` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any
from zlib import crc32

import pytest

VARIABLE = "NKI_MIGRATE_EXAMPLES"
SHARE = 4
"""Plain ``pytest`` runs one of so many examples of a property that holds for each golden."""


def examples(few: int) -> int:
    """``few``, times what the environment says."""
    return few * int(os.environ.get(VARIABLE, "1"))


def sampled(topic: str, values: Iterable[Any]) -> list[Any]:
    """The values of a parameter of a test; but for one in :data:`SHARE`, they are slow random tests.

    Tests of another ``topic`` take other ones: not all that are for each golden take the same goldens.
    """
    first = crc32(topic.encode()) % SHARE
    return [
        value if at % SHARE == first else pytest.param(*_parts(value), marks=pytest.mark.random)
        for at, value in enumerate(values)
    ]


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
