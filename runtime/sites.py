"""Places in kernels that declare a tile. Most declare the same one again and again: what it is, is found out once."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import NamedTuple

from . import naming
from .memory import Allocation, Array, Declaration, Machine, poison, poisoned


class Site(NamedTuple):
    """A place in a kernel's ``code`` that declares automatic tiles of one name, and what it declared last."""

    code: CodeType
    declaration: Declaration
    buffer: object
    poison: Array | None

    def allocated(self, machine: Machine) -> Allocation:
        """Another tile of the declaration."""
        known = self.declaration
        whole = poisoned(known.shape, known.dtype) if self.poison is None else self.poison.copy()
        return machine.automatic(known, whole)


def known(frame: FrameType | None, shape: object, dtype: object, buffer: object) -> Site | None:
    """The place that runs in ``frame``, where it has declared just this before; ``None`` where it has to be judged."""
    if frame is None or type(shape) is not tuple:
        return None
    site = _SITES.get((id(frame.f_code), frame.f_lasti))
    if site is None or site.buffer is not buffer or site.declaration.dtype is not dtype:
        return None
    for extent in shape:
        if type(extent) is not int:  # 8.0 equals 8
            return None
    return site if site.declaration.shape == shape else None


def remember(frame: FrameType | None, declaration: Declaration, buffer: object) -> None:
    """Note an automatic tile that the kernel gives no name, for :func:`known`."""
    if frame is not None and naming.is_fixed(frame):
        example = poison(declaration.shape, declaration.dtype)
        _SITES[id(frame.f_code), frame.f_lasti] = Site(frame.f_code, declaration, buffer, example)


_SITES: dict[tuple[int, int], Site] = {}
"""By ``id`` of the code, which is kept alive, and by the place."""
