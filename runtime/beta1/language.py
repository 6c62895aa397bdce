"""``neuronxcc.nki.language``: the names that kernels know as ``nl``."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .. import isa
from ..errors import KernelError
from ..naming import bound_name
from ..numerics import DTYPES
from ..session import current, in_kernel
from ..spec import hardware
from . import arithmetic, composites, creation, declarations, grid, loops, movement, reductions, special
from .assignment import Reduction, assign
from .base import Tensor
from .indexing import MeshGrid, arange
from .pending import accumulate, call_of
from .regions import region
from .tensor import Tile
from .tokens import BFP16, FP32, PRIVATE_HBM, PSUM, SBUF, SHARED_HBM, ParDim, Slice, dtype_of, operator_token

_UNARY = (
    "abs arctan ceil cos erf erf_dx exp gelu gelu_apprx_sigmoid gelu_apprx_tanh gelu_dx log mish "
    "relu rsqrt sigmoid sign silu silu_dx sin softplus sqrt square tan tanh trunc"
).split()
_BINARY = (
    "add bitwise_and bitwise_or bitwise_xor left_shift maximum minimum multiply power right_shift subtract"
).split()
_CONDITIONS = "equal greater greater_equal less less_equal logical_and logical_or logical_xor not_equal".split()


def _unary(name: str) -> Any:
    def function(x: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
        return arithmetic.unary(call_of(name, mask), x, dtype)

    return _named(function, name, f"``{name}`` of a tile, element by element.")


def _binary(name: str) -> Any:
    def function(x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
        return arithmetic.elementwise(call_of(name, mask), x, y, dtype)

    return _named(function, name, f"``{name}`` of two tiles, or a tile and a number, element by element.")


def fmod(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The remainder with the sign of ``x``."""
    return arithmetic.elementwise(call_of("fmod", mask), x, y, dtype)


def _condition(name: str) -> Any:
    def function(x: Any, y: Any, *, dtype: Any = bool, mask: Any = None, **_: Any) -> Tile:
        return arithmetic.elementwise(call_of(name, mask), x, y, None if dtype is bool else dtype)

    return _named(function, name, f"Is ``{name}`` true of two tiles, or a tile and a number, element by element?")


def logical_not(x: Any, *, dtype: Any = bool, mask: Any = None, **_: Any) -> Tile:
    """Is each element 0?"""
    return arithmetic.elementwise(call_of("equal", mask), x, 0.0, None if dtype is bool else dtype)


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def negative(x: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """``-x``, element by element."""
    return arithmetic.negated(x, dtype=dtype, mask=mask)


def reciprocal(x: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """``1 / x``, element by element."""
    return arithmetic.reciprocal(call_of("reciprocal", mask), x, dtype)


def invert(x: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """``~x``, element by element."""
    return arithmetic.inverted(x)


def par_dim(n: Any) -> ParDim:
    """Mark ``n`` as the partition dimension of a shape."""
    return ParDim(int(n))


def ds(start: Any, size: Any) -> Slice:
    """The slice ``start : start + size``."""
    return Slice(start, int(size))


def nc(n: int) -> int:
    """A dimension of the launch grid that is spread over ``n`` physical NeuronCores."""
    return int(n)


def spmd_dim(*dims: int) -> int:
    """One dimension of the launch grid made of several."""
    total = 1
    for n in dims:
        total *= int(n)
    return total


def static_cast(input_data: Any, dtype: Any) -> Any:
    """A number or numpy array of the host, converted to ``dtype``; a tile is copied into a tile of that type."""
    if isinstance(input_data, Tensor):
        return movement.copy(input_data, dtype=dtype)
    return np.asarray(input_data).astype(dtype_of(dtype))


def sizeinbytes(dtype: Any) -> int:
    """Bytes of one element of ``dtype``."""
    return dtype_of(dtype).itemsize


def finfo(dtype: Any) -> Any:
    """``min``, ``max``, ``eps`` ... of a floating point type."""
    found: Any = ml_dtypes.finfo  # untyped upstream
    return found(dtype_of(dtype))


def loop_reduce(x: Any, op: Any, loop_indices: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """``b[...] = loop_reduce(a, op, loop_indices)`` is ``b = op(b, a)`` in every iteration.

    Also ``b = loop_reduce(...)``, where ``b`` is a tile from before the loop.
    """
    call = call_of("loop_reduce", mask)
    tile = call.tile("x", x)
    pending = Reduction()
    pending.hold(call, None, tile.shape, tile.dtype, SBUF, call.region)
    pending.call, pending.operand, pending.operator = call, tile, operator_token(op)
    name = None if call.frame is None else bound_name(call.frame)
    bound = None if call.frame is None or name is None else call.frame.f_locals.get(name[0])
    if isinstance(bound, Tile):
        assign(bound, pending)
        return bound
    return pending


def atomic_rmw(dst: Any, value: Any, op: Any, *, mask: Any = None, **_: Any) -> None:
    """``dst = op(dst, value)`` in HBM; ``dst`` is an indirect access, ``op`` np.add."""
    call = call_of("atomic_rmw", mask)
    if operator_token(op) != "add":
        raise KernelError("", f"op of 'atomic_rmw' must be np.add, got {op!r}")
    target = call.tile("dst", dst, "hbm")
    if call.region.skip:
        return
    if isinstance(value, Tensor):
        source = call.tile("value", value)
        result = isa.copy("dma_copy", call.view(source))
    else:
        result = isa.memset(target.shape, value, target.dtype)
    result.attributes = (*result.attributes, ("dst_rmw_op", "add"))
    accumulate(call, result, target)


def device_print(prefix: Any, x: Any, *, mask: Any = None, **_: Any) -> None:
    """Print the values of a tile, where ``mask`` holds."""
    where = region(mask)
    if not where.skip:
        print(prefix, x.as_tile().view_in(where).array if isinstance(x, Tensor) else x)


def gemm_grid() -> Any:
    """Index vectors of a matmul result: all partitions by the largest moving operand."""
    return MeshGrid()[0 : hardware.PARTITIONS, 0 : hardware.GEMM_MOVING_FMAX]


def gemm_stationary_grid() -> Any:
    """Index vectors of the largest stationary operand."""
    return MeshGrid()[0 : hardware.PARTITIONS, 0 : hardware.GEMM_STATIONARY_FMAX]


class TileSize:
    """``nl.tile_size``: limits of the hardware."""

    pmax = hardware.PARTITIONS
    psum_fmax = hardware.PSUM_FMAX
    gemm_stationary_fmax = hardware.GEMM_STATIONARY_FMAX
    gemm_moving_fmax = hardware.GEMM_MOVING_FMAX
    bn_stats_fmax = hardware.BN_STATS_FMAX
    psum_min_align = hardware.PSUM_MIN_ALIGN
    sbuf_min_align = hardware.SBUF_MIN_ALIGN

    @property
    def total_available_sbuf_size(self) -> int:
        """Usable bytes of an SBUF partition of the target."""
        target = current().machine.target if in_kernel() else hardware.TARGETS[hardware.DEFAULT_TARGET]
        return target.sbuf_bytes


CONSTANTS: dict[str, Any] = {
    "psum_min_align": hardware.PSUM_MIN_ALIGN,
    "sbuf_min_align": hardware.SBUF_MIN_ALIGN,
    "sizeinbytes": sizeinbytes,
}

MEMBERS: dict[str, Any] = {
    **{name: dtype for name, dtype in DTYPES.items() if name != "float8_e4m3fn"},
    **{name: _unary(name) for name in _UNARY},
    **{name: _binary(name) for name in _BINARY},
    "divide": arithmetic.divide,
    "fmod": fmod,
    "mod": composites.mod,
    "floor": composites.floor,
    **{name: _condition(name) for name in _CONDITIONS},
    "logical_not": logical_not,
    "tfloat32": np.dtype("V4"),
    "fp32": FP32,
    "bfp16": BFP16,
    "all": reductions.all_true,
    "all_reduce": reductions.all_reduce,
    "max": reductions.reduction("max", "maximum"),
    "mean": composites.mean,
    "min": reductions.reduction("min", "minimum"),
    "prod": reductions.reduction("prod", "multiply"),
    "sum": reductions.reduction("sum", "add"),
    "var": composites.var,
    "softmax": composites.softmax,
    "rms_norm": composites.rms_norm,
    "affine_range": loops.affine_range,
    "arange": arange,
    "atomic_rmw": atomic_rmw,
    "broadcast_to": composites.broadcast_to,
    "copy": movement.copy,
    "device_print": device_print,
    "dropout": special.nl_dropout,
    "ds": ds,
    "empty_like": declarations.empty_like,
    "expand_dims": movement.expand_dims,
    "finfo": finfo,
    "full": creation.full,
    "gather_flattened": special.gather_flattened,
    "gemm_grid": gemm_grid,
    "gemm_stationary_grid": gemm_stationary_grid,
    "hbm": PRIVATE_HBM,
    "invert": invert,
    "load": movement.load,
    "load_transpose2d": movement.load_transpose2d,
    "loop_reduce": loop_reduce,
    "matmul": composites.matmul,
    "mgrid": MeshGrid(),
    "nc": nc,
    "ndarray": declarations.ndarray,
    "negative": negative,
    "num_programs": grid.num_programs,
    "ones": creation.ones,
    "par_dim": par_dim,
    "private_hbm": PRIVATE_HBM,
    "program_id": grid.program_id,
    "program_ndim": grid.program_ndim,
    "psum": PSUM,
    "rand": special.rand,
    "random_seed": special.random_seed,
    "reciprocal": reciprocal,
    "sbuf": SBUF,
    "sequential_range": loops.sequential_range,
    "shared_constant": declarations.shared_constant,
    "shared_hbm": SHARED_HBM,
    "shared_identity_matrix": declarations.shared_identity_matrix,
    "sizeinbytes": sizeinbytes,
    "spmd_dim": spmd_dim,
    "static_cast": static_cast,
    "static_range": loops.static_range,
    "store": movement.store,
    "tile_size": TileSize(),
    "transpose": composites.transpose,
    "where": composites.where,
    "zeros": creation.zeros,
    "zeros_like": creation.zeros_like,
}
