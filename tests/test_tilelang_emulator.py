"""Kernels on NumPy: bad programs end in one error with its line, unknown constructs are undecided, layouts fit."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import Run
from nki_migrate.runtime.dialect import Launch
from nki_migrate.runtime.errors import KernelError, NotModelled
from nki_migrate.runtime.plan import Alloc
from nki_migrate.runtime.spec.tilelang import SHARED_BYTES
from nki_migrate.runtime.tilelang.arena import packed, sequential
from nki_migrate.runtime.tilelang.launch import launch
from nki_migrate.runtime.tilelang.layout import columns
from nki_migrate.runtime.tilelang.modules import MODULES

HEAD = """import tilelang
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32")):
    with T.Kernel(4, threads=64) as bx:
"""
FIRST = 8
"""The line of the first statement of a body."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    """Runs the body of a kernel on an architecture."""
    sys.modules.update(MODULES)
    count = 0

    def module_of(source: str) -> ModuleType:
        nonlocal count
        count += 1
        path = tmp_path / f"kernel_{count}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(f"emulated_{count}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def execute(body: str, hardware: str = "sm_80") -> Run:
        module = module_of(HEAD + "".join(f"        {line}\n" for line in body.strip("\n").split("\n")))
        args = {name: TensorSpec((4, 64), "float32", "normal", None, None, name == "B") for name in "AB"}
        case = Case(kernel="kernel", name="", file="", line=0, args=args)
        return launch(Launch(module.kernel, module, case, hardware))

    yield execute
    for name in MODULES:
        sys.modules.pop(name, None)


REDUCER = 'acc = T.alloc_reducer((64,), "float32", op="sum")\nr = T.alloc_fragment((64,), "float32")\n'
UPDATE = "for i in T.Parallel(64):\n    T.reducer_update(acc[i], A[bx, i])\n"
BAD = {
    "a reducer opened twice": (REDUCER + "T.reducer_init(acc)\nT.reducer_init(acc)", 3, "opened twice"),
    "a reducer updated before it is opened": (REDUCER + UPDATE, 3, "updated before reducer_init"),
    "a reducer read before it is finalized": (
        REDUCER + "T.reducer_init(acc)\n" + UPDATE + "T.copy(acc, B[bx, :])",
        5,
        "read before finalize_reducer",
    ),
    "a reducer that is never finalized": (REDUCER + "T.reducer_init(acc)\n" + UPDATE, 0, "never finalized"),
    "a reducer finalized without an epoch": (REDUCER + "T.finalize_reducer(acc, r)", 2, "without an open epoch"),
    "a reducer read after its handle is dead": (
        REDUCER + "T.reducer_init(acc)\n" + UPDATE + "T.finalize_reducer(acc, r)\nT.copy(acc, B[bx, :])",
        6,
        "read after finalize_reducer",
    ),
    "a reducer that something else writes": (REDUCER + "T.reducer_init(acc)\nacc[0] = 1.0", 3, "something else"),
    "a barrier of no arrivals": ("b = T.alloc_barrier(0)", 0, "at least 1"),
    "a barrier with too many arrivals": (
        "b = T.alloc_barrier([32])\nT.mbarrier_arrive(b[0])",
        1,
        "counts 32 arrivals, and 64",
    ),
    "a wait for ever": (
        "b = T.alloc_barrier([128])\nT.mbarrier_arrive(b[0])\nT.mbarrier_wait_parity(b[0], 0)",
        2,
        "128 arrivals, and 64",
    ),
    "a barrier that is not there": ("b = T.alloc_barrier([64])\nT.mbarrier_arrive(b[1])", 1, "barrier 1 is used"),
    "a variable with two values": ('v = T.alloc_var("int32", "local.var", init=1)', 0, "specified multiple times"),
    "an index out of bounds": (
        's = T.alloc_shared((32,), "float32")\nfor i in T.Parallel(64):\n    s[i] = 1.0',
        2,
        "index 32 is used",
    ),
    "a copy of another size": ('s = T.alloc_shared((32,), "float32")\nT.copy(A[bx, :], s)', 1, "a copy of [1, 64]"),
    "too much shared memory": ('s = T.alloc_shared((50000,), "float32")\nT.clear(s)', 0, "shared.dyn needs 200000"),
    "too much static shared memory": ('s = T.alloc_shared((50000,), "bool")\ns[0] = True', 0, "shared has 49152"),
    "too many columns": ('t = T.alloc_tmem((128, 600), "float32")', 0, "600 columns"),
    "integers divided by /": ("B[bx, 0] = bx / 2", 0, "write //"),
    "a buffer as a value": ('s = T.alloc_shared((32,), "float32")\nB[bx, 0] = s + 1.0', 1, "used as a value"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_program_ends_in_one_error_at_its_line(name: str, run: Any) -> None:
    body, line, message = BAD[name]
    with pytest.raises(KernelError) as caught:
        run(body)
    assert message in caught.value.text
    assert caught.value.line == FIRST + line


UNKNOWN = {
    "threads": "tx = T.get_thread_binding()",
    "warp specialization": "with T.ws(0):\n    pass",
    "break": "for k in T.serial(4):\n    break",
    "while": 'v = T.alloc_var("int32", init=0)\nwhile v < 3:\n    v += 1',
    "a name that only the wheel has": "T.dp4a(A, A, B)",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_modelled_is_undecided(name: str, run: Any) -> None:
    with pytest.raises(NotModelled) as caught:
        run(UNKNOWN[name])
    assert caught.value.line >= FIRST


def outputs(made: Run) -> np.ndarray:
    return made.outputs[-1].array()


def test_views_are_of_the_same_bytes(run: Any) -> None:
    made = run(
        's = T.alloc_shared((64,), "float32")\nw = T.view(s, (8, 8), "int32")\nT.copy(A[bx, :], s)\n'
        "for i, j in T.Parallel(8, 8):\n    w[i, j] = w[i, j] ^ -2147483648\nT.copy(s, B[bx, :])"
    )
    again = run("for i in T.Parallel(64):\n    B[bx, i] = 0 - A[bx, i]")
    assert np.array_equal(outputs(made), outputs(again))


def test_an_old_reducer_and_a_new_one_give_the_same_bits(run: Any) -> None:
    old = REDUCER + (
        "T.clear(acc)\nfor i, j in T.Parallel(64, 4):\n    acc[i] += A[j, i]\nT.finalize_reducer(acc)\n"
        "T.copy(acc, B[bx, :])"
    )
    new = REDUCER + (
        "T.reducer_init(acc)\nfor i, j in T.Parallel(64, 4):\n    T.reducer_update(acc[i], A[j, i])\n"
        "T.finalize_reducer(acc, r)\nT.copy(r, B[bx, :])"
    )
    assert outputs(run(old)).tobytes() == outputs(run(new)).tobytes()


def test_what_lies_outside_of_an_argument_is_0_and_is_not_written(run: Any) -> None:
    made = run('s = T.alloc_shared((64,), "float32")\nT.copy(A[bx, 32], s)\nT.copy(s, B[bx, 0])')
    assert (outputs(made)[:, 32:] == 0).all() and (outputs(made)[:, :32] != 0).any()


def test_capacity_is_that_of_the_architecture(run: Any) -> None:
    for name, limit in SHARED_BYTES.items():
        body = 's = T.alloc_shared(({},), "float32")\nT.clear(s)'
        run(body.format(limit // 4), name)
        with pytest.raises(KernelError):
            run(body.format(limit // 4 + 1), name)


@pytest.mark.parametrize(("shape", "wanted"), [((128, 96), 128), ((128, 32), 32), ((128, 1), 32), ((2, 128, 64), 128)])
def test_columns_of_tensor_memory_are_a_power_of_two(shape: tuple[int, ...], wanted: int) -> None:
    assert columns(shape, "float32") == wanted


def test_offsets_of_the_two_modes() -> None:
    def alloc(name: str, size: int, live: tuple[int, int], align: int = 16) -> Alloc:
        return Alloc(name, "shared.dyn", (size,), "int8", size, align, live)

    allocs = [alloc("b", 100, (0, 2)), alloc("a", 50, (1, 4)), alloc("c", 80, (2, 3)), alloc("d", 8, (2, 4), 1024)]
    assert packed(allocs) == {"b": 0, "a": 112, "c": 0, "d": 1024}
    assert sequential(allocs) == {"a": 0, "b": 64, "c": 176, "d": 1024}
