"""Each tile of a filter, weighted and summed: the taps are counted by one loop over ``np.ndindex``."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def weighted_taps(image, taps):
    channels, height, width = image.shape
    _, rows, columns = taps.shape
    out_height, out_width = height - rows + 1, width - columns + 1
    out = nl.ndarray((channels, out_height, out_width), dtype=image.dtype, buffer=nl.shared_hbm)
    pixels = nl.load(image)
    weights = nl.load(taps)
    for y in nl.affine_range(out_height):
        line = nl.zeros((channels, out_width), dtype=nl.float32, buffer=nl.sbuf)
        for index in range(rows * columns):
            i = index // columns
            j = index % columns
            if i == j and rows > 2:
                continue
            part = nl.ndarray((channels, out_width), dtype=image.dtype, buffer=nl.sbuf)
            nisa.tensor_scalar(
                dst=part,
                data=pixels[:, y + i, j : j + out_width],
                op0=nl.multiply,
                operand0=weights[:, i, j : j + 1],
            )
            nisa.tensor_tensor(dst=line, data1=line, data2=part, op=nl.add)
        nl.store(out[:, y, :], line)
    return out
