"""``tilelang.language``: what a kernel calls while it is traced. Forms of all versions from 0.1.7 on are taken."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..errors import KernelError, NotModelled
from .allocation import get_mbarrier
from .builder import LoopRange, current
from .ir import Buffer, Expr, Kernel, Load, Op, Region, Var, binary, call, select, value
from .ir import value as operand_of
from .members import MEMBERS, member
from .source import traced
from .types import NAMES, highest, lowest, type_name

# --- arguments and kernels -------------------------------------------------------------------------------------------


class Annotation:
    """The type of a parameter: ``T.Tensor(shape, dtype)``."""

    def __init__(self, shape: Any = None, dtype: Any = "float32", scope: str = "global", **_: Any) -> None:
        self.shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        self.dtype, self.scope = type_name(dtype), scope

    def __class_getitem__(cls, given: Any) -> Annotation:
        return cls(*given) if isinstance(given, tuple) and isinstance(given[0], (tuple, list)) else cls(given)


def _kind(name: str, scope: str) -> type[Annotation]:
    def __init__(self: Annotation, shape: Any = None, dtype: Any = "float32", *_: Any, **more: Any) -> None:
        Annotation.__init__(self, shape, dtype, more.get("scope", scope))

    return type(name, (Annotation,), {"__init__": __init__})


for _name, _scope in (
    ("Tensor", "global"),
    ("Buffer", "global"),
    ("SharedBuffer", "shared.dyn"),
    ("FragmentBuffer", "local.fragment"),
    ("LocalBuffer", "local"),
):
    MEMBERS[_name] = _kind(_name, _scope)


class ScalarType:
    """``T.float32``: the type, and a conversion to it."""

    def __init__(self, name: str) -> None:
        self.__tilelang_type__ = name

    def __call__(self, given: Any = 0) -> Expr:
        return Expr("cast", (value(given),), self.__tilelang_type__)

    def __str__(self) -> str:
        return self.__tilelang_type__

    def __eq__(self, other: object) -> bool:
        return str(other) == self.__tilelang_type__

    def __hash__(self) -> int:
        return hash(self.__tilelang_type__)


for _name in NAMES:
    MEMBERS[_name] = ScalarType(_name)


class PrimFunc:
    """A function under ``T.prim_func``."""

    def __init__(self, func: FunctionType) -> None:
        self.func = func
        self.__wrapped__ = func

    @property
    def options(self) -> dict[str, Any]:
        return {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotModelled("a call of a prim_func: give its arguments in a case")


MEMBERS["prim_func"] = lambda func=None, **_: PrimFunc(func) if func is not None else PrimFunc


class Macro:
    """A function under ``T.macro``: its statements are those of the kernel that calls it."""

    def __init__(self, func: FunctionType) -> None:
        self.func = func
        self._traced: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._traced = self._traced or traced(self.func)
        return self._traced(*args, **kwargs)


MEMBERS["macro"] = lambda func=None, **_: Macro(func) if func is not None else Macro


class Launch:
    """``with T.Kernel(gx, gy, threads=128) as (bx, by)``."""

    def __init__(self, *blocks: Any, threads: Any = 128, prelude: Any = None, is_cpu: bool = False, **_: Any) -> None:
        builder = current()
        sizes = threads if isinstance(threads, (list, tuple)) else [threads]
        count = 1
        for size in sizes:
            count *= 1 if size is None else int(size)
        self.vars = tuple(Var(name) for name, _ in zip(("bx", "by", "bz"), blocks, strict=False))
        if builder.kernel is not None:
            raise NotModelled("two T.Kernel in one function")
        builder.threads = count
        builder.kernel = Kernel("", [], tuple(map(value, blocks)), self.vars, count, builder.buffers, [])

    def __enter__(self) -> Any:
        current().blocks.append(current().kernel.body)  # type: ignore[union-attr]  # inside of a kernel
        return self.vars[0] if len(self.vars) == 1 else self.vars

    def __exit__(self, *_: object) -> None:
        current().blocks.pop()


MEMBERS["Kernel"] = Launch


@member
def dynamic(name: str, dtype: str = "int32") -> Any:
    """A size that the arguments of a launch tell."""
    parts = name.replace(",", " ").split()
    return Var(parts[0], dtype) if len(parts) == 1 else tuple(Var(part, dtype) for part in parts)


MEMBERS["symbolic"] = dynamic


# --- loops -----------------------------------------------------------------------------------------------------------


def _loop(kind: str) -> Callable[..., LoopRange]:
    def loop(start: Any, stop: Any = None, step: Any = 1, **_: Any) -> LoopRange:
        low, high = (0, start) if stop is None else (start, stop)
        if not isinstance(step, int) or step < 1:
            raise NotModelled("a loop with a step that is not a positive number")
        extent = binary("sub", high, low)
        if step > 1:
            extent = binary("floordiv", binary("add", extent, step - 1), step)
        return LoopRange(kind, (value(low),), (extent,), step=step)

    return loop


MEMBERS["serial"] = MEMBERS["Serial"] = _loop("serial")
MEMBERS["unroll"] = MEMBERS["Unroll"] = _loop("unrolled")
MEMBERS["vectorized"] = MEMBERS["Vectorized"] = _loop("vectorized")


@member
def Parallel(*extents: Any, **_: Any) -> LoopRange:
    """Iterations that the threads of the block share."""
    return LoopRange("Parallel", (0,) * len(extents), tuple(map(value, extents)))


@member
def Pipelined(start: Any, stop: Any = None, num_stages: int = 0, **_: Any) -> LoopRange:
    """A serial loop whose copies run ahead of its computations."""
    low, high = (0, start) if stop is None else (start, stop)
    return LoopRange("Pipelined", (value(low),), (binary("sub", high, low),), stages=num_stages)


@member
def grid(*extents: Any) -> LoopRange:
    return LoopRange("serial", (0,) * len(extents), tuple(map(value, extents)))


# --- operations on tiles ---------------------------------------------------------------------------------------------


def _operand(given: Any) -> Buffer | Region | Load:
    if not isinstance(given, (Buffer, Region, Load)):
        raise KernelError("", f"an operation on tiles gets {type(given).__name__}: it takes buffers")
    return given


def _emit(name: str, *operands: Any, **attributes: Any) -> None:
    current().emit(Op(name, tuple(map(_operand, operands)), attributes))


@member
def copy(src: Any, dst: Any, coalesced_width: Any = None, **_: Any) -> None:
    _emit("copy", dst, src)


MEMBERS["async_copy"] = copy
MEMBERS["tma_copy"] = copy


@member
def fill(buffer: Any, value: Any) -> None:
    _emit("fill", buffer, value=operand_of(value))


@member
def clear(buffer: Any) -> None:
    _emit("fill", buffer, value=0)


@member
def gemm(
    A: Any, B: Any, C: Any, transpose_A: bool = False, transpose_B: bool = False, policy: Any = None,
    clear_accum: bool = False, **_: Any,
) -> None:  # fmt: skip
    _emit("gemm", C, A, B, transpose_a=transpose_A, transpose_b=transpose_B, clear=clear_accum)


MEMBERS["gemm_v1"] = MEMBERS["gemm_v2"] = gemm


def _reduction(kind: str) -> Callable[..., None]:
    def reduce(buffer: Any, out: Any, dim: int = -1, clear: bool = True, **_: Any) -> None:
        _emit("reduce", out, buffer, kind=kind, dim=dim, clear=clear)

    return reduce


for _name in ("sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor"):
    MEMBERS[f"reduce_{_name}"] = _reduction(_name)


@member
def cumsum(src: Any, dst: Any = None, dim: int = 0, reverse: bool = False) -> None:
    _emit("cumsum", src if dst is None else dst, src, dim=dim, reverse=reverse)


@member
def reducer_init(reducer: Any, init: Any = None) -> None:
    _emit("reducer_init", reducer, value=None if init is None else value(init))


@member
def reducer_update(target: Any, contribution: Any) -> None:
    if not isinstance(target, Load):
        raise KernelError("", "reducer_update expects `acc[indices]` as its first argument")
    current().emit(Op("reducer_update", (target,), {"value": value(contribution)}))


@member
def finalize_reducer(reducer: Any, dst: Any = None, batch: int = 1, annotations: Any = None) -> None:
    _emit("finalize_reducer", *([reducer] if dst is None else [reducer, dst]))


@member
def atomic_add(dst: Any, contribution: Any, **_: Any) -> None:
    if isinstance(dst, Load) and not isinstance(contribution, (Buffer, Region)):
        current().emit(Op("atomic_add", (dst,), {"value": value(contribution)}))
    else:
        _emit("atomic_add_tile", dst, contribution)


# --- barriers --------------------------------------------------------------------------------------------------------


def _barrier(given: Any) -> Load:
    if isinstance(given, Buffer):
        return Load(given, (0,))
    if isinstance(given, Load):
        return given
    found: Load = get_mbarrier(given)
    return found


@member
def mbarrier_arrive(mbarrier: Any, cta_id: Any = None) -> None:
    _emit("arrive", _barrier(mbarrier))


@member
def mbarrier_wait_parity(mbarrier: Any, parity: Any) -> None:
    _emit("wait", _barrier(mbarrier), parity=value(parity))


@member
def barrier_arrive(mbarrier: Any = None, barrier_id: Any = None) -> None:
    mbarrier_arrive(barrier_id if mbarrier is None else mbarrier)


@member
def barrier_wait(mbarrier: Any = None, parity: Any = 0, barrier_id: Any = None) -> None:
    mbarrier_wait_parity(barrier_id if mbarrier is None else mbarrier, parity)


@member
def deallocate_tmem(buffer: Any) -> None:
    _emit("deallocate_tmem", buffer)


def _nothing(*_: Any, **__: Any) -> None:
    """What says how to run the kernel, and changes none of its values."""


for _name in (
    "annotate_layout use_swizzle annotate_padding annotate_l2_hit_ratio annotate_safe_value sync_threads syncthreads "
    "print device_assert assume disable_warp_group_reg_alloc set_max_nreg inc_max_nreg dec_max_nreg no_set_max_nreg "
    "func_attr fence_proxy_async annotate_min_blocks_per_sm annotate_compile_flags annotate_pass_configs"
).split():
    MEMBERS[_name] = _nothing


# --- values ----------------------------------------------------------------------------------------------------------


def _unary(name: str) -> Callable[[Any], Expr]:
    def function(x: Any, *_: Any) -> Expr:
        return call(name, x)

    return function


for _name in (
    "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan tanh sinh cosh asin acos atan erf sigmoid floor ceil "
    "round trunc abs isnan isinf isfinite"
).split():
    MEMBERS[_name] = _unary(_name)
MEMBERS["fabs"] = MEMBERS["abs"]


def _is_plain(*operands: Any) -> bool:
    return not any(isinstance(each, Expr) for each in operands)


MEMBERS["max"] = lambda a, b: (a if a > b else b) if _is_plain(a, b) else call("max", a, b)
MEMBERS["min"] = lambda a, b: (a if a < b else b) if _is_plain(a, b) else call("min", a, b)
MEMBERS["pow"] = MEMBERS["power"] = lambda a, b: call("pow", a, b)
MEMBERS["floordiv"] = lambda a, b: binary("floordiv", a, b)
MEMBERS["floormod"] = lambda a, b: binary("mod", a, b)
MEMBERS["truncdiv"] = lambda a, b: call("truncdiv", a, b)
MEMBERS["truncmod"] = lambda a, b: call("truncmod", a, b)
MEMBERS["bitwise_and"] = lambda a, b: binary("bitand", a, b)
MEMBERS["bitwise_or"] = lambda a, b: binary("bitor", a, b)
MEMBERS["bitwise_xor"] = lambda a, b: binary("bitxor", a, b)
MEMBERS["shift_left"] = lambda a, b: binary("shl", a, b)
MEMBERS["shift_right"] = lambda a, b: binary("shr", a, b)
MEMBERS["likely"] = lambda a, *_: a


@member
def ceildiv(a: Any, b: Any) -> Any:
    return binary("floordiv", binary("sub", binary("add", a, b), 1), b)


MEMBERS["cdiv"] = ceildiv


@member
def cast(x: Any, dtype: Any = None) -> Expr:
    given, wanted = (dtype, x) if isinstance(x, (str, ScalarType)) else (x, dtype)
    return Expr("cast", (value(given),), type_name(wanted))


MEMBERS["Cast"] = MEMBERS["astype"] = cast


@member
def reinterpret(x: Any, dtype: Any = None) -> Expr:
    given, wanted = (dtype, x) if isinstance(x, (str, ScalarType)) else (x, dtype)
    return Expr("reinterpret", (value(given),), type_name(wanted))


@member
def if_then_else(test: Any, then: Any, other: Any) -> Any:
    if not isinstance(test, Expr):
        return then if test else other
    return select(test, then, other)


MEMBERS["Select"] = if_then_else


@member
def min_value(dtype: Any) -> Expr:
    name = type_name(dtype)
    return Expr("const", (lowest(name),), name)


@member
def max_value(dtype: Any) -> Expr:
    name = type_name(dtype)
    return Expr("const", (highest(name),), name)


@member
def infinity(dtype: Any) -> Expr:
    return Expr("const", (float("inf"),), type_name(dtype))


class GemmWarpPolicy:
    Square, FullRow, FullCol = 0, 1, 2


MEMBERS["GemmWarpPolicy"] = GemmWarpPolicy
MEMBERS["dtype"] = str
