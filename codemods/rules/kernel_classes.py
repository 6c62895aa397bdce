"""NKI009 kernel-classes: a class that kernels use derives from ``nl.NKIObject``.

Why: the Beta 2 compiler reads the classes that a kernel reaches, and accepts only ``nl.NKIObject`` and ``Enum`` as
their base. A class without a base gets it; its methods are rewritten like helpers.

Safe: ``NKIObject`` is an empty class where Python runs the code, and a dataclass stays one. Left alone: classes with
other bases, methods with decorators, and bodies with more than fields, methods and a docstring.

Source: NKI language guide of 2.28, "User-defined classes"; the front end of leanprover/KLR ("NKI classes must inherit
from either Enum or NKIObject").
"""

from __future__ import annotations

import ast

from ..emission import Refuse
from ..program import Program
from ..scope import Module

CODE = "NKI009"
GOLDENS = ("kernel_class",)

_BASES = {"enum.Enum", "nl.NKIObject"}
_FIELDS = (ast.AnnAssign, ast.Assign, ast.Pass, ast.FunctionDef)


def rewrite(program: Program) -> list[tuple[Module, ast.FunctionDef]]:
    """Give the classes that walked functions use their base; returns the methods that are to be walked like helpers."""
    methods = []
    for module, node in _used(program):
        try:
            _check(module, node)
        except Refuse as refusal:
            module.report(refusal)
            continue
        if not node.bases:
            module.edits.bases[node] = f"{module.alias('nl')}.NKIObject"
            module.applied[CODE] += 1
            module.touched.add(node.name)
        methods += [(module, s) for s in node.body if isinstance(s, ast.FunctionDef)]
    return methods


def _used(program: Program) -> list[tuple[Module, ast.ClassDef]]:
    """Classes that kernels and helpers name, and those that these name in turn."""
    classes = {path: _classes(module) for path, module in program.modules.items()}
    pending: list[tuple[Module, ast.AST]] = [(m, f) for m in program.modules.values() for f in m.analyzed]
    found: dict[ast.ClassDef, Module] = {}
    seen: set[tuple[str, str]] = set()
    while pending:
        module, user = pending.pop()
        for node in ast.walk(user):
            path, name = program.origin(module, node)
            used = classes[path].get(name)
            if used is not None and used not in found:
                found[used] = program.modules[path]
                pending.append((found[used], used))
            if (path, name) not in seen:  # a global object has a class, too
                seen.add((path, name))
                home = program.modules[path]
                pending += [
                    (home, s.value) for s in home.source.tree.body if isinstance(s, ast.Assign) and _binds(s, name)
                ]
    return [
        (module, node) for module in program.modules.values() for node in _classes(module).values() if node in found
    ]


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)


def _classes(module: Module) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in module.source.tree.body if isinstance(node, ast.ClassDef)}


def _check(module: Module, node: ast.ClassDef) -> None:
    if not module.options.enabled(CODE):
        raise Refuse(node, CODE, f"the rule {CODE} is not selected", f"select it with --select {CODE}")
    bases = [ast.unparse(base) for base in node.bases]
    if node.keywords or any((module.decorator(base) or "") not in _BASES for base in node.bases) or len(bases) > 1:
        what = f"'{node.name}' derives from {', '.join(bases)}" if bases else f"'{node.name}' has a metaclass"
        raise Refuse(node, CODE, f"{what}, and a kernel uses it", "derive it from nl.NKIObject or Enum alone")
    for statement in node.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if not isinstance(statement, _FIELDS):
            raise Refuse(
                statement, CODE, f"'{node.name}' holds more than fields and methods", "move it out of the class"
            )
        decorators = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
        if any(not (isinstance(d, ast.Name) and d.id == "staticmethod") for d in decorators):
            message = f"a method of '{node.name}', which a kernel uses, has a decorator"
            raise Refuse(statement, CODE, message, "write a plain method, or a function of the module")
