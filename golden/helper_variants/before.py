import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def scaled(dst, src, factor, shift=None):
    """dst (P, F) = src * factor (+ shift): src in SBUF or PSUM, factor a number or a (P, 1) tile."""
    dst[...] = nl.multiply(src, factor)
    if shift is not None:
        dst[...] = nl.add(dst, shift)


@nki.jit
def scaled_square(x, shift):
    """x (64, 64) gives x.T @ x / 2, scaled with the sums of its rows, plus shift (64, 64)."""
    out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    half = nl.ndarray((nl.par_dim(64), 64), dtype=x.dtype, buffer=nl.sbuf)
    scaled(half, tile, 0.5)
    product = nl.ndarray((nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
    product[...] = nisa.nc_matmul(tile, half)
    sums = nl.sum(tile, axis=1)
    result = nl.ndarray((nl.par_dim(64), 64), dtype=x.dtype, buffer=nl.sbuf)
    scaled(result, product, sums, shift=nl.load(shift))
    nl.store(out, value=result)
    return out
