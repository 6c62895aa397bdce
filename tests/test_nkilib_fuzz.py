"""Random programs on SbufManager: against the vendor's own, where it is at hand, and against what must hold anyway.

Set ``NKILIB_SOURCE`` to a directory that contains the vendor's package ``nkilib`` (nki-library 0759719,
``src/nkilib_src``) to compare addresses, free space and errors with it. Its code runs on our ``nki``; nothing of it
is kept.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime import shims
from nki_migrate.runtime.beta2 import language
from nki_migrate.runtime.errors import KernelError
from nki_migrate.runtime.nkilib import allocator, logging

SOURCE = os.environ.get("NKILIB_SOURCE")
PROGRAMS = int(os.environ.get("NKILIB_PROGRAMS", "20000" if SOURCE else "400"))
DTYPES = ("int8", "bfloat16", "float32", "float8_e4m3")
ALIGNMENTS = (None, 1, 2, 4, 8, 32, 64, 3)
Outcome = tuple[Any, ...]


@dataclass(frozen=True)
class Tensor:
    """What a manager gets for ``nl.ndarray`` here: it only remembers what was asked for."""

    shape: tuple[int, ...]
    dtype: Any
    address: tuple[int, int] | None


@dataclass
class Declarations:
    """Stands in for ``nl.ndarray``: unique names, nothing else."""

    names: set[str] = field(default_factory=set)

    def __call__(
        self, shape: Any, dtype: Any, buffer: Any = None, name: str | None = None, address: Any = None
    ) -> Tensor:
        if name and name in self.names:
            raise KernelError("", f"Tensor name '{name}' already in use")
        self.names.add(name or "")
        return Tensor(tuple(shape), dtype, address)


def run(module: Any, logger: Any, declare: Declarations, program: bytes) -> list[Outcome]:
    """Execute ``program`` on the ``SbufManager`` of ``module``: what each step gave or raised, and the space left."""
    declare.names.clear()
    head, steps = program[:3].ljust(3, b"\0"), program[3:]
    lower, upper = head[0] * 8, head[0] * 8 + 16 + head[1] * 16
    manager = module.SbufManager(lower, upper, logger, bool(head[2] & 1), not head[2] & 2)
    outcomes: list[Outcome] = []
    for at in range(0, len(steps) - 3, 4):
        outcome = attempt(lambda at=at: step(manager, *steps[at : at + 4]))
        outcomes.append((*outcome, manager.get_free_space(), manager.get_used_space(), manager.get_name_prefix()))
    return outcomes


def attempt(action: Callable[[], Any]) -> Outcome:
    try:
        return ("gave", action())
    except KernelError as error:
        return ("raised", error.text)
    except (AssertionError, IndexError, ZeroDivisionError) as error:
        return ("raised", str(error))


def step(manager: Any, kind: int, a: int, b: int, c: int) -> Any:
    """One call of a public method, chosen by the bytes."""
    kind %= 16
    if kind < 7:
        method = (manager.alloc_stack, manager.alloc_heap, manager.alloc)[(0, 0, 0, 1, 1, 2, 2)[kind]]
        shape = (128, a) if c & 1 else (128,) if c & 2 else (64, a % 16, 1 + b % 5)
        name = None if c & 4 else f"t{b % 8}"
        dtype = language.MEMBERS[DTYPES[b % 4]]
        tensor = method(shape, dtype, name=name, base_partition=c & 32, align=ALIGNMENTS[c >> 5])
        return tensor.address
    if kind < 10:
        return manager.open_scope(1 + a % 4, "" if b & 1 else f"scope{b}")
    if kind == 10:
        return manager.close_scope()
    if kind == 11:
        return manager.increment_section()
    if kind == 12:
        return manager.pop_heap()
    if kind == 13:
        return manager.align_stack_curr_addr(1 + a % 64) if b & 1 else manager.set_name_prefix(f"p{a % 3}_")
    if kind == 14:
        return manager.get_stack_curr_addr(), manager.get_heap_curr_addr()
    return manager.is_auto_alloc(), manager.is_default_stack_alloc(), manager.get_total_space()


@contextmanager
def declared_by(module: Any, declare: Declarations) -> Iterator[None]:
    original, module.ndarray = module.ndarray, declare
    try:
        yield
    finally:
        module.ndarray = original


@pytest.fixture(scope="module")
def ours() -> Iterator[Callable[[bytes], list[Outcome]]]:
    declare, logger = Declarations(), logging.Logger("SBM", logging.LogLevel.OFF)
    with declared_by(language, declare):
        yield lambda program: run(allocator, logger, declare, program)


PROGRAM = st.binary(min_size=3, max_size=3 + 4 * 24)


@settings(max_examples=PROGRAMS, deadline=None)
@given(program=PROGRAM)
def test_invariants_of_every_program(ours, program):
    """Free and used space make up the total, and no step gives an address below the lower bound."""
    total = 16 + (program[1] if len(program) > 1 else 0) * 16
    lower = program[0] * 8
    automatic = bool(program[2] & 1)
    for outcome in ours(program):
        kind, value, free, used = outcome[:4]
        assert free + used == total
        if kind == "gave" and isinstance(value, tuple) and len(value) == 2 and not automatic and value[1] > 1:
            assert value[1] >= lower - total


@st.composite
def _nested(draw):
    """Sizes of the stack tensors in nested scopes, as a tree."""
    return draw(st.recursive(st.integers(1, 40), lambda inner: st.lists(inner, max_size=5), max_leaves=20))


@settings(max_examples=200, deadline=None)
@given(tree=_nested())
def test_tensors_of_open_scopes_never_overlap(ours, tree):
    manager = allocator.SbufManager(0, 1 << 20, logging.Logger("SBM", logging.LogLevel.OFF))
    live: list[tuple[int, int]] = []

    def place(node: Any) -> None:
        if isinstance(node, int):
            start = manager.alloc_stack((1, node), language.MEMBERS["int8"]).address[1]
            assert all(start >= end or start + node <= begin for begin, end in live)
            live.append((start, start + node))
            return
        before, held = manager.get_stack_curr_addr(), len(live)
        manager.open_scope()
        for child in node:
            place(child)
        manager.close_scope()
        del live[held:]
        assert manager.get_stack_curr_addr() == before

    place([tree])


@settings(max_examples=200, deadline=None)
@given(sizes=st.lists(st.integers(1, 100), max_size=20))
def test_the_heap_gives_back_what_it_took_up_to_its_padding(ours, sizes):
    manager = allocator.SbufManager(0, 1 << 20, logging.Logger("SBM", logging.LogLevel.OFF))
    for size in sizes:
        manager.alloc_heap((1, size), language.MEMBERS["int8"])
    for _ in sizes:
        manager.pop_heap()
    lost = (1 << 20) - manager.get_heap_curr_addr()
    assert 0 <= lost <= sum(4 for size in sizes if size % 4)
    if all(size % 4 == 0 for size in sizes):
        assert lost == 0


# --- against the vendor's own ----------------------------------------------------------------------------------------


def vendor(source: str) -> tuple[Any, Any]:
    """The vendor's allocator and logging modules from ``source``, loaded on our ``nki``."""
    sys.path.insert(0, source)
    try:
        with shims.installed():
            modules = [importlib.import_module(f"nkilib.core.utils.{name}") for name in ("allocator", "logging")]
            for name in [name for name in sys.modules if name.partition(".")[0] == "nkilib"]:
                assert isinstance(sys.modules[name], ModuleType)
    finally:
        sys.path.remove(source)
    return modules[0], modules[1]


if SOURCE:

    @pytest.fixture(scope="module")
    def theirs() -> Iterator[Callable[[bytes], list[Outcome]]]:
        module, their_logging = vendor(SOURCE)
        declare = Declarations()
        logger = their_logging.Logger("SBM", their_logging.LogLevel.OFF)
        with declared_by(module.nl, declare):
            yield lambda program: run(module, logger, declare, program)

    @settings(max_examples=PROGRAMS, deadline=None)
    @given(program=PROGRAM)
    def test_same_addresses_space_and_errors_as_the_vendor(ours, theirs, program):
        with redirect_stdout(StringIO()):
            assert ours(program) == theirs(program)
