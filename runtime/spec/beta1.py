"""NKI Beta 1 (``neuronxcc.nki``, SDK 2.26.1) as data: every public symbol and keyword, and what Beta 2 makes of it.

Keys are canonical names with short roots: ``nl.load``, ``nisa.nc_matmul``, ``nki.jit``, ``ncc.sbuf.mod_alloc``.
Targets are qualified names of Beta 2, ``nki.isa.dma_copy``. Source: the API stubs of the SDK documentation at v2.26.1.
"""

from __future__ import annotations

from . import beta1_isa, beta1_kernel, beta1_language
from .beta1_kernel import UNDOCUMENTED, UNDOCUMENTED_KEYWORDS
from .beta1_symbols import FATES, Parameter, Symbol, refused

__all__ = [
    "DOCUMENTED",
    "FATES",
    "MODULES",
    "PRIVATE_PREFIXES",
    "STRAY_MODULES",
    "SYMBOLS",
    "UNDOCUMENTED",
    "UNDOCUMENTED_KEYWORDS",
    "Parameter",
    "Symbol",
    "canonical",
    "parameter",
    "symbol",
]

MODULES = {
    "neuronxcc.nki": "nki",
    "neuronxcc.nki.compiler": "ncc",
    "neuronxcc.nki.isa": "nisa",
    "neuronxcc.nki.isa.constants": "nisa",
    "neuronxcc.nki.isa.neuron_isa": "nisa",
    "neuronxcc.nki.language": "nl",
    "neuronxcc.nki.language.constants": "nl",
    "neuronxcc.nki.language.iterators": "nl",
    "neuronxcc.nki.nccl": "nccl",
    "neuronxcc.nki.nccl.collectives": "nccl",
    "neuronxcc.nki.typing": "nt",
}
"""Import path of a module, and the short root of the names in it."""

STRAY_MODULES = {"nki.language.constants": "neuronxcc.nki.language.constants"}
"""Modules that Beta 1 kernels import from the root ``nki``, where Beta 2 has none of that name."""

PRIVATE_PREFIXES = (
    "nki._pre_prod_kernels",
    "nki._private",
    "nki._private_kernels",
    "nki._private_nkl",
    "nki.docs",
    "nki.kernels",
    "ncc.backends",
    "nccl",
)
"""Everything below these names is private to the compiler, a packaged kernel, or a collective: never rewritten."""

_PRIVATE = refused("", "A private interface or a packaged kernel: replace it by hand.", kind="object")

DOCUMENTED: dict[str, Symbol] = {
    **beta1_kernel.NKI,
    **beta1_language.SYMBOLS,
    **beta1_isa.SYMBOLS,
    **beta1_kernel.COMPILER,
}
"""Every public symbol of the 2.26.1 stubs."""

SYMBOLS: dict[str, Symbol] = {**DOCUMENTED, **UNDOCUMENTED}


def canonical(path: str) -> str:
    """The key of an import path: ``neuronxcc.nki.language.load`` is ``nl.load``.

    Paths outside of ``neuronxcc.nki`` come back as they are.
    """
    module = path
    while module:
        if module in MODULES:
            return MODULES[module] + path[len(module) :]
        module = module.rpartition(".")[0]
    return path


def symbol(name: str) -> Symbol | None:
    """What is known of the canonical ``name``; ``None`` for a name that NKI Beta 1 does not have."""
    if name in SYMBOLS:
        return SYMBOLS[name]
    if any(name == prefix or name.startswith(prefix + ".") for prefix in PRIVATE_PREFIXES):
        return _PRIVATE
    return None


def parameter(name: str, keyword: str) -> Parameter | None:
    """What becomes of ``keyword`` in a call of the canonical ``name``; ``None`` when nothing describes the keyword."""
    entry = SYMBOLS.get(name)
    known = entry.parameter(keyword) if entry else None
    return known or UNDOCUMENTED_KEYWORDS.get((name, keyword))
