"""Python objects that a loop body changes: what they held before, to be put back before every later iteration.

A Beta 1 loop body is traced once, so ``offsets.append(x)``, ``cache[k] = x`` and ``allocator.offset += n`` in it happen
once. Kept are containers, host arrays, instances and classes of the kernel's own, and names of globals and closures:
whatever the frame reaches through its names and through the functions that it may call (:mod:`.reached`). Iterators
cannot be put back: one that the first iteration advanced is refused before the second. What an extension module keeps
to itself (the generator behind ``numpy.random.rand``) is not seen.
"""

from __future__ import annotations

import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from operator import is_
from types import BuiltinMethodType, CellType, FrameType, FunctionType, GeneratorType, MethodType
from typing import Any

import numpy as np

from ..errors import NotModelled, is_emulator_file
from .advancing import Position, is_advancing
from .reached import Reached, functions_in, held_by, is_foreign, reached

_MISSING: Any = object()
_NOTHING: tuple[Any, ...] = ()


class _Part:
    """A part of an object's state: how it is taken, put back, and what it holds."""

    def __init__(
        self,
        take: Callable[[Any], Any],
        put: Callable[[Any, Any], None],
        inner: Callable[[Any], Iterable[Any]] = lambda taken: taken,
    ) -> None:
        self.take, self.put, self.inner = take, put, inner


def _put_items(value: Any, before: list[Any]) -> None:
    if len(value) != len(before) or not all(map(is_, value, before)):
        if isinstance(value, list):
            list.__setitem__(value, slice(None), before)
        else:
            value.clear()
            value.extend(before)


def _put_mapping(value: Any, before: dict[Any, Any]) -> None:
    base = _mapping(value)
    same = len(value) == len(before) and all(map(is_, base.keys(value), before))
    if not same or not all(map(is_, base.values(value), before.values())):
        base.clear(value)
        base.update(value, before)


def _mapping(value: Any) -> Any:
    """The class whose methods read and change ``value``: an ordered dict has an order that those of dict do not see."""
    return OrderedDict if isinstance(value, OrderedDict) else dict


def _put_set(value: Any, before: set[Any]) -> None:
    if value != before:
        set.clear(value)
        set.update(value, before)


def _put_buffer(value: Any, before: Any) -> None:
    value[:] = before


def _put_array(value: Any, before: Any) -> None:
    if value.flags.writeable:
        value[...] = before


def _slots(value: Any) -> dict[str, Any]:
    names = (name for cls in type(value).__mro__ for name in _slot_names(cls))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _slot_names(cls: type) -> tuple[str, ...]:
    found = vars(cls).get("__slots__", _NOTHING)
    names = (found,) if isinstance(found, str) else tuple(found)
    return tuple(
        f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in names
        if name not in ("__dict__", "__weakref__")
    )


def _members(cls: type) -> dict[str, Any]:
    return {name: value for name, value in vars(cls).items() if not name.startswith("__")}


def _put_attributes(value: Any, before: dict[str, Any], now: dict[str, Any]) -> None:
    change, forget = (type.__setattr__, type.__delattr__) if isinstance(value, type) else _ATTRIBUTES
    for name, held in before.items():
        if now.get(name, _MISSING) is not held:
            change(value, name, held)
    for name in now.keys() - before.keys():
        forget(value, name)


_ATTRIBUTES: tuple[Callable[..., None], Callable[..., None]] = (object.__setattr__, object.__delattr__)


def _put_cell(cell: CellType, before: Any) -> None:
    if _in_cell(cell) is not before and before is not _MISSING:
        cell.cell_contents = before


def _in_cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


_SEQUENCE = _Part(list, _put_items)
_MAPPING = _Part(
    lambda value: dict(_mapping(value).items(value)), _put_mapping, lambda taken: (*taken, *taken.values())
)
_SET = _Part(set, _put_set)
_BUFFER = _Part(lambda value: value[:], _put_buffer, lambda taken: _NOTHING)
_ARRAY = _Part(np.copy, _put_array, lambda taken: taken.ravel() if taken.dtype.hasobject else _NOTHING)
_MEMBERS = _Part(lambda value: dict(vars(value)), lambda v, before: _put_mapping(vars(v), before), dict.values)
_SLOTTED = _Part(_slots, lambda value, before: _put_attributes(value, before, _slots(value)), dict.values)
_CLASS = _Part(_members, lambda cls, before: _put_attributes(cls, before, _members(cls)), dict.values)
_CELL = _Part(_in_cell, _put_cell, lambda held: (held,))
_HOLDS = _Part(lambda value: value, lambda value, before: None)
_CALLABLE = _Part(held_by, lambda value, before: None)
_ITERATOR = _Part(
    Position, lambda value, position: _refuse_advanced(value, position), lambda position: tuple(position.held)
)
_CONTAINERS: tuple[tuple[Any, _Part], ...] = (
    (dict, _MAPPING),
    ((list, deque), _SEQUENCE),
    (set, _SET),
    ((bytearray, array.array), _BUFFER),
    (np.ndarray, _ARRAY),
    ((tuple, frozenset), _HOLDS),
)
_CALLABLES = (FunctionType, MethodType, BuiltinMethodType)


def _refuse_advanced(iterator: Any, position: Position) -> None:
    if position.is_left():
        raise NotModelled(
            f"the {type(iterator).__name__} that the body of an NKI loop advances (it would move on once, whatever the "
            "trip count); take its values before the loop"
        )


_PARTS: dict[type, tuple[_Part, ...]] = {CellType: (_CELL,)}


def _parts(cls: type) -> tuple[_Part, ...]:
    """What there is to keep of an instance of ``cls``: nothing of what the emulator or a library keeps."""
    found = _PARTS.get(cls)
    if found is None:
        found = tuple(part for types, part in _CONTAINERS if issubclass(cls, types))
        if issubclass(cls, type):
            found = (_CLASS,)
        elif issubclass(cls, _CALLABLES):
            found = (_CALLABLE,)
        elif is_advancing(cls):
            found = (_ITERATOR,)
        elif not is_foreign(cls.__module__) and not issubclass(cls, BaseException):
            found += (_MEMBERS,) if getattr(cls, "__dictoffset__", 0) else _NOTHING
            found += (_SLOTTED,) if any(_slot_names(base) for base in cls.__mro__) else _NOTHING
        elif cls.__module__ == "functools" or cls.__qualname__ == "Kernel":
            found = (_CALLABLE,)
        _PARTS[cls] = found
    return found


class Contents:
    """The contents of what a frame reaches, at one time."""

    __slots__ = ("_bound", "_kept")

    def __init__(self, frame: FrameType, names: dict[str, Any]) -> None:
        """``frame`` runs the loop; ``names`` are its locals."""
        self._kept: list[tuple[_Part, Any, Any]] = []
        self._bound: list[tuple[dict[str, Any], str, Any]] = []
        seen: set[int] = set()
        waiting: list[Any] = [*names.values(), *self._reached(reached(frame.f_code, frame.f_globals), seen)]
        while waiting:
            value = waiting.pop()
            parts = _parts(type(value))
            if parts and id(value) not in seen:
                seen.add(id(value))
                waiting += self._keep(value, parts, seen)

    def _reached(self, of: Reached, seen: set[int]) -> Iterator[Any]:
        """The objects that a code reaches; notes what its globals are bound to."""
        if id(of) not in seen:
            seen.add(id(of))
            self._bound += [(space, name, space.get(name, _MISSING)) for space, name in of.bound]
            yield from (space.get(name) for space, name in of.names)
            yield from of.cells

    def _keep(self, value: Any, parts: tuple[_Part, ...], seen: set[int]) -> Iterator[Any]:
        """Keep the parts of an object. Gives what they hold."""
        if parts[0] is _CLASS and is_foreign(value.__module__):
            return
        if isinstance(value, GeneratorType) and is_emulator_file(value.gi_code.co_filename):
            return  # an NKI range
        for part in parts:
            taken = part.take(value)
            if part is not _HOLDS:
                self._kept.append((part, value, taken))
            yield from part.inner(taken)
            if part is _CALLABLE:
                for function in functions_in(value):
                    yield from function.__closure__ or _NOTHING
                    yield from self._reached(reached(function.__code__, function.__globals__), seen)
            elif part is _MEMBERS or part is _SLOTTED:
                yield from type(value).__mro__[:-1]

    def restore(self) -> None:
        """Put back what changed; what did not is left alone. Refuses an iterator that moved on."""
        for space, name, value in self._bound:
            if space.get(name, _MISSING) is not value:
                if value is _MISSING:
                    del space[name]
                else:
                    space[name] = value
        for part, value, before in self._kept:
            part.put(value, before)
