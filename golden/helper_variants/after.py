import nki
import nki.isa as nisa
import nki.language as nl


def scaled(dst, src, factor, shift=None):
    """dst (P, F) = src * factor (+ shift): src in SBUF or PSUM, factor a number or a (P, 1) tile."""
    nisa.tensor_scalar(dst=dst, data=src, op0=nl.multiply, operand0=factor)
    if shift is not None:
        nisa.tensor_scalar(dst=dst, data=dst, op0=nl.add, operand0=shift)


def scaled_2(dst, src, factor, shift=None):
    """dst (P, F) = src * factor (+ shift): src in SBUF or PSUM, factor a number or a (P, 1) tile."""
    nisa.tensor_scalar(dst=dst, data=src, op0=nl.multiply, operand0=factor)
    if shift is not None:
        nisa.tensor_tensor(dst=dst, data1=dst, data2=shift, op=nl.add)


@nki.jit
def scaled_square(x, shift):
    """x (64, 64) gives x.T @ x / 2, scaled with the sums of its rows, plus shift (64, 64)."""
    out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(x.shape) > 1, "rewritten for 2 dimensions at least"
    tile = nl.load(x)
    half = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.sbuf)
    scaled(half, tile, 0.5)
    product = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=tile, moving=half)
    assert len(tile.shape) == 2, "rewritten for 2 dimensions"
    sums = nl.sum(tile, axis=1)
    result = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.sbuf)
    assert len(shift.shape) > 1, "rewritten for 2 dimensions at least"
    shift_tile = nl.load(shift)
    scaled_2(result, product, sums, shift=shift_tile)
    nl.store(out, value=result)
    return out
