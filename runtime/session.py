"""The kernel that runs now: its machine, its place in the launch grid, its dialect.

Instructions are plain functions in both dialects, so they find their machine here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from .errors import KernelError
from .machine import Machine

PRECISIONS = ("engine", "simulator")
"""Round at every write, as the hardware does, or keep bf16 and fp8 in fp32, as the documented simulator did."""


@dataclass(eq=False)
class Session:
    """One program of a launch, while its kernel runs.

    ``grid`` is the launch grid and ``program`` this program's place in it (both ``()`` without a grid). ``dialect`` is
    ``"beta1"`` or ``"beta2"``. ``precision`` is one of :data:`PRECISIONS`. ``descending`` runs ``affine_range``
    loops backwards, to find iterations that depend on each other. ``front`` is the dialect's own state.
    """

    machine: Machine
    grid: tuple[int, ...] = ()
    program: tuple[int, ...] = ()
    dialect: str = "beta1"
    precision: str = "engine"
    descending: bool = False
    front: Any = None


RUNNING: ContextVar[Session | None] = ContextVar("RUNNING", default=None)
"""The session of the kernel that runs now in this thread: the programs of a launch may run in threads."""
BETA1: list[Session] = []
"""The sessions of Beta 1 in all threads: as long as there are none, nothing of Beta 2 is called in a Beta 1 kernel."""


def current() -> Session:
    """The session of the kernel that runs now; raises :class:`KernelError` when none does."""
    session = RUNNING.get()
    if session is None:
        raise outside()
    return session


def outside() -> KernelError:
    """The error of a call that needs a running kernel."""
    return KernelError("err_nki_api_outside_of_nki_kernel", "Calling NKI API outside of NKI kernels is not supported.")


def in_kernel() -> bool:
    return RUNNING.get() is not None


@contextmanager
def running(session: Session) -> Iterator[Session]:
    """Make ``session`` the current one for the duration of the block."""
    outer = RUNNING.set(session)
    if session.dialect == "beta1":
        BETA1.append(session)
    try:
        yield session
    finally:
        RUNNING.reset(outer)
        if session.dialect == "beta1":
            BETA1.remove(session)
