"""Python objects that a loop body changes: what they held before, to be put back before every later iteration.

A Beta 1 loop body is traced once, so ``offsets.append(x)``, ``cache[k] = x`` and ``allocator.offset += n`` in it happen
once. Found are lists, dicts, sets, small host arrays and instances of the kernel's own classes that the frame reaches
through its names (globals among them), three levels deep. Not found: what only a function called by the body
reaches, and iterators that it advances.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..errors import is_emulator_file

_DEPTH = 3
_HOST_ARRAY = 4096
_PACKAGE = __name__.partition(".runtime")[0]
_SKIP, _LIST, _DICT, _SET, _ARRAY, _OBJECT = range(6)
_KINDS: dict[type, int] = {list: _LIST, dict: _DICT, set: _SET, np.ndarray: _ARRAY}
_FOREIGN = ("builtins", "types", "functools", "numpy", "ml_dtypes", "enum", "torch", "jax", "typing", "logging")


def _kind(cls: type) -> int:
    """What there is to keep of an instance of ``cls``: nothing, when the class is the emulator's or a library's."""
    found = _KINDS.get(cls)
    if found is None:
        module = str(cls.__module__)
        foreign = module.partition(".")[0] in _FOREIGN or module.startswith(f"{_PACKAGE}.") or issubclass(cls, type)
        own = not foreign and bool(getattr(cls, "__dictoffset__", 0)) and not issubclass(cls, (BaseException, tuple))
        found = _KINDS[cls] = _OBJECT if own else _SKIP
    return found


class Contents:
    """The contents of the objects that a frame reaches, at one time."""

    __slots__ = ("_globals", "_kept")

    def __init__(self, frame: FrameType, names: dict[str, Any]) -> None:
        self._kept: list[tuple[int, Any, Any]] = []
        stored, read = _global_names(frame.f_code)
        known = frame.f_globals
        self._globals = {name: known[name] for name in stored if name in known}
        seen: set[int] = set()
        for value in names.values():
            if _kind(type(value)):
                self._keep(value, _DEPTH, seen)
        for name in read:
            value = known.get(name)
            if value is not None and _kind(type(value)):
                self._keep(value, _DEPTH, seen)

    def _keep(self, value: Any, depth: int, seen: set[int]) -> None:
        kind = _kind(type(value))
        if (
            not kind
            or id(value) in seen
            or (kind == _ARRAY and (value.size > _HOST_ARRAY or not value.flags.writeable))
        ):
            return
        seen.add(id(value))
        inner = vars(value) if kind == _OBJECT else value
        self._kept.append((kind, value, inner.copy()))
        if depth > 1 and kind in (_LIST, _DICT, _OBJECT):
            for item in list(inner.values()) if kind != _LIST else inner:
                if _kind(type(item)):
                    self._keep(item, depth - 1, seen)

    def restore(self, frame: FrameType) -> None:
        """Put back what changed; what did not is left alone."""
        for name, value in self._globals.items():
            if frame.f_globals.get(name) is not value:
                frame.f_globals[name] = value
        for kind, value, before in self._kept:
            if kind == _LIST:
                if len(value) != len(before) or any(a is not b for a, b in zip(value, before, strict=True)):
                    value[:] = before
            elif kind == _SET:
                if value != before:
                    value.clear()
                    value.update(before)
            elif kind == _ARRAY:
                value[...] = before
            else:
                inner = vars(value) if kind == _OBJECT else value
                if len(inner) != len(before) or any(inner.get(k, _SKIP) is not v for k, v in before.items()):
                    inner.clear()
                    inner.update(before)


_NAMES: dict[int, tuple[CodeType, tuple[str, ...], tuple[str, ...]]] = {}


def _global_names(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The globals that ``code`` assigns, and those that it uses."""
    known = _NAMES.get(id(code))
    if known is None:
        if is_emulator_file(code.co_filename):
            known = (code, (), ())
        else:
            found = list(_accesses(code))
            stored = sorted({name for op, name in found if op == "STORE_GLOBAL"})
            known = (code, tuple(stored), tuple(sorted({name for op, name in found if op == "LOAD_GLOBAL"})))
        _NAMES[id(code)] = known
    return known[1], known[2]


def _accesses(code: CodeType) -> Iterator[tuple[str, str]]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_GLOBAL", "LOAD_GLOBAL"):
            yield instruction.opname, str(instruction.argval)
