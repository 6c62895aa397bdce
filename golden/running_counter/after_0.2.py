"""Row maxima of several tiles, with a running address for everything in SBUF."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def peaks(x):
    """(T, P, F) gives (T + 1, P, 1): the largest element of each row, and of all the rows of one partition."""
    tiles, rows, columns = x.shape
    itemsize = 4
    out = nl.ndarray((tiles + 1, rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)

    cur_addr = 0
    tile = nl.ndarray((rows, tiles, columns), dtype=nl.float32, buffer=nl.sbuf, address=(0, cur_addr))
    cur_addr += tiles * columns * itemsize
    found = nl.ndarray((rows, tiles), dtype=nl.float32, buffer=nl.sbuf, address=(0, cur_addr))
    cur_addr += tiles * itemsize

    cur_addr_before_loop = cur_addr
    for t in nl.affine_range(tiles):
        cur_addr = cur_addr_before_loop
        nisa.dma_copy(dst=tile[:, t, :], src=x[t])
        # the body is traced once: these two tiles have one address each, whatever the number of tiles
        doubled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf, address=(0, cur_addr))
        cur_addr += columns * itemsize
        peak = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, cur_addr))
        cur_addr += 1 * itemsize
        nisa.tensor_tensor(dst=doubled, data1=tile[:, t, :], data2=tile[:, t, :], op=nl.add)
        nisa.tensor_reduce(dst=peak, op=nl.maximum, data=doubled, axis=1)
        nisa.tensor_scalar(dst=found[0:rows, t : t + 1], data=peak, op0=nl.multiply, operand0=0.5)
        nisa.dma_copy(dst=out[t], src=found[0:rows, t : t + 1])

    highest = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, cur_addr))
    nisa.tensor_reduce(dst=highest, op=nl.maximum, data=found, axis=1)
    nisa.dma_copy(dst=out[tiles], src=highest)
    return out
