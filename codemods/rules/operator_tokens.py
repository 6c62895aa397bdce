"""NKI006 operator-tokens: ``np.add``, ``nl.max``, ``np.exp`` become the tokens that Beta 2 accepts.

Why: Beta 1 took numpy's functions and ``nl.max`` as operators, Beta 2 wants ``nl.add``, ``nl.maximum``, ``nl.exp``.

So do those under names, in a choice (``nl.relu if flag else nl.gelu``), in defaults and in calls of functions
(:mod:`~..lower.operator_values`), where instructions alone take them.

Safe: they name the same operator. Left alone: operators that Beta 2 has no token for (``divide``, ``logical_not``,
...), operators whose meaning the source does not tell, and functions under a name that is called.

Source: NKI 2.28, "Supported math operators"; the tokens that the front end of leanprover/KLR accepts.
"""

from __future__ import annotations

import ast

from ..expr.emission import Refuse
from ..expr.tables import activation_token, operator_token
from ..lower.compute import Call
from ..render.expressions import render
from ..syntax import codes

CODE = codes.OPERATOR_TOKENS
GOLDENS = ("operator_tokens",)


PARAMETERS = {"op", "op0", "op1", "reduce_op", "comp_op0", "comp_op1"}
"""Parameters of instructions that are operators."""


def is_activation(instruction: str, parameter: str) -> bool:
    """Is the operator that an instruction gets as ``parameter`` an activation function?"""
    return instruction in ("nisa.activation", "nisa.activation_reduce") and parameter == "op"


def token(call: Call, parameter: str) -> str:
    """Beta 2's token for the operator argument ``parameter`` (NKI006)."""
    node, scope = call.arguments[parameter], call.scope
    activation = is_activation(call.name, parameter)
    qualified = scope.qualified(node)
    if qualified is None:
        text = (
            render(scope, node)
            if isinstance(node, ast.Name)
            else scope.evaluator.operator_choice(scope, node, {activation})
        )
        if not text:
            raise Refuse(node, CODE, f"the operator {ast.unparse(node)} is not known", "pass nl.<operator>")
        return text
    name = activation_token(qualified) if activation else operator_token(qualified)
    if name is None:
        raise Refuse(
            node, CODE, f"Beta 2 has no operator for {qualified}", "compute it with other instructions by hand"
        )
    text = f"{scope.nl}.{name}"
    if text != scope.source.segment(node):
        scope.apply(CODE, node)
    return text
