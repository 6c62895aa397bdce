"""A product whose contraction two programs share."""

import nki
import nki.isa as nisa
import nki.language as nl


def all_reduced(dst, src, op):
    """Reduce ``src`` over the programs of the launch, one or two, into the ``dst`` of each."""
    if nl.num_programs(axes=0) == 1:
        nisa.tensor_copy(dst=dst, src=src)
    else:
        other = 1 - nl.program_id(axis=0)
        received = nl.ndarray(src.shape, dtype=src.dtype, buffer=nl.sbuf)
        nisa.sendrecv(src=src, dst=received, send_to_rank=other, recv_from_rank=other, pipe_id=0)
        nisa.tensor_tensor(dst=dst, data1=src, data2=received, op=op)


def reduced(partial, rows, shard):
    """The sum of what the programs of the grid have in the first ``rows`` rows."""
    total = nl.zeros(partial.shape, dtype=nl.float32, buffer=nl.sbuf)
    i_p_size = min(partial.shape[0], rows)
    if i_p_size > 0:
        all_reduced(dst=total[0:i_p_size, :], src=partial[0:i_p_size, :], op=nl.add)
    return total


@nki.jit
def product(a, b, rows):
    """(K, 128) and (K, N) give a (128, N) tile for each program: the first ``rows`` rows of ``a.T @ b``, then zeros."""
    shards, shard = nl.num_programs(axes=0), nl.program_id(axis=0)
    contraction = a.shape[0] // shards
    out = nl.ndarray((shards, 128, b.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    assert len(a.shape) == 2, "rewritten for 2 dimensions"
    left = nl.ndarray((contraction, 128), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a[nl.ds(shard * contraction, contraction), 0:128])
    assert len(b.shape) == 2, "rewritten for 2 dimensions"
    right = nl.ndarray((contraction, b.shape[1]), dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=b[nl.ds(shard * contraction, contraction), 0 : b.shape[1]])
    product_tile = nl.ndarray((128, b.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product_tile, stationary=left, moving=right)
    partial = nl.ndarray((128, b.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=partial, src=product_tile)
    reduced_result = reduced(partial, rows, shard)
    nisa.dma_copy(dst=out[shard], src=reduced_result)
    return out
