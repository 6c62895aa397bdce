"""``nl.NKIObject``: the base of the classes that kernels may define and pass around."""

from __future__ import annotations

import dataclasses
import inspect
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

_METHODS = (FunctionType, property, staticmethod, classmethod, type)


_FIELDS: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()


class NKIObject:
    """A class that derives from it has the names that its body assigns or annotates as fields.

    Without an ``__init__`` of its own it gets one that takes the fields in order, like the front end's: a field
    without default is ``None`` when it is not given, and ``__post_init__`` is called. ``@dataclass`` changes nothing
    about that.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _fields(cls)  # now: @dataclass takes the default factories out of the class
        if "__init__" not in cls.__dict__ and cls.__init__ in (object.__init__, _initialise):
            type.__setattr__(cls, "__init__", _initialise)


def _fields(cls: type) -> dict[str, Any]:
    """Fields of ``cls`` and its bases with their defaults."""
    if cls not in _FIELDS:
        inherited = [_fields(base) for base in reversed(cls.__bases__) if base is not object]
        _FIELDS[cls] = {name: default for fields in (*inherited, _declared(cls)) for name, default in fields.items()}
    return _FIELDS[cls]


def _declared(cls: type) -> dict[str, Any]:
    """Fields of the class body with their defaults: the annotated ones, then the other assigned names."""
    annotated = inspect.get_annotations(cls)
    fields = {name: cls.__dict__.get(name) for name in annotated}
    for name, value in cls.__dict__.items():
        if name not in annotated and not name.startswith("_") and not isinstance(value, _METHODS):
            fields[name] = value
    return fields


def _initialise(self: NKIObject, *args: Any, **kwargs: Any) -> None:
    fields = _fields(type(self))
    name = type(self).__name__
    if len(args) > len(fields):
        raise TypeError(f"{name}() takes {len(fields)} arguments, {len(args)} were given")
    given = dict(zip(fields, args, strict=False))
    for keyword, value in kwargs.items():
        if keyword not in fields:
            raise TypeError(f"{name}() got an unexpected keyword argument '{keyword}'")
        if keyword in given:
            raise TypeError(f"{name}() got argument '{keyword}' by position and by keyword")
        given[keyword] = value
    for field, default in fields.items():
        object.__setattr__(self, field, given[field] if field in given else _fresh(default))
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _fresh(default: Any) -> Any:
    if not isinstance(default, dataclasses.Field):
        return default
    if default.default_factory is not dataclasses.MISSING:
        return default.default_factory()
    return None if default.default is dataclasses.MISSING else default.default
