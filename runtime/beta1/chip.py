"""What only the chip can tell."""

from __future__ import annotations

from unittest import SkipTest

from ..errors import NotModelled


class NeedsHardware(NotModelled, SkipTest):
    """The result is random bits or a time of the chip, which no emulator can know.

    A test that runs into it is skipped, by its name and with this reason: pytest and unittest both take
    :class:`unittest.SkipTest` for that. Everywhere else it is a :class:`NotModelled`.
    """
