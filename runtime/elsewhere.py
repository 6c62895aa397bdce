"""Large outputs of a run, which do not cross in a message: who made them leaves them in memory of a worker.

A message is copied ten times on its way from a child through the worker to the tool. An output of gigabytes takes the
child one copy, into anonymous memory that the worker has opened, and the tool none: it maps that memory. Where a system
has none of it, or does not show the descriptors of a process, outputs cross in the message as small ones do.
"""

from __future__ import annotations

import mmap
import os
import stat
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from .compare.trace import LARGE, Elsewhere, Run

T = TypeVar("T")


def opened() -> int | None:
    """The descriptor of anonymous memory that another process can map, ``None`` where there is no such thing."""
    if not hasattr(os, "memfd_create") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.memfd_create("nki-migrate")
    except OSError:
        return None


def is_used(descriptor: int) -> bool:
    """Has a child left anything there?"""
    return bool(os.fstat(descriptor).st_size)


def left(reply: T, descriptor: int | None, process: int) -> T:
    """``reply`` with its large outputs in the memory of ``descriptor``, which ``process`` keeps open."""
    if descriptor is None or not isinstance(reply, Run):
        return reply
    outputs = []
    for packed in reply.outputs:
        assert not isinstance(packed.data, Elsewhere)
        if len(packed.data) >= LARGE:
            with suppress(OSError):  # the memory is full, or the kernel has closed what it does not own
                start = os.lseek(descriptor, 0, os.SEEK_END)
                _write(descriptor, memoryview(packed.data))
                packed = replace(packed, data=Elsewhere(process, descriptor, start, len(packed.data)))
        outputs.append(packed)
    return replace(reply, outputs=tuple(outputs))


def _write(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data[: 1 << 30]) :]


def brought(reply: T) -> T:
    """``reply`` with all its outputs. Raises ``ValueError`` or ``OSError`` for one that is not where it should be."""
    if not isinstance(reply, Run):
        return reply
    outputs = (
        replace(packed, data=_mapped(packed.data)) if isinstance(packed.data, Elsewhere) else packed
        for packed in reply.outputs
    )
    return replace(reply, outputs=tuple(outputs))


def _mapped(place: Elsewhere) -> memoryview:
    """The bytes at a place that a process names which ran user code: nothing but a regular file is opened."""
    process, number, start, size = (int(each) for each in (place.process, place.descriptor, place.start, place.size))
    path = f"/proc/{process}/fd/{number}"
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError(f"{path} is no memory of a worker")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        end = start + size
        if start < 0 or size < 0 or os.fstat(descriptor).st_size < end:
            raise ValueError(f"{path} ends before the output does")
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        whole = mmap.mmap(descriptor, end, flags=flags, prot=mmap.PROT_READ)
    finally:
        os.close(descriptor)
    return memoryview(whole)[start:end]
