"""Which NKI (or numpy) object does a name mean? Imports and aliases resolved to one canonical spelling.

Canonical names have short roots: ``nki`` (``neuronxcc.nki``), ``nl`` (its ``language``), ``nisa`` (``isa``), ``ncc``
(``compiler``), ``nt`` (``typing``), ``nccl``, ``np`` (numpy); every other module keeps its own name.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from nki_migrate.runtime.spec import beta1

from .node_index import indexed, of_kinds

BETA2 = {"nki": "nki", "nl": "nki.language", "nisa": "nki.isa", "nt": "nki.typing", "ntensor": "nki.tensor"}
"""The Beta 2 module of a canonical root."""


@dataclass(frozen=True)
class Import:
    """One imported name: what it is bound to, and the statement that binds it."""

    name: str
    path: str
    statement: ast.Import | ast.ImportFrom
    alias: ast.alias

    @property
    def is_nki(self) -> bool:
        return self.path == "neuronxcc" or self.path.startswith("neuronxcc.")

    @property
    def is_compiler(self) -> bool:
        """Is it the package alone, ``import neuronxcc``? The graph compiler of that name stays."""
        return self.path == self.alias.name == "neuronxcc"


@indexed
def imports(tree: ast.Module) -> Sequence[Import]:
    """Names bound by the import statements of a module, wherever they stand, in the order of the source."""
    bound: list[Import] = []
    for node in of_kinds(tree, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                path = _home(alias.name) if alias.asname else name
                bound.append(Import(name, path, node, alias))
        elif node.module and not node.level:
            for alias in node.names:
                name = alias.asname or alias.name
                bound.append(Import(name, f"{_home(node.module)}.{alias.name}", node, alias))
    return tuple(sorted(bound, key=lambda item: (item.statement.lineno, item.statement.col_offset)))


def _home(module: str) -> str:
    """The path of an imported module; Beta 1's own where a kernel imports it from Beta 2's root."""
    return beta1.STRAY_MODULES.get(module, module)


def dotted(node: ast.AST) -> tuple[str, tuple[str, ...]] | None:
    """``a.b.c`` as ``("a", ("b", "c"))``; ``None`` for anything that is not a chain of attributes on a name."""
    if isinstance(node, ast.Name):
        return node.id, ()
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, tuple(reversed(attributes))) if isinstance(node, ast.Name) else None


@lru_cache(maxsize=4096)
def canonical(path: str) -> str:
    """``neuronxcc.nki.language.load`` is ``nl.load``, ``numpy.float32`` is ``np.float32``."""
    if path == "numpy" or path.startswith("numpy."):
        return "np" + path[len("numpy") :]
    return beta1.canonical(path)
