"""Helpers that nothing calls: what they do with their parameters tells what these are."""

from __future__ import annotations

from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

UNCALLED = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def scaled(src, scale):
    if src.buffer is nl.psum:
        src = nl.copy(src, dtype=nl.float32)
    return nl.multiply(src, scale, dtype=nl.float32)


def squared(src):
    return nisa.activation(op=np.square, data=src, dtype=nl.float32)
"""
CALLING = """\


@nki.jit
def k(x):
    out = nl.ndarray((3, 64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    ones = nl.load(nl.shared_identity_matrix(64, dtype=nl.float32))
    tile = nl.load(x)
    product = nl.ndarray((nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
    product[...] = nisa.nc_matmul(tile, ones)
    _ = nl.store(out[0], value=scaled(tile, 2.0))
    nl.store(out[1], value=scaled(product, 3.0))
    nl.store(out[2], value=squared(tile))
    return out
"""


def test_a_helper_that_nothing_calls_computes_with_tiles():
    outcome = rewrite(UNCALLED)
    assert outcome.findings == ()
    assert "nisa.tensor_copy(dst=src_copy, src=src)" in outcome.source
    assert "nisa.activation(dst=activation_tile, op=nl.square, data=src)" in outcome.source
    loads = rewrite(UNCALLED + "\n\ndef loaded(src):\n    return nl.exp(nl.load(src))\n").source
    assert "nisa.dma_copy(dst=src_tile, src=src)" in loads


def test_a_helper_is_the_same_whether_its_tiles_are_told_or_not(migrate):
    migration = migrate(UNCALLED + CALLING, {"x": TensorSpec((64, 64), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    told = migration.outcome.source.partition("def scaled")[2].partition("def ")[0]
    assert told == rewrite(UNCALLED).source.partition("def scaled")[2].partition("def ")[0]


STORED = UNCALLED[: UNCALLED.index("def scaled")] + """\
def kept(out, tile):
    out = out.reshape((out.shape[0], 64))
    nl.store(out, tile)
"""


def test_what_a_helper_that_nothing_calls_stores_is_a_tile_of_either_memory():
    outcome = rewrite(STORED)
    assert outcome.findings == ()
    assert "nisa.tensor_copy(dst=tile_copy, src=tile)" in outcome.source
    assert "nisa.dma_copy(dst=out, src=tile_copy)" in outcome.source
    moved = rewrite(STORED + "    nl.store(tile[0], nl.load(out))\n", Options(unsafe=True))
    assert any("nl.store of a tensor in HBM" in finding.message for finding in moved.findings)


REDUCED = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


def norms(src):
    sums = nl.ndarray((par_dim(src.shape[0]), 1), dtype=nl.float32)
    sums = sums.as_tile()
    nisa.activation_reduce(op=np.square, data=src, reduce_op=np.add, reduce_res=sums)
    least = nisa.memset(sums.shape, 1e-6, dtype=sums.dtype)
    return nisa.activation(op=nl.sqrt, data=sums, bias=least, dtype=nl.float32)


@nki.jit
def k(x):
    out = nl.ndarray((64, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, value=norms(nl.load(x)))
    return out
"""


def test_a_result_that_nothing_reads_has_a_tile_where_what_it_reduces_counts(migrate):
    migration = migrate(REDUCED, {"x": TensorSpec((64, 20), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "as_tile" not in migration.outcome.source
    assert "reduce_res=sums" in migration.outcome.source


LIBRARY = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x) * 2)
    return out


def stored(x, out, again):
    if again:
        x = doubled(x)
    nl.store(out[0:64], value=nl.load(x[0:64]))


def host(x, out, again):
    if again:
        x = doubled(x)
    return x + out
"""


def test_a_kernel_that_code_on_the_device_calls_returns_a_tensor():
    assert [finding.code for finding in rewrite(LIBRARY).findings] == ["NKI036"]  # it may be launched elsewhere
    outcome = rewrite(LIBRARY, Options(unsafe=True))
    assert outcome.findings == ()
    assert "dma_copy(dst=x_tile, src=x[0:64])" in outcome.source
    assert "return x + out" in outcome.source
