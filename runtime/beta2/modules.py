"""The modules of the package ``nki`` that stand in while kernels are loaded and run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import ModuleType
from typing import Any

from ..errors import KernelError
from ..numerics import DTYPES, SCALE_TYPE
from ..packed import PACKED
from ..shims import linked, public_module
from . import functions, isa, language, loops, nki, trace_tensor, values, views
from .buffers import BUFFERS
from .registers import Register
from .tensor import NkiTensor

COLLECTIVES = (
    "all_reduce all_gather all_gather_v all_to_all all_to_all_v reduce_scatter collective_permute "
    "collective_permute_implicit collective_permute_implicit_reduce rank_id "
    "collective_permute_implicit_current_processing_rank_id"
).split()


class ReplicaGroup:
    """``nki.collectives.ReplicaGroup``: which ranks take part. It can be named and passed on."""

    def __init__(self, groups: object) -> None:
        self.groups = groups


def _one_core_only(name: str) -> Callable[..., Any]:
    def refuse(*args: object, **kwargs: object) -> Any:
        raise KernelError("", f"nki.collectives.{name}: the emulator runs one core only, collectives need several")

    refuse.__name__ = name
    return refuse


@contextmanager
def no_reorder() -> Iterator[None]:
    """Keep the order of the instructions in the block; the emulator always does."""
    yield


class _TypeHint:
    """``nki.typing.tensor``: annotations mean nothing in Beta 2, so any subscript is fine."""

    def __getitem__(self, shape: object) -> _TypeHint:
        return self


LANGUAGE_03: dict[str, Any] = {
    **{name: function for name, function in functions.FUNCTIONS.items() if name not in language.MEMBERS},
    "NkiTensor": NkiTensor,
    "MemoryRegion": Enum("MemoryRegion", {name: name for name in BUFFERS if name != "hbm"}),
    "DType": str,
    "fori_loop": loops.fori_loop,
    "while_loop": loops.while_loop,
    "float8_e8m0fnu": SCALE_TYPE,
    **{name: values.Operator(name) for name in ("abs_max", "abs_min", "bypass", "prelu", "average")},
}
ISA_03: dict[str, Any] = {
    "NkiValidationError": KernelError,
    "VirtualRegister": Register,
    "NkiInstruction": views.NkiInstruction,
}
"""Names of later versions than 0.2."""

MODULES: dict[str, ModuleType] = linked(
    {
        "nki": public_module("nki", nki.MEMBERS, later={"simulate": nki.simulate}),
        "nki.isa": public_module("nki.isa", isa.MEMBERS, later=ISA_03),
        "nki.isa.constants": public_module("nki.isa.constants", isa.CONSTANTS),
        "nki.language": public_module(
            "nki.language", {**language.MEMBERS, "no_reorder": no_reorder}, later=LANGUAGE_03
        ),
        "nki.typing": public_module(
            "nki.typing", {"tensor": _TypeHint(), "mutable_tensor": _TypeHint(), "scalar": Register}
        ),
        "nki.dtype": public_module("nki.dtype", {**DTYPES, **PACKED}),
        "nki.compiler": public_module("nki.compiler", {"no_reorder": no_reorder}),
        "nki.tensor": public_module("nki.tensor", trace_tensor.MEMBERS),
        "nki.meta": public_module("nki.meta", {}),
        "nki.meta.tensor": public_module("nki.meta.tensor", trace_tensor.MEMBERS),
        "nki.collectives": public_module(
            "nki.collectives", {"ReplicaGroup": ReplicaGroup, **{name: _one_core_only(name) for name in COLLECTIVES}}
        ),
    }
)
"""Dotted name -> module."""
