"""TLG004 dynamic-dimensions: ``T.symbolic`` becomes ``T.dynamic``.

Why: ``T.symbolic`` is deprecated; its warning says that 0.1.15 removes it.

Safe: both make the same variables; the functions are structurally equal.

Source: ``tilelang/language/symbolics.py``.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Draft
from ..module import Module

CODE = "TLG004"
SINCE = "0.1.7"
GOLDENS = ("tilelang_dynamic",)
VALID = ('m = T.dynamic("m")', 'm = sympy.symbolic("m")')
INVALID = (('m = T.symbolic("m")', 'm = T.dynamic("m")'),)


def rewrite(module: Module) -> None:
    """Rename each use of ``symbolic``."""
    for node in module.nodes:
        if not isinstance(node, (ast.Attribute, ast.Name)) or module.member(node) != "symbolic":
            continue
        if not isinstance(node.ctx, ast.Load):
            continue
        name = module.spelled(node, "dynamic")
        if name is None:
            module.leave(node, CODE, "the file imports symbolic, and has no name for dynamic", "import dynamic")
        else:
            module.commit(Draft(CODE, node, [module.replace(node, name)]))
