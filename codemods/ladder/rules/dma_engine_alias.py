"""NKV017 dma-engine-alias: ``nisa.dma_engine`` as an engine becomes ``nisa.engine.dma``.

Why: since 0.3 the name is an enumeration of its own, for ``sendrecv``.

Safe: it was another name of that member.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, rewritten
from ..facts import Facts

CODE = "NKV017"
GOLDENS = ("ladder_literals",)
NODES = (ast.Attribute, ast.Name)


def rewrite(facts: Facts, node: ast.Attribute | ast.Name) -> Answer:
    """Write the member."""
    if facts.qualified(node) != "nki.isa.dma_engine" or not isinstance(node.ctx, ast.Load):
        return None
    if isinstance(facts.rung.parents.get(node), ast.Attribute):
        return None
    member = facts.spelled(node, "nki.isa.engine.dma")
    if member is None:
        return Left("nisa.dma_engine is no engine any more", "write nisa.engine.dma")
    return rewritten(facts.rung.replace(node, member))
