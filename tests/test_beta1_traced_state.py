"""A Beta 1 loop body is traced once, so what it changes in Python changes once (``reference/beta1.md`` 3.6).

State that a body reaches through functions, closures, classes and modules counts; iterators, which cannot be put back,
are refused as soon as a second iteration would advance them again.
"""

from __future__ import annotations

import array
import collections
import functools
import heapq
import importlib
import itertools
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime.beta1.modules import MODULES
from nki_migrate.runtime.errors import NotModelled

nki, nl = MODULES["neuronxcc.nki"], MODULES["neuronxcc.nki.language"]
X = np.zeros((2, 4), np.float32)


def looped(body: Callable[[int], object], times: int = 3) -> None:
    """Run a kernel whose parallel loop calls ``body``."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(times):
            body(i)
        nl.store(out, nl.load(x))
        return out

    kernel(X)


LOG: list[int] = []
TOTAL = 0


class Slotted:
    """A counter without a dictionary, one of its class, one of its module, and a list of its module."""

    made = 0
    __slots__ = ("__hidden", "steps")

    def __init__(self) -> None:
        self.steps = self.__hidden = 0

    def step(self) -> None:
        global TOTAL
        self.steps += 1
        self.__hidden += 1
        Slotted.made += 1
        TOTAL += 1
        LOG.append(self.steps)

    @property
    def hidden(self) -> int:
        return self.__hidden


def deeper() -> None:
    even_deeper()


def even_deeper() -> None:
    LOG.append(7)


def counter() -> Callable[[], int]:
    count = 0

    def advance() -> int:
        nonlocal count
        count += 1
        return count

    return advance


def test_a_method_that_the_body_calls_changes_object_class_and_module_once() -> None:
    LOG.clear()
    own, made, total = Slotted(), Slotted.made, TOTAL
    looped(lambda i: own.step())
    assert (own.steps, own.hidden, Slotted.made - made, TOTAL - total, LOG) == (1, 1, 1, 1, [1])


def test_a_function_that_the_body_calls_through_another_one_changes_its_module_once() -> None:
    LOG.clear()
    looped(lambda i: deeper())
    assert LOG == [7]


@nki.jit(mode="trace")
def part_of_a_kernel() -> None:
    LOG.append(5)


def test_a_kernel_that_the_body_calls_changes_its_module_once() -> None:
    LOG.clear()
    looped(lambda i: part_of_a_kernel())
    assert LOG == [5]


def test_an_attribute_that_answers_anything_is_not_asked() -> None:
    class Curious:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(name)

    curious = Curious()
    looped(lambda i: curious)


def test_a_closure_that_the_body_calls_advances_once() -> None:
    advance = counter()
    looped(lambda i: advance())
    assert advance() == 2


def test_a_function_of_a_module_advances_the_module_once() -> None:
    module = types.ModuleType("addresses_of_a_kernel")
    exec("offset = 0\ndef take():\n    global offset\n    offset += 8\n", vars(module))
    globals()["addresses_of_a_kernel"] = module
    looped(lambda i: globals_module_take())
    assert module.offset == 8


def globals_module_take() -> None:
    addresses_of_a_kernel.take()  # type: ignore[name-defined]  # noqa: F821


def test_a_loop_that_calls_a_helper_with_a_loop_advances_once() -> None:
    LOG.clear()

    def inner() -> None:
        for _ in nl.sequential_range(4):
            LOG.append(1)
        LOG.append(2)

    looped(lambda i: inner())
    assert LOG == [1, 2]


CHANGED: dict[str, tuple[Callable[[], Any], Callable[[Any, int], object], Any]] = {
    "a list in a tuple": (lambda: ([0],), lambda held, i: held[0].append(i), ([0, 2],)),
    "deep inside": (lambda: [[[[[[0]]]]]], lambda held, i: held[0][0][0][0][0].append(i), [[[[[[0, 2]]]]]]),
    "a deque": (lambda: collections.deque([1, 2, 3]), lambda held, i: held.popleft(), collections.deque([2, 3])),
    "a heap": (lambda: [1, 2, 3], lambda held, i: heapq.heappop(held), [2, 3]),
    "a default": (
        lambda: collections.defaultdict(list),
        lambda held, i: held["all"].append(i),
        {"all": [2]},
    ),
    "a count": (collections.Counter, lambda held, i: held.update("a"), {"a": 1}),
    "an ordered dict": (
        lambda: collections.OrderedDict(a=1, b=2, c=3),
        lambda held, i: held.move_to_end(next(iter(held))),
        collections.OrderedDict(b=2, c=3, a=1),
    ),
    "bytes": (lambda: bytearray(b"a"), lambda held, i: held.append(98), bytearray(b"ab")),
    "an array": (lambda: array.array("i", [1]), lambda held, i: held.append(2), array.array("i", [1, 2])),
    "a large array": (
        lambda: np.zeros(10_000, np.int64),
        lambda held, i: held.__iadd__(1),
        np.ones(10_000, np.int64),
    ),
    "a method kept before": (lambda: [[]], lambda held, i: functools.partial(held[0].append, 5)(), [[5]]),
}


@pytest.mark.parametrize("name", CHANGED)
def test_containers_change_once(name: str) -> None:
    make, change, expected = CHANGED[name]
    held = make()
    looped(lambda i: change(held, i))
    assert type(held) is type(make()) and np.all(held == expected)


def test_the_order_of_a_dict_changes_once() -> None:
    held = {"a": 1, "b": 2, "c": 3}
    looped(lambda i: held.__setitem__(first := next(iter(held)), held.pop(first)))
    assert list(held) == ["b", "c", "a"]


def test_state_at_the_end_of_a_long_chain_changes_once() -> None:
    end: list[int] = []
    chain: Any = end
    for _ in range(5000):
        chain = [chain]
    looped(lambda i: (chain, end.append(i)))
    assert end == [2]


def test_a_body_of_many_instructions_changes_state_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that the bytecode needs two instructions for the jump behind the loop."""
    (tmp_path / "long_loop.py").write_text(f"""
def count(times):
    n = 0
    for _ in times:
        n += 1
        all_of_them = [{"n, " * 300}]
    return n, len(all_of_them)
""")
    monkeypatch.syspath_prepend(tmp_path)
    counts: list[tuple[int, int]] = []
    count = importlib.import_module("long_loop").count

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        counts.append(count(nl.affine_range(3)))
        nl.store(out, nl.load(x))
        return out

    kernel(X)
    assert counts == [(1, 300)]


def test_a_partial_keeps_what_it_was_given() -> None:
    log: list[int] = []
    keep = functools.partial(log.append, 5)
    looped(lambda i: keep())
    assert log == [5]


# --- iterators -------------------------------------------------------------------------------------------------------


def endless() -> Iterator[int]:
    while True:
        yield 0


ITERATORS: dict[str, Callable[[], Any]] = {
    "list": lambda: iter([0, 0, 0, 0]),
    "tuple": lambda: iter((0, 0, 0, 0)),
    "range": lambda: iter(range(4)),
    "dict": lambda: iter({1: 2, 3: 4, 5: 6}),
    "set": lambda: iter({1, 2, 3}),
    "text": lambda: iter("aaaa"),
    "reversed": lambda: reversed([0] * 4),
    "count": itertools.count,
    "enumerate": lambda: enumerate([0] * 4),
    "zip": lambda: zip([0] * 4, [0] * 4, strict=True),
    "map": lambda: map(int, [0] * 4),
    "cycle": lambda: itertools.cycle([0]),
    "chain": lambda: itertools.chain([0] * 4),
    "islice": lambda: itertools.islice([0] * 4, 3),
    "generator": endless,
    "generator over the same object": lambda: (0 for _ in [0] * 4),
    "random numbers": lambda: np.random.default_rng(0),
}


@pytest.mark.parametrize("name", ITERATORS)
def test_an_iterator_that_every_iteration_would_advance_is_refused(name: str) -> None:
    advance = (lambda held: held.normal()) if name == "random numbers" else next
    moving = ITERATORS[name]()
    with pytest.raises(NotModelled, match="that the body of an NKI loop advances"):
        looped(lambda i: advance(moving))
    still = ITERATORS[name]()
    looped(lambda i: still)  # an iterator that the body leaves alone
    looped(lambda i: advance(still), times=1)  # one iteration advances it once
    made = ITERATORS[name]
    looped(lambda i: advance(made()))  # a new one in each iteration


def test_an_iterator_that_a_helper_advances_is_refused() -> None:
    looped(lambda i: advance_addresses(), times=1)
    with pytest.raises(NotModelled, match="that the body of an NKI loop advances"):
        looped(lambda i: advance_addresses())


ADDRESSES = itertools.count(0, 256)


def advance_addresses() -> int:
    return next(ADDRESSES)


# --- who iterates over a range ---------------------------------------------------------------------------------------


def with_zip() -> None:
    for _, _ in zip(nl.affine_range(3), [1, 2, 3], strict=True):
        pass


def with_enumerate() -> None:
    for _ in enumerate(nl.sequential_range(3)):
        pass


def with_list() -> list[int]:
    return list(nl.affine_range(3))


def with_comprehension() -> list[int]:
    return [i for i in nl.affine_range(3)]  # noqa: C416


def with_generator() -> int:
    return sum(i for i in nl.affine_range(3))


def with_next() -> int:
    return next(nl.affine_range(3))


@pytest.mark.parametrize(
    "use",
    [with_zip, with_enumerate, with_list, with_comprehension, with_generator, with_next],
    ids=lambda f: f.__name__,
)
def test_a_range_that_no_for_statement_iterates_over_is_refused(use: Callable[[], object]) -> None:
    with pytest.raises(NotModelled, match="NKI range"):
        looped(lambda i: use(), times=1)


def test_for_statements_of_all_kinds_iterate() -> None:
    seen: list[tuple[int, int]] = []

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        kept, of = nl.affine_range(2), nl.sequential_range
        for i in kept:
            for j in of(
                1,
                3,
            ):
                nl.store(out[i : i + 1, j : j + 1], nl.load(x[i : i + 1, j : j + 1]))
                seen.append((i, j))
        return out

    kernel(X)
    assert seen == [(1, 2)]


def _rebound(bind: str) -> list[Any]:
    """What the local ``n`` (1 before the loop) is at the start of each iteration of a body that says ``bind``."""
    lines = [
        "def kernel(x):",
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)",
        "    n = 1",
        *(["    def add():", "        nonlocal n", "        n += 1"] if "add" in bind else []),
        "    for i in nl.affine_range(3):",
        "        seen.append(n)",
        *(f"        {line}" for line in bind.split("\n")),
        "    nl.store(out, nl.load(x))",
        "    return out",
    ]
    seen: list[Any] = []
    names: dict[str, Any] = {"nl": nl, "seen": _Noted(seen)}
    exec("\n".join(lines), names)
    nki.jit(names["kernel"])(X)
    return seen


class _Noted:
    """A list that no loop puts back: it belongs to the test, and is reached through a slot of a foreign class."""

    __module__ = "numpy"

    def __init__(self, seen: list[Any]) -> None:
        self._seen = seen

    def append(self, value: Any) -> None:
        self._seen.append(value)


@pytest.mark.parametrize(
    "bind",
    [
        "n += 1",
        "n = i",
        "(n := n + 1)",
        "for n in (2, 3): pass",
        "n, *rest = 7, 8",
        "try:\n    raise ValueError\nexcept ValueError as error:\n    n = error",
        "add()",
        "del n",
        "import math as n",
        "with open('/dev/null') as n: pass",
    ],
)
def test_whatever_binds_a_name_in_a_body_binds_it_once(bind: str) -> None:
    assert _rebound(bind) == [1, 1, 1]


@pytest.mark.parametrize("depth", [1, 2])
def test_a_kernel_inside_of_a_kernel_may_loop_over_a_range_as_the_outer_one_does(depth: int) -> None:
    """A nested ``nki.jit(mode="trace")`` closes over what the rewriting of the outer kernel added."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)

        @nki.jit(mode="trace")
        def doubled(tile: Any) -> None:
            @nki.jit(mode="trace")
            def once(inner: Any) -> None:
                for _ in range(1):
                    inner[...] = nl.multiply(inner, 2.0)

            for _ in range(2):
                if depth == 2:
                    once(tile)
                else:
                    tile[...] = nl.multiply(tile, 2.0)

        for i in range(2):
            tile = nl.load(x[i * 4 : i * 4 + 4])
            doubled(tile)
            nl.store(out[i * 4 : i * 4 + 4], tile)
        return out

    x = np.arange(24, dtype=np.float32).reshape(8, 3)
    np.testing.assert_array_equal(kernel(x), 4 * x)
