"""The rules of TileLang, in the order in which they run, and which version each serves."""

from __future__ import annotations

from types import ModuleType

from ..model import Rule
from .rules import (
    absent_names,
    barriers,
    buffers,
    descriptors,
    dimensions,
    element_locals,
    parallel_locals,
    reducers,
    var_forms,
)

MODULES: tuple[ModuleType, ...] = (
    var_forms,
    descriptors,
    buffers,
    dimensions,
    barriers,
    parallel_locals,
    element_locals,
    reducers,
    absent_names,
)


def _rule(module: ModuleType) -> Rule:
    headline, _, rest = (module.__doc__ or "").partition("\n")
    code, _, title = headline.partition(" ")
    name, _, summary = title.partition(": ")
    text = f"{rest.strip()}\n\nWritten for TileLang {module.SINCE} or newer (--to)."
    return Rule(code, name, getattr(module, "APPLICABILITY", "safe"), summary, text, tuple(module.GOLDENS))


RULES: dict[str, Rule] = {module.CODE: _rule(module) for module in MODULES}

VERSION_MATRIX: tuple[tuple[str, str, str], ...] = (
    ("0.1.4", "T.Buffer as the type of an argument is deprecated for T.Tensor", "TLG003"),
    ("0.1.6", "alloc_var(init=), alloc_barrier, alloc_tmem, alloc_reducer, alloc_descriptor(dtype)", "TLG001"),
    ("0.1.7", "the first argument of alloc_descriptor is a kind; alloc_wgmma_desc, alloc_tcgen05_*", "TLG002"),
    ("0.1.7", "T.symbolic is deprecated for T.dynamic", "TLG004"),
    ("0.1.8", "create_list_of_mbarrier and get_mbarrier are gone; alloc_barrier takes a list", "TLG005"),
    ("0.1.8", "upstream's examples use alloc_var for buffers of one element", "TLG007"),
    ("0.1.9", "alloc_cluster_barrier, alloc_global, deallocate_tmem; gemm_v1 and gemm_v2 are gone", "TLG009"),
    ("0.1.12", "T.Kernel(is_cpu=) is gone", "TLG009"),
    ("0.1.14", "T.Parallel must not index alloc_local", "TLG006"),
    ("0.1.14", "reducers are handles with an epoch", "TLG008"),
    ("0.1.14", "an arrival count below 1 is an error", "TLG009"),
)
"""What changed in which version, and the rule that serves it."""
