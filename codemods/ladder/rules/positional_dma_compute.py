"""NKV008 positional-dma-compute: ``scales`` and ``reduce_op`` of ``dma_compute`` get their names.

Why: they changed places in 0.3.

Safe: keywords bind the same in every version. A call whose third argument is an operator is of 0.3 already.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Unknown, rewritten
from ..facts import Facts

CODE = "NKV008"
GOLDENS = ("ladder_positions",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.dma_compute"})


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
    shows_order = len(node.args) == 3 or facts.qualified(node.args[3]).startswith("nki.language.")
    if not facts.is_certain and not shows_order and not isinstance(node.args[2], (ast.List, ast.Tuple)):
        text_of_third = f"'{ast.unparse(node.args[2])}' is the operator of dma_compute"
        return Unknown(
            text_of_third, "NKI 0.2 took scales there, later versions the operator", "name the arguments", True
        )
    arguments = text.arguments[2 : len(node.args)]
    return rewritten(*(text.renamed(item, name) for item, name in zip(arguments, names, strict=False)))
