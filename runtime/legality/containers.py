"""Which local names of a function surely hold a list, a dictionary or a string."""

from __future__ import annotations

import ast

from .names import Function, Module, parameters


def container_kind(node: ast.expr, known: dict[str, str]) -> str:
    """``list``, ``dict`` or ``string`` where ``node`` is surely one; else empty. ``known`` are names and kinds."""
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return "string"
    if isinstance(node, ast.List):
        return "list"
    if isinstance(node, ast.Dict):
        return "dict"
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
        sides = [container_kind(node.left, known), container_kind(node.right, known)]
        is_list = all(side == "list" for side in sides) or (isinstance(node.op, ast.Mult) and "list" in sides)
        return "list" if is_list else ""
    return ""


def container_names(function: Function, module: Module) -> dict[str, str]:
    """Local names that hold one kind of container wherever they are bound, with that kind; no parameters."""
    values: dict[str, list[ast.expr | None]] = {}
    plain: set[int] = set()
    for node in module.own_nodes(function):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                plain.add(id(target))
                values.setdefault(target.id, []).append(node.value)
    for node in module.own_nodes(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in plain:
            values.setdefault(node.id, []).append(None)
    taken = {parameter.arg for parameter in parameters(function)}
    known: dict[str, str] = {}
    for name, bound in values.items():
        kinds = {container_kind(value, {}) if value is not None else "" for value in bound}
        if len(kinds) == 1 and name not in taken and (kind := kinds.pop()):
            known[name] = kind
    return known
