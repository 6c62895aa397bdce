"""The Neuron team's contributed kernels, apart from attention, normalisation and mixture of experts."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from . import EXACT, FP32, NOT_RUN, Compared, case, compared, normal, softmax
from .flash import gradients, masked_scores

TEAM = "/neuron-team-kernels"
UNCALLED = "no kernel calls it"
NOT_RUN.update(
    {
        (f"{TEAM}/conv.py", "write_dilated_tensor"): f"{UNCALLED}, and it stores nothing",
        (f"{TEAM}/flash_paged_attn_varlen/flash_attn_impl.py", "load_and_broadcast_q_update_preds"): UNCALLED,
        (f"{TEAM}/llama3_transformer.py", "__init_spmd_grid_size"): "only kernels that need private APIs call it",
        ("/reference/attention.py", "dropout_p_local"): "which elements are dropped only the chip's random bits say",
    }
)


@case(f"{TEAM}/cumsum.py", "cumsum")
def cumulative_sum(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import written

    x = normal(210, 300)
    found = written(module.cumsum, x.shape)(x, f_size=128)
    yield compared("[210, 300] by 128", found, x.astype(np.float64).cumsum(axis=-1), FP32)


@case(f"{TEAM}/RoPE.py", "RoPE")
def rotary(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import written

    x, angles = normal(64, 256), normal(32, 256, seed=1)
    cos, sin = np.cos(angles), np.sin(angles)
    for halves, grid in ((True, None), (False, None), (True, 2)):
        even, odd = (slice(0, 32), slice(32, 64)) if halves else (slice(0, 64, 2), slice(1, 64, 2))
        expected = np.empty_like(x)
        expected[even] = x[even] * cos - x[odd] * sin
        expected[odd] = x[odd] * cos + x[even] * sin
        run = written(module.RoPE, x.shape, grid=grid)
        found = run(x, cos, sin, lnc_shard=grid is not None, first_second_half_impl=halves)
        yield compared(f"{'halves' if halves else 'pairs'}{', two programs' if grid else ''}", found, expected, FP32)


@case(f"{TEAM}/transpose.py", "transpose_to_last_dim")
def to_last_dimension(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import written

    x = normal(2, 150, 3, 60)

    found = written(module.transpose_to_last_dim, (2, 180, 150))(x, 1)
    yield compared("[2, 150, 3, 60], 1", found, x.reshape(2, 150, 180).swapaxes(1, 2), EXACT)


@case(f"{TEAM}/transpose.py", "tiled_dve_transpose_10", "tiled_dve_transpose_210")
def transposes(module: ModuleType, name: str) -> Iterator[Compared]:
    for shape in ((3, 60, 9, 7), (2, 30, 50, 100), (140, 2, 5, 3)):
        x = normal(*shape)
        if name.endswith("210"):
            yield compared(str(list(shape)), module.tiled_dve_transpose_210(x), x.transpose(0, 3, 2, 1), EXACT)
        else:
            found = module.tiled_dve_transpose_10(x, permutation=[0, 1, 3, 2])
            yield compared(str(list(shape)), found, x.transpose(0, 1, 3, 2), EXACT)


# --- parts that work on tiles ----------------------------------------------------------------------------------------


@case(f"{TEAM}/helper_kernels.py", "softmax_kernel")
def softmax_part(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import launched

    x, kernels = normal(100, 256), launched(module)
    for scale in (0.5, -0.5):
        found = kernels.softmax_of_tile(x, scale)
        yield compared(f"scaled by {scale}", found, softmax(x.astype(np.float64) * scale), FP32)
    yield compared("over two programs", kernels.softmax_of_programs[2](x), softmax(x.astype(np.float64)), FP32)


@case(f"{TEAM}/helper_kernels.py", "softmax_rsum_kernel")
def softmax_sum_part(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import launched

    x = np.abs(normal(100, 256))
    found = launched(module).inverse_sum_of_tile(x)
    yield compared("one over the sum", found, 1 / x.sum(axis=1, keepdims=True), FP32)


@case(f"{TEAM}/helper_kernels.py", "softmax_dx_kernel")
def softmax_gradient_part(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import launched

    y, dy = softmax(normal(100, 256)), normal(100, 256, seed=1)
    found = launched(module).softmax_gradient_of_tile(y, dy)
    yield compared("[100, 256]", found, (dy - (dy * y).sum(axis=1, keepdims=True)) * y, FP32)


@case(f"{TEAM}/helper_kernels.py", "rmsnorm_tensor_reduce_kernel")
def rmsnorm_part(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import launched

    x, weight = normal(100, 256), normal(100, 256, seed=1)
    # The kernel multiplies by what its last instruction, a square root, gives.
    root = np.sqrt(np.square(x, dtype=np.float64).mean(axis=1, keepdims=True) + 1e-6)
    yield compared("times the root, as written", launched(module).rmsnorm_of_tile(x, weight), x * weight * root, FP32)


@case(f"{TEAM}/attention.py", "fused_self_attn_bwd")
def attention_gradient(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import written

    shape = (1, 2, 128, 512)
    q, k, v, dy = (normal(*shape, seed=i) for i in range(4))
    for causal in (False, True):
        p = softmax(masked_scores(q, k, causal=causal))
        run = written(module.fused_self_attn_bwd, shape, shape, shape, grid=(1, 2))
        found = run(q, k, v, dy, use_causal_mask=causal, mixed_precision=True)
        for part, one, other in zip(("dq", "dk", "dv"), found, gradients(q, k, v, dy, p), strict=True):
            yield compared(f"{'causal' if causal else 'all keys'} {part}", one, other, FP32)


@case(f"{TEAM}/llama3_transformer.py", "transpose_and_RoPE")
def transposed_rotary(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import written

    x, angles = normal(1, 256, 384), normal(64, 256, seed=1)
    cos, sin = np.cos(angles), np.sin(angles)
    turned = x[0, :, 128:256].T
    expected = np.concatenate([turned[:64] * cos - turned[64:] * sin, turned[64:] * cos + turned[:64] * sin])

    run = written(module.transpose_and_RoPE, (1, 128, 256), (1, 128, 256))
    head, found = run(x, cos, sin, 1, 256, 128, 128, lnc_shard=False)
    yield compared("head", head[0], turned, EXACT)
    yield compared("rotated", found[0], expected, FP32)


@case(f"{TEAM}/llama3_transformer.py", "matmul_o_proj")
def output_projection(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import written

    x, weight = normal(2, 256, 256), normal(256, 512, seed=1)
    found = written(module.matmul_o_proj, (2, 256, 512))(x, weight)
    yield compared("2 x 256 x 512", found, x.astype(np.float64).swapaxes(1, 2) @ weight, FP32)


# --- convolutions ----------------------------------------------------------------------------------------------------


def convolved(
    image: Any, kernel: Any, padding: Any, stride: Any = (1, 1), dilation: Any = (1, 1), spread: Any = (1, 1)
) -> Any:
    """Correlation of (N, C, H, W) with (O, C, h, w): ``dilation`` of the kernel, zeros ``spread`` in the image."""
    n, c, height, width = image.shape
    wide = np.zeros((n, c, (height - 1) * spread[0] + 1, (width - 1) * spread[1] + 1))
    wide[:, :, :: spread[0], :: spread[1]] = image
    wide = np.pad(wide, ((0, 0), (0, 0), *padding))
    rows = (wide.shape[2] - (kernel.shape[2] - 1) * dilation[0] - 1) // stride[0] + 1
    columns = (wide.shape[3] - (kernel.shape[3] - 1) * dilation[1] - 1) // stride[1] + 1
    out = np.zeros((n, kernel.shape[0], rows, columns))
    for y, x in np.ndindex(kernel.shape[2:]):
        top, left = y * dilation[0], x * dilation[1]
        seen = wide[:, :, top : top + rows * stride[0] : stride[0], left : left + columns * stride[1] : stride[1]]
        out += np.einsum("nchw,oc->nohw", seen, kernel[:, :, y, x])
    return out


def depthwise(image: Any, kernel: Any, padding: Any, **options: Any) -> Any:
    """Correlation of each channel of (N, C, H, W) with its own (h, w) of (C, h, w)."""
    each = [convolved(image[:, c : c + 1], kernel[None, c : c + 1], padding, **options) for c in range(len(kernel))]
    return np.concatenate(each, axis=1)


@case(f"{TEAM}/conv.py", "conv2d")
def convolution(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import written

    image, kernel = normal(2, 3, 10, 9), normal(4, 3, 3, 3, seed=1)
    for padding, dilation in (([[1, 1], [1, 1]], (1, 1)), ([[2, 1], [0, 2]], (2, 2))):
        expected = convolved(image, kernel, padding, dilation=dilation)
        run = written(module.conv2d, expected.shape)
        found = run(image, kernel, padding=padding, rhs_dilation=dilation)
        yield compared(f"padding {padding}, dilation {dilation}", found, expected, FP32)


@case(f"{TEAM}/conv.py", "conv2d_depthwise_f01b_o01i_bf01")
def depthwise_convolution(module: ModuleType) -> Iterator[Compared]:
    from .wrappers import written

    for batch, padding, spread in ((1, [[1, 1], [1, 1]], (1, 1)), (2, [[1, 1], [2, 1]], (2, 2))):
        image, kernel = normal(batch, 5, 6, 4), normal(5, 3, 3, seed=1)
        expected = depthwise(image, kernel, padding, spread=spread)
        options = {"padding": padding, "stride": [1, 1], "rhs_dilation": [1, 1], "lhs_dilation": spread}
        run = written(module.conv2d_depthwise_f01b_o01i_bf01, expected.shape)
        found = run(np.ascontiguousarray(image.transpose(1, 2, 3, 0)), kernel[..., None], **options)
        yield compared(f"{batch} images, spread {spread}", found, expected, FP32)


@case(f"{TEAM}/conv.py", "conv2d_pbp_0f1b_0i1o_01fb_experimental_1", "conv2d_pbp_fb01_io01_01bf_kernel_experimental_1")
def batched_convolution(module: ModuleType, name: str) -> Iterator[Compared]:
    from .wrappers import written

    image, kernel = normal(5, 3, 7, 6), normal(4, 3, 3, 2, seed=1)
    expected = convolved(image, kernel, [[1, 1], [1, 1]])
    if "0f1b" in name:
        given, weights, order = image.transpose(2, 1, 3, 0), kernel.transpose(2, 1, 3, 0), (2, 3, 1, 0)
    else:
        given, weights, order = image.transpose(1, 0, 2, 3), kernel.transpose(1, 0, 2, 3), (2, 3, 0, 1)
    expected = expected.transpose(order)
    run = written(getattr(module, name), expected.shape)
    found = run(np.ascontiguousarray(given), np.ascontiguousarray(weights), padding=[1, 1], stride=[1, 1])
    yield compared("5 images", found, expected, FP32)


@case(f"{TEAM}/conv.py", "conv1d_depthwise_default", "conv1d_depthwise_f_packing")
def depthwise_1d(module: ModuleType, name: str) -> Iterator[Compared]:
    from .wrappers import written

    width = 20 if name == "conv1d_depthwise_default" else 400
    image, kernel = normal(1, 256, 1, width), normal(256, 1, 5, seed=1)
    expected = depthwise(image, kernel, [[0, 0], [2, 2]])
    run = written(module.conv1d_depthwise_bf01_oi01_bf01, expected.shape)
    found = run(image, kernel[:, None], padding=[[0, 0], [2, 2]])
    yield compared(f"256 channels, width {width}", found, expected, FP32)


@case(f"{TEAM}/conv.py", "conv2d_column_packing", "conv2d_column_packing_io10", "conv2d_column_packing_1")
def packed_convolution(module: ModuleType, name: str) -> Iterator[Compared]:
    from .wrappers import written

    options = {"padding": [[1, 1], [1, 1]], "stride": [1, 1], "rhs_dilation": (1, 1)}
    groups, inputs = 6, 1 if name.endswith("_1") else 3
    image, kernel = normal(inputs, groups, 8, 7), normal(inputs, groups, 3, 2, seed=1)
    channels = [depthwise(image[c : c + 1], kernel[c], options["padding"])[0] for c in range(inputs)]
    expected = sum(channels).transpose(1, 2, 0)[:, :, None]
    if name.endswith("_1"):
        expected = np.ascontiguousarray(expected[:, :, 0].transpose(2, 0, 1))[None]
        run = written(module.conv2d_column_packing_1, expected.shape)
        order = [0, 1, 2, 3]
        found = run(image, kernel[0][:, None], feature_group_count=groups, kern_perm=order, out_perm=order, **options)
    else:
        turned = name.endswith("io10")
        run = written(getattr(module, name), expected.shape)
        weights = np.ascontiguousarray(kernel.swapaxes(2, 3)) if turned else kernel
        permutation = [1, 0, 3, 2] if turned else [1, 0, 2, 3]
        found = run(image, weights, batch_group_count=groups, in_perm=[1, 0, 2, 3], kern_perm=permutation, **options)
    yield compared(f"{groups} groups", found, expected, FP32)
