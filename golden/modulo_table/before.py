"""A copy through a ring of two buffers."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


@nki.jit
def ring_copy(samples):
    blocks, rows, columns = samples.shape
    out = nl.ndarray((blocks, rows, columns), dtype=samples.dtype, buffer=nl.shared_hbm)
    ring = nl.ndarray((blocks, nl.par_dim(rows), columns), dtype=nl.float32,
                      buffer=ncc.sbuf.mod_alloc(base_addr=4096, num_free_tiles=(2, )))
    for b in nl.affine_range(blocks):
        ring[b] = nl.load(samples[b])
        nl.store(out[b], value=ring[b])
    return out
