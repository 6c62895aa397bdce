"""NKV018 keyword-only: the ``*`` of a signature goes.

Why: 0.3 does not know it.

Safe: each call names these arguments, because it had to, and they stand where no other argument comes by position.
Those
without a default come first. Left: parameters behind the ``*`` that have no default, where one in front of it has.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, rewritten
from ..facts import Facts

CODE = "NKV018"
GOLDENS = ("ladder_language",)
NODES = (ast.FunctionDef,)


def rewrite(facts: Facts, node: ast.FunctionDef) -> Answer:
    """Cut the ``*`` out."""
    arguments = node.args
    if not arguments.kwonlyargs or arguments.vararg is not None:
        return None
    required = [default is None for default in arguments.kw_defaults]
    if arguments.defaults and any(required):
        return Left("a parameter behind * has no default, and one in front of it has", "write those without first")
    order = sorted(range(len(required)), key=lambda n: not required[n])
    if order == list(range(len(required))):
        return rewritten(_star(facts, node))
    spans = [_span(facts, *pair) for pair in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    texts = [facts.rung.text[start:end] for start, end in spans]
    if "#" in facts.rung.text[spans[0][0] : spans[-1][1]]:
        return Left("the parameters behind * have comments, and change places", "write those without a default first")
    moved = [Edit(*spans[n], texts[order[n]]) for n in range(len(order)) if order[n] != n]
    return rewritten(_star(facts, node), *moved)


def _span(facts: Facts, parameter: ast.arg, default: ast.expr | None) -> tuple[int, int]:
    return facts.rung.start(parameter), facts.rung.end(default if default is not None else parameter)


def _star(facts: Facts, node: ast.FunctionDef) -> Edit | None:
    """The edit that cuts ``*,`` out; a line of its own goes as a whole."""
    rung, first = facts.rung, node.args.kwonlyargs[0]
    end = rung.start(first)
    before = [*node.args.posonlyargs, *node.args.args, *node.args.defaults]
    annotations = [a.annotation for a in before if isinstance(a, ast.arg) and a.annotation is not None]
    begin = max((rung.end(item) for item in [*before, *annotations]), default=rung.text.index("(", rung.start(node)))
    text = rung.text[begin:end]
    star = text.rfind("*")
    if "#" in text or star < 0:
        return None
    return Edit(begin + star, end, "")
