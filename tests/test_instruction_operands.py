"""Where operands of instructions may lie: memories by engine, start partitions, types of matmuls, in both dialects."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.runtime.beta1.launch import launch as launch1
from nki_migrate.runtime.beta1.modules import MODULES as OLD
from nki_migrate.runtime.beta2.launch import execute as launch2
from nki_migrate.runtime.beta2.modules import MODULES as NEW
from nki_migrate.runtime.errors import KernelError
from nki_migrate.runtime.spec.beta2_isa import SYMBOLS
from nki_migrate.runtime.spec.hardware import TARGETS
from nki_migrate.runtime.spec.instructions import ENGINES, INSTRUCTIONS

nl, nisa = NEW["nki.language"], NEW["nki.isa"]
nki1: Any = OLD["neuronxcc.nki"]
nl1: Any = OLD["neuronxcc.nki.language"]
nisa1: Any = OLD["neuronxcc.nki.isa"]
ncc1: Any = OLD["neuronxcc.nki.compiler"]
BF16 = np.dtype(ml_dtypes.bfloat16)
X = np.arange(128 * 16, dtype=np.float32).reshape(128, 16) % 61


def run2(body: Any, x: Any = X, target: str = "gen3") -> Any:
    """``body(tile)`` on a tile in SBUF that holds ``x``; the tile that it gives, in SBUF again."""

    def kernel(x: Any) -> Any:
        tile = nl.ndarray(x.shape, x.dtype, nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)
        result = body(tile)
        out = nl.ndarray(result.shape, result.dtype, nl.shared_hbm)
        nisa.dma_copy(dst=out, src=result)
        return out

    return launch2(kernel, {"x": x}, target=TARGETS[target]).outputs[0]


def run1(body: Any, x: Any = X, target: str = "gen3") -> Any:
    """:func:`run2` of a Beta 1 kernel."""

    def kernel(x: Any) -> Any:
        result = body(nl1.load(x))
        out = nl1.ndarray(result.shape, dtype=result.dtype, buffer=nl1.shared_hbm)
        nl1.store(out, result)
        return out

    return launch1(nki1.jit(kernel), {"x": x}, target=TARGETS[target]).outputs[0]


def test_the_rows_are_instructions_on_engines_that_exist() -> None:
    assert {f"nki.isa.{name}" for name in INSTRUCTIONS} <= set(SYMBOLS)
    assert all(row.engine in ENGINES for row in INSTRUCTIONS.values())


# --- start partitions ------------------------------------------------------------------------------------------------


def documented(start: int, count: int) -> bool:
    """The rule in the words of the architecture guide."""
    if 64 < count <= 128:
        return start == 0
    if 32 < count <= 64:
        return start in (0, 64)
    return start in (0, 32, 64, 96)


ACCESSES = st.integers(0, 127).flatmap(lambda start: st.tuples(st.just(start), st.integers(1, 128 - start)))
EXAMPLES = [(0, 128), (16, 16), (32, 64), (64, 64), (96, 32), (32, 33), (32, 32), (96, 1), (1, 1), (48, 16), (64, 33)]


def is_accepted(job: Any) -> bool:
    try:
        job()
    except KernelError as error:
        assert "they may start at" in str(error)
        return False
    return True


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("pinned", [True, False])
@given(access=ACCESSES | st.sampled_from(EXAMPLES))
def test_compute_engines_start_where_the_guide_says(reads: bool, pinned: bool, access: tuple[int, int]) -> None:
    x = np.zeros((128, 16), np.float32)
    assert is_accepted(lambda: launch2(whole_kernel(access, reads, pinned), {"x": x})) == documented(*access)


def whole_kernel(access: tuple[int, int], reads: bool, pinned: bool) -> Any:
    """A kernel whose one compute instruction accesses ``access`` of a tile of 128 partitions."""
    start, count = access

    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
        whole = nl.ndarray((128, 16), nl.float32, nl.sbuf, address=(0, 0) if pinned else None)
        part = nl.ndarray((count, 16), nl.float32, nl.sbuf, address=(0, 4096) if pinned else None)
        nisa.dma_copy(dst=whole, src=x)
        nisa.dma_copy(dst=part, src=x[0:count])
        rows = whole[start : start + count]
        if reads:
            nisa.tensor_scalar(dst=part, data=rows, op0=nl.add, operand0=0.0)
        else:
            nisa.activation(dst=rows, op=nl.copy, data=part)
        nisa.dma_copy(dst=out, src=whole)
        return out

    return kernel


@given(access=ACCESSES)
def test_dma_starts_at_any_partition(access: tuple[int, int]) -> None:
    start, count = access

    def body(tile: Any) -> Any:
        part = nl.ndarray((128, 16), nl.float32, nl.sbuf)
        nisa.memset(part, 0.0)
        nisa.dma_copy(dst=part[start : start + count], src=tile[0:count])
        return part

    found = run2(body)
    np.testing.assert_array_equal(found[start : start + count], X[:count])


@pytest.mark.parametrize("access", EXAMPLES, ids=str)
def test_beta_1_tiles_with_an_address_obey_and_the_compiler_places_the_others(access: tuple[int, int]) -> None:
    """The guide: "This is currently handled by the tensor allocator in Neuron Compiler" (2.26.1)."""
    start, count = access

    def kernel(x: Any, pinned: bool) -> Any:
        out = nl1.ndarray(x.shape, dtype=x.dtype, buffer=nl1.shared_hbm)
        first, second = (
            (ncc1.sbuf.mod_alloc(base_addr=0), ncc1.sbuf.mod_alloc(base_addr=4096)) if pinned else (nl1.sbuf, nl1.sbuf)
        )
        whole = nl1.ndarray((128, 16), dtype=nl1.float32, buffer=first)
        part = nl1.ndarray((count, 16), dtype=nl1.float32, buffer=second)
        whole[...] = nl1.load(x)
        part[...] = nisa1.tensor_copy(whole[start : start + count])
        nl1.store(out, whole)
        return out

    assert is_accepted(lambda: launch1(nki1.jit(kernel), {"x": X, "pinned": True})) == documented(start, count)
    assert is_accepted(lambda: launch1(nki1.jit(kernel), {"x": X, "pinned": False}))


# --- memories --------------------------------------------------------------------------------------------------------


def psum2(tile: Any, dtype: Any = None) -> Any:
    made = nl.ndarray(tile.shape, dtype or tile.dtype, nl.psum)
    nisa.tensor_copy(made, tile)
    return made


def psum1(tile: Any) -> Any:
    made = nl1.ndarray(tile.shape, dtype=tile.dtype, buffer=nl1.psum)
    made[...] = nisa1.tensor_copy(tile)
    return made


def into2(call: Any, shape: tuple[int, ...] = (128, 16), buffer: Any = nl.sbuf) -> Any:
    dst = nl.ndarray(shape, nl.float32, buffer)
    call(dst)
    return dst


REFUSED2 = {
    "matmul reads SBUF": (
        lambda t: into2(lambda d: nisa.nc_matmul(d, psum2(t), t), (16, 16), nl.psum),
        "must be in SBUF",
    ),
    "matmul writes PSUM": (lambda t: into2(lambda d: nisa.nc_matmul(d, t, t), (16, 16)), "must be in PSUM"),
    "two in PSUM": (
        lambda t: into2(lambda d: nisa.tensor_tensor(d, psum2(t), psum2(t), nl.add)),
        "data1 and data2 cannot both reside in PSUM",
    ),
    "power": (
        lambda t: into2(lambda d: nisa.tensor_tensor(d, psum2(t), t, nl.power)),
        "the GpSimd Engine cannot read PSUM",
    ),
    "copy by GpSimd": (
        lambda t: into2(lambda d: nisa.tensor_copy(d, psum2(t), engine=nisa.engine.gpsimd)),
        "the GpSimd Engine cannot read PSUM",
    ),
    "memset by GpSimd": (
        lambda t: into2(lambda d: nisa.memset(d, 0.0, engine=nisa.engine.gpsimd), buffer=nl.psum),
        "the GpSimd Engine cannot write PSUM",
    ),
    "iota": (lambda t: into2(lambda d: nisa.iota(d, [[1, 16]], 0), buffer=nl.psum), "cannot write PSUM"),
    "DMA": (lambda t: into2(lambda d: nisa.dma_copy(d, psum2(t))), "DMA accesses HBM and SBUF only"),
    "a large transpose out of PSUM": (
        lambda t: into2(lambda d: nisa.nc_transpose(d, psum2(t)), (16, 128), nl.psum),
        "the Tensor Engine cannot read PSUM",
    ),
    "a large transpose into SBUF": (
        lambda t: into2(lambda d: nisa.nc_transpose(d, t), (16, 128)),
        "the Tensor Engine cannot write SBUF",
    ),
}
REFUSED1 = {
    "matmul": (lambda t: nisa1.nc_matmul(psum1(t), t), "err_unsupported_memory"),
    "nl.matmul": (lambda t: nl1.matmul(psum1(t), t, transpose_x=True), "the Tensor Engine cannot read PSUM"),
    "two in PSUM": (lambda t: nisa1.tensor_tensor(psum1(t), psum1(t), np.add), "cannot both reside in PSUM"),
    "two in PSUM, scanned": (
        lambda t: nisa1.tensor_tensor_scan(psum1(t), psum1(t), 0.0, np.add, np.add),
        "cannot both reside in PSUM",
    ),
    "power": (lambda t: nisa1.tensor_tensor(psum1(t), t, nl1.power), "the GpSimd Engine cannot read PSUM"),
    "integers": (
        lambda t: nisa1.tensor_tensor(psum1(nl1.copy(t, dtype=nl1.int32)), nl1.copy(t, dtype=nl1.int32), np.add),
        "the GpSimd Engine cannot read PSUM",
    ),
    "copy by GpSimd": (
        lambda t: nisa1.tensor_copy(psum1(t), engine=nisa1.gpsimd_engine),
        "the GpSimd Engine cannot read PSUM",
    ),
    "a large transpose": (lambda t: nisa1.nc_transpose(psum1(t)), "the Tensor Engine cannot read PSUM"),
}


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("name", REFUSED2)
def test_beta_2_operands_that_no_engine_reaches(name: str, target: str) -> None:
    body, message = REFUSED2[name]
    with pytest.raises(KernelError, match=message):
        run2(body, target=target)


@pytest.mark.parametrize("target", ["gen2", "gen3"])
@pytest.mark.parametrize("name", REFUSED1)
def test_beta_1_operands_that_no_engine_reaches(name: str, target: str) -> None:
    body, message = REFUSED1[name]
    with pytest.raises(KernelError, match=message):
        run1(body, target=target)


def test_beta_1_dma_copies_between_hbm_and_sbuf_only() -> None:
    def kernel(x: Any) -> Any:
        out = nl1.ndarray(x.shape, dtype=x.dtype, buffer=nl1.shared_hbm)
        nisa1.dma_copy(dst=out, src=psum1(nl1.load(x)))
        return out

    with pytest.raises(KernelError, match="err_unsupported_memory"):
        launch1(nki1.jit(kernel), {"x": X})


def test_what_the_engines_reach_is_accepted() -> None:
    """Vector and Scalar Engines read PSUM, one operand of two may be there, and the compiler of Beta 1 copies results
    that have no declaration to where they are needed."""
    for body in (
        lambda t: into2(lambda d: nisa.tensor_tensor(d, psum2(t), t, nl.add)),
        lambda t: into2(lambda d: nisa.activation(d, nl.copy, psum2(t), scale=2.0)),
    ):
        np.testing.assert_array_equal(run2(body), 2 * X)
    for body in (
        lambda t: nisa1.tensor_tensor(psum1(t), t, np.add),
        lambda t: nl1.add(psum1(t), psum1(t)),
        lambda t: nl1.multiply(nisa1.nc_transpose(nisa1.nc_transpose(t)), 2.0),
    ):
        np.testing.assert_array_equal(run1(body), 2 * X)


# --- types of matmuls and transposes ---------------------------------------------------------------------------------


def multiplied(dtype: Any, is_transpose: bool = False) -> Any:
    def body(tile: Any) -> Any:
        psum = nl.ndarray((16, 16), dtype, nl.psum)
        nisa.nc_matmul(psum, tile, tile, is_transpose=is_transpose)
        dst = nl.ndarray((16, 16), nl.float32, nl.sbuf)
        nisa.tensor_copy(dst, psum)
        return dst

    return body


@pytest.mark.parametrize(
    ("target", "is_transpose", "legal"),
    [
        ("gen2", False, ["float32"]),
        ("gen3", False, ["float32"]),
        ("gen4", False, ["float32", "bfloat16"]),
        ("gen2", True, ["float32"]),
        ("gen3", True, ["float32", "bfloat16"]),
        ("gen4", True, ["float32", "bfloat16"]),
    ],
)
def test_types_of_matmuls_by_generation(target: str, is_transpose: bool, legal: list[str]) -> None:
    for name in ("float32", "bfloat16", "float16"):
        if name in legal:
            assert run2(multiplied(getattr(nl, name), is_transpose), X.astype(BF16), target).shape == (16, 16)
        else:
            with pytest.raises(KernelError, match=f"on {target} dst in PSUM must be .*, it is {name}"):
                run2(multiplied(getattr(nl, name), is_transpose), X.astype(BF16), target)


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32"])
def test_types_of_transposes_by_generation(target: str, kind: str) -> None:
    """The type of data; on gen2, which transposes by a matmul, 16-bit data also into float32, every bit kept."""
    x = X.astype(BF16 if kind == "bfloat16" else kind)

    def body(dtype: Any) -> Any:
        def transposed(tile: Any) -> Any:
            psum = nl.ndarray((16, 128), dtype, nl.psum)
            nisa.nc_transpose(psum, tile)
            dst = nl.ndarray((16, 128), nl.float32, nl.sbuf)
            nisa.tensor_copy(dst, psum)
            return dst

        return transposed

    np.testing.assert_array_equal(run2(body(getattr(nl, kind)), x, target), x.astype(np.float32).T)
    if kind == "float32" or target == "gen2":
        np.testing.assert_array_equal(run2(body(nl.float32), x, target), x.astype(np.float32).T)
    else:
        with pytest.raises(KernelError, match="they must be the same type"):
            run2(body(nl.float32), x, target)


def test_a_predicated_copy_converts_nothing() -> None:
    """``src`` and ``dst`` "must share the same data type" (``nisa.tensor_copy_predicated``, 2.26.1)."""

    def copied(tile: Any, dtype: Any) -> Any:
        into, chosen = nl1.copy(tile, dtype=dtype), nl1.greater(tile, 0.0, dtype=nl1.uint8)
        nisa1.tensor_copy_predicated(src=tile, dst=into, predicate=chosen)
        return into

    np.testing.assert_array_equal(run1(lambda t: copied(t, nl1.float32)), X)
    with pytest.raises(KernelError, match="src of 'tensor_copy_predicated' is float32, dst is bfloat16"):
        run1(lambda t: copied(t, nl1.bfloat16))
