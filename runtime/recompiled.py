"""A function's source, changed and compiled again: lines and columns stay those of the file."""

from __future__ import annotations

import ast
from types import CodeType, FunctionType

from .conditions import watched
from .positions import compiled_from


def recompiled(function: FunctionType, tree: ast.FunctionDef, free: tuple[str, ...]) -> CodeType:
    """The code of ``function`` with the body of ``tree``, where ``free`` are the names of a closure."""
    tree.decorator_list = []
    watched(tree, function.__code__.co_filename)
    empty = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    factory = ast.copy_location(ast.FunctionDef("__nki_factory__", empty, [tree], [], None, None), tree)
    if "type_params" in ast.FunctionDef._fields:  # Python 3.12
        setattr(factory, "type_params", [])  # noqa: B010
    module = ast.fix_missing_locations(ast.Module([factory], []))
    compiled = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
    compiled_from(module, compiled)
    return _inner(_inner(compiled, "__nki_factory__"), tree.name)


def _inner(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
