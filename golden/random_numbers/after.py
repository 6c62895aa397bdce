"""Dropout of a tile, with a seed that each block of columns has for itself."""

import nki
import nki.language as nl
import nki.isa as nisa

BLOCK = 64


def itemsize(dtype):
    """Bytes of one element of a data type."""
    name = str(dtype)
    if name == str(nl.float32) or name == str(nl.int32) or name == str(nl.uint32):
        return 4
    if name == str(nl.bfloat16) or name == str(nl.float16) or name == str(nl.int16) or name == str(nl.uint16):
        return 2
    if name == str(nl.int8) or name == str(nl.uint8) or name == str(nl.bool_):
        return 1
    if name == str(nl.float8_e4m3) or name == str(nl.float8_e5m2):
        return 1
    assert False, "itemsize: unknown data type"


def promoted_dtype(a, b):
    """The data type of an operation on two data types, as NKI Beta 1 chose it."""
    x = str(a)
    y = str(b)
    if x == y:
        return a
    if x == str(nl.float32) or y == str(nl.float32):
        return nl.float32
    if x == str(nl.tfloat32) or y == str(nl.tfloat32):
        return nl.tfloat32
    half_a = x == str(nl.bfloat16) or x == str(nl.float16)
    half_b = y == str(nl.bfloat16) or y == str(nl.float16)
    if half_a and half_b:
        return nl.float32
    if half_a or half_b:
        return a if half_a else b
    quarter_a = x == str(nl.float8_e4m3) or x == str(nl.float8_e5m2)
    quarter_b = y == str(nl.float8_e4m3) or y == str(nl.float8_e5m2)
    if quarter_a and quarter_b:
        return nl.bfloat16
    if quarter_a or quarter_b:
        return a if quarter_a else b
    signed_a = x == str(nl.int8) or x == str(nl.int16) or x == str(nl.int32)
    signed_b = y == str(nl.int8) or y == str(nl.int16) or y == str(nl.int32)
    bytes_a = itemsize(a)
    bytes_b = itemsize(b)
    if signed_a == signed_b:
        return a if bytes_a > bytes_b or y == str(nl.bool_) else b
    signed = bytes_a if signed_a else bytes_b
    unsigned = bytes_b if signed_a else bytes_a
    needed = signed if signed > unsigned else 2 * unsigned
    if needed == 2:
        return nl.int16
    return nl.int32 if needed == 4 else nl.float32


@nki.jit
def dropped(x, seed, rate):
    """(P, F) gives (P, F): elements become 0 with probability ``rate``, the others are scaled."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(seed.shape) == 2, "rewritten for 2 dimensions"
    seed_tile = nl.load(seed[0:1, 0:1])
    rate_tile = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=rate_tile, value=rate)
    tile = nl.load(x)
    for block in nl.sequential_range(columns // BLOCK):
        add_tile = nl.ndarray(
            (1, 1),
            dtype=promoted_dtype(
                seed.dtype, (nl.float32 if isinstance(block, float) else nl.int32)
            ),
            buffer=nl.sbuf,
        )
        nisa.tensor_scalar(dst=add_tile, data=seed_tile, op0=nl.add, operand0=block)
        assert (
            add_tile.dtype == nl.int32 or add_tile.dtype == nl.uint32
        ), "rewritten for a seed of 32 bits"
        nisa.set_rng_seed(src_seeds=add_tile)
        part = nl.ndarray((rows, BLOCK), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dropout(dst=part, data=tile[0:rows, nl.ds(block * BLOCK, BLOCK)], prob=rate_tile)
        scaled = nl.ndarray((rows, BLOCK), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=scaled, data=part, op0=nl.multiply, operand0=1 / (1 - rate))
        nl.store(out[0:rows, nl.ds(block * BLOCK, BLOCK)], scaled)
    return out


@nki.jit
def half(x):
    """(P, F) gives (P, F): every element stays with probability 1/2."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    memset_tile = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=memset_tile, value=17)
    nisa.set_rng_seed(src_seeds=memset_tile)
    assert len(x.shape) > 1, "rewritten for 2 dimensions at least"
    x_tile = nl.load(x)
    dropout_tile = nl.ndarray(x_tile.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dropout(dst=dropout_tile, data=x_tile, prob=0.5)
    nl.store(out, dropout_tile)
    return out
