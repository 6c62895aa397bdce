"""What a program of the host has to do with a kernel that it calls: arrays of its framework, and the hardware it names.

Frameworks are told by the module of the value's type and never imported: the program has done so already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .errors import KernelError
from .memory import Array
from .spec import hardware

PLATFORM = "NEURON_PLATFORM_TARGET_OVERRIDE"
"""Environment variable of the vendor's tools: the hardware of kernels that do not name any."""
_FRAMEWORKS = ("jax", "jaxlib", "torch")


def framework_of(value: object) -> str:
    """``"torch"`` or ``"jax"`` for an array of that framework or of a class derived from its own, else ``""``."""
    roots = (base.__module__.partition(".")[0] for base in type(value).__mro__)
    root = next((root for root in roots if root in _FRAMEWORKS), "")
    if not root or not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return ""
    return "torch" if root == "torch" else "jax"


def is_data(value: object) -> bool:
    """Is ``value`` an array, of whatever class? Nothing of that class is kernel code."""
    return isinstance(value, np.ndarray) or bool(framework_of(value))


def framework_array(value: Any) -> Array | None:
    """``value`` as a numpy array, sharing memory where its framework allows it; ``None`` when it is no array."""
    if isinstance(value, np.ndarray):
        return value
    framework = framework_of(value)
    if framework == "torch":
        return _of_torch(value)
    return np.asarray(value) if framework else None


def _of_torch(tensor: Any) -> Array:
    """numpy knows no bfloat16 and no fp8: their bits are read through integers of the same size."""
    detached = tensor.detach()
    name = str(detached.dtype).removeprefix("torch.")
    torch = sys.modules["torch"]
    if name == "bfloat16":
        return np.asarray(detached.view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
    if name in ("float8_e4m3fn", "float8_e5m2"):
        return np.asarray(detached.view(torch.uint8).numpy()).view(getattr(ml_dtypes, name))
    found: Array = detached.numpy()
    return found


def returner(values: list[Any]) -> Callable[[Array], Any]:
    """How results are given back to a caller who passed ``values``: as arrays of the same framework."""
    frameworks = {framework_of(value) for value in values} - {""}
    if frameworks == {"torch"}:
        return _to_torch
    if frameworks == {"jax"}:
        as_jax: Callable[[Array], Any] = sys.modules["jax"].numpy.asarray
        return as_jax
    return _unchanged


def _to_torch(array: Array) -> Any:
    torch = sys.modules["torch"]
    name = array.dtype.name
    if name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    if name in ("float8_e4m3fn", "float8_e5m2"):
        return torch.from_numpy(array.view(np.uint8).copy()).view(getattr(torch, name))
    if name == "float8_e4m3":
        # torch has no such type; every value of it is one of fp32.
        return torch.from_numpy(array.astype(np.float32))
    return torch.from_numpy(array)


def _unchanged(array: Array) -> Array:
    return array


def host_target(options: dict[str, Any]) -> hardware.Target:
    """The hardware for a kernel that a program calls: ``platform_target=``, the environment, or the default."""
    names = {target.instance: target for target in hardware.TARGETS.values()} | hardware.TARGETS
    names |= {"inf2": hardware.TARGETS["gen2"], "trn1n": hardware.TARGETS["gen2"], "trn2n": hardware.TARGETS["gen3"]}
    wanted = options.get("platform_target") or os.environ.get(PLATFORM) or hardware.DEFAULT_TARGET
    if wanted not in names:
        raise KernelError("", f"unknown hardware '{wanted}', it is one of {', '.join(sorted(names))}")
    return names[wanted]
