"""What each import within a function spares the start of a command that does not need it.

``python tests/lazy_imports.py`` prints all of them.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from module_imports import FILES, ROOT, imported_modules, module_of, package_of, tree_of
from nki_migrate.runtime.spec.grammar import statements

MODULES = {module_of(path): path for path in FILES}


@dataclass(frozen=True)
class Lazy:
    """An import within a function: where, and what is loaded by it and not by the module that it stands in."""

    path: Path
    line: int
    text: str
    packages: frozenset[str]
    """Packages of others."""
    modules: frozenset[str]
    """Modules of the project."""

    def __str__(self) -> str:
        spared = ", ".join([*sorted(self.packages), f"{len(self.modules)} modules of ours"])
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.text}: {spared}"


def lazy_imports() -> Iterator[Lazy]:
    for module, path in MODULES.items():
        tree = tree_of(path)
        functions = (n for n in statements(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
        found = {node for f in functions for node in statements(f) if isinstance(node, ast.Import | ast.ImportFrom)}
        here = _loaded(frozenset({module}))
        for node in found:
            more = _loaded(frozenset(_imported([node], package_of(path))))
            more -= here | {name for name in more if name.partition(".")[0] in sys.stdlib_module_names}
            ours = more & MODULES.keys()
            yield Lazy(path, node.lineno, ast.unparse(node), frozenset(more - ours), frozenset(ours))


@cache
def _loaded(modules: frozenset[str]) -> frozenset[str]:
    """What is loaded with modules, themselves among it: the packages that they are in, and what these import."""
    seen: set[str] = set()
    left = list(modules)
    while left:
        module = left.pop()
        if module in seen:
            continue
        seen.add(module)
        if module in MODULES:
            left += _loaded_at_once(module)
    return frozenset(seen)


@cache
def _loaded_at_once(module: str) -> frozenset[str]:
    """The package of a module of ours, and what its imports name."""
    named = _imported(_eager(tree_of(MODULES[module])), package_of(MODULES[module]))
    return frozenset(named | ({module.rpartition(".")[0]} if "." in module else set()))


def _eager(tree: ast.Module) -> Iterator[ast.stmt]:
    """The imports that run when a module is loaded."""
    left: list[ast.AST] = [*tree.body]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            left += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            left += ast.iter_child_nodes(node)


def _imported(nodes: Iterator[ast.stmt] | list[ast.stmt], package: str) -> set[str]:
    """The modules that imports load: ours by their full names, others by those of their packages."""
    found = set()
    for name in imported_modules(ast.Module(list(nodes), []), package):
        if name.partition(".")[0] != "nki_migrate":
            found.add(name.partition(".")[0])
            continue
        if name.startswith("nki_migrate.golden."):
            found.add("nki_migrate.golden")  # reads all goldens
            continue
        while name not in MODULES:
            name = _OFFERED.get(name) or name.rpartition(".")[0]
        found.add(name)
    return found


def _offered() -> dict[str, str]:
    """The modules of the names that ``codemods`` loads when it is asked for them."""
    package = "nki_migrate.codemods"
    typed = (
        n for n in tree_of(MODULES[package]).body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"
    )
    nodes = [n for block in typed for n in block.body if isinstance(n, ast.ImportFrom)]
    return {f"{package}.{alias.name}": f"{package}.{node.module}" for node in nodes for alias in node.names}


_OFFERED = _offered()

if __name__ == "__main__":
    print(*sorted(map(str, lazy_imports())), sep="\n")
