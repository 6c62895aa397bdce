"""What the arguments of a call are, and where the text of one begins."""

from __future__ import annotations

import ast

from .module import Module


def start_of(module: Module, call: ast.Call, position: int) -> int:
    """Where the text of a positional argument begins, with the parentheses that are around it."""
    end = module.end(call.args[position - 1]) if position else module.end(call.func)
    text, at = module.text, end
    wanted = "," if position else "("
    at = _behind(text, at, wanted)
    return _skipped(text, at)


def _behind(text: str, at: int, wanted: str) -> int:
    while text[at] != wanted:
        at = text.index("\n", at) if text[at] == "#" else at + 1
    return at + 1


def _skipped(text: str, at: int) -> int:
    while text[at].isspace() or text[at] in "#\\":
        at = text.index("\n", at) if text[at] == "#" else at + 1
    return at


def is_surely_no_text(module: Module, node: ast.expr) -> bool:
    """Can the value of an expression be no ``str``, whatever it is?"""
    value = module.constant(node)
    if value is not ...:
        return not isinstance(value, str)
    if isinstance(node, (ast.UnaryOp, ast.Compare, ast.Subscript)):
        return not isinstance(node, ast.Subscript)
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, (ast.Add, ast.Mod, ast.Mult))
    return isinstance(node, ast.Call) and module.member(node.func) is not None
