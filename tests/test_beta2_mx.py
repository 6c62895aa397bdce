"""Microscaling formats: packed types, quantize_mx and nc_matmul_mx against NumPy, the way that tutorials use them."""

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.runtime.beta2 import launch
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.errors import KernelError
from nki_migrate.runtime.packed import FORMATS, PACKED, format_of, pack, unpack
from nki_migrate.runtime.spec.hardware import TARGETS

execute = partial(launch.execute, version="0.2")

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]
GEN4 = TARGETS["gen4"]
QUANTIZED = ("float8_e5m2_x4", "float8_e4m3fn_x4")


@given(st.sampled_from(sorted(PACKED)), st.data())
def test_packing_is_the_inverse_of_unpacking(name, data):
    """Bit for bit, and element 0 is the lowest part: the order in which memory holds fp8 bytes and fp4 nibbles."""
    dtype = PACKED[name]
    codes = data.draw(st.lists(st.integers(0, 2 ** (8 * dtype.itemsize) - 1), min_size=1, max_size=8))
    packed = np.array(codes, f"u{dtype.itemsize}").view(dtype)
    elements = unpack(packed)
    assert elements.shape == (len(codes), 4)
    bits = format_of(dtype).bits
    lowest = np.array([code & (2**bits - 1) for code in codes], np.uint8).view(format_of(dtype).element)
    assert np.array_equal(elements[:, 0], lowest.astype(np.float32), equal_nan=True)
    if not np.isnan(elements).any():
        assert np.array_equal(pack(elements, dtype).view(f"u{dtype.itemsize}"), np.array(codes, f"u{dtype.itemsize}"))


@pytest.mark.parametrize("name", sorted(PACKED))
def test_largest_values_are_those_of_the_formats(name):
    layout = FORMATS[name]
    info = ml_dtypes.finfo(layout.element)
    assert float(info.max) == layout.largest
    assert int(np.log2(layout.largest)) == layout.exponent


def blocks(values):
    """(P, F) as an array of blocks of 8 partitions by 4 elements: (P / 8, F / 4, 32)."""
    partitions, elements = values.shape
    split = values.reshape(partitions // 8, 8, elements // 4, 4)
    return split.transpose(0, 2, 1, 3).reshape(partitions // 8, elements // 4, 32)


def quantize(src, dtype):
    partitions, elements = src.shape
    height = 4 if partitions == 32 else partitions
    tile = nl.ndarray(src.shape, src.dtype, nl.sbuf)
    nisa.dma_copy(dst=tile, src=src)
    data, scale = nl.ndarray((partitions, elements // 4), dtype, nl.sbuf), nl.ndarray((height, elements // 4), nl.uint8)
    nisa.memset(scale, 77)
    nisa.quantize_mx(dst=data, src=tile, dst_scale=scale)
    out = nl.ndarray(data.shape, dtype, nl.shared_hbm), nl.ndarray(scale.shape, nl.uint8, nl.shared_hbm)
    nisa.dma_copy(dst=out[0], src=data)
    nisa.dma_copy(dst=out[1], src=scale)
    return out


@pytest.mark.parametrize("name", QUANTIZED)
@pytest.mark.parametrize("partitions", [32, 64, 128])
def test_quantized_values_are_the_block_over_its_power_of_two(name, partitions):
    rng = np.random.default_rng(partitions)
    src = (rng.standard_normal((partitions, 24)) * 2.0 ** rng.integers(-20, 20, (partitions, 24))).astype(np.float32)
    src = src.astype(ml_dtypes.bfloat16)
    data, scale = execute(quantize, {"src": src, "dtype": PACKED[name]}, target=GEN4).outputs
    layout = FORMATS[name]
    largest = np.abs(blocks(src.astype(np.float32))).max(axis=2)
    expected = np.floor(np.log2(largest)).astype(int) + 127 - layout.exponent
    rows = [32 * (block // 4) + block % 4 for block in range(partitions // 8)]
    assert np.array_equal(scale[rows], expected)
    untouched = np.setdiff1d(np.arange(scale.shape[0]), rows)
    assert (scale[untouched] == 77).all()
    factor = 2.0 ** (expected[:, :, None] - 127)
    wanted = np.clip(blocks(src.astype(np.float32)) / factor, -layout.largest, layout.largest).astype(layout.element)
    assert np.array_equal(blocks(unpack(data).reshape(src.shape)), wanted.astype(np.float32))


def test_a_block_of_zeros_has_scale_0_and_zeros():
    src = np.zeros((32, 4), np.float16)
    data, scale = execute(quantize, {"src": src, "dtype": PACKED[QUANTIZED[0]]}, target=GEN4).outputs
    assert not scale.any()
    assert not unpack(data).any()


def matmul(stationary, moving, stationary_scale, moving_scale, dtype, dst_dtype, repeat):
    """Load packed operands through uint8 HBM tensors, and the scales into their quadrants, as the tutorial does."""
    tiles = []
    for data, scale in ((stationary, stationary_scale), (moving, moving_scale)):
        partitions = data.shape[0]
        packed = data.shape[1] // dtype.itemsize
        tile = nl.ndarray((partitions, packed), dtype, nl.sbuf)
        nisa.dma_copy(dst=tile, src=data.ap(pattern=[[packed, partitions], [1, packed]], dtype=dtype))
        scales = nl.ndarray((partitions if partitions > 32 else 4, packed), nl.uint8, nl.sbuf)
        nisa.memset(scales, 255)
        for quadrant in range(partitions // 32):
            rows = scales[32 * quadrant : 32 * quadrant + 4, 0:packed]
            nisa.dma_copy(dst=rows, src=scale[4 * quadrant : 4 * quadrant + 4, 0:packed])
        tiles.append((tile, scales))
    (left, left_scale), (right, right_scale) = tiles
    psum = nl.ndarray((left.shape[1], right.shape[1]), dst_dtype, nl.psum)
    for _ in range(repeat):
        nisa.nc_matmul_mx(psum, left, right, stationary_scale=left_scale, moving_scale=right_scale)
    result = nl.ndarray(psum.shape, dst_dtype, nl.sbuf)
    nisa.tensor_copy(dst=result, src=psum)
    out = nl.ndarray(psum.shape, dst_dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out


def operand(rng, layout, partitions, columns):
    """Random packed bytes (P, columns * bytes), scales (P / 8, columns), and the values they stand for."""
    values = rng.uniform(-4, 4, (partitions, columns, 4)).astype(layout.element)
    scales = rng.integers(120, 134, (partitions // 8, columns)).astype(np.uint8)
    codes = values.view(np.uint8)
    if layout.bits == 4:
        codes = codes[..., 0::2] | (codes[..., 1::2] << 4)
    exact = values.astype(np.float64) * 2.0 ** (np.repeat(scales, 8, axis=0)[:, :, None].astype(int) - 127)
    return codes.reshape(partitions, -1), scales, exact


@pytest.mark.parametrize("name", sorted(PACKED))
@pytest.mark.parametrize(("partitions", "columns"), [(32, 4), (64, 40), (128, 512)])
def test_matmul_contracts_partitions_and_packed_elements(name, partitions, columns):
    rng = np.random.default_rng(columns)
    left, left_scale, a = operand(rng, FORMATS[name], partitions, 16)
    right, right_scale, b = operand(rng, FORMATS[name], partitions, columns)
    arguments = {
        "stationary": left,
        "moving": right,
        "stationary_scale": left_scale,
        "moving_scale": right_scale,
        "dtype": PACKED[name],
        "dst_dtype": nl.float32,
    }
    once, twice = (
        execute(matmul, {**arguments, "repeat": repeat}, target=GEN4).outputs[0].astype(np.float64) for repeat in (1, 2)
    )
    expected = np.einsum("kiq,kjq->ij", a, b)
    assert np.allclose(once, expected, rtol=1e-5, atol=1e-4 * np.abs(expected).max())
    assert np.allclose(twice, 2 * once, rtol=1e-6)
    narrow = execute(matmul, {**arguments, "repeat": 1, "dst_dtype": nl.bfloat16}, target=GEN4).outputs[0]
    assert np.array_equal(narrow, once.astype(np.float32).astype(ml_dtypes.bfloat16))


def refused(kernel, match, target=GEN4):
    with pytest.raises(KernelError, match=match):
        execute(kernel, {"x": np.zeros((1, 1), np.float32)}, target=target)


def tile(shape, dtype, buffer=None):
    tensor = nl.ndarray(shape, dtype, buffer or nl.sbuf)
    if tensor.dtype.names is None:
        nisa.memset(tensor, 0)
    return tensor


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda: (tile((32, 1), nl.float8_e5m2), tile((32, 4), nl.float16), tile((4, 1), nl.uint8)),
            "dst must be float8",
        ),
        (
            lambda: (tile((32, 1), nl.float8_e5m2_x4), tile((32, 4), nl.float32), tile((4, 1), nl.uint8)),
            "src must be fl",
        ),
        (lambda: (tile((32, 1), nl.float8_e5m2_x4), tile((32, 4), nl.float16), tile((4, 1), nl.int8)), "must be uint8"),
        (
            lambda: (tile((16, 1), nl.float8_e5m2_x4), tile((16, 4), nl.float16), tile((4, 1), nl.uint8)),
            "multiple of 32",
        ),
        (lambda: (tile((64, 1), nl.float8_e5m2_x4), tile((64, 4), nl.float16), tile((8, 1), nl.uint8)), "36 or more"),
        (
            lambda: (tile((32, 2), nl.float8_e5m2_x4), tile((32, 6), nl.float16), tile((4, 1), nl.uint8)),
            "multiple of 4",
        ),
    ],
)
def test_quantize_mx_refuses(call, match):
    refused(lambda x: nisa.quantize_mx(*call()), match)


@pytest.mark.parametrize(
    ("left", "right", "match"),
    [
        ((32, 2, "float8_e5m2"), (32, 2, "float8_e5m2_x4"), r"stationary must be of a packed type"),
        ((32, 2, "float8_e5m2_x4"), (64, 2, "float8_e5m2_x4"), "32 partitions, moving 64"),
        ((32, 3, "float8_e5m2_x4"), (32, 2, "float8_e5m2_x4"), "stationary must be even and at most 128, not 3"),
        ((32, 2, "float8_e5m2_x4"), (32, 514, "float8_e5m2_x4"), "moving must be at most 512, not 514"),
    ],
)
def test_nc_matmul_mx_refuses(left, right, match):
    def kernel(x):
        operands = [tile(shape, getattr(nl, name)) for *shape, name in (left, right)]
        scales = [tile((32, operand.shape[1]), nl.uint8) for operand in operands]
        psum = nl.ndarray((operands[0].shape[1], operands[1].shape[1]), nl.float32, nl.psum)
        nisa.nc_matmul_mx(psum, *operands, *scales)

    refused(kernel, match)


def test_both_need_the_fourth_core():
    def kernel(x):
        nisa.quantize_mx(x, x, x)

    refused(kernel, "quantize_mx needs NeuronCore-v4 or later, gen3 is v3", TARGETS["gen3"])
