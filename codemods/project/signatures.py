"""Do calls of imported functions fit the functions of a module?"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from nki_migrate.runtime.spec.grids import GRID_PARAMETERS
from nki_migrate.runtime.spec.launchers import OUTPUT_HARNESSES

from ..syntax.names import dotted, imports
from ..syntax.node_index import walk
from ..syntax.nodes import default_values, positional_parameters


def misfit(tree: ast.Module, local: Mapping[str, str], home: ast.Module) -> str:
    """Why a file's calls of functions that it calls ``local`` cannot be of those of ``home``; empty where they can."""
    functions = {node.name: node for node in home.body if isinstance(node, ast.FunctionDef)}
    meant = {called: functions[name] for called, name in local.items() if name in functions}
    bound = {item.name: item.path for item in imports(tree)}
    for node in walk(tree):
        if not isinstance(node, ast.Call):
            continue
        harness = node.func.func if isinstance(node.func, ast.Call) else node.func
        for argument in node.args:
            function = meant.get(_text(argument))
            if function is not None and _path(harness, bound) in OUTPUT_HARNESSES:
                return (
                    f"line {node.lineno} launches it with nki_jit, whose kernels write to tensors that they get; "
                    "this one returns what it computes"
                )
        function = meant.get(_text(node.func.value if isinstance(node.func, ast.Subscript) else node.func))
        if function is not None and not fits(node, function):
            return f"the call in line {node.lineno} does not fit its parameters"
        if function is not None and isinstance(node.func, ast.Subscript) and _lacks_grid(node, function):
            return f"it takes its launch grid as a parameter, which line {node.lineno} does not pass"
    return ""


def _text(node: ast.expr) -> str:
    chain = dotted(node)
    return ".".join((chain[0], *chain[1])) if chain is not None else ""


def _path(node: ast.expr, bound: Mapping[str, str]) -> str:
    chain = dotted(node)
    return ".".join((bound.get(chain[0], chain[0]), *chain[1])) if chain is not None else ""


def _lacks_grid(call: ast.Call, function: ast.FunctionDef) -> bool:
    """Does a function that was migrated with its launch grid not get one?"""
    parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    return bool(parameters & {*GRID_PARAMETERS} - {keyword.arg for keyword in call.keywords})


def fits(call: ast.Call, function: ast.FunctionDef) -> bool:
    """Can a call's arguments be a function's parameters? (Those behind a star can be any.)"""
    arguments = function.args
    positional = [a.arg for a in positional_parameters(function)]
    every = {*positional, *(a.arg for a in arguments.kwonlyargs)}
    given = {keyword.arg for keyword in call.keywords}
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    if len(call.args) > len(positional) and arguments.vararg is None and not starred:
        return False
    if not given - {None} <= every and arguments.kwarg is None:
        return False
    filled = set(positional[: len(call.args)])
    if filled & given:
        return False
    required = every - {argument.arg for argument in default_values(function)}
    return starred or None in given or required <= filled | given
