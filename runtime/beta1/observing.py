"""An observer of the functions of the user's that a running kernel enters: what each of their parameters is.

Python's profiler calls it, in every thread of a launch; the kernel itself runs as ever.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..errors import is_emulator_file
from ..source import definition_name
from ..spec.seen import ON_CHIP, Seen, SeenFunction
from .blocks import BlockTensor
from .reached import is_foreign
from .tensor import Tile, whole


@contextmanager
def observed() -> Iterator[Observer]:
    """An observer of what runs in the block, in this thread and in those that it starts."""
    observer = Observer()
    threading.setprofile(observer)
    sys.setprofile(observer)
    try:
        yield observer
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


class Observer:
    """A profile function that notes the parameters of the user's functions."""

    def __init__(self) -> None:
        self._codes: dict[int, tuple[CodeType, dict[str, set[Seen]] | None]] = {}
        """By ``id`` of the code, which is kept alive: the hash of a code object is that of all its constants."""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        known = self._codes.get(id(code))
        if known is None:
            known = self._codes[id(code)] = (code, _parameters(frame))
        parameters = known[1]
        if parameters is not None:
            values = frame.f_locals
            for name, kinds in parameters.items():
                kinds.add(seen(values[name]))

    def functions(self) -> Iterator[SeenFunction]:
        """The functions that were entered, in the order of their files and names; a lambda has none."""
        found: dict[tuple[str, str], dict[str, set[Seen]]] = {}
        for code, parameters in self._codes.values():
            name = definition_name(code) if parameters is not None else ""
            if name and parameters is not None:
                together = found.setdefault((code.co_filename, name), {})
                for parameter, kinds in parameters.items():
                    together.setdefault(parameter, set()).update(kinds)
        for (file, name), told in sorted(found.items()):
            yield SeenFunction(file, name, tuple((p, tuple(sorted(kinds))) for p, kinds in told.items()))


def _parameters(frame: FrameType) -> dict[str, set[Seen]] | None:
    """Nothing seen yet of each parameter of the function that a frame runs; ``None`` for one that is not the user's."""
    code = frame.f_code
    module = str(frame.f_globals.get("__name__"))
    generates = code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE)  # each resumption looks like a call
    if generates or is_emulator_file(code.co_filename) or is_foreign(module) or code.co_name.startswith("<"):
        return None
    return {name: set() for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}


def seen(value: Any) -> Seen:
    """What a value is, without its sizes and numbers."""
    if isinstance(value, Tile) and value.gather is None and value.restriction is None:
        return Seen(value.space, tuple(int(n) == 1 for n in value.shape), not _is_whole(value))
    if isinstance(value, BlockTensor):
        return Seen("blocks", tuple(int(n) == 1 for n in value.shape))
    if value is None:
        return Seen("none")
    if type(value) in (list, tuple):
        return _list(value)
    is_dtype = isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))
    return Seen("dtype" if is_dtype else "other")


def _list(values: Sequence[Any]) -> Seen:
    """A list: of tiles of one shape and type, in lists of one length, or of anything."""
    kinds = {seen(value) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else Seen("other")
    if kind.kind not in ON_CHIP or kind.part or len({_form(value) for value in values}) > 1:
        return Seen("other")
    return replace(kind, lists=kind.lists + 1)


def _form(value: Any) -> object:
    """The sizes and the type of a tile, or of the tiles in a list."""
    if type(value) in (list, tuple):
        return len(value), _form(value[0])
    return tuple(int(n) for n in value.shape), str(value.dtype)


def _is_whole(tile: Tile) -> bool:
    """Is a tile all of a tensor that has no blocks?"""
    if tile.alloc.block:
        return False
    all_of_it = whole(tile.alloc)
    return (tile.offset, tile.shape, tile.strides) == (all_of_it.offset, all_of_it.shape, all_of_it.strides)
