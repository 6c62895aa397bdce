"""TLG002 descriptors: ``T.alloc_descriptor`` of a kind that is none becomes the constructor that says its kind.

Why: the first argument of ``alloc_descriptor`` was a type in 0.1.6 and is a kind since 0.1.7; the documents name the
kinds ``"tcgen05"`` and ``"utcmma"``. All three are taken, give a scope such as ``local.descriptor.uint64``, and are
compiled to a plain ``uint64_t`` instead of ``tl::GmmaDescriptor`` or ``tl::Tcgen05SMemDescriptor``. Nothing warns.

Safe: the kernel asks for the kind that its documents promise. Left alone: kinds that are not written here, a
descriptor of the old form that is given to instructions of both families, ``scope=``.

Source: commits aef0a6b and 0921328; the generated source of 0.1.15.
"""

from __future__ import annotations

import ast

from ...syntax.call_text import by_name
from ...syntax.drafts import Draft
from ..module import Module

CODE = "TLG002"
SINCE = "0.1.7"
GOLDENS = ("tilelang_descriptor",)
VALID = ('d = T.alloc_descriptor("wgmma")', 'd = T.alloc_descriptor(dtype="uint64")', "d = T.alloc_wgmma_desc()")
INVALID = (
    ('d = T.alloc_descriptor("tcgen05")', "d = T.alloc_tcgen05_smem_desc()"),
    ('d = T.alloc_descriptor("utcmma", dtype="uint32")', 'd = T.alloc_tcgen05_instr_desc(dtype="uint32")'),
    ('d = T.alloc_descriptor("uint64")', 'd = T.alloc_wgmma_desc(dtype="uint64")'),
)
_KINDS = ("wgmma", "tcgen05_smem", "tcgen05_instr")
_ALIASES = ("tcgen05", "utcmma")
_TYPES = ("uint64", "uint32", "int64", "int32")


def rewrite(module: Module) -> None:
    """Write the named constructor for each descriptor of a kind that is none."""
    for call, _ in module.calls("alloc_descriptor"):
        given = by_name(call, ("kind", "dtype"))
        if given is None or set(given) - {"kind", "dtype"}:
            module.leave(call, CODE, "alloc_descriptor has no parameter 'scope' since 0.1.7, and takes no *args here",
                         "write T.alloc_wgmma_desc() or T.alloc_tcgen05_smem_desc()")  # fmt: skip
            continue
        kind = given.get("kind")
        if kind is None:
            continue
        value = _kind(module, kind)
        if value in _KINDS:
            continue
        constructor = _constructor(module, call, value, given.get("dtype"))
        if constructor is None:
            module.leave(
                call,
                CODE,
                f"alloc_descriptor of kind {module.segment(kind)}, which is not known to be one of {', '.join(_KINDS)}",
                "write T.alloc_wgmma_desc(), T.alloc_tcgen05_smem_desc() or T.alloc_tcgen05_instr_desc()",
            )
            continue
        name = module.spelled(call.func, constructor)
        if name is None:
            module.leave(call, CODE, f"the file has no name for {constructor}", f"import {constructor}")
            continue
        kept = kind if value in _TYPES else given.get("dtype")
        arguments = "" if kept is None else f"dtype={module.segment(kept)}"
        module.commit(Draft(CODE, call, [module.replace(call, f"{name}({arguments})")]))


def _kind(module: Module, node: ast.expr) -> str | None:
    value = module.constant(node)
    if isinstance(value, str):
        return value
    member = module.member(node)
    return member if member in _TYPES else None


def _constructor(module: Module, call: ast.Call, kind: str | None, dtype: ast.expr | None) -> str | None:
    if kind in _ALIASES:
        wanted = "uint64" if dtype is None else _kind(module, dtype)
        return {"uint64": "alloc_tcgen05_smem_desc", "uint32": "alloc_tcgen05_instr_desc"}.get(wanted or "")
    if kind not in _TYPES or dtype is not None:
        return None
    families = _families(module, call)
    if families == {"tcgen05"}:
        return "alloc_tcgen05_smem_desc" if kind.endswith("64") else "alloc_tcgen05_instr_desc"
    return "alloc_wgmma_desc" if families <= {"wgmma"} else None


def _families(module: Module, call: ast.Call) -> set[str]:
    """The families of instructions that the descriptor is given to."""
    statement = module.parents[call]
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return set()
    found = set()
    for use in module.uses(statement.targets[0]):
        at: ast.AST | None = module.parents[use]
        while at is not None and not isinstance(at, ast.stmt):
            if isinstance(at, ast.Call):
                name = module.member(at.func) or ""
                found |= {family for family in ("wgmma", "tcgen05") if family in name}
            at = module.parents.get(at)
    return found
