"""NKI006 operator-tokens: ``np.add``, ``nl.max``, ``np.exp`` become the tokens that Beta 2 accepts.

Why: Beta 1 took numpy's functions and ``nl.max`` as operators, Beta 2 wants ``nl.add``, ``nl.maximum``, ``nl.exp``.

Safe: they name the same operator. Left alone: operators that Beta 2 has no token for (``divide``, ``logical_not``,
...), and operators whose meaning the source does not tell.

Source: NKI 2.28, "Supported math operators"; the tokens that the front end of leanprover/KLR accepts.
"""

from __future__ import annotations

import ast

from ..compute import Call
from ..emission import Refuse
from ..tables import activation_token, operator_token

CODE = "NKI006"
GOLDENS = ("operator_tokens",)


def token(call: Call, parameter: str, *, activation: bool = False) -> str:
    """Beta 2's token for the operator argument ``parameter`` (NKI006)."""
    node = call.arguments[parameter]
    qualified = call.scope.qualified(node)
    if qualified is None:
        if isinstance(node, ast.Name):
            return node.id
        raise Refuse(node, CODE, f"the operator {ast.unparse(node)} is not known", "pass nl.<operator>")
    name = activation_token(qualified) if activation else operator_token(qualified)
    if name is None:
        raise Refuse(
            node, CODE, f"Beta 2 has no operator for {qualified}", "compute it with other instructions by hand"
        )
    text = f"{call.scope.nl}.{name}"
    if text != call.scope.source.segment(node):
        call.scope.apply(CODE, node)
    return text
