"""The traces that run, the innermost last: where an operation of TileLang, or a store by ``buffer[i] = x``, is told."""

from __future__ import annotations

from typing import Any

from ..errors import KernelError

RUNNING: list[Any] = []


def innermost() -> Any:
    """The ``builder.Builder`` whose kernel is traced now. Raises :class:`KernelError` outside of a kernel."""
    if not RUNNING:
        raise KernelError("", "an operation of TileLang outside of a kernel")
    return RUNNING[-1]
