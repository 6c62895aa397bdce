"""The memories of an Ascend core as maps and hazards know them: each is one range of bytes."""

from __future__ import annotations

from .ascend import DEFAULT_TARGET, SPACES, TARGETS
from .memory import MemoryModel, Space

MODEL = MemoryModel(
    "ascend",
    tuple(
        Space(space.lower(), {name: target.arenas[space].limit for name, target in TARGETS.items()}) for space in SPACES
    ),
    DEFAULT_TARGET,
)
"""What a plan may use of each memory, by target."""
