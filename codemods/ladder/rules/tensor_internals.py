"""NKV039 tensor-internals: methods of a tensor that 0.5 does not have are reported.

Why: ``is_identity``, ``sim_value`` and ``device_value`` were never documented, and are gone.

Manual: ``is_contiguous()`` tells whether a view is the tensor as it lies; values are read by instructions.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, Unknown
from ..facts import Facts
from ..objects import is_other

CODE = "NKV039"
APPLICABILITY = "manual"
GOLDENS = ("ladder_internals",)
NODES = (ast.Attribute,)


def rewrite(facts: Facts, node: ast.Attribute) -> Answer:
    """Look for the methods on what is known to be a tensor."""
    if node.attr not in ("is_identity", "sim_value", "device_value"):
        return None
    if not facts.tensor(node.value).calls:
        if is_other(facts, node.value):
            return None
        why = f"a tensor of NKI {facts.new} has no '{node.attr}'"
        return Unknown(
            f"'{ast.unparse(node.value)}' is no tensor", why, "ask is_contiguous(), or read values by instructions"
        )
    return Left(f"a tensor has no '{node.attr}' since 0.5", "ask is_contiguous(), or read values by instructions")
