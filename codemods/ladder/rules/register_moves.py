"""NKV011 register-moves: what ``register_move`` moves is a register, ``src``.

Why: 0.2 moved a number, ``imm``; since 0.3 the number is put in a register first.

Safe: ``register_alloc`` makes a register that holds the number.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, Unknown, rewritten
from ..choices import choices
from ..facts import Facts

CODE = "NKV011"
GOLDENS = ("ladder_registers",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.register_move"})


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Allocate a register for the number."""
    text = facts.text_of(node) if facts.called(node) == "nki.isa.register_move" else None
    if text is None:
        return None
    given = text.named("imm")
    moved = node.args[1] if len(node.args) == 2 else None
    if given is None and moved is not None and _is_number(facts, moved):
        given = text.arguments[1]
    if given is None:
        if moved is None or is_register(facts, moved):
            return None
        why = f"register_move of NKI {facts.new} moves registers"
        return Unknown(f"'{ast.unparse(moved)}' is a register", why, "put a number in a register first: register_alloc")
    alloc = facts.spelled(node, "nki.isa.register_alloc")
    if alloc is None:
        return Left("register_move moves a register", "write register_move(dst, src=nisa.register_alloc(number))")
    keyword = "src=" if given.keyword else ""
    return rewritten(Edit(given.start, given.end, f"{keyword}{alloc}({text.text(given)})"))


def _is_number(facts: Facts, node: ast.expr) -> bool:
    """Can an expression be nothing but a number?"""
    if isinstance(node, ast.UnaryOp):
        return _is_number(facts, node.operand)
    return facts.tensors.index_kind(facts.path, facts.rung, node) == "integer"


def is_register(facts: Facts, node: ast.expr) -> bool:
    """Is an expression made by ``nisa.register_alloc`` only?"""
    found = choices(facts, node)
    return (
        bool(found)
        and all(
            facts.program.rungs[path].qualified(each.func) == "nki.isa.register_alloc"
            for path, each in found or ()
            if isinstance(each, ast.Call)
        )
        and all(isinstance(each, ast.Call) for _, each in found or ())
    )
