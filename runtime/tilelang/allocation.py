"""The calls that allocate, in every form that a version from 0.1.7 on takes."""

from __future__ import annotations

from typing import Any

from ..errors import KernelError, NotModelled, user_location
from .builder import current
from .ir import Buffer, Load, value
from .members import MEMBERS, member
from .types import type_name


def _allocated(shape: Any, dtype: Any, scope: str) -> Buffer:
    return current().allocate(shape, type_name(dtype), scope)


@member
def alloc_shared(shape: Any, dtype: Any, scope: str = "shared.dyn") -> Buffer:
    """Shared memory of a block. A buffer of truth values is static, whatever is asked for."""
    return _allocated(shape, dtype, "shared" if type_name(dtype) == "bool" else scope)


@member
def alloc_local(shape: Any, dtype: Any, scope: str = "local") -> Buffer:
    """Registers of each thread."""
    return _allocated(shape, dtype, scope)


@member
def alloc_fragment(shape: Any, dtype: Any, scope: str = "local.fragment") -> Buffer:
    """Registers of a block, spread over its threads."""
    return _allocated(shape, dtype, scope)


@member
def alloc_global(shape: Any, dtype: Any, scope: str = "global") -> Buffer:
    """A workspace in global memory."""
    return _allocated(shape, dtype, scope)


MEMBERS["sblock_alloc_buffer"] = lambda shape, dtype="float32", scope="global": _allocated(shape, dtype, scope)


@member
def alloc_var(dtype: Any, *args: Any, scope: str = "local.var", init: Any = None) -> Buffer:
    """A variable of each thread; ``(init, scope)`` behind the type, or a scope alone."""
    if len(args) == 1 and isinstance(args[0], str) and init is None and scope == "local.var":
        scope, args = args[0], ()
    if args and init is not None:
        raise KernelError("", "TypeError: Initializer specified multiple times in alloc_var.")
    if len(args) > 2:
        raise KernelError("", f"alloc_var expected at most 3 positional arguments but got {len(args) + 1}.")
    if args:
        init = args[0]
    if len(args) == 2:
        scope = args[1]
    if not isinstance(scope, str):
        raise KernelError("", "TypeError: Scope must be provided as a string in alloc_var.")
    made = _allocated((1,), dtype, scope)
    if init is not None:
        made[0] = init
    return made


@member
def alloc_barrier(arrive_count: Any) -> Buffer:
    """A barrier, or one for each count of a list."""
    return _barriers(arrive_count, "alloc_barrier", "shared.barrier")


@member
def alloc_cluster_barrier(arrive_count: Any) -> Buffer:
    """Barriers of a cluster of blocks."""
    return _barriers(arrive_count, "alloc_cluster_barrier", "shared.cluster_barrier")


def _barriers(arrive_count: Any, name: str, scope: str) -> Buffer:
    counts = [arrive_count] if isinstance(arrive_count, int) else [int(each) for each in arrive_count]
    if any(count <= 0 for count in counts):
        raise KernelError("", f"{name}: arrive_count must be at least 1, got {counts}")
    made = _allocated((len(counts),), "uint64", scope)
    made.counts = tuple(counts)
    return made


@member
def create_list_of_mbarrier(*counts: Any) -> None:
    """The barriers of 0.1.7, which have numbers."""
    given = list(counts[0]) if len(counts) == 1 and isinstance(counts[0], list) else list(counts)
    made = _barriers(given, "create_list_of_mbarrier", "shared.barrier")
    made.name = "mbars"
    current().mbarriers = made


@member
def get_mbarrier(number: Any) -> Load:
    found = current().mbarriers
    if found is None:
        raise KernelError("", "get_mbarrier without create_list_of_mbarrier")
    return Load(found, (value(number),))


@member
def alloc_tmem(shape: Any, dtype: Any) -> Buffer:
    """Columns of Tensor Memory."""
    if len(shape) < 2:
        raise KernelError("", "shape must be a 2D or higher tensor for TMEM allocation")
    return _allocated(shape, dtype, "shared.tmem")


@member
def alloc_reducer(shape: Any, dtype: Any, op: str = "sum", replication: str | None = None) -> Buffer:
    """A reducer of either kind: which one it is its uses tell."""
    if op not in ("sum", "max", "min", "bitand", "bitor", "bitxor"):
        raise KernelError("", f"alloc_reducer: {op!r} is no operation")
    if op.startswith("bit") and "int" not in type_name(dtype) and type_name(dtype) != "bool":
        raise KernelError("", f"bitwise reducer op '{op}' requires an integer dtype, got {type_name(dtype)}")
    made = _allocated(shape, dtype, "local.reducer")
    made.reducer, made.replicated = op, replication
    return made


@member
def alloc_descriptor(kind: str = "wgmma", dtype: Any = "uint64", scope: str | None = None) -> Buffer:
    """A descriptor of a matrix in shared memory. A kind that is none gives a scope that no instruction takes."""
    return _allocated((1,), dtype, scope or f"local.descriptor.{kind}")


MEMBERS["alloc_wgmma_desc"] = lambda dtype="uint64": alloc_descriptor("wgmma", dtype)
MEMBERS["alloc_tcgen05_smem_desc"] = lambda dtype="uint64": alloc_descriptor("tcgen05_smem", dtype)
MEMBERS["alloc_tcgen05_instruction_desc"] = lambda dtype="uint32": alloc_descriptor("tcgen05_instr", dtype)
MEMBERS["alloc_tcgen05_instr_desc"] = MEMBERS["alloc_tcgen05_instruction_desc"]


@member
def empty(*shape: Any, dtype: Any = "float32") -> Any:
    """The output of an eager kernel."""
    raise NotModelled("T.empty, the output of an eager kernel")


def _alias(buffer: Buffer, shape: Any, dtype: Any) -> Buffer:
    made = Buffer("", tuple(shape), type_name(dtype), buffer.scope, user_location())
    made.alias = buffer
    return made


MEMBERS["reshape"] = lambda src, shape: _alias(src, shape, src.dtype)
MEMBERS["view"] = lambda src, shape=None, dtype=None: _alias(
    src, src.shape if shape is None else shape, src.dtype if dtype is None else dtype
)
