"""What a case calls the kernels of a file by, and the definitions that tell what they take.

A kernel has its own name, or that of what makes it (``make(n)``), of the class that holds it (``Class.kernel``), or of
a wrapper that the module keeps (``kernel = nki.jit(function)``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from nki_migrate.codemods.syntax.module_level import where_installed

from .suggest_factories import Factory, factories, held_by_classes, is_kernel


@dataclass(frozen=True)
class Called:
    """A kernel by the name that cases call it by.

    ``kernel`` is the function that is launched, ``definition`` has its parameters and statements and those of the
    ``factory`` that makes it, if one does, under the name of the case.
    """

    name: str
    kernel: ast.FunctionDef
    definition: ast.FunctionDef
    factory: Factory | None = None


class KernelNames:
    """The kernels and other functions of a module, each by the name that a case calls it by."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = where_installed(tree)
        self.factories = factories(self.tree)
        self._known: dict[str, Called] = {}
        for found in self._found():
            self._known.setdefault(found.name, found)

    def _found(self) -> Iterator[Called]:
        """Makers first, then functions, then what stands for a function under another name."""
        for name, factory in self.factories.items():
            yield Called(name, factory.kernel, factory.whole, factory)
        functions = [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]
        yield from (Called(function.name, function, function) for function in functions)
        yield from (_renamed(name, kernel) for name, kernel in held_by_classes(self.tree).items())
        for statement in self.tree.body:
            value = statement.value if isinstance(statement, ast.Assign) else None
            if isinstance(statement, ast.Assign) and isinstance(value, ast.Call) and value.args:
                given = ast.unparse(value.args[0])
                wrapped = [function for function in functions if function.name == given]
                yield from (_renamed(ast.unparse(statement.targets[0]), each) for each in wrapped[:1])

    def called(self, name: str) -> Called | None:
        """What a case that calls ``name`` launches."""
        return self._known.get(name)

    def definition(self, name: str) -> ast.FunctionDef | None:
        """The definition that tells what a case for ``name`` needs."""
        called = self.called(name)
        return called.definition if called is not None else None

    def name_of(self, kernel: ast.FunctionDef) -> str:
        """What a case calls a kernel by."""
        names = [found.name for found in self._known.values() if found.kernel is kernel]
        is_launched = kernel in self.tree.body and is_kernel(kernel)
        return next((name for name in names if (name == kernel.name) is is_launched), kernel.name)


def _renamed(name: str, function: ast.FunctionDef) -> Called:
    return Called(name, function, ast.FunctionDef(**{**vars(function), "name": name}))
