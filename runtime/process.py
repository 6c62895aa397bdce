"""What the emulator asks of the process that it runs in: one thread for products, and memory that is used again.

The emulator may run in a program of the user's (``nki-migrate emulate``, ``record``, the pytest plugin). There a BLAS
library takes as many threads as there are processors, for products of 128 x 128 x 512 that end before the last of them
has woken up: beside other load such a product takes many times as long as with one thread.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import threadpoolctl  # type: ignore[import-untyped]  # it has no types

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_REUSED, _KEPT = 32 << 20, 512 << 20
"""Bytes of an array up to which its memory is used again, and of free memory that is kept for that."""


@cache
def _libraries() -> Any:
    """The BLAS libraries of the process. They are looked for once: numpy's, which multiplies here, is among them."""
    return threadpoolctl.ThreadpoolController().select(user_api="blas")


_launch = threading.RLock()


@contextmanager
def launching() -> Iterator[None]:
    """The surroundings of a launch: one thread in each BLAS library, and the caller's setting again when it ends.

    Launches of several threads wait for each other: for some libraries the setting is the process's, and a product of
    two threads has other bits than one of one.
    """
    keep_memory()
    with _launch, one_blas_thread():
        yield


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread in each BLAS library: for the threads of a launch, too, as some libraries have a setting for each."""
    with _libraries().limit(limits=1):
        yield


def prepare() -> None:
    """What the first launch would do: a process that others are forked from does it once for all of them."""
    keep_memory()
    _libraries()


@cache
def keep_memory() -> bool:
    """Let freed memory of arrays be used again; was it possible?

    The C library of Linux gives the memory of a tile of 256 KB back to the system as soon as it is freed, and asks for
    it again for the next one. To map and clear its pages takes several times as long as what an instruction computes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP_THRESHOLD, _REUSED) and mallopt(_TRIM_THRESHOLD, _KEPT))
