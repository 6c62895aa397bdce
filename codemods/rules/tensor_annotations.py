"""NKI008 annotations: ``nt.tensor`` in annotations becomes ``nl.ndarray``.

Why: Beta 2 has no ``nki.typing.tensor``. Its front end ignores annotations, but Python evaluates them when the module
is imported. The libraries written for Beta 2 annotate tensors with ``nl.ndarray``, in dataclasses as well. A parameter
whose annotation is a union with ``|`` loses it, because a function has no ``|``; one whose annotation names another
type that Beta 2 lacks (private ones: ``TileIndex``) loses it, too, and the attribute of a class becomes an ``object``
in both cases.

Safe: annotations change nothing. Left alone: those of host code, ``mutable_tensor`` and ``tensor[mutable]``, parameters
that the kernel writes to.

Source: aws-neuron/nki-library at 2.28; the front end of leanprover/KLR, which reads no annotations.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..expr.emission import New
from ..expr.tables import beta2_lacks
from ..project.program import Module
from ..syntax.names import canonical, dotted
from ..syntax.node_index import children, walk

CODE = "NKI008"
GOLDENS = ("annotations",)

_NKI = ("nl.", "nisa.", "ncc.", "nccl.", "nki.")


def rewrite(module: Module) -> None:
    """Rewrite the annotations of the parameters, results and class attributes of a module's kernel code."""
    if not module.options.enabled(CODE):
        return
    copies = [node for nodes in module.summaries.copies.values() for node in nodes]
    for holder, annotation in (found for root in (*_kernel_code(module), *copies) for found in _annotations(root)):
        _rewrite_one(module, holder, annotation)


def _rewrite_one(module: Module, holder: ast.AST, annotation: ast.expr) -> None:
    if _is_gone(module, annotation):
        if isinstance(holder, ast.AnnAssign) and holder.value is not None and _is_gone(module, holder.value):
            return  # the default value stays under a finding, and so does its type
        _drop(module, holder, annotation)
        return
    tensors = list(_tensors(module, annotation))
    if not tensors:
        return
    if any(isinstance(n, ast.BinOp) for n in walk(annotation)):
        _drop(module, holder, annotation)
        return
    text = [(node, f"{module.alias('nl')}.ndarray") for node in tensors]
    if isinstance(holder, ast.AnnAssign):
        module.plan.edits.replaced[holder] = [New(module.source.segment(holder, text))]
    else:
        module.plan.edits.expressions[annotation] = module.source.segment(annotation, text)
    module.plan.applied[CODE] += 1
    module.touch(annotation)


def _kernel_code(module: Module) -> Iterator[ast.AST]:
    """The definitions of a module that are kernel code; outermost ones, for each stands for what is in it."""
    known = module.program.kernel_code
    pending = children(module.source.tree)
    while pending:
        node = pending.pop(0)
        if node in known or node in known.classes:
            yield node
        else:
            pending += children(node)


def _is_gone(module: Module, node: ast.expr) -> bool:
    """Does an annotation, or a value, name a type of Beta 1 that Beta 2 lacks (other than those for tensors)?"""
    names = (_means(module, part) or "" for part in walk(node))
    return any(name.startswith(_NKI) and beta2_lacks(name) for name in names)


def _drop(module: Module, holder: ast.AST, annotation: ast.expr) -> None:
    if isinstance(holder, ast.AnnAssign):
        module.plan.edits.replaced[holder] = [New(module.source.segment(holder, [(annotation, "object")]))]
    else:
        module.plan.edits.expressions[annotation] = ""
    module.plan.applied[CODE] += 1
    module.touch(annotation)


def _annotations(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Annotations, each with what it stands on: a parameter, a function (its result), an attribute."""
    for node in walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node, node.annotation
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            yield node, node.returns
        elif isinstance(node, ast.ClassDef):
            yield from ((s, s.annotation) for s in node.body if isinstance(s, ast.AnnAssign))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            yield node, node.annotation


def _tensors(module: Module, annotation: ast.expr) -> Iterator[ast.expr]:
    """The parts of an annotation that mean a tensor: ``nt.tensor``, ``nt.tensor[128, 512]``."""
    base = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    if _means(module, base) == "nt.tensor":
        if not any((_means(module, part) or "").startswith("nt.mutable") for part in walk(annotation)):
            yield annotation
        return
    for child in children(annotation):
        if isinstance(child, ast.expr):
            yield from _tensors(module, child)


def _means(module: Module, node: ast.AST) -> str | None:
    chain = dotted(node)
    bound = module.symbols.imports.get(chain[0]) if chain is not None else None
    return canonical(".".join((bound.path, *chain[1]))) if chain is not None and bound is not None else None
