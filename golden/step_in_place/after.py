"""Softmax of scores and a product, tile by tile: the kernel's loop names its steps."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def weighted_rows(x, w):
    """Softmax of the rows of (T, 128, F), in the first matrix (F, 64) of ``w`` and the second one."""
    tiles, rows, columns = x.shape
    width = w.shape[2]
    out = nl.ndarray((tiles, rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    weights = nl.load(w[0])
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)

    for t in nl.affine_range(tiles):
        # subtracts the largest number of each row first
        # The numerators, and their sums in ``total``.
        scores = nl.load(x[t])
        top = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=scores, axis=1, negate=True)
        numerators = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.activation(dst=numerators, op=nl.exp, data=scores, bias=top)
        nisa.tensor_reduce(dst=total, op=nl.add, data=numerators, axis=1)

        scale = 0.5
        result = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
        numerators_transposed = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=numerators_transposed, data=numerators)
        turned = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=turned, src=numerators_transposed)
        for half in nl.affine_range(2):  # of the matrix
            part = nl.ndarray((rows, width // 2), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(
                dst=part, stationary=turned, moving=weights[:, nl.ds(half * (width // 2), width // 2)]
            )
            nisa.tensor_scalar(
                dst=result[:, nl.ds(half * (width // 2), width // 2)],
                data=part,
                op0=nl.multiply,
                operand0=scale,
            )
        inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)
        tile = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=tile, data=result, op0=nl.multiply, operand0=inverse)

        # half by half
        # everything is there
        for half in nl.affine_range(2):
            begin = half * (width // 2)
            nl.store(out[t, :, begin : begin + width // 2], value=tile[:, begin : begin + width // 2])
    return out
