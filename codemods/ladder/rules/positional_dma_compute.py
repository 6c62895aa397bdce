"""NKV008 positional-dma-compute: ``scales`` and ``reduce_op`` of ``dma_compute`` get their names.

Why: they changed places in 0.3.

Safe: keywords bind the same in every version. A call whose third argument is an operator is of 0.3 already.
"""

from __future__ import annotations

import ast

from ..answers import Answer, rewritten
from ..facts import Facts

CODE = "NKV008"
GOLDENS = ("ladder_positions",)
NODES = (ast.Call,)


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Name the arguments behind ``srcs``."""
    text = facts.text_of(node) if facts.called(node) == "nki.isa.dma_compute" else None
    if text is None or len(node.args) < 3:
        return None
    is_newer = facts.qualified(node.args[2]).startswith("nki.language.")
    names = ("scales", "reduce_op", "name")
    complete = len(node.args) > 3 or text.named("reduce_op") is not None
    if is_newer or not complete or len(node.args) > 5:
        return None
    arguments = text.arguments[2 : len(node.args)]
    return rewritten(*(text.renamed(item, name) for item, name in zip(arguments, names, strict=False)))
