"""How far the front end reads a class: to the first thing that it refuses."""

from __future__ import annotations

import ast

BAD_BASE = "NKI classes must inherit from either Enum or NKIObject"
BAD_KEYWORDS = "class keywords are not supported in NKI"
BAD_TYPE_PARAMETERS = "class type parameters are not supported in NKI"


def head_problem(node: ast.ClassDef) -> str:
    """What the front end says to the first line of a class; empty for a good one."""
    if node.keywords:
        return BAD_KEYWORDS
    if getattr(node, "type_params", []):
        return BAD_TYPE_PARAMETERS
    names = [name for base in node.bases if (name := last_component(base)) is not None]
    if not node.bases or not all("NKIObject" in name or "Enum" in name for name in names):
        return BAD_BASE
    return ""


def statement_problem(node: ast.stmt) -> str:
    """What the front end says to a statement in the body of a class; empty for fields, functions and docstrings."""
    if isinstance(node, ast.Expr):
        return "" if isinstance(node.value, ast.Constant) else "Expression statements not supported in NKI classes"
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) != 1:
            return "invalid assignment in NKI class"
        return "" if isinstance(targets[0], ast.Name) else "invalid left-hand side in assignment"
    return "" if isinstance(node, (ast.Pass, ast.FunctionDef)) else "Statement not supported in NKI classes"


def read_statements(node: ast.ClassDef) -> list[ast.stmt]:
    """Statements of the body that the front end reads; the last one may be the one that it stops at."""
    if head_problem(node):
        return []
    read: list[ast.stmt] = []
    for statement in node.body:
        read.append(statement)
        if statement_problem(statement):
            break
    return read


def read_methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """Functions of a class that the front end reads."""
    return [statement for statement in read_statements(node) if isinstance(statement, ast.FunctionDef)]


def last_component(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None
