"""The ``pass_configs`` of ``tilelang.jit`` as text."""

from __future__ import annotations

import ast

from nki_migrate.runtime.ascend.plans.sources import pass_configuration

from ..syntax.drafts import Edit
from .module import AscendModule


def configuration_edit(
    module: AscendModule, factory: ast.FunctionDef | None, keys: tuple[str, ...]
) -> list[Edit] | None:
    """The edits that set these keys of ``tilelang.PassConfigKey`` to true for the kernels of ``factory``.

    ``None`` where there is no ``tilelang.jit``, where its configuration is no dictionary that is written in the file,
    or one that sets a key to something else.
    """
    decorator = module.jit_of(factory) if factory is not None else None
    root = module.root_name()
    if decorator is None or root is None:
        return None
    known = pass_configuration(module.tree, decorator)
    call = decorator if isinstance(decorator, ast.Call) else None
    if known is None and call is not None and any(k.arg in (None, "pass_configs") for k in call.keywords):
        return None
    missing = [key for key in keys if not (known is not None and _sets(known, key))]
    if known is not None and any(_sets(known, key, value=False) for key in keys):
        return None
    items = [f"{root}.PassConfigKey.{key}: True" for key in missing]
    return _written(module, decorator, known, items) if items else []


def _written(module: AscendModule, decorator: ast.expr, known: ast.Dict | None, items: list[str]) -> list[Edit]:
    """The items in the dictionary that there is, or in one of their own."""
    if known is not None:
        return [_into(module, known, items)]
    call = decorator if isinstance(decorator, ast.Call) else None
    text = f"pass_configs={{{', '.join(items)}}}"
    if call is None:
        return [Edit(module.end(decorator), module.end(decorator), f"({text})")]
    at = module.end(call) - 1
    return [Edit(at, at, f"{', ' if call.args or call.keywords else ''}{text}")]


def _sets(mapping: ast.Dict, key: str, value: bool = True) -> bool:
    for name, given in zip(mapping.keys, mapping.values, strict=True):
        named = isinstance(name, ast.Attribute) and name.attr == key
        texts = isinstance(name, ast.Constant) and name.value == f"tl.{key.removeprefix('TL_').lower()}"
        if named or texts:
            return isinstance(given, ast.Constant) and bool(given.value) == value
    return False


def _into(module: AscendModule, mapping: ast.Dict, items: list[str]) -> Edit:
    """The edit that adds items to a dictionary, on lines of their own where its items are."""
    if not mapping.values:
        return module.replace(mapping, f"{{{', '.join(items)}}}")
    last = mapping.keys[-1]
    assert last is not None
    begin = module.text.rfind("\n", 0, module.start(last)) + 1
    indent = module.text[begin : module.start(last)]
    separator = ", " if indent.strip() else f",\n{indent}"
    at = module.end(mapping.values[-1])
    return Edit(at, at, "".join(f"{separator}{item}" for item in items))
