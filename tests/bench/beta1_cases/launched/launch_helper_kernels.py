"""Kernels that load tiles, call a part of a larger kernel with them, and store the tile that it returns."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from helper_kernels import rmsnorm_tensor_reduce_kernel, softmax_dx_kernel, softmax_kernel, softmax_rsum_kernel


@nki.jit
def softmax_of_tile(x, scale):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, value=softmax_kernel(nl.load(x), nl.float32, (1,), (), scale, None))
    return out


@nki.jit
def softmax_of_programs(x):
    """Each program takes its share of the columns."""
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    width = x.shape[1] // nl.num_programs(0)
    share = nl.ds(nl.program_id(0) * width, width)
    nl.store(
        out[:, share], value=softmax_kernel(nl.load(x[:, share]), nl.float32, (1,), (nl.program_id(0),), 1.0, None)
    )
    return out


@nki.jit
def inverse_sum_of_tile(x):
    out = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, value=softmax_rsum_kernel(nl.load(x), nl.float32, (1,), (), None))
    return out


@nki.jit
def softmax_gradient_of_tile(y, dy):
    out = nl.ndarray(y.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, value=softmax_dx_kernel(nl.load(dy), nl.load(y), nl.float32, (1,), (), None))
    return out


@nki.jit
def rmsnorm_of_tile(x, weight):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    found = rmsnorm_tensor_reduce_kernel(nl.load(x), nl.load(weight), nl.float32, (1,), (), x.shape[1], 1e-6, None)
    nl.store(out, value=found)
    return out
