"""Kernels that functions of the host make for one size: they close over sizes, index vectors and arrays."""

import functools

import nki
import nki.language as nl
import nki.isa as nisa


def affine_constant(shape, steps, offset, operator, dtype):
    """Ones in HBM where ``operator(offset + sum(index * step), 0)`` holds for the indices of ``shape``, else zeros."""
    last = 0
    for d in range(1, len(shape)):
        if steps[d] != 0:
            last = d
    columns = 1
    repeats = 1
    pattern = []
    for d in range(1, len(shape)):
        if d <= last:
            columns = columns * shape[d]
            pattern.append([steps[d], shape[d]])
        else:
            repeats = repeats * shape[d]
    if last == 0:
        pattern.append([0, 1])
    constant = nl.ndarray(shape, dtype=dtype, buffer=nl.hbm)
    for first in range(0, shape[0], 128):
        rows = min(128, shape[0] - first)
        ones = nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)
        nisa.memset(dst=ones, value=1)
        chosen = nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)
        nisa.affine_select(
            dst=chosen,
            pattern=pattern,
            offset=offset + first * steps[0],
            channel_multiplier=steps[0],
            on_true_tile=ones,
            on_false_value=0,
            cmp_op=operator,
        )
        nisa.dma_copy(
            dst=constant.ap(
                pattern=[[columns * repeats, rows], [repeats, columns], [1, repeats]], offset=first * columns * repeats
            ),
            src=chosen.ap(pattern=[[columns, rows], [1, columns], [0, repeats]]),
        )
    return constant


# the kernel itself
@nki.jit
def halves(x, rows, columns, half, factor=2.0):
    """(rows, columns) times a factor,
    one half after the other.
    """
    # rows and columns of one half
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    assert isinstance(factor, float), "rewritten for a float"
    for j in nl.affine_range(2):
        tile = nl.ndarray((rows, half), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[0:rows, nl.ds(j * half, half)])
        scaled = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=scaled, data=tile, op0=nl.multiply, operand0=factor)
        nisa.dma_copy(dst=out[:, nl.ds(j * half, half)], src=scaled)
    return out


def make_halves(rows, columns, factor=2.0):
    """A kernel that scales tiles of (rows, columns), one half after the other."""
    half = columns // 2
    if half % 2:
        raise ValueError("halves of an odd number of columns")

    return functools.partial(halves, rows=rows, columns=columns, half=half, factor=factor)


def scaled(tile, width):
    tile_scaled = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile_scaled, data=tile, op0=nl.multiply, operand0=1.0 / width)
    return tile_scaled


@nki.jit
def _kernel(x, rows, width, grid):
    assert len(grid) == 1
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    assert len(x.shape) == 3, "rewritten for 3 dimensions"
    for batch in nl.affine_range(grid[0]):
        constant = affine_constant((rows, rows), [1, -1], 0, nl.greater_equal, nl.float32)
        mask = nl.ndarray((rows, rows), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=mask, src=constant)
        tile = nl.ndarray((rows, rows), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[batch, 0:rows, 0:rows])
        kept = nl.ndarray((rows, rows), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=kept, data1=tile, data2=mask, op=nl.multiply)
        scaled_result = scaled(kept, width=width)
        nisa.dma_copy(dst=out[batch, 0:rows, 0:rows], src=scaled_result)
    return out


def make_causal(rows, width):
    """A kernel that keeps the lower triangle of squares, one for each program; what launches it; and its width."""

    def kernel(x):
        """On as many programs as there are squares."""
        return _kernel(x, rows=rows, width=width, grid=(x.shape[0],))

    return kernel, width


@nki.jit
def copying(x, rows, width):
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    x_tile = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x_tile, src=x[0:rows, 0:width])
    nisa.dma_copy(dst=out, src=x_tile)
    return out


def copied(x, rows):
    """The first rows of a tensor, by a kernel that is launched where it is made."""
    width = x.shape[1]

    return copying(x, rows=rows, width=width)
