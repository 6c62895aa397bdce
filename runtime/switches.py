"""A setting of the emulator that is on within a block of code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Switch:
    """Off, until a block turns it on; off is as good as another setting within, and what was before comes back."""

    def __init__(self) -> None:
        self.is_on = False

    @contextmanager
    def turned(self, wanted: bool = True) -> Iterator[None]:
        """Within, the switch is on, or off if that is ``wanted``."""
        before, self.is_on = self.is_on, wanted
        try:
            yield
        finally:
            self.is_on = before
