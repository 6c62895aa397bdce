"""What the rules of the ladder are asked: the facts of each file at a version, and the nodes that a rule is about."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import ModuleType

from nki_migrate.runtime.spec.versions import OLDEST, VERSIONS, Version

from .answers import Answer
from .evidence import Source
from .facts import Facts
from .program import Program
from .tensors import Tensors
from .unseen import unseen, values_of


def facts_of(program: Program, sources: Mapping[str, Source], item: Version) -> dict[str, Facts]:
    """The facts of each file on its way to ``item`` from the version before."""
    old = VERSIONS[item.position - 1]
    tensors = Tensors(program)
    return {
        path: Facts(program, tensors, path, max(old, OLDEST), item, source.high < item, source.is_migrated)
        for path, source in sources.items()
    }


def answers_of(facts: Facts, module: ModuleType) -> Iterator[tuple[ast.AST, Answer]]:
    """The nodes that a rule is asked about, and its answers: what it cannot see of a node, or what it says of it."""
    may_be_hidden = hasattr(module, "CALLS")
    for node in nodes_for(facts, module):
        hidden = unseen(facts, module, node) if may_be_hidden else None
        yield node, hidden or module.rewrite(facts, node)


def nodes_for(facts: Facts, module: ModuleType) -> Iterator[ast.AST]:
    """The nodes that a rule is asked about: those of its kinds in kernel code, or anywhere.

    Where it names functions (``CALLS``), it is asked about their calls, not about others, but if it says so
    (``ANY_CALL``). Functions of which nothing is rewritten are not asked about.
    """
    return (node for node in _nodes_for(facts, module) if node not in facts.rung.left)


def _nodes_for(facts: Facts, module: ModuleType) -> Iterator[ast.AST]:
    calls: frozenset[str] = frozenset() if getattr(module, "ANY_CALL", False) else getattr(module, "CALLS", frozenset())
    kinds = tuple(kind for kind in module.NODES if not calls or kind is not ast.Call)
    if getattr(module, "HOST", False):
        yield from facts.rung.of_kinds(kinds)
        yield from (call for call, _ in facts.rung.calls_of(*calls))
    else:
        yield from facts.program.nodes_in_kernel_code(facts.path, kinds)
        yield from (call for call, _ in facts.rung.calls_of(*calls) if facts.in_kernel_code(call))
    yield from values_of(facts, module)
