"""Functions that make a kernel, read with it as one function: what both get is looked for together.

Parameters of the function and of its kernel, its statements and those of the kernel stand in one definition, so that
all that tells sizes of a kernel tells them of a factory. A case has the parameters of the function apart.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from nki_migrate.runtime.cases import Case


@dataclass(frozen=True)
class Factory:
    """A function that makes a kernel. ``whole`` is a function with the parameters and statements of both.

    ``launches``: it launches its kernel on a grid itself, in a function that it gives. ``place`` is where among several
    values it gives what can be called, ``None`` for one value.
    """

    function: ast.FunctionDef
    kernel: ast.FunctionDef
    whole: ast.FunctionDef
    launches: bool
    place: int | None = None

    def parted(self, case: Case) -> Case:
        """A case for :attr:`whole` as one of the factory."""
        own = {a.arg for a in _positional(self.function)}
        make = {name: value for name, value in case.args.items() if name in own}
        args = {name: value for name, value in case.args.items() if name not in own}
        return replace(case, make=make, args=args, grid=() if self.launches else case.grid)


def factories(tree: ast.Module) -> dict[str, Factory]:
    """The functions of a module that make one kernel, by name."""
    found = {}
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and not any(_is_jit(d) for d in function.decorator_list):
            kernels = [node for node in ast.walk(function) if isinstance(node, ast.FunctionDef) and is_kernel(node)]
            returns = any(isinstance(s, ast.Return) and s.value is not None for s in function.body)
            if len(kernels) == 1 and kernels[0] in function.body and returns:
                factory = _factory(function, kernels[0])
                found |= {function.name: factory} if factory is not None else {}
    return found


def _factory(function: ast.FunctionDef, kernel: ast.FunctionDef) -> Factory | None:
    """``None`` where the two have parameters of one name, or variable ones."""
    mine, own = _positional(function), _positional(kernel)
    variable = [function.args.vararg, function.args.kwarg, kernel.args.vararg, kernel.args.kwarg]
    keywords = [*function.args.kwonlyargs, *kernel.args.kwonlyargs]
    if {a.arg for a in mine} & {a.arg for a in own} or any(variable) or keywords or function.name == kernel.name:
        return None
    given = [*_defaults(function), *_defaults(kernel)]
    required = [a for a in (*own, *mine) if a not in [argument for argument, _ in given]]
    arguments = ast.arguments([], [*required, *(a for a, _ in given)], None, [], [], None, [d for _, d in given])
    whole = _whole(function, kernel, arguments)
    subscripts = [node for node in ast.walk(function) if isinstance(node, ast.Subscript)]
    launches = any(isinstance(node.value, ast.Name) and node.value.id == kernel.name for node in subscripts)
    return Factory(function, kernel, whole, launches, _place(function))


def _whole(function: ast.FunctionDef, kernel: ast.FunctionDef, arguments: ast.arguments) -> ast.FunctionDef:
    """One function with the statements of both."""
    said = [text for each in (function, kernel) if (text := ast.get_docstring(each))]
    body: list[ast.stmt] = [ast.Expr(ast.Constant("\n".join(said)))] if said else []
    body += [s for s in _undocumented(function) if s is not kernel and not isinstance(s, ast.Return)]
    whole = ast.FunctionDef(function.name, arguments, [*body, *_undocumented(kernel)], kernel.decorator_list, None)
    ast.copy_location(whole, function)
    ast.fix_missing_locations(whole)
    return whole


def _place(function: ast.FunctionDef) -> int | None:
    """The place of the first function among several values that a function returns."""
    inner = {node.name for node in function.body if isinstance(node, ast.FunctionDef)}
    returned = next((s.value for s in function.body if isinstance(s, ast.Return)), None)
    items = returned.elts if isinstance(returned, ast.Tuple) else []
    places = [n for n, item in enumerate(items) if isinstance(item, ast.Name) and item.id in inner]
    return places[0] if places else None


def _positional(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args]


def _defaults(function: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr]]:
    defaults = function.args.defaults
    return list(zip(_positional(function)[len(_positional(function)) - len(defaults) :], defaults, strict=True))


def _undocumented(function: ast.FunctionDef) -> list[ast.stmt]:
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def made_elsewhere(tree: ast.Module) -> dict[str, str]:
    """The kernels in functions and methods that no case launches, by name, each with the reason."""
    known = {factory.kernel for factory in factories(tree).values()} | {*held_by_classes(tree).values()}
    found: dict[int, tuple[str, str]] = {}
    for owner, node in _inner_kernels(tree):
        if node not in known:
            found[node.lineno] = f"{owner}.{node.name}", (
                f"'{node.name}' (line {node.lineno}) is made in '{owner}', which a case cannot call: "
                "a kernel of the module can be launched, and so can the one that a function of the module returns"
            )
    return dict(found.values())


def held_by_classes(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """The kernels that a class of the module holds and that need no object of it, as ``Class.name``."""
    classes = (statement for statement in tree.body if isinstance(statement, ast.ClassDef))
    held = ((c, f) for c in classes for f in c.body if isinstance(f, ast.FunctionDef) and is_kernel(f))
    return {f"{c.name}.{f.name}": f for c, f in held if [a.arg for a in _positional(f)[:1]] not in (["self"], ["cls"])}


def _inner_kernels(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for owner in ast.walk(tree):
        if isinstance(owner, (ast.FunctionDef, ast.ClassDef)):
            for node in (inner for statement in owner.body for inner in ast.walk(statement)):
                if isinstance(node, ast.FunctionDef) and is_kernel(node):
                    yield owner.name, node


def is_kernel(function: ast.FunctionDef) -> bool:
    """Is a function decorated like a kernel?"""
    return any(_is_jit(decorator) for decorator in function.decorator_list)


def _is_jit(decorator: ast.expr) -> bool:
    """``nki.jit``, ``nki.jit(mode=...)``, ``nki.benchmark(...)``."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return re.fullmatch(r"(\w+\.)?nki[._](jit|trace|benchmark|baremetal|profile)", ast.unparse(called)) is not None
