"""NKV037 reshape-keywords: ``new_shape`` of ``reshape`` becomes ``shape``.

Why: 0.5 has the one name.

Safe: both are the shape.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Unknown, rewritten
from ..facts import Facts
from ..tensors import Tensor

CODE = "NKV037"
GOLDENS = ("ladder_names",)
NODES = (ast.Call,)


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Rename the keyword."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "reshape" or facts.called(node):
        return None
    text = facts.text_of(node)
    given = text.named("new_shape") if text is not None else None
    if not isinstance(facts.tensors.of(facts.path, node.func.value), Tensor) or text is None:
        base = ast.unparse(node.func.value)
        unknown = Unknown(f"'{base}' is no tensor", f"reshape of NKI {facts.new} takes 'shape'", "write shape=")
        return None if text is not None and given is None else unknown
    return rewritten(text.renamed(given, "shape")) if text is not None and given is not None else None
