"""NKV038 pattern-offsets: an access pattern on a part of a tensor, without ``offset``, is reported.

Why: up to 0.4 it began at the tensor's first element, since 0.5 it begins where the part does.

Manual: of the whole tensor, ``t.ap(pattern, offset=...)`` says it in every version.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left
from ..facts import Facts
from ..tensors import Tensor

CODE = "NKV038"
APPLICABILITY = "manual"
GOLDENS = ()
NODES = (ast.Call,)


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Look for a pattern on what is known to be a part of a tensor."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "ap" or facts.called(node):
        return None
    if len(node.args) > 1 or any(keyword.arg == "offset" for keyword in node.keywords):
        return None
    part = node.func.value
    if not isinstance(part, ast.Subscript) or not isinstance(facts.tensors.of(facts.path, part.value), Tensor):
        return None  # an item of a list is a whole tensor
    what = "without an offset this pattern begins at the tensor's first element up to 0.4, and at the part's since 0.5"
    return Left(what, "write the pattern of the whole tensor, with offset=", True)
