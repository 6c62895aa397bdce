"""What the functions of a program ask of the launch grid, and where they call each other."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ...expr.emission import Refuse
from ...project.program import Module, Program
from ...syntax.codes import LAUNCH_GRID as CODE
from ...syntax.names import dotted
from ...syntax.node_index import of_kinds, walk

Function = tuple[Module, ast.FunctionDef]

_QUESTIONS = {"nl.program_id", "nl.num_programs", "nl.program_ndim"}


@dataclass(frozen=True)
class Asked:
    """A call that asks for the grid: of which axes; ``None``: of all of them."""

    call: ast.Call
    name: str
    axes: tuple[int, ...] | None


def questions(module: Module, function: ast.FunctionDef) -> list[Asked]:
    """All that a function (with those in it) asks itself.

    Raises :class:`Refuse` for a question whose axis is no number in the source, and for what needs the programs of a
    grid to run side by side.
    """
    calls = list(of_kinds(function, ast.Call))
    found = [_asked(module, call) for call in calls if module.symbols.host_name(call.func) in _QUESTIONS]
    called = {call.func for call in calls}
    for node in walk(function):
        name = module.symbols.host_name(node) if isinstance(node, ast.Attribute | ast.Name) else ""
        if name == "nl.all_reduce":
            message = "nl.all_reduce exchanges values between programs, which a loop runs one after the other"
            raise Refuse(node, CODE, message, "write the reduction over a tensor in HBM, in a loop of its own")
        if name in _QUESTIONS and node not in called:
            raise Refuse(node, CODE, f"{name} under another name", "call it by its own name")
    return found


def is_asking(program: Program, module: Module, function: ast.FunctionDef) -> bool:
    """Does a function, or one of the program that it names, ask for the grid, or need its programs side by side?"""
    pending, seen = [(module, function)], {function}
    while pending:
        home, found = pending.pop()
        asked = program.draft.attempt(questions, home, found)
        if isinstance(asked, Refuse) or asked:
            return True
        nodes = (n for n in of_kinds(found, ast.Name, ast.Attribute))
        named = [other for node in nodes if (other := meant(program, home, node)) is not None and other[1] not in seen]
        seen |= {other for _, other in named}
        pending += named
    return False


def _asked(module: Module, call: ast.Call) -> Asked:
    name = module.symbols.host_name(call.func)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not given:
        return Asked(call, name, None)
    node = given[0]
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    axes = [part.value for part in parts if isinstance(part, ast.Constant) and type(part.value) is int]
    if isinstance(node, ast.Constant) and node.value is None:
        return Asked(call, name, None)
    if len(given) > 1 or len(axes) != len(parts) or min(axes, default=0) < 0:
        raise Refuse(call, CODE, f"{name} of an axis that is no number here", "write the axis as a number")
    return Asked(call, name, tuple(axes))


@dataclass(frozen=True)
class Call:
    """A function calls another one of the program."""

    caller: Function
    callee: Function
    node: ast.Call


def functions_of(program: Program) -> list[Function]:
    """The module-level functions of a program."""
    return [(module, function) for module in program.modules.values() for function in module.symbols.functions.values()]


def meant(program: Program, module: Module, node: ast.expr) -> Function | None:
    """The function of the program that a name, or ``module.name``, means."""
    if isinstance(node, ast.Name) and node.id in module.symbols.functions:
        return module, module.symbols.functions[node.id]
    return program.function(module, node) if isinstance(node, ast.Name | ast.Attribute) else None


def calls_of(program: Program, caller: Function) -> Iterator[Call]:
    """The calls that a function makes of others of the program. (A launch, ``kernel[grid](...)``, is none.)"""
    module, function = caller
    local = bound_in(function)
    for node in walk(function):
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in local):
            callee = meant(program, module, node.func)
            if callee is not None and callee != caller:
                yield Call(caller, callee, node)


def named_by(program: Program, caller: Function) -> set[ast.FunctionDef]:
    """Functions of the program that a function names, in whatever expression."""
    nodes = (n for n in of_kinds(caller[1], ast.Name, ast.Attribute) if isinstance(n.ctx, ast.Load))
    return {found[1] for node in nodes if (found := meant(program, caller[0], node)) is not None}


def asked_by_methods(program: Program) -> list[tuple[Module, ast.Call]]:
    """Questions of methods, which get no parameters."""
    found = []
    for module in program.modules.values():
        classes = list(of_kinds(module.source.tree, ast.ClassDef))
        calls = {node: None for c in classes for node in of_kinds(c, ast.Call)}
        found += [(module, call) for call in calls if module.symbols.host_name(call.func) in _QUESTIONS]
    return found


def out_of_sight(module: Module, function: ast.FunctionDef) -> list[ast.Call]:
    """The first call of each imported function that is neither NKI's, nor Python's or numpy's, nor of these files."""
    links, relative_names = module.program.links[module.path], _relative_names(module)
    found: dict[object, ast.Call] = {}
    for node in walk(function):
        chain = dotted(node.func) if isinstance(node, ast.Call) else None
        bound = module.symbols.imports.get(chain[0]) if chain is not None else None
        relative = chain is not None and chain[0] in relative_names
        if chain is None or chain[0] in links or (bound is None and not relative):
            continue
        root = bound.path.partition(".")[0] if bound is not None else ""
        if isinstance(node, ast.Call) and root not in _KNOWN and root not in sys.stdlib_module_names:
            found.setdefault(chain, node)
    return list(found.values())


_KNOWN = {"neuronxcc", "numpy", "ml_dtypes"}


def _relative_names(module: Module) -> set[str]:
    statements = (n for n in of_kinds(module.source.tree, ast.ImportFrom) if n.level)
    return {alias.asname or alias.name for statement in statements for alias in statement.names}


def named_otherwise(program: Program) -> set[ast.FunctionDef]:
    """Functions that are named without being called, or launched, there."""
    found = set()
    for module in program.modules.values():
        nodes = list(walk(module.source.tree))
        plain = {node.func for node in nodes if isinstance(node, ast.Call)}
        plain |= {node.value for node in nodes if isinstance(node, ast.Subscript | ast.Attribute)}
        for node in nodes:
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and node not in plain:
                callee = meant(program, module, node)
                found |= {callee[1]} if callee is not None else set()
    return found


def bound_in(function: ast.FunctionDef) -> set[str]:
    """Names that a function, or one in it, binds."""
    nodes = list(walk(function))
    bound = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    return bound | {n.name for n in nodes if isinstance(n, ast.FunctionDef) and n is not function}


def on_device(program: Program, found: list[Call]) -> set[ast.FunctionDef]:
    """Kernels, and all that they call."""
    reached = {function for module, function in functions_of(program) if module.symbols.is_kernel(function)}
    while True:
        more = {call.callee[1] for call in found if call.caller[1] in reached} - reached
        if not more:
            return reached
        reached |= more


def is_library(module: Module, function: ast.FunctionDef) -> bool:
    """May kernels that these files do not show call a function: is it kernel code, and no kernel?"""
    return module.program.kernel_code.is_entered(function) and not module.symbols.is_launchable(function)
