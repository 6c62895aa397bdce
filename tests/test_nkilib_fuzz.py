"""Random programs on SbufManager: what must hold for every one. The vendor's own is run on the same ones by
``bench/allocator/compare.py``.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.beta2 import language
from nki_migrate.runtime.nkilib import allocator, logging


def _loaded(name: str) -> Any:
    path = Path(__file__).resolve().parent / "bench" / "allocator" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"allocator_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


programs = _loaded("programs")


@pytest.fixture(scope="module")
def ours() -> Iterator[Any]:
    declare, logger = programs.Declarations(), logging.Logger("SBM", logging.LogLevel.OFF)
    with programs.declared_by(language, declare):
        yield lambda program: programs.run(allocator, logger, declare, program)


PROGRAM = st.binary(min_size=3, max_size=3 + 4 * 24)


@settings(max_examples=400, deadline=None)
@given(program=PROGRAM)
def test_used_and_free_space_make_up_the_total(ours, program):
    total = 16 + program[1] * 16
    lower = program[0] * 8
    free = total
    for name, kind, *value, _, now in ours(program):
        if kind == "gave" and name == "get_used_space":
            assert value[0] + now == total
        if kind == "raised" and name != "align_stack_curr_addr":
            assert now == free or "already in use" in value[0] or "open scope" in value[0]
        if kind == "gave" and name in ("alloc_stack", "alloc_heap", "alloc") and value[0] is not None:
            assert lower - 64 <= value[0][1] <= lower + total + 64
        free = now


@settings(max_examples=200, deadline=None)
@given(program=PROGRAM)
def test_plain_programs_only_have_calls_of_every_version(program):
    plain = programs.plain(program)
    calls = [programs.call(*plain[at : at + 4]) for at in range(3, len(plain) - 3, 4)]
    assert len(plain) == len(program) and not plain[2] & 1
    for name, _, options in calls:
        assert name in ("alloc_stack", "alloc_heap", "open_scope", "close_scope", "increment_section", "pop_heap")
        assert options in ({}, {"name": None, "base_partition": 0})


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
