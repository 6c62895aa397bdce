"""``**kwargs`` of functions whose keys are known: they become named parameters, before anything else is read.

Calls pass by name what they passed in the dictionary; so do those that pass a dictionary display under a name.

The tree of the module is changed: new nodes stand where the old ones did, and say how they are written
(:func:`~.source.written_as`).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.keywords import (
    REQUIRED,
    Dictionary,
    Unclear,
    accepted_keys,
    callee_of,
    copied_key,
    dictionaries,
    key_of,
    parameter_names,
)
from ..syntax.node_index import of_kinds, trees_changed, walk
from ..syntax.nodes import SIMPLE, parents_of, replace_node
from ..syntax.source import expanded, written_as

if TYPE_CHECKING:
    from ..project.program import Module, Program


def expand(program: Program, walked: set[ast.FunctionDef]) -> None:
    """Write the parameters of such functions out, in all modules, and what their calls pass.

    ``walked`` are the functions that are rewritten at all.
    """
    found = dictionaries(program, walked)
    for module in program.modules.values():
        for caller in module.symbols.functions.values():
            if caller in found or caller in walked:
                _expand_displays(program, module, caller, found)
    for function in found.values():
        _expand_keys(program, function, found)


def _expand_keys(program: Program, function: Dictionary, found: dict[ast.FunctionDef, Dictionary]) -> None:
    node, parents = function.node, parents_of(function.node)
    for key, _, read in function.reads:
        statement = parents[read]
        if isinstance(statement, ast.stmt) and copied_key(function, statement) == key:
            _drop(parents, statement)
            continue
        replace_node(parents, read, written_as(ast.copy_location(ast.Name(key, ast.Load()), read), key))
    for key, target in function.writes:
        replace_node(parents, target, written_as(ast.copy_location(ast.Name(key, ast.Store()), target), key))
    for call, keyword in function.passes:
        callee = callee_of(program, function.module, call)
        assert callee is not None
        passed = [key for key in accepted_keys(callee, call, found) if key in function.needs]
        _pass_by_name(call, keyword, {key: ast.Name(key, ast.Load()) for key in passed})
    assert node.args.kwarg is not None
    place = node.args.kwarg
    for key, default in sorted(function.needs.items(), key=lambda item: item[1] != REQUIRED):
        argument = written_as(
            ast.copy_location(ast.arg(key), place), key if default == REQUIRED else f"{key}={default}"
        )
        node.args.args.append(argument)
        if default != REQUIRED:
            value = ast.parse(default, mode="eval").body
            node.args.defaults.append(written_as(ast.copy_location(value, place), default))
    expanded(node).args.kwarg = None
    function.module.source.is_expanded = True


def _pass_by_name(call: ast.Call, keyword: ast.keyword, values: dict[str, ast.expr]) -> None:
    """``**kwargs`` of a call, as ``x=..., y=...``: keywords that say what follows them, where the old one stood."""
    new = [ast.copy_location(ast.keyword(key, value), keyword) for key, value in values.items()]
    for number, item in enumerate(new):
        written_as(item, ", " if number + 1 < len(new) else "")
        for part in walk(item.value):
            if isinstance(part, ast.expr):
                written_as(ast.copy_location(part, keyword), ast.unparse(part))
    at = call.keywords.index(keyword)
    call.keywords[at : at + 1] = new or [written_as(keyword, "")]
    trees_changed()


def _drop(parents: dict[ast.AST, ast.AST], statement: ast.stmt) -> None:
    """Nothing where a statement stood."""
    replace_node(parents, statement, written_as(ast.copy_location(ast.Pass(), statement), ""))


def _expand_displays(
    program: Program, module: Module, caller: ast.FunctionDef, found: dict[ast.FunctionDef, Dictionary]
) -> None:
    """Calls that pass a dictionary display under a name: ``options = {"x": 1}`` and ``f(**options)``."""
    for call in list(of_kinds(caller, ast.Call)):
        callee = callee_of(program, module, call)
        for keyword in [k for k in call.keywords if k.arg is None] if callee is not None else []:
            display = _display(caller, keyword.value)
            if display is None or callee is None:
                continue
            try:
                accepted = accepted_keys(callee, call, found)
            except Unclear:
                continue
            values = _values(caller, display)
            if {n for n, default in accepted.items() if default == REQUIRED} <= set(values) <= set(accepted):
                _pass_by_name(call, keyword, values)
                module.source.is_expanded = True


def _display(caller: ast.FunctionDef, node: ast.expr) -> ast.Assign | None:
    """The statement that gives a name the one dictionary display that it stands for, with names as keys."""
    if not isinstance(node, ast.Name):
        return None
    parents = parents_of(caller)
    uses = [n for n in of_kinds(caller, ast.Name) if n.id == node.id]
    stores = [n for n in uses if not isinstance(n.ctx, ast.Load)]
    bound = parents[stores[0]] if len(stores) == 1 else None
    if not isinstance(bound, ast.Assign) or len(bound.targets) != 1 or not isinstance(bound.value, ast.Dict):
        return None
    keys = [key_of(key) if key is not None else "" for key in bound.value.keys]
    passed = all(n in stores or isinstance(parents[n], ast.keyword) for n in uses)
    return (
        bound
        if passed and all(keys) and len(set(keys)) == len(keys) and node.id not in parameter_names(caller)
        else None
    )


def _is_fixed(caller: ast.FunctionDef, name: str) -> bool:
    """Does a name mean one thing: a parameter, a global name, or one that a statement outside of blocks binds?"""
    stored = [n for n in of_kinds(caller, ast.Name) if n.id == name and not isinstance(n.ctx, ast.Load)]
    if not stored or name in parameter_names(caller):
        return not stored
    plain = [s for s in caller.body if isinstance(s, SIMPLE)]
    return len(stored) == 1 and any(stored[0] is n for s in plain for n in walk(s))


def _values(caller: ast.FunctionDef, statement: ast.Assign) -> dict[str, ast.expr]:
    """What the keys of a display hold: names that are bound once, in no loop, are read where they are passed."""
    assert isinstance(statement.value, ast.Dict) and isinstance(statement.targets[0], ast.Name)
    values: dict[str, ast.expr] = {}
    stays = False
    for key, value in zip(statement.value.keys, statement.value.values, strict=True):
        name = key_of(key) if key is not None else ""
        fixed = isinstance(value, ast.Name) and _is_fixed(caller, value.id)
        if fixed or isinstance(value, ast.Constant):
            values[name] = ast.parse(ast.unparse(value), mode="eval").body
        else:
            holder = ast.Name(statement.targets[0].id, ast.Load())
            values[name] = ast.Subscript(holder, ast.Constant(name), ast.Load())
            stays = True
    if not stays:
        _drop(parents_of(caller), statement)
    return values
