"""Versions of NKI as targets: every difference of the table of dialects, seen from a kernel that runs as each."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from nki_migrate.runtime.beta2.launch import execute
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.cases import read_cases
from nki_migrate.runtime.errors import KernelError, NotModelled
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import pool
from nki_migrate.runtime.spec.beta2_dialects import DIALECTS, Dialect
from nki_migrate.runtime.spec.hardware import TARGETS
from nki_migrate.runtime.spec.versions import V02, V03, V04, V05, V06, VERSIONS, Version

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]
X = np.arange(32, dtype=np.float32).reshape(4, 8)


def tile_of(x):
    tile = nl.ndarray(x.shape, x.dtype, nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    return tile


def stored(tile):
    out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


def mixed(x):
    nl.ndarray((1, 1), nl.int32, nl.sbuf)
    return stored(nl.ndarray((1, 1), nl.int32, nl.sbuf, address=(0, 0)))


def by_hardware_dge(x):
    tile = nl.ndarray(x.shape, nl.bfloat16, nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, dge_mode=nisa.dge_mode.hwdge)
    return stored(tile)


def transposed(x):
    tile = nl.ndarray((8, 4), x.dtype, nl.sbuf)
    nisa.dma_transpose(dst=tile, src=x)
    return stored(tile)


def filled(x):
    tile = nl.ndarray((1, 1), nl.int32, nl.sbuf)
    nisa.memset(tile, 1.0)
    return stored(tile)


def in_plain_hbm(x):
    out = nl.ndarray(x.shape, x.dtype, nl.hbm)
    nisa.dma_copy(dst=out, src=x)
    return out


def reduced(axis):
    def kernel(x):
        tile = tile_of(x).reshape((4, 2, 4))
        dst = nl.ndarray((4, 2), x.dtype, nl.sbuf)
        nisa.tensor_reduce(dst, nl.add, tile, axis)
        return stored(dst)

    return kernel


def selected(x):
    tile, bound = tile_of(x), nl.zeros((4, 1), nl.float32)
    dst = nl.ndarray(x.shape, x.dtype, nl.sbuf)
    nisa.range_select(dst, tile, nl.greater, nl.greater, bound, bound, on_false_value=-7.0)
    return stored(dst)


def viewed(x):
    tile = tile_of(x).view(nl.int32)
    assert tile.shape == (4, 8)
    return stored(tile)


SEEN = {
    "memory_names": (lambda x: stored(sbuf.view(x.dtype, x.shape)), None, "sbuf"),  # noqa: F821
    "mixed_placement": (mixed, None, "Cannot mix manual and automatic allocations"),
    "partition_index_drops": (lambda x: stored(tile_of(x)[2]), X[2], X[2:3]),
    "stepped_slices": (lambda x: stored(tile_of(x)[:, 1:8:3]), "slice with step 3", X[:, 1:8:3]),
    "free_subscripts": (lambda x: stored(tile_of(x)[1][:, 2:4]), "nested indexing", X[1:2, 2:4]),
    "view_has_shape": (viewed, "expecting sequence", X.view(np.int32)),
    "addresses": (lambda x: stored(tile_of(x)) if tile_of(x).address else None, X, r"no \.address in NKI 0\."),
    "loose_values": (lambda x: stored(nl.zeros((1, 1), "float32", "sbuf")), np.zeros((1, 1)), "expecting"),
    "hardware_dge_casts": (by_hardware_dge, X, "hwdge does not convert float32 to bfloat16"),
    "transposed_ranks": (transposed, "must have 4 dimmensions", X.T),
    "hardware_axes": (reduced(2), "not a valid dim", X.reshape(4, 2, 4).sum(axis=2)),
    "range_select_is_fixed": (
        selected,
        np.where(np.arange(8) > 0, X, -3.4028235e38),
        np.where(np.arange(8) > 0, X, -7),
    ),
    "memset_casts": (filled, np.ones((1, 1)), "value must be an integer"),
    "numpy_constants": (lambda x: stored(nl.shared_constant(X)), "expecting a 'tensor', got 'ndarray'", X),
    "outputs": (in_plain_hbm, X, "outputs must be in nl.shared_hbm"),
    "functions": (lambda x: stored(nl.add(tile_of(x), 1.0)), "cannot be called in Beta 2", X + 1),
}
"""Field of the table -> (kernel, what 0.2 does, what 0.3 does): an array, a message, or ``None`` for no matter."""


def copied(x):
    ints = nl.ndarray((4, 1), nl.int32, nl.sbuf)
    nisa.iota(ints, [[1, 1]], offset=2**24 + 1)
    return stored(nl.copy(ints))


def padded(x):
    four = nl.ndarray((4, 1, 1, 8), x.dtype, nl.sbuf)
    nisa.dma_copy(dst=four, src=x)
    tile = nl.ndarray((8, 4), x.dtype, nl.sbuf)
    nisa.dma_transpose(dst=tile, src=four)
    return stored(tile)


def counted(x):
    count, one = nl.ndarray((1, 1), nl.int32, nl.sbuf), nl.ndarray((1, 1), nl.int32, nl.sbuf)
    nisa.memset(count, 3)
    nisa.register_store(one, nisa.register_alloc(count))
    return stored(one)


def written(x):
    one = nl.ndarray((1, 1), nl.int32, nl.sbuf)
    nisa.memset(one, 5)
    for i in nl.dynamic_range(2):
        nisa.register_load(i, one)
    return stored(one)


def reshaped_by_the_older_name(x):
    return stored(tile_of(x).reshape(new_shape=(4, 8)))


def part_of_pattern(x):
    return stored(tile_of(x)[:, 4:8].ap([[8, 4], [1, 4]]))


def quantized(kind):
    def kernel(x):
        source, data = nl.ndarray((32, 32), nl.bfloat16, nl.sbuf), nl.ndarray((32, 8), nl.float8_e5m2_x4, nl.sbuf)
        scale = nl.ndarray((4, 8), kind, nl.sbuf)
        nisa.memset(source, 1.0)
        nisa.quantize_mx(dst=data, src=source, dst_scale=scale)
        return stored(scale)

    return kernel


def rsqrt_of_psum(x):
    acc = nl.ndarray((8, 8), nl.float32, nl.psum)
    tile = tile_of(x)
    nisa.nc_matmul(acc, tile, tile)
    return stored(nl.rsqrt(acc))


def transposed_by(x):
    tile, turned = tile_of(x), nl.ndarray((8, 4), x.dtype, nl.sbuf)
    nisa.nc_transpose(turned, tile, engine=nisa.engine.tensor)
    return stored(turned)


GEN4 = ("scale_types", "doubled_scale")
BIG = np.full((4, 1), 2**24 + 1)
LATER_SEEN: dict[str, tuple[object, dict[Version, object]]] = {
    "pads_transposes": (padded, {V02: "must have 4 dimmensions", V03: X.T, V04: "gives"}),
    "alloc_reads": (counted, {V02: np.full((1, 1), 3), V03: "expecting 'integer'"}),
    "frozen_indices": (written, {V02: np.full((1, 1), 5), V04: "cannot be written"}),
    "new_shape": (reshaped_by_the_older_name, {V02: "new_shape", V04: X, V05: "new_shape"}),
    "counts_reshapes": (lambda x: stored(tile_of(x).reshape((4, 4))), {V02: X[:, :4], V05: "32"}),
    "two_dimensions": (lambda x: stored(tile_of(x)[:, 2]), {V02: X[:, 2], V05: X[:, 2:3]}),
    "inherits_offset": (part_of_pattern, {V02: "already indexed", V03: X[:, :4], V05: X[:, 4:]}),
    "scale_types": (quantized("float8_e8m0fnu"), {V02: "must be uint8", V05: np.full((4, 8), 2.0**-14)}),
    "doubled_scale": (quantized("uint8"), {V02: np.full((4, 8), 127 - 15), V05: np.full((4, 8), 128 - 15)}),
    "rsqrt_reads_psum": (rsqrt_of_psum, {V02: "cannot be called", V03: None, V05: "does not read PSUM"}),
    "obeys_engine": (transposed_by, {V02: "writes to PSUM", V03: X.T, V04: "writes to PSUM"}),
    "exact_copy": (copied, {V02: "cannot be called", V03: BIG - 1, V06: BIG}),
}
"""Field of the table -> (kernel, what each version does from which on)."""


def outcomes():
    for name, (kernel, old, new) in SEEN.items():
        yield name, kernel, {V02: old, V03: new}
    for name, (kernel, wanted) in LATER_SEEN.items():
        yield name, kernel, wanted


def test_every_difference_is_seen():
    """A row has a value for each version that changes the field, and for no other."""
    seen = {name: set(wanted) for name, _, wanted in outcomes()}
    seen |= {name: seen[name] - {V03} for name in ("rsqrt_reads_psum", "exact_copy")}  # no functions before
    seen["inherits_offset"] -= {V03}  # no patterns of views before
    for field in dataclasses.fields(Dialect):
        values = [getattr(DIALECTS[version], field.name) for version in VERSIONS]
        changed = {
            VERSIONS[0],
            *(at for at, old, new in zip(VERSIONS[1:], values, values[1:], strict=False) if old != new),
        }
        assert seen[field.name] == changed, field.name


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize(
    ("name", "kernel", "wanted"), [*outcomes()], ids=lambda value: value if type(value) is str else ""
)
def test_a_kernel_does_as_its_version_says(name, kernel, wanted, version):
    expected = wanted[max(at for at in wanted if at <= version)]
    target = TARGETS["gen4" if name in GEN4 else "gen3"]
    if isinstance(expected, str):
        with pytest.raises((KernelError, NotModelled, NameError), match=expected):
            execute(kernel, {"x": X}, version=version, target=target)
        return
    (found,) = execute(kernel, {"x": X}, version=version, target=target).outputs
    if expected is not None:
        assert found.shape == np.shape(expected)
        assert np.array_equal(found.astype(np.float64), np.asarray(expected).astype(found.dtype).astype(np.float64))


def test_accumulate_says_what_psum_does():
    def kernel(x, flags):
        tile, psum = tile_of(x), nl.ndarray((8, 8), nl.float32, nl.psum)
        for flag in flags:
            nisa.nc_matmul(psum, tile, tile, accumulate=flag)
        result = nl.ndarray((8, 8), nl.float32, nl.sbuf)
        nisa.tensor_copy(result, psum)
        return stored(result)

    once = X.T @ X
    for flags, times in (([None, None], 2), ([None, False], 1), ([False, True], 2), ([False, True, False], 1)):
        assert np.array_equal(execute(kernel, {"x": X, "flags": flags}, version="0.3").outputs[0], times * once)
    with pytest.raises(KernelError, match="unexpected keyword argument 'accumulate'"):
        execute(kernel, {"x": X, "flags": [None]}, version="0.2")


def test_dma_compute_takes_its_operator_before_its_scales():
    def kernel(x):
        tile = tile_of(x)
        nisa.dma_compute(tile, [tile, x], nl.add)
        return stored(tile)

    assert np.array_equal(execute(kernel, {"x": X}, version="0.3").outputs[0], X + X)


KERNEL = """
import nki, nki.language as nl, nki.isa as nisa

@nki.jit
def row(x):
    tile = nl.ndarray(x.shape, x.dtype, nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    out = nl.ndarray(tile[1].shape, x.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile[1])
    return out
"""


def test_cases_say_the_version(tmp_path):
    (tmp_path / "row.py").write_text(KERNEL)
    (tmp_path / "cases.toml").write_text(
        '[[case]]\nkernel = "row"\ntarget = "0.2"\n[case.args]\nx = {shape = [4, 8], dtype = "float32"}\n'
        '[[case]]\nkernel = "row"\ntarget = "0.3"\n[case.args]\nx = {shape = [4, 8], dtype = "float32"}\n'
        '[[case]]\nkernel = "row"\ntarget = "0.9"\n'
    )
    found = read_cases(tmp_path / "cases.toml")
    assert [case.target for case in found.cases] == ["0.2", "0.3"]
    assert "unknown target '0.9': one of 0.2, 0.3" in found.bad[0].message
    with pool(1) as workers:
        replies = [workers.submit(Request("run", str(tmp_path / "row.py"), case)).result() for case in found.cases]
    assert [reply.outputs[0].shape for reply in replies] == [(8,), (1, 8)]


def test_programs_run_as_the_version_that_emulate_is_told(tmp_path):
    (tmp_path / "row.py").write_text(KERNEL)
    code = "import numpy, row; print(row.row(numpy.zeros((4, 8), numpy.float32)).shape)"
    for options, shape in (([], "(1, 8)"), (["--target", "0.2"], "(8,)"), (["--target", "0.3"], "(1, 8)")):
        command = [sys.executable, "-m", "nki_migrate", "emulate", *options, "--", sys.executable, "-c", code]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip() == shape
