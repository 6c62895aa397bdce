"""A product in a microscaling format: both sides are quantized on the device, four elements to one."""

import nki
import nki.isa as nisa
import nki.language as nl


def quantized(source, dtype):
    """The packed tile of a bfloat16 tensor in HBM, and its scales."""
    rows, columns = source.shape
    tile = nl.ndarray((rows, columns), dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    packed = nl.ndarray((rows, columns // 4), dtype=dtype, buffer=nl.sbuf)
    scale = nl.ndarray((rows, columns // 4), dtype=nl.float8_e8m0fnu, buffer=nl.sbuf)
    nisa.quantize_mx(dst=packed, src=tile, dst_scale=scale)
    return packed, scale


@nki.jit
def product(weights, x):
    """(128, 4 M) and (128, 4 N) bfloat16, four elements of the sum beside each other, give (M, N) float32."""
    rows = weights.shape[1] // 4
    columns = x.shape[1] // 4
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    stationary = nl.ndarray((128, rows), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
    stationary_scale = nl.ndarray((128, rows), dtype=nl.float8_e8m0fnu, buffer=nl.sbuf)
    loaded = nl.ndarray((128, rows * 4), dtype=weights.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=loaded, src=weights)
    nisa.quantize_mx(dst=stationary, src=loaded, dst_scale=stationary_scale)
    moving, moving_scale = quantized(x, nl.float8_e5m2_x4)
    acc = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul_mx(
        dst=acc, stationary=stationary, moving=moving, stationary_scale=stationary_scale, moving_scale=moving_scale
    )
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=acc)
    nisa.dma_copy(dst=out, src=result)
    return out
