"""Kernels in the bodies of classes and functions: rewritten where they stand, as far as Beta 2 finds what they name.

The front end of Beta 2 reads the source of a kernel wherever it stands, and looks its names up in the module: what the
function around it binds is not there. A kernel in a class becomes a static method: a kernel of Beta 1 was no function,
to which an object would pass itself.

Source: the front end of leanprover/KLR (it reads a function by its source, and names in its ``__globals__`` only).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..plan.grids.questions import is_asking
from ..rules import decorators
from ..rules.nested_functions import bound_names
from ..syntax.codes import NESTED_FUNCTIONS as NESTED
from ..syntax.node_index import of_kinds, walk

if TYPE_CHECKING:
    from ..project.program import Module

Around = tuple[ast.FunctionDef | ast.ClassDef, ...]
_LAUNCHING = {"nki.jit", *decorators.REMOVED}


def rewrite(module: Module) -> Iterator[ast.FunctionDef]:
    """Rewrite the decorators of the kernels that stand in classes and functions; yields those to be walked.

    Those in functions that are kernel code themselves are that code's nested functions.
    """
    for around, kernel in module.inner_kernels:
        if any(outer in module.analyzed or outer in module.left for outer in around):
            continue
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in kernel.decorator_list[:1])
        refusal = module.program.draft.attempt(_check, module, around, kernel, static)
        if refusal is not None:
            module.report(refusal)
            module.left.add(kernel)
            continue
        decorators.rewrite(module, kernel)
        if isinstance(around[-1], ast.ClassDef) and not static:
            module.edits.static.add(kernel)
            module.applied[decorators.CODE] += 1
            module.touched.add(around[0].name)
        yield kernel


def _check(module: Module, around: Around, kernel: ast.FunctionDef, static: bool) -> None:
    """Raises :class:`Refuse` for a kernel that cannot be one where it stands."""
    code = NESTED if any(isinstance(outer, ast.FunctionDef) for outer in around) else decorators.CODE
    place = f"'{kernel.name}' is a kernel in '{around[-1].name}', and"
    help = "make it a function of the module"
    used = _names_around(around, kernel)
    if used:
        names = ", ".join(used)
        message = f"{place} uses names of it, which Beta 2 does not find: {names}"
        raise Refuse(kernel, code, message, f"{help}, and pass it these as arguments; then migrate it")
    others = kernel.decorator_list[1:] if static else kernel.decorator_list
    if not module.is_launchable(kernel) or any(module.decorator(d) not in _LAUNCHING for d in others):
        raise Refuse(kernel, code, f"{place} has other decorators than nki.jit", help)
    if decorators.called_by_kernel(module, kernel):
        raise Refuse(kernel, code, f"{place} another kernel calls it", help)
    if is_asking(module.program, module, kernel):
        raise Refuse(kernel, code, f"{place} asks for its place in the launch grid", f"{help}; then migrate it")
    if isinstance(around[-1], ast.ClassDef) and not static:
        _check_method(around[-1], kernel, place, help)


def _check_method(cls: ast.ClassDef, kernel: ast.FunctionDef, place: str, help: str) -> None:
    """Raises :class:`Refuse` for a kernel in a class that cannot become a static method."""
    body = [n for s in cls.body if not isinstance(s, ast.FunctionDef) for n in walk(s)]
    if any(isinstance(n, ast.Name) and n.id == kernel.name for n in body):
        raise Refuse(kernel, decorators.CODE, f"{place} the body of the class uses it", help)
    first = [a.arg for a in [*kernel.args.posonlyargs, *kernel.args.args]][:1]
    if first in (["self"], ["cls"]):
        raise Refuse(kernel, decorators.CODE, f"{place} gets {first[0]}", help)


def _names_around(around: Around, kernel: ast.FunctionDef) -> list[str]:
    """Names that the functions around a kernel bind, and that the kernel reads, in the order of the source."""
    outer = {name for f in around if isinstance(f, ast.FunctionDef) for name in _bound_in(f, kernel)}
    own = bound_names(kernel)
    read = (n.id for s in kernel.body for n in of_kinds(s, ast.Name))
    defaults = (n.id for d in _defaults(kernel) for n in of_kinds(d, ast.Name))
    return list(dict.fromkeys([*(n for n in read if n in outer - own), *(n for n in defaults if n in outer)]))


def _defaults(kernel: ast.FunctionDef) -> list[ast.expr]:
    return [d for d in [*kernel.args.defaults, *kernel.args.kw_defaults] if d is not None]


def _bound_in(function: ast.FunctionDef, kernel: ast.FunctionDef) -> set[str]:
    """Names of a function around a kernel, with its imports."""
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in of_kinds(function, ast.Import, ast.ImportFrom)
        for alias in node.names
    }
    arguments = {a.arg for a in (function.args.vararg, function.args.kwarg) if a is not None}
    inside = set(walk(kernel))
    stored = {n.id for n in of_kinds(function, ast.Name) if isinstance(n.ctx, ast.Store) and n not in inside}
    defined = {n.name for n in of_kinds(function, ast.FunctionDef, ast.ClassDef) if n not in inside}
    parameters = {a.arg for a in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]}
    return (imported | arguments | stored | defined | parameters) | {kernel.name}
