"""The zeros of an accumulator: ``nl.zeros`` in PSUM is ``nl.ndarray`` where a matmul overwrites the whole tile first.

Beta 1 wrote zeros because ``t += nl.matmul(...)`` needs something to add to. In Beta 2 the first matmul into a fresh
tile overwrites it, and what a matmul does to zeros that another instruction wrote is not defined on every chip.

Zeros go where, from the declaration on, only loops lie around that matmul, and nothing before it names the
tile. That such a loop runs at all is proved, or asserted in the output.

Source: NKI 0.3 update guide on ``accumulate=None``; the tutorial "kernel-optimization" of 2.28 declares its
accumulators without zeros.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.positivity import positive
from ..analysis.unit_loops import passes_from_zero
from ..expr import algebra
from ..expr.emission import LOOPS_THAT_RUN, New, Refuse, asserting
from ..render.expressions import render
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import LEAVES, blocks, bound_by, way_to

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.frames import FirstMatmul
    from ..expr.values import Declaration

_ZEROS = re.compile(r"\b(\w+)\.zeros\(|^ *\w+\.memset\(dst=\w+, value=0\)(?:\n|\Z)", re.MULTILINE)
"""A call that makes zeros, or a statement that fills a tile which has an address."""


def drop_zeros(scope: Scope) -> None:
    """Remove the zeros that the first matmuls of a function overwrite, once its statements have been walked."""
    asserted: dict[tuple[int, str], int] = {}
    for declaration, matmul in scope.memory.first_matmuls.values():
        new, rest, line = _written(scope, declaration)
        at = next((i for i, n in enumerate(new) if _declares(n.text, declaration) and _ZEROS.search(n.text)), None)
        if at is None or matmul.statement in scope.module.plan.kept:
            continue
        counts = _counts(scope, declaration.name, rest, matmul)
        if counts is None:
            continue
        suite = id(rest[-1]) if rest else 0
        tests = [count for count in counts if asserted.get((suite, count), line) >= line]
        asserted.update({(suite, count): line for count in tests})
        left, guard = replace(new[at], text=_without_zeros(new[at].text)), new[at].guard
        checks = [asserting(f"{n} > 0", LOOPS_THAT_RUN, guard) for n in tests]
        new[at : at + 1] = [*([left] if left.text else []), *checks]
        statement, _ = _declared_in(scope.function, declaration.node)
        if statement is not None and not declaration.joined:
            scope.module.plan.edits.replaced[statement] = new
        scope.module.plan.tensors[:] = [
            replace(each, call=_without_zeros(each.call)) if each.node is declaration.node else each
            for each in scope.module.plan.tensors
        ]


def _without_zeros(text: str) -> str:
    """A text that makes zeros without them."""
    return _ZEROS.sub(lambda found: f"{found[1]}.ndarray(" if found[1] else "", text)


def _declares(text: str, declaration: Declaration) -> bool:
    """Is a line about a tensor? Those at the top of a loop are about several."""
    return not declaration.joined or text.startswith(f"{declaration.name} = ") or f"dst={declaration.name}," in text


def _written(scope: Scope, declaration: Declaration) -> tuple[list[New], list[ast.stmt], int]:
    """The lines that declare a tensor, the statements that run after them, and the source line they stand for."""
    edits = scope.module.plan.edits
    if declaration.joined:  # each iteration of the innermost loop has a tile of its own
        loop = declaration.joined[-1]
        return edits.prologue.get(loop, []), loop.body, loop.lineno
    statement, rest = _declared_in(scope.function, declaration.node)
    if statement is None:
        return [], [], 0
    return edits.replaced.get(statement) or [New(scope.source.segment(statement))], rest, statement.lineno


def _declared_in(function: ast.FunctionDef, call: ast.AST) -> tuple[ast.stmt | None, list[ast.stmt]]:
    """The statement whose value ``call`` is, or an element of whose list, and those that follow in its block."""
    for block in (block for node in walk(function) for block in blocks(node)):
        for at, statement in enumerate(block):
            value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
            listed = (
                value.elts if isinstance(value, ast.List) else [value.elt] if isinstance(value, ast.ListComp) else []
            )
            if value is not None and call in (value, *listed):
                return statement, block[at + 1 :]
    return None, []


def _counts(scope: Scope, name: str, suite: list[ast.stmt], matmul: FirstMatmul) -> list[str] | None:
    """How often the loops run that ``matmul`` stands in, where that is not proved to be more than 0.

    ``None`` where something else may happen to the tiles first, or the source does not tell how often they run.
    """
    way = way_to(ast.Module(suite, []), matmul.statement)
    passed = [statement for statements, index in way for statement in statements[:index]]
    loops = [statements[index] for statements, index in way[:-1]]
    heads = [part for loop in loops if isinstance(loop, ast.For) for part in (loop.target, loop.iter)]
    if not way or not all(isinstance(loop, ast.For) and not loop.orelse for loop in loops):
        return None
    if len(set(matmul.blocks)) < len(matmul.blocks) or _mentions(matmul.statement, name) != 1:
        return None
    if _may_happen_first(scope, name, passed, heads):
        return None
    varying = {n for s in of_kinds(scope.outermost, ast.For, ast.While) for n in bound_by(s)}
    return _unproved(scope, name, loops, matmul, varying | {n for statement in passed for n in bound_by(statement)})


def _may_happen_first(scope: Scope, name: str, passed: list[ast.stmt], heads: list[ast.expr]) -> bool:
    """May the tiles ``name`` be used by what stands before the matmul, or by a nested function, or may code leave?"""
    if any(_mentions(part, name) for part in (*passed, *heads)):
        return True
    if any(isinstance(node, LEAVES) for statement in passed for node in walk(statement)):
        return True
    return any(_mentions(n, name) for n in walk(scope.function) if _is_function(n) and n is not scope.function)


def _unproved(scope: Scope, name: str, loops: list[ast.stmt], matmul: FirstMatmul, bound: set[str]) -> list[str] | None:
    """The counts of ``loops`` that are not proved to be more than 0; ``None`` where one is not known.

    ``bound`` are the names that may change on the way.
    """
    sizes = dict(zip(matmul.blocks, matmul.sizes, strict=True))
    counts: list[str] = []
    for loop in loops:
        count, variable = _count(scope, loop), ast.unparse(loop.target) if isinstance(loop, ast.For) else ""
        if count is None or any(n in bound or scope.names.assigned[n] > 1 for n in algebra.names(count)):
            return None
        if variable in sizes:
            if not scope.equal(count, sizes.pop(variable)) or not _is_alone(loop, variable, name, matmul.blocks):
                return None
        elif count not in counts and not positive(scope, count):
            counts.append(count)
    return counts if not sizes else None


def _is_alone(loop: ast.stmt, variable: str, name: str, blocks: tuple[str, ...]) -> bool:
    """Does a loop over ``variable`` use no tile of a tensor but the block ``blocks``?"""
    if sum(isinstance(n.ctx, ast.Store) for n in of_kinds(loop, ast.Name) if n.id == variable) > 1:
        return False
    used = 0
    for node in walk(loop):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            used += [ast.unparse(i) for i in index[: len(blocks)]] == list(blocks)
    return used == _mentions(loop, name)


def _mentions(node: ast.AST, name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name for n in walk(node))


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.Lambda)


def _count(scope: Scope, loop: ast.stmt) -> str | None:
    """How often a loop runs that starts at 0 with steps of 1; ``None`` where it is another one."""
    passes = passes_from_zero(scope, loop)
    text = scope.attempt(render, scope, passes) if passes is not None else None
    return None if isinstance(text, Refuse) else text
