"""What the Beta 2 front end keeps besides the machine: names, accumulator registers, shared memory, the dialect's
version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .. import session
from ..errors import KernelError
from ..memory import Array, View
from ..spec import beta2
from ..spec.beta2_dialects import DIALECTS, Dialect
from ..spec.hardware import PARTITIONS
from ..spec.versions import DEFAULT, Version
from .cores import Cores


@dataclass(eq=False)
class SharedMemory:
    """HBM tensors that all programs of one launch see, by name."""

    tensors: dict[str, Array] = field(default_factory=dict)


@dataclass(eq=False)
class State:
    """One program's front end.

    ``declare`` makes the tensor that a region of memory is viewed as (:func:`~.declare.declare`). ``version`` is
    that of NKI. ``cores`` are the programs of the launch, of which this is number
    ``program``. ``rules`` are what the version allows. ``declared`` is the buffer that each HBM tensor was declared
    in, by the allocation's number. ``accumulators`` are the fp32 reduce registers, one a partition, of the Scalar and
    of the Vector Engine.
    """

    declare: Callable[[tuple[int, ...], np.dtype[Any], Any, str | None, tuple[int, int] | None], View]
    version: Version = DEFAULT
    shared: SharedMemory = field(default_factory=SharedMemory)
    cores: Cores = field(default_factory=lambda: Cores(1))
    program: int = 0
    explicit_names: set[str] = field(default_factory=set)
    name_counts: dict[str, int] = field(default_factory=dict)
    placement: str = ""
    declared: dict[int, str] = field(default_factory=dict)
    identities: dict[tuple[int, str], object] = field(default_factory=dict)
    accumulators: dict[str, Array] = field(
        default_factory=lambda: {engine: np.zeros((PARTITIONS, 1), np.float32) for engine in ("scalar", "vector")}
    )

    rules: Dialect = field(init=False)

    def __post_init__(self) -> None:
        self.rules = DIALECTS[self.version]

    @cached_property
    def random(self) -> np.random.Generator:
        """Makes the random numbers."""
        return np.random.default_rng(0)

    def claim(self, name: str) -> None:
        """Register an explicit tensor name; raises when it is taken."""
        if name in self.explicit_names:
            raise KernelError("", f"Tensor name '{name}' already in use")
        self.explicit_names.add(name)

    def unique(self, name: str) -> str:
        """``name``, or ``name_1``, ``name_2``... where it was given out before."""
        count = self.name_counts.get(name, 0)
        self.name_counts[name] = count + 1
        return f"{name}_{count}" if count else name

    def place(self, how: str) -> None:
        """Note that an on-chip tensor was placed ``"manual"`` or ``"automatic"``; from 0.3 on they do not mix."""
        if self.placement == how:
            return
        if not self.rules.mixed_placement and self.placement:
            raise KernelError(
                "",
                "Cannot mix manual and automatic allocations for SBUF/PSUM. Either ALL SBUF/PSUM ndarrays must use "
                f"address=..., or NONE. {'An automatic' if how == 'manual' else 'A manual'} allocation "
                f"{'' if how == 'manual' else '(with address=...) '}was already made earlier in the kernel.",
            )
        self.placement = self.placement or how


def current() -> State:
    """The front end of the kernel that runs now."""
    running = session.RUNNING.get()
    if running is None:
        raise session.outside()
    front = running.front
    if type(front) is not State:
        raise _mixed()
    return front


def _mixed() -> KernelError:
    return KernelError("", "nki APIs of Beta 2 cannot be called in a Beta 1 kernel: the namespaces cannot be mixed")


def version() -> Version:
    """The version whose rules hold now: the running kernel's, or Beta 2's outside of a kernel."""
    running = session.RUNNING.get()
    if running is None:
        return DEFAULT
    front = running.front
    if type(front) is not State:
        raise _mixed()
    return front.version


def needs_member(name: str) -> None:
    """Raise where tensors of the running version have no method or attribute ``name``."""
    at = version()
    if name not in beta2.tensor(at):
        raise KernelError("", f"tensors have no .{name} in NKI {at}")


def rules() -> Dialect:
    """What the running kernel's version allows, or Beta 2 outside of a kernel."""
    running = session.RUNNING.get()
    if running is None:
        return DIALECTS[DEFAULT]
    front = running.front
    if type(front) is not State:
        raise _mixed()
    return front.rules


def install(running: session.Session, state: State) -> None:
    running.front = state
