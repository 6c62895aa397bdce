"""Names for the block indices of a list of tiles: what the source itself calls them.

``qk[i_q, i_k]`` says that the list ``qk`` is filled over ``i_q`` and ``i_k``. The loop that fills it may bind these
names where the source reads them only in loops of its own that bind them first.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from ..expr import algebra
from ..expr.operands import Operand
from ..expr.values import Hbm, Several, Tile, Value, texts
from ..project.program import Module
from ..syntax.node_index import children, indexed, of_kinds, walk
from .scope import Scope

_FUNCTIONS = ast.FunctionDef | ast.Lambda


def block_names(scope: Scope, name: str, blocks: tuple[str, ...], loops: Collection[ast.For] = ()) -> tuple[str, ...]:
    """The block indices of the tensor ``name``, which is declared where ``scope`` is, in the loops that fill its list.

    Each is what a use calls it, where that name is free, else ``block``; a block alone is ``0``. ``loops`` are those
    of the source around the list: what they bind is not free.
    """
    bound = {target for loop in loops for target in _targets(loop)}
    if all(size == "1" for size in blocks):
        return ("0",) * len(blocks)
    chosen: list[str] = []
    for d in range(len(blocks)):
        free = (n for n in _indices(scope, name, d) if n not in (*chosen, *bound) and is_free(scope, n))
        chosen.append(next(free, ""))
    several = chosen.count("") > 1
    return tuple(n or scope.unused(f"block_{d}" if several else "block") for d, n in enumerate(chosen))


def _indices(scope: Scope, name: str, position: int) -> Iterator[str]:
    """Names that index a block dimension of a tensor, the first use first."""
    nodes = (node for node in of_kinds(scope.function, ast.Subscript))
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node.value, ast.Name) and node.value.id == name:
            elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if position < len(elements) and isinstance(element := elements[position], ast.Name) and element.id != "_":
                yield element.id


def is_free(scope: Scope, name: str) -> bool:
    """Can a new loop bind ``name`` here? Nothing reads the value that it has now."""
    described = [text for value in scope.names.env.values() for text in _texts(value)]
    described += [
        *scope.sizes.definitions.values(),
        *scope.names.dtypes.values(),
        *scope.sizes.named,
        *scope.sizes.named.values(),
    ]
    is_taken = scope.module.program.asked(_is_module_level, scope.module, name)
    if is_taken or any(name in algebra.names(text) for text in described if text):
        return False
    return not any(name in _targets(loop.statement) for loop in scope.place.loops) and _is_bound_for_reads(scope, name)


def _is_module_level(module: Module, name: str) -> bool:
    return name in module.names.module_level


def _texts(value: Value) -> Iterator[str]:
    """The source expressions that describe a value, its parts and the place that it is a part of."""
    yield from texts(value)
    if isinstance(value, Several):
        for part in value.parts:
            yield from _texts(part)
    if isinstance(value, Hbm | Tile) and isinstance(value.origin, Operand):
        yield value.origin.text(())


def _is_bound_for_reads(scope: Scope, name: str) -> bool:
    """Is every read of ``name`` in the body of a loop over it, and nothing else a binding of it?"""
    if name in _parameters(scope.function) or any(_reads_outer(f, name) for f in _nested(scope.function)):
        return False
    return _is_read_in_its_loops(scope.function, name)


@indexed
def _is_read_in_its_loops(function: ast.FunctionDef, name: str) -> bool:
    """Does ``name`` stand nowhere but in loops over it?"""
    pending: list[ast.AST] = [*function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and node.id == name:
            return False
        if isinstance(node, ast.For) and name in _targets(node):
            pending += [node.iter, *node.orelse]
        elif not isinstance(node, _FUNCTIONS):
            pending += children(node)
    return True


def _nested(function: ast.FunctionDef) -> Iterator[ast.FunctionDef | ast.Lambda]:
    return (n for n in walk(function) if isinstance(n, _FUNCTIONS) and n is not function)


def _reads_outer(function: ast.FunctionDef | ast.Lambda, name: str) -> bool:
    """May a nested function read a name of the function that it stands in?"""
    stored = {n.id for n in of_kinds(function, ast.Name) if isinstance(n.ctx, ast.Store)}
    return name in _names(function) and name not in stored | _parameters(function)


def _targets(loop: ast.For | ast.While | ast.With) -> set[str]:
    return _names(loop.target) if isinstance(loop, ast.For) else set()


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in of_kinds(node, ast.Name)}


def _parameters(node: ast.FunctionDef | ast.Lambda) -> set[str]:
    return {n.arg for n in of_kinds(node.args, ast.arg)}
