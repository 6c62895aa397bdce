"""Which namespaces of NKI a module imports: ``neuronxcc.nki`` of Beta 1, ``nki`` of Beta 2, or both.

A module that imports both serves both versions (one of them in a branch that asks which is there), or is half migrated.
Its names mean either, so that nothing of it can be read as Beta 1. A name that ``import_module`` and its like get
counts as an import.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ..syntax.names import dotted, imports
from ..syntax.node_index import of_kinds, walk
from .links import file_of

_BY_NAME = {"import_module", "__import__", "find_spec", "importorskip"}


@dataclass(frozen=True)
class Namespaces:
    """The imports of each namespace, in the order of the source, and those of them that stand in a branch."""

    beta1: tuple[ast.stmt | ast.expr, ...]
    beta2: tuple[ast.stmt | ast.expr, ...]
    in_branches: frozenset[ast.AST]

    @property
    def is_both(self) -> bool:
        return bool(self.beta1 and self.beta2)

    @property
    def chooses(self) -> bool:
        """Does a branch decide which of the two is imported?"""
        return self.is_both and not self.in_branches.isdisjoint([*self.beta1, *self.beta2])


def namespaces(tree: ast.Module, path: str, known: Collection[str]) -> Namespaces:
    """The namespaces that a module imports; ``nki`` that is a file among ``known`` is none."""
    found: dict[str, list[ast.stmt | ast.expr]] = {"neuronxcc": [], "nki": []}
    for name, node in sorted(_imported(tree), key=lambda item: (item[1].lineno, item[1].col_offset)):
        root = name.partition(".")[0]
        is_nki = root == "nki" or name.startswith("neuronxcc.nki")
        if is_nki and node not in found[root] and file_of(path, 0, root, known) is None:
            found[root].append(node)
    branches = (n for n in of_kinds(tree, ast.Try, ast.If, ast.IfExp))
    return Namespaces(
        tuple(found["neuronxcc"]), tuple(found["nki"]), frozenset(n for branch in branches for n in walk(branch))
    )


def _imported(tree: ast.Module) -> Iterator[tuple[str, ast.stmt | ast.expr]]:
    """The full names of the modules that a module imports, and of what it imports from them."""
    for item in imports(tree):
        whole = isinstance(item.statement, ast.Import) and not item.alias.asname
        yield (item.alias.name if whole else item.path), item.statement
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and dotted(node) == ("neuronxcc", ("nki",)):
            yield "neuronxcc.nki", node
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _BY_NAME and node.args:
            given = node.args[0]
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                yield given.value, node
