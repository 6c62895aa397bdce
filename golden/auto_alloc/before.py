"""Buffers whose addresses the compiler chooses, in both spellings."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def gram(x):
    """(K, M) gives x.T @ x."""
    depth, m = x.shape
    out = nl.ndarray((m, m), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((nl.par_dim(depth), m), dtype=x.dtype, buffer=ncc.sbuf.auto_alloc())
    tile[...] = nl.load(x)
    product = nl.ndarray((nl.par_dim(m), m), dtype=nl.float32, buffer=ncc.psum.auto_alloc())
    product[...] = nisa.nc_matmul(tile, tile)
    kept = nl.ndarray((nl.par_dim(m), m), dtype=nl.float32, buffer=nl.sbuf)
    kept[...] = nl.copy(product)
    nl.store(out, value=kept)
    return out
