"""What an instruction is told besides its operands and what it computes: engines, modes of DMA, parts of the array.

None of it changes a number here, all of it is compared: an event has it in the normal form of
:data:`~.spec.comparison.UNSAID`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from .events import Said
from .spec.comparison import UNSAID, exempt

Options = tuple[tuple[str, Any], ...]


def options(**given: Any) -> Options:
    """The options that say more than leaving them out would, in the order of :data:`UNSAID`."""
    return tuple(
        (name, value) for name in UNSAID if name in given and not _is_unsaid(name, value := _plain(given[name]))
    )


def exempt_said(function: str, given: Mapping[str, Any], version: str) -> tuple[Said, ...]:
    """What a call says that the comparison leaves out (:data:`~.spec.comparison.EXEMPTIONS`), in the normal form."""
    return tuple((function, name, _plain(given[name])) for name in sorted(exempt(function, version) & given.keys()))


def _plain(value: Any) -> Any:
    if isinstance(value, Enum) or hasattr(value, "name"):
        return value.name
    if hasattr(value, "alloc"):
        return value.alloc.name
    if isinstance(value, str):
        return value.removesuffix("_engine")
    return tuple(value) if isinstance(value, list) else value


def _is_unsaid(name: str, value: Any) -> bool:
    return any(type(value) is type(other) and value == other for other in UNSAID[name])
