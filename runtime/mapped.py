"""Memory of one byte that is mapped, not written: a page is made when a kernel writes to it.

Tensors of a gigabyte that a kernel declares hold the byte of memory that nobody wrote (:data:`.memory.POISON`), so that
what reads them first is seen. All of their pages are one page of a small file, copied when it is written.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

LARGE = 128 << 20
"""Bytes from which on memory is mapped: what is smaller is used again (:mod:`.process`), and filled faster."""
_PIECE = 4 << 20
"""Bytes of the file, which is mapped again and again; a process may have some 65,000 mappings."""
_FIXED = 0x10
"""``MAP_FIXED`` of Linux: in place of what is mapped there."""


def repeated(byte: int, size: int) -> npt.NDArray[np.uint8] | None:
    """``size`` bytes that are all ``byte``, and can be written; ``None`` where the system has no way to map them."""
    file, system = _file(byte), _mmap()
    if file is None or system is None:
        return None
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    found = np.frombuffer(area, np.uint8)
    address = found.ctypes.data
    for start in range(0, size, _PIECE):
        at, length = address + start, min(_PIECE, size - start)
        if system(at, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _FIXED, file, 0) != at:
            return None
    return found


@cache
def _file(byte: int) -> int | None:
    """A file in memory of :data:`_PIECE` bytes that are all ``byte``. Nothing writes to it any more."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        file = os.memfd_create(f"nki-migrate-{byte:02x}")
        with os.fdopen(os.dup(file), "wb") as stream:
            stream.write(bytes([byte]) * _PIECE)
        return file
    except OSError:
        return None


@cache
def _mmap() -> Any:
    """The system's ``mmap``, which can replace a part of a mapping; Python's own cannot."""
    function = getattr(ctypes.CDLL(None), "mmap", None)
    if function is None:
        return None
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    return function
