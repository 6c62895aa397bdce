"""Truth values that Beta 2 spells otherwise: ``a & b`` is ``a and b``, and ``isinstance`` asks for one type.

With a tuple of types Beta 2's ``isinstance`` is always false.
"""

from __future__ import annotations

import ast

from ..analysis.scope import Scope
from ..expr.emission import Refuse
from ..expr.values import Python
from ..project.host import assigned
from ..syntax.codes import LANGUAGE
from ..syntax.names import dotted
from ..syntax.node_index import children

_WORDS = {ast.BitAnd: "and", ast.BitOr: "or"}
_ASKS = {"isinstance", "bool", "any", "all", "hasattr"}


def truth_text(scope: Scope, node: ast.expr) -> str | None:
    """``a and b`` for ``a & b`` of what is certainly ``True`` or ``False``; ``None`` for anything else."""
    if not isinstance(node, ast.BinOp) or type(node.op) not in _WORDS:
        return None
    operands = _operands(node, type(node.op))
    truths = [_is_truth(scope, operand) for operand in operands]
    if not all(truths):
        if any(truths) and all(is_number(scope, operand) for operand in operands):
            word = _WORDS[type(node.op)]
            what = "a truth value and what may be a number, with an operator that Beta 2 has for numbers only"
            raise Refuse(node, LANGUAGE, what, f"write '{word}' between truth values, or convert with int(...)")
        return None
    scope.apply(LANGUAGE, node)
    texts = [
        f"({scope.evaluator.render(scope, o)})" if isinstance(o, ast.BoolOp) else scope.evaluator.render(scope, o)
        for o in operands
    ]
    return f" {_WORDS[type(node.op)]} ".join(texts)


def instance_text(scope: Scope, node: ast.Call) -> str | None:
    """``(isinstance(a, int) or isinstance(a, float))`` for such a call with ``(int, float)``, else ``None``."""
    named = isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    if not named or len(node.args) != 2 or node.keywords:
        return None
    value, kinds = node.args
    if not isinstance(kinds, ast.Tuple | ast.BinOp):
        return None
    types = _types(kinds)
    if dotted(value) is None or any(isinstance(kind, ast.Starred) for kind in types):
        what = "isinstance of an expression with several types, which is always false in Beta 2"
        raise Refuse(node, LANGUAGE, what, "give it a name, and write one isinstance for each type, joined by 'or'")
    scope.apply(LANGUAGE, node)
    render = scope.evaluator.render
    asked = [f"isinstance({render(scope, value)}, {render(scope, kind)})" for kind in types]
    return f"({' or '.join(asked)})" if len(asked) > 1 else "".join(asked) or "False"


def _types(kinds: ast.expr) -> list[ast.expr]:
    """The types of ``(A, (B, C))`` and of ``A | B``."""
    if isinstance(kinds, ast.Tuple):
        return [kind for part in kinds.elts for kind in _types(part)]
    if isinstance(kinds, ast.BinOp) and isinstance(kinds.op, ast.BitOr):
        return [*_types(kinds.left), *_types(kinds.right)]
    return [kinds]


def check_augmented(scope: Scope, statement: ast.AugAssign) -> None:
    """Refuse ``a &= b`` of a Python value and a truth value, for which Beta 2 has no such operator."""
    word = _WORDS.get(type(statement.op))
    target = statement.target
    own = isinstance(target, ast.Name) and type(scope.names.env.get(target.id)) is Python
    if word is not None and own and _is_truth(scope, statement.value):
        what = "a truth value in an operation in place, which Beta 2 has for numbers only"
        raise Refuse(statement, LANGUAGE, what, f"write {ast.unparse(target)} = {ast.unparse(target)} {word} ...")


def _operands(node: ast.expr, operator: type[ast.operator]) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and type(node.op) is operator:
        return [*_operands(node.left, operator), *_operands(node.right, operator)]
    return [node]


def _is_truth(scope: Scope, node: ast.expr, seen: tuple[str, ...] = ()) -> bool:
    if isinstance(node, ast.Constant):  # Python has no ``&`` with None either: where it runs, there is none
        return isinstance(node.value, bool) or node.value is None
    if isinstance(node, ast.IfExp):
        return _is_truth(scope, node.body, seen) and _is_truth(scope, node.orelse, seen)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return is_number(scope, node.operand)
    if isinstance(node, ast.Compare):
        return is_number(scope, node)
    if isinstance(node, ast.BoolOp):
        return all(_is_truth(scope, value, seen) for value in node.values)
    if isinstance(node, ast.BinOp):
        return type(node.op) in _WORDS and all(_is_truth(scope, side, seen) for side in (node.left, node.right))
    if isinstance(node, ast.Call):
        return _asks(scope, node)
    if isinstance(node, ast.Name) and node.id in seen:  # of truth values, it is one itself
        return True
    if isinstance(node, ast.Name) and type(scope.names.env.get(node.id)) is Python:
        values = assigned(scope.function, node.id)
        return bool(values) and all(_is_truth(scope, value, (*seen, node.id)) for value in values)
    return False


def _asks(scope: Scope, call: ast.Call) -> bool:
    """Is a call one of Python's functions that answer with a truth value?"""
    return (
        isinstance(call.func, ast.Name) and call.func.id in _ASKS and call.func.id not in scope.module.symbols.rebound
    )


def is_number(scope: Scope, node: ast.expr) -> bool:
    """Is everything in an expression a value of Python, or a size?"""
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Attribute) and part.attr in ("shape", "ndim"):
            continue
        if isinstance(part, ast.Name) and not isinstance(scope.names.env.get(part.id), Python):
            return False
        pending += children(part)
    return True
