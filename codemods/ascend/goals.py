"""What a rewrite is for: one goal, and how memory is planned where the goal needs addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nki_migrate.runtime.ascend.plans import LIFETIMES, MODES
from nki_migrate.runtime.spec.ascend import DEFAULT_TARGET, TARGETS

from ..model import Options

GOALS: Mapping[str, str] = {
    "fork": "the API that tilelang-ascend has: the seed's names are replaced (the default)",
    "pinned": "as fork, and each buffer's planned address in T.annotate_address",
    "unpinned": "as fork, without T.annotate_address: the compiler plans",
    "developer": "as fork, and developer mode: alloc_shared, alloc_fragment, no scopes and barriers",
    "mainline": "the Ascend dialect of tilelang 0.1.15",
}
"""The versions that ``--to ascend==GOAL`` takes, each with what it means."""


@dataclass(frozen=True)
class Settings:
    """One goal, the hardware, how memory is planned, and the values that the user gives for names of the source."""

    goal: str = "fork"
    target: str = DEFAULT_TARGET
    mode: str = "auto"
    planner: str = "scope-exit"
    given: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {
            "goal": (self.goal, GOALS),
            "target": (self.target, TARGETS),
            "mode": (self.mode, MODES),
            "planner": (self.planner, LIFETIMES),
        }
        for what, (value, allowed) in known.items():
            if value not in allowed:
                raise ValueError(f"{what} {value!r} is none of {', '.join(allowed)}")


def settings_of(options: Options) -> Settings:
    """The settings that the options of a run ask for; another language's target means the default goal."""
    goal = options.target if options.target in GOALS else "fork"
    return Settings(goal, **dict(options.planning))
