"""Places in kernels that declare a tile, or run an instruction that makes one.

Most make the same one again and again: what it is, is found out once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FrameType
from typing import Any

import numpy as np

from . import naming
from .errors import location_of, user_frame
from .machine import Machine
from .memory import Allocation, Array, Declaration, poison, poisoned


@dataclass(frozen=True, eq=False, slots=True)
class Declared:
    """A ``declaration`` of automatic tiles; ``memory`` makes what another tile of it lies on."""

    declaration: Declaration
    memory: Callable[[], Array]

    @staticmethod
    def by(declaration: Declaration) -> Declared:
        return Declared(declaration, _memory(declaration))


def _memory(declaration: Declaration) -> Callable[[], Array]:
    """What makes arrays that were never written."""
    example = poison(declaration.shape, declaration.dtype)
    return partial(poisoned, declaration.shape, declaration.dtype) if example is None else example.copy


@dataclass(frozen=True, eq=False, slots=True)
class Site(Declared):
    """A place in a kernel's ``code`` that declares automatic tiles of one name, and what it declared last."""

    code: CodeType
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    buffer: object


def known(frame: FrameType | None, shape: object, dtype: object, buffer: object) -> Site | None:
    """The place that runs in ``frame``, where it has declared just this before; ``None`` where it has to be judged."""
    if frame is None or type(shape) is not tuple:
        return None
    site = _SITES.get((id(frame.f_code), frame.f_lasti))
    if site is None or site.buffer is not buffer or site.dtype is not dtype:
        return None
    return site if {*map(type, shape)} == _INT and site.shape == shape else None  # 8.0 equals 8


def remember(frame: FrameType | None, declaration: Declaration, buffer: object) -> None:
    """Note an automatic tile that has elements, and no name from the kernel, for :func:`known`."""
    shape, dtype = declaration.shape, declaration.dtype
    if frame is not None and 0 not in shape and naming.is_fixed(frame):
        site = Site(declaration, _memory(declaration), frame.f_code, shape, dtype, buffer)
        _SITES[id(frame.f_code), frame.f_lasti] = site


_INT = {int}
_SITES: dict[tuple[int, int], Site] = {}
"""By ``id`` of the code, which is kept alive, and by the place."""


Asked = tuple[str, str, naming.Name, tuple[int, ...], np.dtype[Any]]
"""The space of a tile, the instruction that makes it, what it is bound to, its shape and type."""


@dataclass(eq=False)
class Place:
    """A place in a kernel's ``code`` where an instruction gives a result.

    ``bound`` is what the result is bound to (:func:`.naming.bound_name`) where that is ``fixed``. ``made`` are the
    automatic tiles that it was given: what :meth:`allocated` was asked for, and the declaration. They are several where
    a function of the language is several instructions.
    """

    code: CodeType | None
    location: tuple[str, int]
    fixed: bool = False
    bound: naming.Name | None = None
    made: list[tuple[Asked, Declaration]] = field(default_factory=list)

    def bound_in(self, frame: FrameType | None) -> naming.Name | None:
        """What the result of the instruction that runs here in ``frame`` is bound to."""
        if frame is None:
            return None
        name = naming.bound_name(frame)
        if naming.is_bound_fixed(frame):
            self.fixed, self.bound = True, name
        return name

    def declared(self, asked: Asked) -> Declaration | None:
        """The declaration of a tile that this place has made before as it is ``asked`` for."""
        for known, declaration in self.made:
            if known == asked:
                return declaration
        return None

    def allocated(self, machine: Machine, asked: Asked, values: Array | None) -> Allocation:
        """A tile (on the memory of ``values``) as :meth:`.memory.Machine.allocate` makes it."""
        space, op, (name, block), shape, dtype = asked
        made = machine.allocate(
            space,
            shape,
            dtype,
            name=name or op,
            block=block,
            location=self.location,
            values=values,
            numbered=not name,
        )
        if 0 not in shape:
            self.made[_MOST:] = ()
            self.made.insert(0, (asked, made.declaration))
        return made


_MOST = 7
"""Declarations that a place keeps besides its last one."""


def place_of(frame: FrameType | None) -> tuple[FrameType | None, Place]:
    """``frame`` or the nearest caller of it that is not part of the emulator, and the place that runs in it."""
    frame = user_frame(frame)
    if frame is None:
        return None, _NO_PLACE
    key = (id(frame.f_code), frame.f_lasti)
    found = PLACES.get(key)
    if found is None:
        found = PLACES[key] = Place(frame.f_code, location_of(frame))
    return frame, found


_NO_PLACE = Place(None, location_of(None), fixed=True)
PLACES: dict[tuple[int, int], Place] = {}
"""By ``id`` of the code, which is kept alive, and by the place."""
