"""NKV044 induction-variables: a write to the variable of a ``dynamic_range`` loop is reported.

Why: up to 0.3 it had no effect; since 0.4 it ends the trace with an error.

Manual: take the write out, which changes nothing, or write the loop that was meant with ``nl.while_loop``.
"""

from __future__ import annotations

import ast

from ...syntax.nodes import is_name
from ..answers import Answer, Left, Unknown
from ..facts import Facts

CODE = "NKV044"
APPLICABILITY = "manual"
GOLDENS = ("ladder_left",)
NODES = (ast.For,)
_HELP = "take the write out, or write the loop with nl.while_loop"


def rewrite(facts: Facts, node: ast.For) -> Answer:
    """Look for what writes the variable in the body."""
    if facts.called(node.iter) != "nki.language.dynamic_range":
        return None
    if not isinstance(node.target, ast.Name):
        return Left("the variable of a dynamic loop is no name", "give it one")
    name = node.target.id
    for statement in node.body:
        for item in ast.walk(statement):
            if isinstance(item, ast.Name) and item.id == name and not isinstance(item.ctx, ast.Load):
                return Left(f"'{name}' is written in the loop that counts it", _HELP)
            if isinstance(item, ast.Call) and any(is_name(each, name) for each in _given(item)):
                answer = _passed(facts, item, name)
                if answer is not None:
                    return answer
    return None


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _passed(facts: Facts, call: ast.Call, name: str) -> Answer:
    """What a call does to the variable: an instruction that writes registers, or a function that may."""
    callee = facts.called(call)
    if callee in ("nki.isa.register_move", "nki.isa.register_load"):
        dst = facts.arguments(call).get("dst")
        return Left(f"'{name}' is written in the loop that counts it", _HELP) if dst and is_name(dst, name) else None
    if callee or (isinstance(call.func, ast.Attribute) and call.func.attr in ("ap", "ds")):
        return None
    why = f"NKI {facts.new} refuses writes to the variable of a loop"
    return Unknown(f"'{ast.unparse(call.func)}' does not write '{name}'", why, _HELP)
