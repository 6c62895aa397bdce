import nki
import nki.language as nl
import nki.isa as nisa


def transposed(x):
    rows, columns = x.shape
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.hbm)
    for column in nl.affine_range(columns // 128):
        tile = nl.ndarray((128, rows), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(
            dst=tile, src=x.ap(pattern=[[1, 128], [columns, rows]], offset=column * 128)
        )
        nl.store(out[nl.ds(column * 128, 128), :], value=tile)
    return out


def centered(x):
    found = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for row in nl.affine_range(x.shape[0] // 128):
        tile = nl.load(x[nl.ds(row * 128, 128), :])
        least = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_reduce(
            dst=least, op=nl.minimum, data=tile, axis=len(tile.shape) - 1
        )
        subtract_tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=subtract_tile, data=tile, op0=nl.subtract, operand0=least
        )
        nl.store(found[nl.ds(row * 128, 128), :], value=subtract_tile)
    return found


@nki.jit
def centered_columns(x):
    columns = transposed(x)
    once = centered(columns)
    return centered(once)
