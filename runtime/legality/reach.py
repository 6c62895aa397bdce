"""Which functions and classes of a file are kernel code: the kernels, and everything that they reach by name.

The front end follows every name that kernel code reads, called or not: functions, classes, and what module-level
variables hold. Decorators and the annotations of parameters are not followed. Everything else is plain Python and is
not judged.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..spec.grammar import blocks, children
from .classes import read_methods, read_statements
from .names import Function, Module

KERNEL_DECORATORS = frozenset(
    f"{root}.{name}"
    for root, names in (("nki", ("jit",)), ("neuronxcc.nki", ("jit", "trace", "baremetal", "benchmark", "profile")))
    for name in names
)
"""Decorators, and functions called with a function, that make a kernel. ``nki.jit`` is the one that Beta 2 has."""

_ROOTS = frozenset(name.partition(".")[0] for name in KERNEL_DECORATORS)

OPAQUE = frozenset(
    {
        *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp),
        *(ast.GeneratorExp, ast.Set, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr),
        *(ast.AsyncFor, ast.AsyncWith, ast.Try, ast.Match, ast.Raise, ast.Delete, ast.Import, ast.ImportFrom),
        *(getattr(ast, name) for name in ("TryStar", "TypeAlias", "TemplateStr") if hasattr(ast, name)),
    }
)
"""Constructs that are refused as a whole: the front end does not look inside, and neither do the rules."""


@dataclass(frozen=True)
class Reached:
    """A function or class that is kernel code; ``enclosing`` are the functions around it, outermost first."""

    node: Function | ast.ClassDef
    enclosing: tuple[Function, ...] = ()


def kernels(module: Module) -> list[Reached]:
    """Kernels of the file: decorated functions at any depth, and functions given to ``nki.jit`` somewhere."""
    if not any(name.partition(".")[0] in _ROOTS for name in module.imports.values()):
        return []  # whatever makes a kernel is imported
    found = [
        Reached(node, enclosing)
        for node, enclosing in _functions(module.tree, ())
        if any(is_kernel_decorator(module, decorator) for decorator in node.decorator_list)
    ]
    wrapped = {name for call in module.calls for name in _wrapped(module, call)}
    definitions = (module.definitions[name] for name in sorted(wrapped) if name in module.definitions)
    return found + [Reached(node) for node in definitions if all(node is not kernel.node for kernel in found)]


def is_kernel_decorator(module: Module, node: ast.expr) -> bool:
    """Does ``node`` (``nki.jit``, ``nki.jit(...)``, ``partial(nki.jit, ...)``, or an alias of one) make a kernel?"""
    if module.qualified(node) in KERNEL_DECORATORS:
        return True
    if isinstance(node, ast.Call):
        is_partial = module.qualified(node.func) == "functools.partial" and bool(node.args)
        return is_kernel_decorator(module, node.args[0] if is_partial else node.func)
    if isinstance(node, ast.Name) and len(values := module.values.get(node.id, [])) == 1:
        return isinstance(values[0], ast.Call) and is_kernel_decorator(module, values[0])
    return False


def _wrapped(module: Module, call: ast.Call) -> Iterator[str]:
    """Names of the functions that ``call`` makes kernels of: ``nki.jit(f)``, ``nki.jit(func=f)``,
    ``nki.jit(...)(f)``."""
    if is_kernel_decorator(module, call.func):
        arguments = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "func")]
        yield from (argument.id for argument in arguments if isinstance(argument, ast.Name))


def _functions(node: ast.AST, enclosing: tuple[Function, ...]) -> Iterator[tuple[Function, tuple[Function, ...]]]:
    for child in blocks(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield child, enclosing
            yield from _functions(child, (*enclosing, child))
        else:
            yield from _functions(child, enclosing)


def reached(module: Module, also: Iterable[str] = ()) -> list[Reached]:
    """All kernel code of the file, in the order of the source. ``also`` names further functions and classes to start
    at."""
    work = [*kernels(module), *(Reached(module.definitions[name]) for name in also if name in module.definitions)]
    found: dict[int, Reached] = {}
    while work:
        item = work.pop()
        if id(item.node) not in found:
            found[id(item.node)] = item
            work += [Reached(module.definitions[name]) for name in sorted(references(module, item.node))]
    kept = [item for item in found.values() if not any(id(function) in found for function in item.enclosing)]
    return sorted(kept, key=lambda item: item.node.lineno)


def references(module: Module, node: Function | ast.ClassDef) -> set[str]:
    """Definitions of the file that ``node`` reads by name, directly or through module-level variables."""
    return {name for name in names_read(module, node) if name in module.definitions}


def names_read(module: Module, node: Function | ast.ClassDef) -> set[str]:
    """Module-level names that ``node`` reads, and those that the variables among them hold."""
    if isinstance(node, ast.ClassDef):
        fields = [
            item.value for item in read_statements(node) if isinstance(item, (ast.Assign, ast.AnnAssign)) and item.value
        ]
        work = [name for method in read_methods(node) for name in _read(module, method)]
        work += [name for value in fields for name in _held(module, value)]
    else:
        work = list(_read(module, node))
    seen: set[str] = set()
    while work:
        name = work.pop()
        if name not in seen:
            seen.add(name)
            work += [held for value in module.values.get(name, []) for held in _held(module, value)]
    return seen


_LOOPS = {"nki.language.fori_loop": ("body_fun", 2), "nki.language.while_loop": ("body_fun", 1)}


def loop_bodies(module: Module, function: Function) -> list[ast.FunctionDef]:
    """Functions inside of ``function`` that ``nl.fori_loop`` or ``nl.while_loop`` calls: kernel code from 0.6 on."""
    nodes = module.own_nodes(function)
    inner = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    given: list[ast.expr] = []
    for node in nodes if inner else ():
        keyword, place = _LOOPS.get(
            (module.qualified(node.func) if isinstance(node, ast.Call) else None) or "", ("", 0)
        )
        if keyword and isinstance(node, ast.Call):
            given += [*node.args[place : place + 1], *(item.value for item in node.keywords if item.arg == keyword)]
    named = {value.id for value in given if isinstance(value, ast.Name)}
    return [node for name, node in inner.items() if name in named]


def _read(module: Module, function: Function) -> set[str]:
    """Names that ``function`` reads and does not bind itself: in its body and in the defaults of its parameters."""
    own = module.local_names(function)
    bodies = {name for body in loop_bodies(module, function) for name in _read(module, body) - own}
    return bodies | _read_itself(module, function)


def _read_itself(module: Module, function: Function) -> set[str]:
    defaults = [*function.args.defaults, *(default for default in function.args.kw_defaults if default is not None)]
    names = {node.id for root in function.body for node in visible(root) if isinstance(node, ast.Name)}
    outer = {node.id for default in defaults for node in visible(default) if isinstance(node, ast.Name)}
    return (names - module.local_names(function)) | outer


def _held(module: Module, value: ast.expr) -> list[str]:
    """Names that a module-level value carries along: its elements, and the class of an instance.

    A function that was called to make the value ran on the host and is not among them; nor is a class that is an
    element.
    """
    if isinstance(value, ast.Name):
        return [value.id]
    if isinstance(value, ast.Attribute):
        return _held(module, value.value)
    if isinstance(value, ast.IfExp):
        return [*_held(module, value.body), *_held(module, value.orelse)]
    if isinstance(value, (ast.List, ast.Tuple)):
        return _elements(module, value.elts)
    if isinstance(value, (ast.Dict, ast.BoolOp)):
        return _elements(module, value.values)
    made = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    if isinstance(value, ast.Call) and isinstance(module.definitions.get(made), ast.ClassDef):
        return [made, *_elements(module, value.args)]
    return []


def _elements(module: Module, values: list[ast.expr]) -> list[str]:
    classes = {name for name, definition in module.definitions.items() if isinstance(definition, ast.ClassDef)}
    plain = [value for value in values if not (isinstance(value, ast.Name) and value.id in classes)]
    return [name for value in plain for name in _held(module, value)]


def is_opaque(node: ast.AST) -> bool:
    """Is ``node`` refused as a whole?"""
    return type(node) in OPAQUE or (isinstance(node, ast.FormattedValue) and node.format_spec is not None)


def visible(node: ast.AST) -> Iterator[ast.AST]:
    """``node`` and what is below it, as far as the front end looks."""
    nodes = [node]
    for each in nodes:  # grows as it is read: breadth first
        if not is_opaque(each):
            nodes += children(each)
            yield each
