"""Assignments that only served what is gone: a view whose parts are cut from the tensor now, a size of index vectors.

A name goes when the source read it and the output does not, and when nothing but its value would be missed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..expr.emission import New
from ..project.usage import names_used
from ..syntax.names import dotted
from ..syntax.node_index import children, of_kinds, walk

if TYPE_CHECKING:
    from ..project.program import Module

_QUIET = ast.Name | ast.Constant | ast.Subscript | ast.Slice | ast.Tuple | ast.BinOp | ast.UnaryOp | ast.Compare
_QUIET |= ast.JoinedStr | ast.FormattedValue
_QUIET_CALLS = {"min", "max", "len", "slice"}
_TEXT_METHODS = {"replace", "strip", "lower", "upper"}
_OF_TENSORS = {"shape", "dtype", "ndim"}
_VIEWS = {"ds", "ap"}
"""Of the language, and of tensors: an access that a mask cut is out of bounds where it is still written whole."""


def drop(module: Module) -> None:
    """Remove the assignments of names that the rewrite left without a reader."""
    for function in module.summaries.analyzed:
        while statements := _dead(module, function):
            for statement in statements:
                module.plan.edits.replaced[statement] = []
                module.plan.needless.add(statement)


def _dead(module: Module, function: ast.FunctionDef) -> list[ast.Assign]:
    before = {n.id for n in of_kinds(function, ast.Name) if isinstance(n.ctx, ast.Load)}
    candidates = {name: found for name, found in _assignments(function).items() if name in before}
    left = {name: [s for s in found if module.plan.edits.replaced.get(s) != []] for name, found in candidates.items()}
    if not any(left.values()):
        return []
    read = names_used(module.plan.edits, [function])[0]
    dead = [found for name, found in left.items() if name not in read and all(_quiet(module, s) for s in found)]
    return [statement for found in dead for statement in found]


def _assignments(function: ast.FunctionDef) -> dict[str, list[ast.Assign]]:
    """Names of a function that only plain assignments bind, with these."""
    found: dict[str, list[ast.Assign]] = {}
    plain: set[int] = set()
    for node in _own(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node)
            plain.add(id(node.targets[0]))
    nodes = list(walk(function))
    others = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and id(n) not in plain}
    others |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    others |= {name for n in nodes if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    return {name: statements for name, statements in found.items() if name not in others}


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions in it."""
    for child in children(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield child
            yield from _own(child)


def _quiet(module: Module, statement: ast.Assign) -> bool:
    """Does what a statement became do nothing but bind its name?"""
    edits = module.plan.edits
    if statement in edits.before or statement in edits.after or statement in module.plan.kept:
        return False
    if statement.value in edits.expressions:
        return False
    new = edits.replaced.get(statement, [New(module.source.segment(statement))])
    bodies = [ast.parse(item.text).body for item in new if not item.guard]
    if len(bodies) != 1 or len(new) != 1 or len(bodies[0]) != 1 or not isinstance(bodies[0][0], ast.Assign):
        return False
    same = ast.dump(bodies[0][0].targets[0]) == ast.dump(statement.targets[0])  # not a size that was given a name
    return same and all(_is_quiet(module, node) for node in walk(bodies[0][0].value))


def _is_quiet(module: Module, node: ast.AST) -> bool:
    if _is_text(node) or (isinstance(node, ast.Attribute) and _is_text(node.value)):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _VIEWS
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _QUIET_CALLS and not node.keywords
    if isinstance(node, ast.Attribute):  # one of an object may be a property that does something
        chain = dotted(node)
        return node.attr in _OF_TENSORS | _VIEWS or (chain is not None and chain[0] in module.symbols.imports)
    return isinstance(node, _QUIET | ast.operator | ast.unaryop | ast.cmpop | ast.expr_context)


def _is_text(node: ast.AST) -> bool:
    """Is an expression text that the source shows, with parts replaced or not?"""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS:
        return _is_text(node.func.value)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
