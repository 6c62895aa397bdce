"""The modules of ``tilelang`` that stand in while kernels of TileLang-Ascend are loaded and run."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

from ..shims import linked, public_module
from ..spec.ascend import SPACE_OF_CALL, SYNCHRONISATION
from . import compute, language, seed
from .machine import dtype_of


class Factory:
    """What ``@tilelang.jit`` makes of a function: a kernel's factory, with the places of outputs and workspaces."""

    def __init__(self, func: Any, out_idx: Any = None, workspace_idx: Any = None, **options: Any) -> None:
        self.func = func
        self.out_idx = _indices(out_idx)
        self.workspace_idx = _indices(workspace_idx)
        self.options = options
        self.__name__ = getattr(func, "__name__", "kernel")

    @property
    def reuses(self) -> bool:
        """Does the kernel ask the compiler to reuse memory?"""
        configured = self.options.get("pass_configs") or {}
        return bool(configured.get("TL_ASCEND_MEMORY_PLANNING", configured.get("tl.ascend_memory_planning", False)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)


def _indices(given: Any) -> tuple[int, ...]:
    return () if given is None else tuple(given) if isinstance(given, (list, tuple)) else (given,)


def jit(func: Any = None, **options: Any) -> Any:
    """``@tilelang.jit``, with or without arguments."""
    return Factory(func, **options) if callable(func) else lambda inner: Factory(inner, **options)


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


class _AnyKey:
    """``tilelang.PassConfigKey``: any key is its own name."""

    def __getattr__(self, name: str) -> str:
        return name


class _DataType:
    """``tilelang.DataType(name)``."""

    def __init__(self, name: str) -> None:
        self.bits = dtype_of(name).itemsize * 8


def _tiles() -> dict[str, Any]:
    named: dict[str, Any] = {name: compute.binary(name) for name in compute.BINARY}
    named |= {name: compute.unary(name) for name in compute.UNARY}
    return named | {"fill": compute.fill, "clear": compute.clear, "cast": compute.cast, "broadcast": compute.broadcast}


def _language() -> dict[str, Any]:
    members: dict[str, Any] = {
        "prim_func": language.prim_func,
        "macro": language.macro,
        "Kernel": language.Kernel,
        "Scope": language.Scope,
        "Tensor": language.TensorSpec,
        "Buffer": language.TensorSpec,
        "symbolic": language.symbolic,
        "dynamic": language.symbolic,
        "serial": language.serial,
        "unroll": language.serial,
        "Parallel": language.parallel,
        "Pipelined": language.pipelined,
        "alloc_var": language.alloc_var,
        "annotate_address": language.annotate_address,
        "annotate_layout": language.ordering,
        "view": language.view,
        "reshape": language.reshape,
        "address_of": language.address_of,
        "ceildiv": language.ceildiv,
        "if_then_else": language.if_then_else,
        "infinity": language.infinity,
        "copy": compute.copy,
        "fill": compute.fill,
        "clear": compute.clear,
        "gemm_v0": compute.matmul,
        "mma": compute.matmul,
        "set_cross_flag": language.set_cross_flag,
        "wait_cross_flag": language.wait_cross_flag,
    }
    members |= {name: language.allocator(name) for name, space in SPACE_OF_CALL.items() if space != "GM"}
    members |= {name: language.inferred(name) for name in ("alloc_shared", "alloc_fragment")}
    members |= {name: language.ordering for name in SYNCHRONISATION if not name.endswith("cross_flag")}
    members |= {f"reduce_{name}": compute.reduction(name) for name in ("sum", "max", "min", "absmax")}
    members |= {name: name for name in ("float16", "bfloat16", "float32", "int8", "uint8", "int16", "int32", "uint32")}
    names = (
        "alloc_buffer allocate free memory_pool buffer_alias workspace evaluate stream is_aligned memory_stats "
        "memory_trace MemoryError"
    )
    return members | {name: getattr(seed, name) for name in names.split()}


def _modules() -> dict[str, ModuleType]:
    tile = public_module("tilelang.language.tile", _tiles())
    spoken = public_module("tilelang.language", {**_language(), "tile": tile})
    cache = public_module("tilelang.cache", {"clear_cache": _nothing})
    members = {
        "jit": jit,
        "PassConfigKey": _AnyKey(),
        "DataType": _DataType,
        "disable_cache": _nothing,
        "enable_cache": _nothing,
        "cdiv": language.ceildiv,
        "math": SimpleNamespace(cdiv=language.ceildiv, next_power_of_2=lambda n: 1 << max(n - 1, 0).bit_length()),
    }
    root = public_module("tilelang", members)
    return linked({"tilelang": root, "tilelang.language": spoken, "tilelang.language.tile": tile,
                   "tilelang.cache": cache})  # fmt: skip


MODULES = _modules()
"""By dotted name."""
