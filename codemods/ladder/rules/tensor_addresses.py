"""NKV024 tensor-addresses: ``t.pattern`` becomes ``t.get_pattern()``; ``t.address`` is gone.

Why: since 0.3 a tensor tells its pattern by a method, and its address not at all.

Review: who changes the pattern must know that it is a copy.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, Unknown, rewritten
from ..facts import Facts
from ..objects import is_other

CODE = "NKV024"
APPLICABILITY = "review"
GOLDENS = ("ladder_left",)
NODES = (ast.Attribute,)


def rewrite(facts: Facts, node: ast.Attribute) -> Answer:
    """Ask the method for the pattern."""
    if node.attr not in ("pattern", "address", "address_name") or not isinstance(node.ctx, ast.Load):
        return None
    if not facts.tensor(node.value).calls:
        if is_other(facts, node.value):
            return None
        why = f"a tensor of NKI {facts.new} has no '{node.attr}'"
        return Unknown(
            f"'{ast.unparse(node.value)}' is no tensor", why, "ask get_pattern(), or keep the address in a name"
        )
    if node.attr != "pattern":
        return Left(f"a tensor has no '{node.attr}'", "keep the address in a name where the tensor is declared")
    end = facts.rung.end(node)
    return rewritten(
        Edit(end - len("pattern"), end, "get_pattern()"),
        assumption="what is done to the pattern does not change the tensor",
    )
