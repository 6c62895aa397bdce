"""Names that code reads and binds once the edits planned so far are applied."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from ..expr.emission import Edits, New
from ..syntax.node_index import children, walk

if TYPE_CHECKING:
    from .program import Module


def names_left(module: Module) -> set[str]:
    """Every name that the module will read."""
    copies = (copied for group in module.summaries.copies.values() for copied in group)
    found, _bound = names_used(module.plan.edits, [module.source.tree, *module.plan.lifted, *copies])
    for text in () if module.names.support_home else module.names.support.values():
        found |= _reads_and_stores(text)[0]
    return found


def first_use(module: Module) -> ast.stmt | None:
    """The first statement of a module that may use what the rewrite brings in: a definition, or one with such a name.

    A text that stands above a definition, as some describe their kernels, goes with it.
    """

    edits = module.plan.edits

    def uses(statement: ast.stmt) -> bool:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            return True
        replaced = (edits.replaced.get(n, []) for n in walk(statement) if isinstance(n, ast.stmt))
        texts = [new.text for found in replaced for new in found]
        texts += [edits.expressions[n] for n in walk(statement) if n in edits.expressions]
        return any(name in text for name in module.names.support for text in texts)

    body = module.source.tree.body
    at = next((place for place, statement in enumerate(body) if uses(statement)), None)
    if at is None:
        return None
    while at > 1 and _is_text(body[at - 1]):
        at -= 1
    return body[at]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def names_used(edits: Edits, roots: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """What the code below ``roots`` will read, and what it will bind."""
    read: set[str] = set()
    bound: set[str] = set()

    def add(text: str) -> None:
        reads, stores = _reads_and_stores(text)
        read.update(reads)
        bound.update(stores)

    def write(items: list[New]) -> None:
        for item in items:
            add(item.text)
            add(item.guard)

    pending: list[ast.AST] = [child for root in roots for child in children(root)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            write(edits.before.get(node, []))
            write(edits.after.get(node, []))
            write(edits.prologue.get(node, []))
            if node in edits.replaced:
                write(edits.replaced[node])
                continue
        if node in edits.expressions:
            add(edits.expressions[node])
            continue
        if node in edits.dropped_decorators:
            continue
        if isinstance(node, ast.FunctionDef):
            add(edits.new_decorators.get(node, ""))
        if isinstance(node, ast.ClassDef):
            add(edits.bases.get(node, ""))
            add(edits.class_decorators.get(node, ""))
            replaced = node.bases if node in edits.bases else []
            pending.extend(child for child in children(node) if child not in replaced)
            continue
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        if isinstance(node, ast.If) and node in edits.dead:
            side, new = edits.dead[node]
            write([new])
            pending += [node.test, *(node.orelse if side == "body" else node.body)]
            continue
        pending.extend(children(node))
    return read, bound


@lru_cache(maxsize=16384)
def _reads_and_stores(text: str) -> tuple[frozenset[str], frozenset[str]]:
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    reads = frozenset(n.id for n in names if isinstance(n.ctx, ast.Load))
    return reads, frozenset(n.id for n in names if not isinstance(n.ctx, ast.Load))
