"""ASC011 absent-calls: what the document promises and nothing can stand for.

Why: a kernel cannot try an allocation and catch ``T.MemoryError``, cannot test an address with ``T.is_aligned``, and
does not see the host's memory (``src_scope="cpu"``). ``nki-migrate check`` says before the compiler runs whether a
kernel fits and what is misaligned; host code moves tensors before and after the launch.

Only reported.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.ascend_seed import SEED

from ..module import AscendModule

CODE = "ASC011"
APPLICABILITY = "manual"
GOLDENS = ()
VALID = ("T.copy(a, b)", "try:\n    x = 1\nexcept MemoryError:\n    pass")
INVALID = ()


def rewrite(module: AscendModule) -> None:
    """A finding for each use."""
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and module.member(node) == "MemoryError":
            module.leave(node, CODE, "T.MemoryError, which TileLang-Ascend does not have", SEED["MemoryError"].refused)
    for call, name in module.calls("is_aligned", "copy"):
        if name == "is_aligned":
            module.leave(call, CODE, "T.is_aligned, which TileLang-Ascend does not have", SEED[name].refused)
        elif any(keyword.arg in ("src_scope", "dst_scope") for keyword in call.keywords):
            text = "T.copy between devices: a kernel sees global memory only"
            module.leave(call, CODE, text, SEED["copy.src_scope"].refused)
