"""The largest of each 2 x 2 square of an image, and its rows and columns put together again, by slices with steps."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def pooled(x, size=2):
    """(P, H, W): the largest of each square of 2 x 2, and x with its even and odd columns exchanged."""
    rows, height, width = x.shape
    squares = nl.ndarray((rows, height // size, width // size), dtype=x.dtype, buffer=nl.shared_hbm)
    turned = nl.ndarray((rows, height, width), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    upper = nl.ndarray((rows, (height + 1) // 2, (width + 1) // 2), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(
        dst=upper,
        data1=tile.ap(pattern=[[height * width, rows], [width * 2, (height + 1) // 2], [2, (width + 1) // 2]]),
        data2=tile.ap(pattern=[[height * width, rows], [width * 2, (height + 1) // 2], [2, width // 2]], offset=1),
        op=nl.maximum,
    )
    lower = nl.ndarray((rows, height // 2, (width + 1) // 2), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(
        dst=lower,
        data1=tile.ap(
            pattern=[[height * width, rows], [width * 2, height // 2], [2, (width + 1) // 2]], offset=width
        ),
        data2=tile.ap(pattern=[[height * width, rows], [width * 2, height // 2], [2, width // 2]], offset=width + 1),
        op=nl.maximum,
    )
    maximum_tile = nl.ndarray((rows, (height + 1) // 2, (width + 1) // 2), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=maximum_tile, data1=upper, data2=lower, op=nl.maximum)
    nl.store(squares, value=maximum_tile)
    exchanged = nl.ndarray((rows, height, width), dtype=x.dtype, buffer=nl.sbuf)
    for h in nl.affine_range(height):
        assert size > 0, "rewritten for slices that step forwards"
        nisa.activation(
            dst=exchanged.ap(pattern=[[height * width, rows], [size, (width + size - 1) // size]], offset=width * h),
            op=nl.exp,
            data=tile.ap(
                pattern=[[height * width, rows], [size, (width - 1 + size - 1) // size]], offset=width * h + 1
            ),
        )
        assert size > 0, "rewritten for slices that step forwards"
        nisa.dma_copy(
            dst=exchanged.ap(
                pattern=[[height * width, rows], [size, (width - 1 + size - 1) // size]], offset=width * h + 1
            ),
            src=x.ap(pattern=[[height * width, rows], [2, (width + 1) // 2]], offset=width * h),
        )
    nl.store(turned, value=exchanged)
    return squares, turned
