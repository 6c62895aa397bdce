"""Dictionaries with whole numbers for keys: Beta 2 has strings only, so the keys and what is looked up become strings.

Only for a dictionary with one definition, of which nothing but elements is read: two whole numbers are equal where
their texts are, and what is no whole number ends the kernel, as a key that is not there does.
"""

from __future__ import annotations

import ast

from ..analysis.own_functions import own_function
from ..analysis.scope import Scope
from ..expr.values import Keyed
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.node_index import of_kinds


def number_keyed(scope: Scope, statement: ast.stmt) -> ast.Dict | ast.DictComp | None:
    """The dictionary of ``name = {1: a, 2: b}`` whose keys can become strings; ``None`` for anything else."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if (
        not isinstance(statement, ast.Assign)
        or not isinstance(target, ast.Name)
        or scope.names.assigned[target.id] != 1
    ):
        return None
    value = statement.value
    if not isinstance(value, ast.Dict | ast.DictComp) or not scope.module.options.enabled(CODE):
        return None
    numbers = _has_numbers(scope, value)
    return value if numbers and _only_elements(scope.function, target) else None


def _has_numbers(scope: Scope, value: ast.Dict | ast.DictComp) -> bool:
    """Are all keys whole numbers that the source shows?"""
    if isinstance(value, ast.Dict):
        return bool(value.keys) and all(key is not None and _is_whole(key) for key in value.keys)
    if len(value.generators) != 1 or not isinstance(value.key, ast.Name):
        return False
    generator = value.generators[0]
    counted, target = generator.iter, generator.target
    if isinstance(counted, ast.Call):
        python = own_function(scope, counted.func) == "range"
        whole = python or scope.qualified(counted.func) == "nl.static_range"
    else:
        whole = isinstance(counted, ast.List | ast.Tuple) and all(map(_is_whole, counted.elts))
    return whole and isinstance(target, ast.Name) and target.id == value.key.id


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _only_elements(function: ast.FunctionDef, target: ast.Name) -> bool:
    """Is the dictionary of a function only read, element by element?"""
    read = {
        node.value
        for node in of_kinds(function, ast.Subscript)
        if isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice)
    }
    names = (n for n in of_kinds(function, ast.Name) if n.id == target.id)
    return all(name is target or name in read for name in names)


def bind_keys(scope: Scope, statement: ast.stmt) -> str:
    """Give the keys of a dictionary their new text; returns its name, empty where the statement defines none."""
    value = number_keyed(scope, statement)
    if value is None or not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return ""
    scope.apply(CODE, value)
    if isinstance(value, ast.Dict):
        scope.output.given.update({key: f'"{ast.unparse(key)}"' for key in value.keys if key is not None})
    return statement.targets[0].id


def looked_up(scope: Scope, node: ast.Subscript) -> str | None:
    """``table[str(n)]`` for an element of such a dictionary; ``None`` for any other subscript."""
    base = node.value
    if not isinstance(base, ast.Name) or not isinstance(scope.names.env.get(base.id), Keyed):
        return None
    scope.apply(CODE, node)
    return f"{base.id}[str({scope.evaluator.render(scope, node.slice)})]"
