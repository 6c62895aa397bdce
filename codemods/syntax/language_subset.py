"""Python that Beta 2 kernels cannot contain, and what to write instead (rule NKI091)."""

from __future__ import annotations

import ast

FORBIDDEN_EXPRESSIONS: dict[type[ast.AST], str] = {
    ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dict comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.Lambda: "a lambda",
    ast.NamedExpr: "an assignment expression",
    ast.Set: "a set",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Starred: "a starred expression",
}

FORBIDDEN_STATEMENTS: dict[type[ast.stmt], tuple[str, str]] = {
    ast.Try: ("try", "use if/else"),
    ast.Match: ("match", "use if and elif"),
    ast.With: ("with", "Beta 2 has 'with' only for no_reorder()"),
    ast.Global: ("global", "pass the value as a parameter"),
    ast.Nonlocal: ("nonlocal", "pass the value as a parameter"),
    ast.Delete: ("del", "remove it"),
    ast.ClassDef: ("a class inside a function", "move it to module level"),
    ast.AsyncFunctionDef: ("async", "use a plain function"),
    ast.AsyncFor: ("async", "use a plain loop"),
    ast.AsyncWith: ("async", "use plain statements"),
}


def plainer(node: ast.expr) -> str:
    """What to write instead of a forbidden expression."""
    if isinstance(node, ast.Lambda):
        return "define a module-level function"
    if isinstance(node, ast.Starred):
        return "write its elements, or add tuples: (n,) + x.shape"
    return "write a for loop that appends to a list"
