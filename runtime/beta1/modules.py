"""The modules of the package ``neuronxcc`` that stand in while kernels are loaded and run."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ..shims import linked, public_module
from . import compiler, isa, language, nki, placement, typing
from .base import Tensor

_NKI: dict[str, Any] = {
    "FrameworkKernel": nki.FrameworkKernel,
    "baremetal": nki.baremetal,
    "benchmark": nki.benchmark,
    "jit": nki.jit,
    "profile": nki.profile,
    "simulate_kernel": nki.simulate_kernel,
    "tensor": Tensor,
    "trace": nki.trace,
}
_SBUF = {"alloc": placement.sbuf_alloc, "auto_alloc": placement.sbuf_auto_alloc, "mod_alloc": placement.sbuf_mod_alloc}
_PSUM = {"alloc": placement.psum_alloc, "auto_alloc": placement.psum_auto_alloc, "mod_alloc": placement.psum_mod_alloc}
_COMPILER: dict[str, Any] = {
    "allocation_scope": compiler.allocation_scope,
    "enable_stack_allocator": compiler.enable_stack_allocator,
    "force_auto_alloc": compiler.force_auto_alloc,
    "multi_buffer": compiler.multi_buffer,
    "no_reorder": compiler.no_reorder,
    "skip_middle_end_transformations": compiler.skip_middle_end_transformations,
}
_TYPING = {
    "mutable": typing.mutable,
    "mutable_tensor": typing.mutable_tensor,
    "scalar": typing.scalar,
    "tensor": Tensor,
}


def _allclose(a: Any, b: Any, *args: Any, **kwargs: Any) -> bool:
    known = {key: kwargs[key] for key in ("rtol", "atol", "equal_nan") if key in kwargs}
    return bool(np.allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), *args[:2], **known))


MODULES: dict[str, ModuleType] = linked(
    {
        "neuronxcc": public_module("neuronxcc", {}),
        "neuronxcc.nki": public_module("neuronxcc.nki", _NKI),
        "neuronxcc.nki.language": public_module("neuronxcc.nki.language", language.MEMBERS),
        "neuronxcc.nki.language.constants": public_module("neuronxcc.nki.language.constants", language.CONSTANTS),
        "neuronxcc.nki.isa": public_module("neuronxcc.nki.isa", isa.MEMBERS),
        "neuronxcc.nki.isa.constants": public_module("neuronxcc.nki.isa.constants", isa.CONSTANTS),
        "neuronxcc.nki.isa.neuron_isa": public_module("neuronxcc.nki.isa.neuron_isa", isa.MEMBERS),
        "neuronxcc.nki.compiler": public_module("neuronxcc.nki.compiler", _COMPILER),
        "neuronxcc.nki.compiler.sbuf": public_module("neuronxcc.nki.compiler.sbuf", _SBUF),
        "neuronxcc.nki.compiler.psum": public_module("neuronxcc.nki.compiler.psum", _PSUM),
        "neuronxcc.nki.typing": public_module("neuronxcc.nki.typing", _TYPING),
        "neuronxcc.starfish": public_module("neuronxcc.starfish", {}),
        "neuronxcc.starfish.support": public_module("neuronxcc.starfish.support", {}),
        "neuronxcc.starfish.support.util": public_module("neuronxcc.starfish.support.util", {"allclose": _allclose}),
    }
)

OFFERED: dict[str, Any] = {
    "torch_neuronx.nki_jit": nki.torch_jit,
    "torch_neuronx.xla_impl.ops.nki_jit": nki.torch_jit,
}
"""What packages that are not installed have for kernels of Beta 1."""
