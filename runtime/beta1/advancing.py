"""Where an iterator is: generators, and the iterators of Python's own types, which cannot be put back."""

from __future__ import annotations

import gc
import operator
import random
import warnings
from collections.abc import Iterator
from types import GeneratorType
from typing import Any

import numpy as np

from .reached import is_foreign

_EMULATOR = __name__.partition(".beta1")[0]
_DRAWING = (random.Random, np.random.Generator, np.random.RandomState)


def is_advancing(cls: type) -> bool:
    """Do objects of ``cls`` move on when they are asked for a value, in a way that cannot be undone?"""
    if cls.__module__.startswith(_EMULATOR):
        return False
    return issubclass(cls, _DRAWING) or (issubclass(cls, Iterator) and is_foreign(cls.__module__))


class Position:
    """The place of an iterator (or of a source of random numbers) at one time."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator
        self._place = list(_place(iterator, set()))

    @property
    def held(self) -> list[Any]:
        """What the iterator refers to."""
        return list(_held(self._iterator))

    def is_left(self) -> bool:
        """Did the iterator move on?"""
        now = list(_place(self._iterator, set()))
        return len(now) != len(self._place) or any(
            a is not b and not (type(a) is type(b) is int and a == b) for a, b in zip(now, self._place, strict=True)
        )


def _place(iterator: Any, seen: set[int]) -> Iterator[Any]:
    """Objects that are not all the same once the iterator has moved on. They are kept: no other takes their ids."""
    seen.add(id(iterator))
    if isinstance(iterator, _DRAWING):
        yield hash(str(_drawn(iterator)))
        return
    if isinstance(iterator, GeneratorType):
        yield iterator.gi_frame.f_lasti if iterator.gi_frame is not None else None
    else:
        yield operator.length_hint(iterator, -1)
        yield from _numbers(iterator)
    for held in _held(iterator):
        yield held
        if is_advancing(type(held)) and id(held) not in seen:
            yield from _place(held, seen)


def _held(iterator: Any) -> Iterator[Any]:
    """What an iterator refers to; of tuples, such as the arguments of ``zip``, what is in them."""
    for held in gc.get_referents(iterator):
        if type(held) is tuple:
            yield from held
        else:
            yield held


def _numbers(iterator: Any) -> Iterator[int]:
    """The counters of an iterator, such as that of ``enumerate`` and ``count``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of itertools, from Python 3.12 on
            described = iterator.__reduce__()
    except TypeError:
        return
    for part in described[1:3]:
        for number in part if isinstance(part, tuple) else (part,):
            if isinstance(number, int):
                yield number


def _drawn(source: Any) -> Any:
    if isinstance(source, random.Random):
        return source.getstate()
    return source.bit_generator.state if isinstance(source, np.random.Generator) else source.get_state()
