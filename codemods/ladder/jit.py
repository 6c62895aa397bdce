"""The parameters of ``nki.jit``, wherever they are given: at a decorator, in a call, through ``functools.partial``."""

from __future__ import annotations

import ast

from ..syntax.drafts import Edit
from .answers import Answer, Unknown, rewritten
from .facts import Facts


def is_jit(facts: Facts, node: ast.Call) -> bool:
    """Does a call give arguments to ``nki.jit``?"""
    is_partial = ast.unparse(node.func) in ("partial", "functools.partial") and bool(node.args)
    return facts.qualified(node.args[0] if is_partial else node.func) == "nki.jit"


def without(facts: Facts, node: ast.Call, parameter: str, assumption: str = "") -> Answer:
    """The edits that take a parameter of ``nki.jit`` away; a decorator without arguments loses its brackets."""
    if not is_jit(facts, node):
        return None
    text = facts.text_of(node)
    if text is None:
        help = f"give nki.jit no {parameter}"
        return Unknown(f"'**' gives nki.jit no {parameter}", f"NKI {facts.new} does not take it", help)
    given = text.named(parameter) if text is not None else None
    if given is None:
        return None
    above = facts.rung.parents.get(node)
    if len(text.arguments) == 1 and isinstance(above, ast.FunctionDef) and node in above.decorator_list:
        start = facts.rung.end(node.func)
        end = facts.rung.end(node)
        cut = None if "#" in facts.rung.text[start:end] else Edit(start, end, "")
        return rewritten(cut, assumption=assumption)
    return rewritten(text.removed(given), assumption=assumption)
