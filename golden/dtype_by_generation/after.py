"""Tiles turned around on TensorE, which wants another PSUM data type on each generation."""

import nki
import nki.isa as nisa
import nki.language as nl
import nki.meta.tensor as ntensor


@nki.jit
def turned(x):
    """(T, 128, F) gives (T, F, 128)."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    identity = nl.ndarray((rows, rows), dtype=nl.bfloat16, buffer=nl.sbuf, address=(0, 0))
    constant = nl.shared_constant(ntensor.identity(128, dtype=nl.int8))
    nisa.dma_copy(dst=identity, src=constant)
    tile = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf, address=(0, rows * 2))
    back = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.sbuf, address=(0, (rows + columns) * 2))
    for t in nl.affine_range(tiles):
        nisa.dma_copy(dst=tile, src=x[t])
        # float32 on gen2, the type of the input from gen3 on
        if nisa.get_nc_version() >= nisa.nc_version.gen3:
            flipped = []
            for again in range(2):
                flipped.append(
                    nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.psum, address=(0, 3 * 2048))
                )
        else:
            flipped = []
            for again in range(2):
                flipped.append(
                    nl.ndarray(
                        (columns, rows), dtype=nl.float32, buffer=nl.psum, address=(0, (3 + again) * 2048)
                    )
                )
        for again in nl.sequential_range(2):
            nisa.nc_matmul(dst=flipped[again], stationary=tile, moving=identity, is_transpose=True)
            nisa.tensor_copy(dst=back, src=flipped[again])
        nl.store(out[t], value=back)
    return out
