"""Loops on the device as functions: when the body of one can be a function of its own."""

from __future__ import annotations

import ast

from .rung import Rung

Loop = ast.For | ast.While
ASSUMPTION = "the front end takes a function in a kernel as the body of a loop, as that of 0.6 does"


def head_end(rung: Rung, node: Loop) -> int:
    """Where the head of a loop ends, behind its colon."""
    return rung.text.index(":", rung.end(node.iter if isinstance(node, ast.For) else node.test)) + 1


def obstacle(rung: Rung, node: Loop) -> str:
    """Why the body of a loop cannot be a function; empty if it can."""
    if node.orelse or node.body[0].lineno == node.lineno:
        return "the loop has an else, or its body on the same line"
    if any(isinstance(n, (ast.Break, ast.Continue, ast.Return, ast.Global, ast.Nonlocal)) for n in ast.walk(node)):
        return "the body of the loop ends early"
    if _is_in_with(rung, node):
        return "the loop stands in a with statement"
    stored = {
        n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    inside = set(ast.walk(node))
    function = rung.function(node)
    outside = {n.id for n in ast.walk(function or rung.tree) if isinstance(n, ast.Name) and n not in inside}
    shared = sorted(stored & outside)
    target = node.target.id if isinstance(node, ast.For) and isinstance(node.target, ast.Name) else ""
    if target and (target in stored or target in outside):
        return f"'{target}' is used outside of the loop, or bound in it"
    return f"the body gives '{shared[0]}' to what runs outside of it" if shared else ""


def _is_in_with(rung: Rung, node: Loop) -> bool:
    above = rung.parents.get(node)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.With)):
        above = rung.parents.get(above)
    return isinstance(above, ast.With)


def reads_behind(rung: Rung, node: Loop, name: str) -> bool:
    """Is ``name`` used behind a loop, or in front of it in a loop around it?"""
    function, inside = rung.function(node), set(ast.walk(node))
    end = rung.end(node)
    behind = [
        n
        for n in ast.walk(function or rung.tree)
        if isinstance(n, ast.Name) and n.id == name and n not in inside and rung.start(n) > end
    ]
    above = rung.parents.get(node)
    while above is not None and above is not function:
        if isinstance(above, (ast.For, ast.While)):
            return True
        above = rung.parents.get(above)
    return bool(behind)
