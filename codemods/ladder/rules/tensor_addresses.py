"""NKV024 tensor-addresses: ``t.pattern`` becomes ``t.get_pattern()``; ``t.address`` is gone.

Why: since 0.3 a tensor tells its pattern by a method, and its address not at all.

Review: who changes the pattern must know that it is a copy.
"""

from __future__ import annotations

import ast

from ...drafts import Edit
from ..answers import Answer, Left, rewritten
from ..facts import Facts
from ..tensors import Tensor

CODE = "NKV024"
APPLICABILITY = "review"
GOLDENS = ()
NODES = (ast.Attribute,)


def rewrite(facts: Facts, node: ast.Attribute) -> Answer:
    """Ask the method for the pattern."""
    if node.attr not in ("pattern", "address", "address_name") or not isinstance(node.ctx, ast.Load):
        return None
    if not isinstance(facts.tensors.of(facts.path, node.value), Tensor) or not facts.tensor(node.value).calls:
        return None
    if node.attr != "pattern":
        return Left(f"a tensor has no '{node.attr}'", "keep the address in a name where the tensor is declared")
    end = facts.rung.end(node)
    return rewritten(
        Edit(end - len("pattern"), end, "get_pattern()"),
        assumption="what is done to the pattern does not change the tensor",
    )
