"""The modules of the package ``nkilib`` that stand in where the real library is not installed."""

from __future__ import annotations

from types import ModuleType

from ..shims import linked, public_module
from . import allocator, kernel_assert, logging, modular_allocator, tensor_view, tree_logger

_UTILS = {
    "allocator": (allocator, "SbufManager align_to create_auto_alloc_manager num_elts sizeinbytes"),
    "kernel_assert": (kernel_assert, "assert_shape kernel_assert"),
    "logging": (logging, "LogLevel Logger get_logger logger"),
    "modular_allocator": (modular_allocator, "ModularAllocator"),
    "tensor_view": (tensor_view, "TensorView"),
    "tree_logger": (tree_logger, "TreeLogger"),
}

MODULES: dict[str, ModuleType] = linked(
    {
        **{name: public_module(name, {"__partial__": True}) for name in ("nkilib", "nkilib.core", "nkilib.core.utils")},
        **{
            f"nkilib.core.utils.{name}": public_module(
                f"nkilib.core.utils.{name}", {member: getattr(module, member) for member in members.split()}
            )
            for name, (module, members) in _UTILS.items()
        },
    }
)
"""Dotted name -> module."""
