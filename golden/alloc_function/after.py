"""Tiles stacked from the top of a region downwards, by an allocation function."""

import nki
import nki.language as nl
import nki.isa as nisa

REGION_END = 8192


def from_the_top(idx, pdim_size, fdim_size):
    slot, = idx  # one block dimension
    return (0, REGION_END - (slot + 1) * fdim_size)


@nki.jit
def doubled(x):
    """(B, P, F) times two."""
    blocks, rows, columns = x.shape
    out = nl.ndarray((blocks, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = []
    for b in range(blocks):
        partition, byte = from_the_top(idx=(b,), pdim_size=rows, fdim_size=columns * 2)
        tile.append(
            nl.ndarray(
                (rows, columns),
                dtype=nl.bfloat16,
                buffer=nl.sbuf,
                address=(partition, byte),
            )
        )
    for b in nl.affine_range(blocks):
        nisa.dma_copy(dst=tile[b], src=x[b])
    for b in nl.affine_range(blocks):
        nisa.tensor_tensor(dst=tile[b], data1=tile[b], data2=tile[b], op=nl.add)
        nl.store(out[b], value=tile[b])
    return out
