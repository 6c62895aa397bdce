"""``nki.language``: declarations, loops, program identity, and the names that instructions take as arguments."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import session
from ..abridging import steps
from ..errors import KernelError, NotModelled
from ..memory import Array
from ..numerics import DTYPES, convert
from ..packed import PACKED
from ..spec import hardware
from . import isa_compute, state, values
from .buffers import BUFFERS, Buffer, buffer, machine_bytes
from .declare import constant as constant_tensor
from .declare import declare, declared_again
from .grids import GridSize, programs_of
from .isa_registers import untracked
from .loops import dynamic_range
from .objects import NKIObject
from .signature import builtin
from .tensor import NkiTensor
from .trace_tensor import TraceTensor, identity


@builtin("nki.language")
def ndarray(
    shape: Any,
    dtype: Any,
    buffer: Any = None,
    name: Any = None,
    address: Any = None,
    address_rotation: Any = None,
) -> NkiTensor:
    """A new tensor in ``buffer`` (default ``nl.sbuf``), not initialised.

    ``address`` is (start partition, byte in the partition), for SBUF and PSUM; a PSUM bank has 2048 bytes.
    ``name`` must be unique in the kernel.
    """
    if name is None and address is None:
        again = declared_again(shape, dtype, buffer)
        if again is not None:
            return again
    memory = BUFFERS["sbuf"] if buffer is None else buffer if type(buffer) is Buffer else _buffer(buffer)
    place = None if address is None else _address(address)
    return declare(values.shape_of(shape), values.data_type(dtype), memory, name or None, place)


_buffer = buffer


def _address(address: object) -> tuple[int, int]:
    if not isinstance(address, (tuple, list)) or len(address) != 2:
        raise KernelError("", f"expecting 'pair', got '{values.kind(address)}'")
    return values.natural(address[0]), values.natural(address[1])


@builtin("nki.language")
def zeros(shape: Any, dtype: Any, buffer: Any = None, name: Any = None) -> NkiTensor:
    """A new tensor filled with zeros (an ``ndarray`` and a ``memset``)."""
    tensor = ndarray(shape, dtype, buffer, name)
    if tensor.alloc.space == "hbm":
        tensor.array[...] = np.zeros((), tensor.dtype)
        untracked(tensor)
    else:
        isa_compute.memset(tensor, 0)
    return tensor


@builtin("nki.language")
def shared_constant(t: Any = None, constant: Any = None) -> NkiTensor:
    """A tensor in HBM with data known when the kernel is compiled.

    The argument is a ``nki.meta.tensor`` value or the path of a .npy file; 0.3 takes a numpy array as well.
    """
    given = constant if t is None else t
    if isinstance(given, str):
        data: Array = np.load(given)
    elif isinstance(given, TraceTensor):
        data = given.data
    elif isinstance(given, np.ndarray) and state.rules().numpy_constants:
        data = given
    else:
        raise KernelError("", f"expecting a 'tensor', got '{values.kind(given)}'")
    return _constant(data, values.data_type(data.dtype))


def _constant(data: Array, dtype: np.dtype[Any]) -> NkiTensor:
    return constant_tensor(np.ascontiguousarray(convert(data, dtype)), "constant")


@builtin("nki.language")
def shared_identity_matrix(n: Any, dtype: Any = "uint8", dst: Any = None) -> NkiTensor:
    """An ``n`` x ``n`` identity matrix in HBM; one for each size and type."""
    if dst is not None:
        raise NotModelled("nl.shared_identity_matrix with dst=")
    size, kind = values.natural(n), values.data_type(dtype)
    known = state.current().identities
    if (size, kind.name) not in known:
        known[size, kind.name] = _constant(identity(size, kind).data, kind)
    found = known[size, kind.name]
    assert isinstance(found, NkiTensor)
    return found


def affine_range(start: Any, stop: Any = None, step: Any = 1) -> Iterable[int]:
    """Python's ``range``: the loop is unrolled, whatever the hint says."""
    if stop is None and type(start) is int:
        return steps(range(start))
    indices = _range(start, stop, step)
    return programs_of(indices) if isinstance(start if stop is None else stop, GridSize) else steps(indices)


def sequential_range(start: Any, stop: Any = None, step: Any = 1) -> Sequence[int]:
    """Python's ``range``."""
    return steps(_range(start, stop, step))


def static_range(start: Any, stop: Any = None, step: Any = 1) -> range:
    """Python's ``range``."""
    return _range(start, stop, step)


def _range(start: object, stop: object, step: object) -> range:
    if stop is None:
        return range(values.integer(start))
    return range(values.integer(start), values.integer(stop), values.integer(step))


@builtin("nki.language")
def ds(start: Any, size: Any) -> slice:
    """The slice ``start : start + size``."""
    first = values.integer(start)
    return slice(first, first + values.integer(size))


@builtin("nki.language")
def par_dim(t: Any) -> Any:
    """Its argument, with a warning: Beta 2 has no block dimensions."""
    warnings.warn("par_dim is deprecated", DeprecationWarning, stacklevel=3)
    return t


@builtin("nki.language")
def program_id(axis: Any = 0) -> int:
    """Index of this program in the launch grid, which has one axis."""
    if values.integer(axis) != 0:
        raise KernelError("", f"invalid program axis {axis} (must be zero)")
    program = session.current().program
    return program[0] if program else 0


@builtin("nki.language")
def num_programs(axes: Any = None) -> int:
    """Number of programs in the launch grid."""
    if axes is not None and values.integer(axes) != 0:
        raise KernelError("", f"invalid program axis {axes} (must be zero)")
    grid = session.current().grid
    return grid[0] if grid else 1


@builtin("nki.language")
def program_ndim() -> int:
    """Dimensions of the launch grid: 0 without a grid (and outside of kernels, where library code asks too), else 1."""
    return len(session.current().grid) if session.in_kernel() else 0


@builtin("nki.language")
def unique_name(name: Any) -> str:
    """``name``, made unique."""
    return state.current().unique(str(name))


@builtin("nki.language")
def device_print(print_prefix: Any, tensor: Any, output_buffer: Any = None) -> None:
    """Print the values of a tensor."""
    if not isinstance(tensor, NkiTensor):
        raise KernelError("", f"expecting tensor access, got '{values.kind(tensor)}'")
    print(f"{print_prefix} {tensor.resolved().array.reshape(tensor.shape)}")


class TileSize:
    """``nl.tile_size``: limits of the target."""

    pmax = hardware.PARTITIONS
    psum_fmax = hardware.PSUM_FMAX
    gemm_stationary_fmax = hardware.GEMM_STATIONARY_FMAX
    gemm_moving_fmax = hardware.GEMM_MOVING_FMAX
    bn_stats_fmax = hardware.BN_STATS_FMAX
    psum_min_align = hardware.PSUM_MIN_ALIGN
    sbuf_min_align = hardware.SBUF_MIN_ALIGN

    @property
    def total_available_sbuf_size(self) -> int:
        """Usable SBUF bytes of one partition (the name notwithstanding) on the machine that runs."""
        if not session.in_kernel():
            return hardware.TARGETS[hardware.DEFAULT_TARGET].sbuf_bytes
        return machine_bytes()

    psum_bank_fmax = hardware.PSUM_FMAX
    psum_bank_fmax_bytes = hardware.PSUM_BANK_BYTES
    psum_fmax_bytes = hardware.PSUM_BANK_BYTES
    psum_num_banks = hardware.PSUM_BANKS

    @property
    def sbuf_fmax_bytes(self) -> int:
        """Usable SBUF bytes of one partition."""
        return self.total_available_sbuf_size

    @property
    def sbuf_fmax(self) -> int:
        """Usable SBUF of one partition, in fp32 elements."""
        return self.sbuf_fmax_bytes // 4

    @property
    def sbuf_size_bytes(self) -> int:
        """Usable SBUF bytes of all partitions."""
        return self.sbuf_fmax_bytes * hardware.PARTITIONS


tile_size = TileSize()

FUNCTIONS: Sequence[Any] = (
    ndarray,
    zeros,
    shared_constant,
    shared_identity_matrix,
    affine_range,
    sequential_range,
    static_range,
    dynamic_range,
    ds,
    par_dim,
    program_id,
    num_programs,
    program_ndim,
    unique_name,
    device_print,
)

MEMBERS: dict[str, Any] = {
    **{function.__name__: function for function in FUNCTIONS},
    **{name: values.Operator(name) for name in values.OPERATOR_NAMES},
    **DTYPES,
    **PACKED,
    "tfloat32": values.TFLOAT32,
    "bool": DTYPES["bool_"],
    "range": static_range,
    **BUFFERS,
    "tile_size": tile_size,
    "NKIObject": NKIObject,
}
"""What ``nki.language`` offers."""
