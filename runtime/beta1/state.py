"""What a running Beta 1 kernel has declared so far, and what that forbids."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import KernelError, NotModelled
from ..isa.core import Result
from ..machine import Machine
from ..memory import Allocation, Array
from ..numerics import FLOAT32, is_integer
from ..session import RUNNING, Session, outside
from .operators import Operators

if TYPE_CHECKING:
    from types import CodeType

    from .programs import Ensemble


STRICT = "NKI_MIGRATE_STRICT"
"""Environment variable: raise the documented error that 2.26.1's own kernels with block dimensions deserve."""


@dataclass(frozen=True)
class Options:
    """Decorators of the kernel: ``force_auto_alloc`` ignores addresses, ``stack_allocator`` allows mixing."""

    force_auto_alloc: bool = False
    stack_allocator: bool = False


class Loop:
    """One run of a loop: tensors that its body declares belong to it.

    The iterations of a ``parallel`` one (there are several) must not write to the same place.
    """

    parallel = False
    iteration = 0
    _written: dict[object, int] | None = None

    def writes_again(self, place: object) -> bool:
        """Was ``place`` written by an earlier iteration? Notes that this one writes it."""
        if self._written is None:
            self._written = {}
        return self._written.setdefault(place, self.iteration) != self.iteration


class Waiting(Protocol):
    """The result of an instruction that has no destination yet."""

    @property
    def result(self) -> Result | None:
        """What the instruction computed; ``None`` when a mask kept it from executing."""

    def settle(self) -> object:
        """Give the result a tile of its own."""


@dataclass(eq=False)
class State:
    """One program of a Beta 1 kernel.

    ``direct`` are the on-chip tiles declared with an address, ``automatic`` (by ``uid``) those without one, and
    ``implicit`` (by ``uid``, in order) those that an instruction made; ``hbm`` the tensors of the kernel's own in HBM.
    ``shared`` holds the ``shared_hbm`` tensors of the launch, in the order of their creation, for all programs,
    ``ensemble`` these programs, ``operators`` what the operators of tensors execute. ``accumulators`` are the 128
    registers of ScalarE, ``maxima`` those of VectorE. ``scope`` are the NKI loops that run now, outermost first,
    ``codes`` are those of the kernel itself. ``strict``: are errors wanted that 2.26.1's own kernels deserve
    (:data:`STRICT`)? ``simulated``: is the precision the simulator's?
    """

    session: Session
    options: Options
    shared: list[Array]
    ensemble: Ensemble
    operators: Operators
    direct: list[Allocation] = field(default_factory=list)
    automatic: list[int] = field(default_factory=list)
    implicit: dict[int, None] = field(default_factory=dict)
    hbm: list[Allocation] = field(default_factory=list)
    pending: set[Waiting] = field(default_factory=set)
    immutable: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)
    shared_created: int = 0
    scope: tuple[Loop, ...] = ()
    codes: tuple[CodeType, ...] = ()
    strict: bool = False
    machine: Machine = field(init=False)
    simulated: bool = field(init=False)
    accumulators: Array = field(default_factory=lambda: np.zeros(128, np.float32))
    maxima: Array = field(default_factory=lambda: np.full(128, -np.inf, np.float32))

    def __post_init__(self) -> None:
        self.machine = self.session.machine
        self.simulated = self.session.precision == "simulator"

    @cached_property
    def random(self) -> np.random.Generator:
        """Makes the random numbers."""
        return np.random.default_rng(0)

    def stored(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The type that an automatic tile of ``dtype`` has in memory: the simulator keeps bf16 and fp8 in fp32."""
        if not self.simulated:
            return dtype
        small = dtype.itemsize < 4 and not is_integer(dtype) and dtype != np.float16
        return FLOAT32 if small else dtype

    @property
    def allocated(self) -> bool:
        """Is this a direct-allocation kernel (and not one whose allocator may mix)?"""
        return bool(self.direct) and not self.options.stack_allocator

    def check_allocation(self) -> None:
        """Raise when automatic and direct allocation are mixed (direct allocation guide, common errors 1 and 2)."""
        if not self.allocated or not (self.automatic or self.implicit):
            return
        tile = self.session.machine.allocations[next(iter(self.automatic or self.implicit))]
        what = "declared without an address" if self.automatic else "an implicit tensor, the result of an instruction"
        raise KernelError(
            "",
            f"Mixing direct allocation with automatic allocation: '{tile.name}' is {what}, but "
            f"'{self.direct[0].name}' is directly allocated; in an allocated kernel every tensor must be",
            file=tile.file,
            line=tile.line,
        )

    def check_hbm(self, outputs: list[Allocation]) -> None:
        """Raise for HBM tensors of an allocated kernel that it does not return (known limitation 1 of the guide)."""
        if not self.allocated:
            return
        returned = {id(tensor) for tensor in outputs}
        left = [tensor for tensor in self.hbm if id(tensor) not in returned]
        if left:
            names = ", ".join(tensor.name for tensor in left)
            raise KernelError(
                "",
                f"Non IO HBM tensor is not supported in allocated NKI kernel: {names}",
                file=left[0].file,
                line=left[0].line,
            )

    def finish(self) -> None:
        """Results that nobody used still executed: give them their tiles, so that they are recorded."""
        waiting, self.pending = self.pending, set()
        for result in sorted(waiting, key=lambda p: p.result.sequence or 0 if p.result else 0):
            result.settle()


def state() -> State:
    """The state of the running kernel; raises outside of a kernel and in a Beta 2 kernel."""
    running = RUNNING.get()
    if running is None:
        raise outside()
    found = running.front
    if type(found) is not State:
        raise NotModelled("a Beta 1 API called from a Beta 2 kernel")
    return found
