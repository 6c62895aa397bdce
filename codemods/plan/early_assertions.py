"""What the output asserts of parameters stands once, before the loops that need it.

Shape and type of a parameter that a function does not bind again are the same in every iteration, and known when the
function begins. What stands under a condition stays there: where it does not run, nothing need hold.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from ..analysis.maybe_tensors import TENSOR_ATTRIBUTES
from ..expr.emission import WRITTEN_FOR, New
from ..project.program import Module
from ..syntax.node_index import walk
from ..syntax.nodes import assignment_counts, named_parameters


def move(module: Module) -> None:
    """Move the assertions of every function that was rewritten, and drop those that it repeats."""
    for function in module.analyzed:
        asserted: set[str] = set()
        counts = assignment_counts(function)
        for statement in function.body:
            found = [(inner, new) for inner in _always_run(statement) for new in module.edits.replaced.get(inner, [])]
            fixed = [(inner, new) for inner, new in found if _is_fixed(function, counts, new)]
            in_loops = [new for inner, new in fixed if inner is not statement and new.text not in asserted]
            if in_loops:
                before = module.edits.before.get(statement, [])
                module.edits.before[statement] = [*chained(dict.fromkeys(in_loops)), *before]
            for inner, new in fixed:
                if inner is not statement or new.text in asserted:
                    module.edits.replaced[inner].remove(new)
            asserted |= {new.text for _, new in fixed}


def chained(assertions: Iterable[New]) -> list[New]:
    """Assertions of equality for one reason, where they share a side, as one: ``a.dtype == b.dtype == c.dtype``."""
    found: list[New] = []
    chains: dict[int, tuple[str, list[str]]] = {}
    for new in assertions:
        test, reason = _parts(new)
        sides = _equal_sides(test)
        at = next((n for n, (why, known) in chains.items() if why == reason and not {*sides}.isdisjoint(known)), None)
        if at is None:
            chains |= {len(found): (reason, sides)} if sides else {}
            found.append(new)
        else:
            joined = sorted(dict.fromkeys([*chains[at][1], *sides]), key=str.isdigit)
            chains[at] = reason, joined
            found[at] = New(f"assert {' == '.join(joined)}, {reason}")
    return found


def _parts(new: New) -> tuple[ast.expr, str]:
    """What an assertion tests, and its message."""
    (node,) = ast.parse(new.text).body
    assert isinstance(node, ast.Assert) and node.msg is not None
    return node.test, new.text[new.text.index(WRITTEN_FOR) :]


def _equal_sides(test: ast.expr) -> list[str]:
    """The sides of a test for equality; none of another test."""
    if not isinstance(test, ast.Compare) or not all(isinstance(operator, ast.Eq) for operator in test.ops):
        return []
    return [ast.unparse(side) for side in (test.left, *test.comparators)]


def _always_run(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement, and what its iterations run whatever they find."""
    yield statement
    if isinstance(statement, ast.For):
        for inner in statement.body:
            yield from _always_run(inner)


def _is_fixed(function: ast.FunctionDef, counts: Counter[str], new: New) -> bool:
    """Is it an assertion of shapes and types of parameters alone?"""
    if new.guard or not new.text.startswith("assert ") or WRITTEN_FOR not in new.text:
        return False
    bound_once = {argument.arg for argument in named_parameters(function) if counts[argument.arg] == 1}
    nodes = list(walk(ast.parse(new.text)))
    described = {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr in TENSOR_ATTRIBUTES}
    described |= {n.args[0] for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == "isinstance"}
    local = [n for n in nodes if isinstance(n, ast.Name) and n.id in counts]
    return bool(local) and all(n.id in bound_once and n in described for n in local)
