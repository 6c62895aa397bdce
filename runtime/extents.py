"""How far the indices of a kernel's tensors reach, for whoever looks for shapes that it can run with.

Where that is asked, an access that is out of the bounds of a tensor is no error: its indices are noted, and the first
element of the tensor stands for all that it would have read or written. The kernel goes on, so that one run tells what
all its accesses need. A tile on the chip has sizes of arguments: for it, the size is noted that is too small.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from .memory import Allocation
from .switches import Switch

_NOTED = Switch()
_found: dict[str, list[int]] = {}
_outgrown: dict[int, int] = {}


def noted(wanted: bool = True) -> AbstractContextManager[None]:
    """Within, accesses behind the end of a tensor are noted, if that is ``wanted``."""
    return _NOTED.turned(wanted)


def is_noted() -> bool:
    """Are accesses behind the end of a tensor no error? Outputs and tiles have sizes of arguments, too small ones."""
    return _NOTED.is_on


def note(alloc: Allocation, dimension: int, size: int, last: int) -> None:
    """An access reaches the index ``last`` of a dimension of ``size``, which a whole argument or a tile has."""
    shape = alloc.shape
    if alloc.space != "hbm":
        _outgrown[size] = max(_outgrown.get(size, 0), last + 1)
    elif alloc.role == "input" and dimension < len(shape) and shape[dimension] == size:
        reach = _found.setdefault(alloc.name, list(shape))
        reach[dimension] = max(reach[dimension], last + 1)


def so_far() -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The arguments that are too small, by name, and the shapes that all accesses fit in."""
    return tuple((name, tuple(shape)) for name, shape in _found.items())


def outgrown() -> tuple[tuple[int, int], ...]:
    """Sizes of tiles on the chip that are too small, and what all accesses to tiles of that size need, in elements."""
    return tuple(_outgrown.items())
