"""Plans of memory: what is allocated, where, how long, and whether that fits.

One :class:`Alloc` is one buffer with a scope (an arena with addresses of its own), a size, an alignment, an interval of
steps ``[a, b)`` in which its values live, and a byte address or ``None``. A :class:`Plan` is the allocations of one
kernel in the order of their declarations, with what each scope holds. A planner takes a plan whose allocations have no
address and returns one that gives them theirs (:meth:`Plan.placed`); the rest of this package judges any plan,
whoever made it:

* :func:`flaws`: over capacity, misaligned, outside of the memory, overlapping while both live;
* :func:`overlaps`: the pairs with a byte and a step in common;
* :func:`statistics`: for each scope what was asked for, the top of the arena, and the most that lives at one time;
* :func:`trace`: each allocation and each release in the order of the steps, with the bytes in use after it.

Nothing here knows a language. Steps are whatever numbering of statements the planner uses; sizes are bytes unless a
scope counts in another unit (``Space.unit``, as the columns of Tensor Memory).

    >>> from nki_migrate.runtime.plan import Alloc, Plan, Space, flaws, statistics
    >>> a = Alloc("a", "ub", (64,), "float32", 256, align=32, live=(0, 2), addr=0)
    >>> b = Alloc("b", "ub", (64,), "float32", 256, align=32, live=(1, 3), addr=128)
    >>> plan = Plan((a, b), (Space("ub", 1024),))
    >>> [flaw.code for flaw in flaws(plan)]
    ['overlap']
    >>> statistics(plan)["ub"].peak
    512
"""

from __future__ import annotations

from .model import Alloc, Plan, Space, aligned
from .statistics import Step, Usage, statistics, trace
from .validity import Flaw, flaws, overlaps

__all__ = [
    "Alloc",
    "Flaw",
    "Plan",
    "Space",
    "Step",
    "Usage",
    "aligned",
    "flaws",
    "overlaps",
    "statistics",
    "trace",
]
