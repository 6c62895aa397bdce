"""What the operators and assignments of a kernel's tensors execute: a launch says so, tensors know no instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Operators:
    """The instructions behind the operators and methods of tensors.

    ``result(op, x, y)`` is ``x op y``, ``assign(dst, value)`` is ``dst[...] = value``, ``update(dst, op, value)`` is
    ``dst op= value`` and gives ``dst``. ``spread_rows(tile, shape)`` copies a tile of one partition to all partitions,
    ``None`` where no instruction is needed; ``copy(tile, dtype=)`` is a copy in SBUF.
    """

    result: Callable[[str, Any, Any], Any]
    negated: Callable[[Any], Any]
    inverted: Callable[[Any], Any]
    assign: Callable[[Any, Any], None]
    update: Callable[[Any, str, Any], Any]
    copy: Callable[..., Any]
    spread_rows: Callable[[Any, tuple[int, ...]], Any]
