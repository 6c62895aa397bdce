"""From the source of a kernel to a plan of its memory: values and functions of values, nothing runs.

:mod:`.reading` reads the statements of a kernel into a list of :class:`~.model.Entry` and its allocations,
:mod:`.liveness` says which buffers hold values where, :mod:`.lifetimes` what the upstream planners take for that, and
:mod:`.planners` gives addresses.
"""

from .declarations import Unreadable
from .lifetimes import LIFETIMES, lifetimes
from .liveness import conflicts, live_steps
from .model import Buffer, Entry, Pool, Program, Touch
from .planners import MODES, Problem, planned, verified
from .reading import read_kernel

__all__ = [
    "LIFETIMES",
    "MODES",
    "Buffer",
    "Entry",
    "Pool",
    "Problem",
    "Program",
    "Touch",
    "Unreadable",
    "conflicts",
    "lifetimes",
    "live_steps",
    "planned",
    "read_kernel",
    "verified",
]
