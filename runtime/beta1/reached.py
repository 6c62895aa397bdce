"""What a loop body reaches besides the names of its own frame: globals, closures and classes, through any function.

The functions that a code object calls by name are followed into their own names, those of a user's module by
``module.name``. Found once for each code object; functions that a frame holds as values are followed when they turn up.
Python's library, numpy, the frameworks and the emulator itself keep no state of a kernel's.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ..errors import is_emulator_file

_LIBRARIES = ("jax", "jaxlib", "ml_dtypes", "neuronxcc", "nki", "nkilib", "numpy", "pytest", "scipy", "torch")
_LIBRARY_FOLDER = os.path.dirname(os.__file__) + os.sep
_INSTALLED = (f"{_LIBRARY_FOLDER}site-packages", f"{_LIBRARY_FOLDER}dist-packages")


@functools.cache
def is_foreign(module: str) -> bool:
    """Is ``module`` (of a class or a function) the emulator's, or of a library that keeps nothing of a kernel's?"""
    root = module.partition(".")[0]
    if root in _LIBRARIES or root in sys.builtin_module_names or root == "builtins":
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return is_emulator_file(file) or (file.startswith(_LIBRARY_FOLDER) and not file.startswith(_INSTALLED))


@dataclass(eq=False)
class Reached:
    """State that a code object reaches.

    ``names`` are (namespace, name) pairs whose values it uses, ``bound`` those that it binds again. ``cells`` belong
    to closures. ``functions`` are the (namespace, name, function) that were followed: what to look at again when one
    of them is another function now.
    """

    names: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    bound: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    cells: list[CellType] = field(default_factory=list)
    functions: list[tuple[dict[str, Any], str, Any]] = field(default_factory=list)

    def is_current(self) -> bool:
        return all(space.get(name) is function for space, name, function in self.functions)


def reached(code: CodeType, space: dict[str, Any]) -> Reached:
    """What ``code`` over the globals ``space`` reaches through names."""
    key = (id(code), id(space))
    known = _KNOWN.get(key)
    if known is None or not known[2].is_current():
        found = Reached()
        if not is_emulator_file(code.co_filename) and not is_foreign(str(space.get("__name__"))):
            _follow(code, space, found, set())
        known = _KNOWN[key] = (code, space, found)
    return known[2]


_KNOWN: dict[tuple[int, int], tuple[CodeType, dict[str, Any], Reached]] = {}
"""By ``id``, with what keeps it valid: the hash of a code object is that of all its constants."""


def _follow(code: CodeType, space: dict[str, Any], found: Reached, seen: set[int]) -> None:
    seen.add(id(code))
    names = _names(code)
    found.bound += [(space, name) for name in names.stored]
    for name in names.used:
        value = space.get(name)
        if isinstance(value, ModuleType):
            if not is_foreign(value.__name__):
                inside = vars(value)
                for attribute in names.attributes & inside.keys():
                    _follow_value(inside, attribute, found, seen)
        elif name in space:
            _follow_value(space, name, found, seen)


def _follow_value(space: dict[str, Any], name: str, found: Reached, seen: set[int]) -> None:
    value = space[name]
    functions = list(functions_in(value))
    if not functions:
        found.names.append((space, name))
        return
    found.functions.append((space, name, value))
    for function in functions:
        found.cells += function.__closure__ or ()
        if id(function.__code__) not in seen and not is_foreign(function.__module__ or ""):
            _follow(function.__code__, function.__globals__, found, seen)


def functions_in(value: Any) -> Iterator[FunctionType]:
    """The functions that calling ``value`` runs, as far as it is one: a method, a partial, a kernel."""
    if isinstance(value, FunctionType):
        yield value
        wrapped = value.__dict__.get("__wrapped__")
        if wrapped is not None:
            yield from functions_in(wrapped)
    elif isinstance(value, MethodType):
        yield from functions_in(value.__func__)
    elif holds_a_function(value):
        yield from functions_in(value.func)


def holds_a_function(value: Any) -> bool:
    """Is the value's ``func`` what calling it runs: that of a partial, or of a kernel?"""
    return isinstance(value, functools.partial) or _is_kernel(value)


def _is_kernel(value: Any) -> bool:
    return type(value).__qualname__ == "Kernel" and is_foreign(type(value).__module__)


def held_by(value: Any) -> tuple[Any, ...]:
    """The objects that something callable holds on to: the owner of a method, the arguments of a partial."""
    if isinstance(value, (MethodType, BuiltinMethodType)):
        return (value.__self__,)
    if isinstance(value, functools.partial):
        return (*value.args, *value.keywords.values(), *held_by(value.func))
    if isinstance(value, FunctionType):
        return (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    return ()


# --- the names of a code object --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Names:
    used: tuple[str, ...]
    stored: tuple[str, ...]
    attributes: frozenset[str]


_NAMES: dict[int, tuple[CodeType, _Names]] = {}


def _names(code: CodeType) -> _Names:
    """The globals that ``code`` and the functions inside use and bind, and the attributes that they ask for."""
    known = _NAMES.get(id(code))
    if known is None:
        used, stored, attributes = set(), set(), set()
        for part in _parts(code):
            for instruction in dis.get_instructions(part):
                if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    used.add(str(instruction.argval))
                elif instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                    stored.add(str(instruction.argval))
                elif "ATTR" in instruction.opname or "METHOD" in instruction.opname:
                    attributes.add(str(instruction.argval))
        made = _Names(tuple(sorted(used)), tuple(sorted(stored)), frozenset(attributes))
        known = _NAMES[id(code)] = (code, made)
    return known[1]


def _parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
