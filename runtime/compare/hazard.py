"""What a run may hold besides its record: what was found in it that hardware does not guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .verdict import Place


@dataclass(frozen=True)
class Hazard:
    """One thing that runs here and may not on hardware, or whose result no two schedules need to agree on.

    ``tensors`` are the names of the tiles, ``first`` and ``second`` the two places in the source in the order in which
    they ran (the same one twice where one statement is enough), ``count`` how often it happened there, ``help`` what
    to do.
    """

    kind: str
    message: str
    tensors: tuple[str, ...]
    first: Place
    second: Place
    help: str
    count: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, without positions in lists and block tensors."""
        return tuple(name.partition("[")[0] for name in self.tensors)

    def as_json(self) -> dict[str, Any]:
        """``kind``, ``message``, ``tensors``, two ``places``, ``help`` and ``count``."""
        places = [{"file": place.file, "line": place.line, "what": place.what} for place in (self.first, self.second)]
        return {
            "kind": self.kind,
            "message": self.message,
            "tensors": list(self.tensors),
            "places": places,
            "help": self.help,
            "count": self.count,
        }
