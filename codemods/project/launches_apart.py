"""Kernels that other kernels call, and host code launches, too: where it does so.

Beta 2 calls a function without a decorator, and launches one with. Such a kernel loses its decorator, and a launch of
it is one of ``nki.jit(kernel)``, where all that host code does with the kernel is to launch it. What the kernels that
call it pass says nothing of what a launch does: it is written for all tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..syntax.codes import DECORATORS as CODE
from ..syntax.names import dotted
from ..syntax.node_index import indexed, of_kinds, walk
from ..syntax.nodes import SIMPLE, parents_of
from .host import HARNESSES
from .program import Module


def called_by_kernel(module: Module, function: ast.FunctionDef) -> bool:
    """Does kernel code of this module, or of one that imports the function, call it?"""
    return any(
        name in called_names(other)
        for user, name in users(module, function)
        for other in user.symbols.functions.values()
        if other is not function and (user.symbols.is_kernel(other) or other in user.program.kernel_code)
    )


def users(module: Module, function: ast.FunctionDef) -> list[tuple[Module, str]]:
    """The modules that can call a function, and the name that it has there."""
    around = next((around for around, kernel in module.symbols.inner_kernels if kernel is function), ())
    if around:
        named = [(module, around[0].name), *module.program.users(module, around[0].name)]
        return [(user, f"{name}.{function.name}") for user, name in named]
    return [(module, function.name), *module.program.users(module, function.name)]


@indexed
def called_names(node: ast.AST) -> frozenset[str]:
    """The names, with their modules, of what is called or launched on a grid below a node."""
    targets = (c.func.value if isinstance(c.func, ast.Subscript) else c.func for c in of_kinds(node, ast.Call))
    return frozenset(filter(None, map(_name_of, targets)))


def is_launched_apart(module: Module, function: ast.FunctionDef) -> bool:
    """Is it a kernel that loses its decorator, because kernels call it, and that host code launches by ``nki.jit``?"""
    if not module.symbols.is_launchable(function) or not module.options.enabled(CODE):
        return False
    return called_by_kernel(module, function) and bool(launches(module, function))


def launches(module: Module, function: ast.FunctionDef) -> list[tuple[Module, ast.expr]] | None:
    """The names by which host code launches a kernel; ``None`` where it does anything else with one."""
    found: list[tuple[Module, ast.expr]] = []
    for user, name in users(module, function):
        named = list(_named(user, name))
        if named and (_is_bound_again(user, name.partition(".")[0]) or not _are_launches(user, named)):
            return None
        found += [(user, node) for node in named]
    return found


def launched_apart(module: Module) -> set[ast.AST]:
    """The names in the host code of a module that launch such kernels."""
    functions = ((home, f) for home in module.program.modules.values() for f in home.symbols.functions.values())
    apart = (pair for pair in functions if is_launched_apart(*pair))
    return {node for pair in apart for user, node in launches(*pair) or () if user is module}


def _is_bound_again(user: Module, name: str) -> bool:
    """Does anything but a definition or an import bind a name, anywhere in a module?"""
    tree = user.source.tree
    bound = [*(n.id for n in of_kinds(tree, ast.Name) if not isinstance(n.ctx, ast.Load))]
    bound += [a.arg for a in of_kinds(tree, ast.arg)]
    defined = [d.name for d in of_kinds(tree, ast.FunctionDef, ast.ClassDef)]
    defined += [(a.asname or a.name).partition(".")[0] for a in of_kinds(tree, ast.alias)]
    return name in bound or defined.count(name) > 1


def _named(user: Module, name: str) -> Iterator[ast.expr]:
    """Where host code of a module reads a name."""
    inside = {n for f in of_kinds(user.source.tree, ast.FunctionDef) if f in user.program.kernel_code for n in walk(f)}
    for node in of_kinds(user.source.tree, ast.Name, ast.Attribute):
        if node not in inside and isinstance(node.ctx, ast.Load) and _name_of(node) == name:
            yield node


def _are_launches(user: Module, named: list[ast.expr]) -> bool:
    reached = {n for part in _parts(user, user.source.tree) for n in walk(part)}
    parents = parents_of(user.source.tree)
    return all(node in reached and _is_launch(user, node, parents) for node in named)


def _parts(user: Module, node: ast.AST) -> Iterator[ast.AST]:
    """The statements and expressions of host code that can be rewritten."""
    for statement in [*getattr(node, "body", ()), *getattr(node, "orelse", ())]:
        if statement in user.program.kernel_code:
            continue
        if isinstance(statement, SIMPLE):
            yield statement
        elif isinstance(statement, ast.If | ast.While):
            yield statement.test
        elif isinstance(statement, ast.For):
            yield statement.iter
        yield from _parts(user, statement)


def _is_launch(user: Module, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Is a name called, also on a grid, or handed to what launches it?"""
    parent = parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node:
        node, parent = parent, parents[parent]
    if not isinstance(parent, ast.Call):
        return False
    harness = parent.func.func if isinstance(parent.func, ast.Call) else parent.func
    handed = parent.args[:1] == [node] and user.symbols.host_name(harness) in {"nki.simulate_kernel", *HARNESSES}
    return parent.func is node or handed


def _name_of(node: ast.expr) -> str:
    """A name, with its module; empty for any other expression."""
    chain = dotted(node)
    return ".".join((chain[0], *chain[1])) if chain is not None else ""
