"""NKV011 register-moves: what ``register_move`` moves is a register, ``src``.

Why: 0.2 moved a number, ``imm``; since 0.3 the number is put in a register first.

Safe: ``register_alloc`` makes a register that holds the number.
"""

from __future__ import annotations

import ast

from ...drafts import Edit
from ..answers import Answer, Left, rewritten
from ..facts import Facts

CODE = "NKV011"
GOLDENS = ("ladder_registers",)
NODES = (ast.Call,)


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Allocate a register for the number."""
    text = facts.text_of(node) if facts.called(node) == "nki.isa.register_move" else None
    if text is None:
        return None
    given = text.named("imm")
    if given is None and len(node.args) == 2 and _is_number(node.args[1]):
        given = text.arguments[1]
    if given is None:
        return None
    alloc = facts.spelled(node, "nki.isa.register_alloc")
    if alloc is None:
        return Left("register_move moves a register", "write register_move(dst, src=nisa.register_alloc(number))")
    keyword = "src=" if given.keyword else ""
    return rewritten(Edit(given.start, given.end, f"{keyword}{alloc}({text.text(given)})"))


def _is_number(node: ast.expr) -> bool:
    """Can an expression be nothing but a number?"""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return True
    return isinstance(node, ast.Constant) and type(node.value) is int
