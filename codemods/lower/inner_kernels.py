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
from ..plan.factories.rewriting import concerns, refusal
from ..plan.grids.questions import is_asking
from ..project.launches_apart import called_by_kernel
from ..rules import decorators
from ..syntax.codes import NESTED_FUNCTIONS as NESTED
from ..syntax.node_index import walk

if TYPE_CHECKING:
    from ..project.program import Module

Around = tuple[ast.FunctionDef | ast.ClassDef, ...]
_LAUNCHING = {"nki.jit", *decorators.REMOVED}


def rewrite(module: Module) -> Iterator[ast.FunctionDef]:
    """Rewrite the decorators of the kernels that stand in classes and functions; yields those to be walked.

    Those in functions that are kernel code themselves are that code's nested functions.
    """
    for around, kernel in module.symbols.inner_kernels:
        if any(outer in module.summaries.analyzed or outer in module.plan.left for outer in around):
            continue
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in kernel.decorator_list[:1])
        refusal = module.program.draft.attempt(_check, module, around, kernel, static)
        if refusal is not None:
            module.report(refusal)
            module.plan.left.add(kernel)
            continue
        decorators.rewrite(module, kernel)
        if isinstance(around[-1], ast.ClassDef) and not static:
            module.plan.edits.new_decorators[kernel] = "staticmethod"
            module.plan.applied[decorators.CODE] += 1
            module.plan.touched.add(around[0].name)
        yield kernel


def _check(module: Module, around: Around, kernel: ast.FunctionDef, static: bool) -> None:
    """Raises :class:`Refuse` for a kernel that cannot be one where it stands."""
    code = NESTED if any(isinstance(outer, ast.FunctionDef) for outer in around) else decorators.CODE
    place = f"'{kernel.name}' is a kernel in '{around[-1].name}', and"
    help = "make it a function of the module"
    if concerns(module, around, kernel):
        raise refusal(module, around, kernel)
    others = kernel.decorator_list[1:] if static else kernel.decorator_list
    if not module.symbols.is_launchable(kernel) or any(module.symbols.decorator(d) not in _LAUNCHING for d in others):
        raise Refuse(kernel, code, f"{place} has other decorators than nki.jit", help)
    if called_by_kernel(module, kernel):
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
