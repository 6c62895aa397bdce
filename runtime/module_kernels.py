"""The kernels of a module that was loaded, and the one that a case names."""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import os
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, cast

from . import absent
from .cases import CaseError
from .dialect import JIT, Frontend, frontends
from .messages import Kernel
from .spec.beta1 import canonical
from .spec.grammar import statements
from .spec.launchers import given_kernel
from .trees import tree_of


def frontend_of(candidate: object, language: str) -> Frontend | None:
    """The front end that runs ``candidate``, ``None`` for an object that is no kernel of ``language``."""
    return next((each for each in frontends(language) if each.function(candidate) is not None), None)


def kernels_of(module: ModuleType, language: str = "nki") -> list[Kernel]:
    """The kernels that ``module`` itself defines, in source order; one that a class holds is ``Class.name``."""
    found: dict[str, Kernel] = {}
    bare = _bare(module, language)
    for name, bound in _defined(module):
        value = bare.get(name) or absent.decorated(bound) or bound
        front = frontend_of(value, language)
        if front is None:
            continue
        code = getattr(inspect.unwrap(cast(Any, front.function(value))), "__code__", None)
        if code is None or not _same_file(code.co_filename, module):
            continue
        if "." in name and code.co_varnames[:1] in (("self",), ("cls",)):
            continue  # it needs an object of its class
        found[name] = Kernel(name, front.name, code.co_firstlineno, front.is_part(value))
    return sorted(found.values(), key=lambda kernel: (kernel.line, kernel.name))


def _bare(module: ModuleType, language: str) -> dict[str, Any]:
    """The functions of a module that its file launches without a decorator, as kernels.

    Not those that are kernels under another name: ``made = nki.jit(function)``.
    """
    package, names = _launched(tree_of(module.__file__)) if language == "nki" and module.__file__ else ("", ())
    if not names:
        return {}
    fronts = [(value, frontend_of(value, language)) for value in vars(module).values()]
    wrapped = [inspect.unwrap(cast(Any, front.function(value))) for value, front in fronts if front is not None]
    functions = {name: vars(module).get(name) for name in names}
    jit = importlib.import_module(f".{package}.nki", __package__).jit
    plain = {name: f for name, f in functions.items() if inspect.isfunction(f) and f not in wrapped}
    return {name: jit(function) for name, function in plain.items()}


def is_part(module: ModuleType, name: str, language: str) -> bool:
    """Is ``name`` a plain function of a module, which nothing in its file launches?"""
    return inspect.isfunction(getattr(module, name, None)) and name not in _bare(module, language)


def _defined(module: ModuleType) -> Iterator[tuple[str, object]]:
    """The names of a module, and those that its classes hold."""
    for name, bound in list(vars(module).items()):
        yield name, bound
        if inspect.isclass(bound) and bound.__module__ == module.__name__ and bound.__qualname__ == name:
            for member, value in list(vars(bound).items()):
                yield f"{name}.{member}", value.__func__ if isinstance(value, staticmethod) else value


def _same_file(filename: str, module: ModuleType) -> bool:
    return os.path.abspath(filename) == os.path.abspath(module.__file__ or "")


def kernel_of(module: ModuleType, name: str, language: str) -> tuple[Any, Frontend]:
    """The kernel object called ``name``, and what runs it."""
    value = getattr(module, name, None) if "." not in name else dict(_defined(module)).get(name)
    if inspect.isfunction(value):
        value = _bare(module, language).get(name, value)
    front = frontend_of(value, language)
    if front is not None:
        return value, front
    if isinstance(value, absent.Placeholder) and absent.decorated(value) is not None:
        raise absent.refusal(value)
    if value is not None:
        raise CaseError(f"'{name}' of {module.__file__} is not a kernel: it is not decorated with {JIT[language]}")
    names = [kernel.name for kernel in kernels_of(module, language)]
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(names) or 'none'}"
    raise CaseError(f"{module.__file__} has no kernel '{name}': {hint}")


def _launched(tree: ast.Module) -> tuple[str, Sequence[str]]:
    """The functions of a module that have no decorator, and that something launches which gets them.

    In front of their names, the package of the emulator that runs them.
    """
    paths = _imported(tree)
    bare = {s.name for s in tree.body if isinstance(s, ast.FunctionDef) and not s.decorator_list}
    roots = {path.partition(".")[0] for path in paths.values()}
    if not bare or roots.isdisjoint(("neuronxcc", "nki")):
        return "", ()

    def meant(node: ast.expr) -> str:
        root, dot, rest = ast.unparse(node).partition(".")
        return canonical(f"{paths[root]}{dot}{rest}") if root in paths else ""

    given = (given_kernel(node, meant) for node in ast.walk(tree) if isinstance(node, ast.Call))
    names = {found[0].id for found in given if found and isinstance(found[0], ast.Name)}
    return "beta1" if "neuronxcc" in roots else "beta2", sorted(names & bare)


def _imported(tree: ast.Module) -> dict[str, str]:
    """The path of what each name means that an absolute import binds."""
    paths: dict[str, str] = {}
    for node in statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                paths[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and not node.level:
            paths |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return paths
