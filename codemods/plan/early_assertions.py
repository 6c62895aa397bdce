"""What the output asserts of parameters, and of how often loops run, stands once, before the loops that need it.

Shape and type of a parameter that a function does not bind again are the same in every iteration, and known when the
function begins; so are numbers that it has bound once before. What stands under a condition stays there, unless both
sides assert it: where it does not run, nothing need hold.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from ..analysis.maybe_tensors import TENSOR_ATTRIBUTES
from ..expr import algebra
from ..expr.emission import LOOPS_THAT_RUN, New, asserting
from ..project.own_assertions import tells
from ..project.program import Module
from ..syntax.node_index import walk
from ..syntax.nodes import SIMPLE, assignment_counts, blocks, bound_by, named_parameters, uses_by_name


def move(module: Module) -> None:
    """Move the assertions of every function that was rewritten, and drop those that it repeats."""
    for written in (module.plan.edits.before, module.plan.edits.replaced):
        for news in written.values():
            _drop_implied(news)
    local = frozenset[str]().union(*module.names.local.values())
    for function in module.summaries.analyzed:
        asserted = _Asserted()
        told = _Told(function, local)
        for statement in function.body:
            fixed = [(inner, new) for inner, new in _always_asserted(module, statement) if told.is_fixed(new)]
            in_loops = [new for inner, new in fixed if inner is not statement and new not in asserted]
            if in_loops:
                before = module.plan.edits.before.get(statement, [])
                module.plan.edits.before[statement] = [*chained(dict.fromkeys(in_loops)), *before]
            for inner, new in fixed:
                if inner is not statement or new in asserted:
                    _remove(module, inner, new)
            asserted = asserted.having(new for _, new in fixed)
            for suite in blocks(statement):
                _drop_repeated(module, suite, told, asserted)
            told.learn(statement)


def _drop_implied(news: list[New]) -> None:
    """Drop what a later assertion of the same run tells: ``x.dtype in (a, b)`` tells ``x.dtype in (a, b, c)``."""
    for at in range(len(news) - 2, -1, -1):
        behind = takewhile(_is_assertion, news[at + 1 :])
        if _is_assertion(news[at]) and any(tells(_parts(new)[0], _parts(news[at])[0]) for new in behind):
            del news[at]


@dataclass(frozen=True)
class _Asserted:
    """The conditions that hold by now, whatever their messages say: ``n == 2`` tells ``n > 1``."""

    tests: tuple[ast.expr, ...] = ()

    def having(self, assertions: Iterable[New]) -> _Asserted:
        return _Asserted((*self.tests, *(_parts(new)[0] for new in assertions if new not in self)))

    def __contains__(self, new: object) -> bool:
        if not isinstance(new, New) or not _is_assertion(new):
            return False
        test = _parts(new)[0]
        sides = {*_equal_sides(test)}
        text = ast.unparse(test)
        return any(ast.unparse(t) == text or tells(t, test) for t in self.tests) or (
            len(sides) > 1 and any(sides <= group for group in self._groups())
        )

    def _groups(self) -> list[set[str]]:
        """The texts that are equal, by what was asserted."""
        groups: list[set[str]] = []
        for sides in ({*_equal_sides(test)} for test in self.tests):
            if sides:
                apart = [group for group in groups if group.isdisjoint(sides)]
                groups = [*apart, sides.union(*(group for group in groups if not group.isdisjoint(sides)))]
        return groups


def _drop_repeated(module: Module, suite: list[ast.stmt], told: _Told, asserted: _Asserted) -> None:
    """Drop the assertions of statements under conditions that were asserted on the way to them."""
    for statement in suite:
        for new in [new for new in _written(module, statement) if told.is_fixed(new)]:
            if new in asserted:
                _remove(module, statement, new)
            asserted = asserted.having([new])
        for inner in blocks(statement):
            _drop_repeated(module, inner, told, asserted)


def _written(module: Module, statement: ast.stmt) -> list[New]:
    """What stands in the place of a statement, and what stands in front of one that stays."""
    edits = module.plan.edits
    return [
        *(edits.before.get(statement, []) if isinstance(statement, SIMPLE) else []),
        *edits.replaced.get(statement, []),
    ]


def _remove(module: Module, statement: ast.stmt, new: New) -> None:
    """Take a line of :func:`_written` away."""
    lines = module.plan.edits.before.get(statement, [])
    (lines if new in lines else module.plan.edits.replaced[statement]).remove(new)
    if not lines:
        module.plan.edits.before.pop(statement, None)


def chained(assertions: Iterable[New]) -> list[New]:
    """Assertions of equality for one reason, where they share a side, as one: ``a.dtype == b.dtype == c.dtype``."""
    found: dict[int, New] = {}
    chains: dict[int, tuple[str, list[str]]] = {}
    for number, new in enumerate(assertions):
        test, reason = _parts(new)
        sides = _equal_sides(test)
        shared = [n for n, (why, known) in chains.items() if why == reason and not {*sides}.isdisjoint(known)]
        at = min(shared, default=number)
        if sides:
            known = [side for n in shared for side in chains.pop(n)[1]]
            chains[at] = reason, sorted(dict.fromkeys([*known, *sides]), key=str.isdigit)
        for merged in shared:
            del found[merged]
        found[at] = asserting(" == ".join(chains[at][1]), reason) if shared else new
    return [found[at] for at in sorted(found)]


def _parts(new: New) -> tuple[ast.expr, str]:
    """What an assertion tests, and what it is about."""
    assert new.asserts is not None
    condition, what = new.asserts
    return algebra.parse(condition), what


def _equal_sides(test: ast.expr) -> list[str]:
    """The sides of a test for equality; none of another test."""
    if not isinstance(test, ast.Compare) or not all(isinstance(operator, ast.Eq) for operator in test.ops):
        return []
    return [ast.unparse(side) for side in (test.left, *test.comparators)]


def _always_asserted(module: Module, statement: ast.stmt) -> list[tuple[ast.stmt, New]]:
    """What a statement asserts whatever is found: of conditions, what both sides assert."""
    found = [(statement, new) for new in _written(module, statement) if _is_assertion(new)]
    if isinstance(statement, ast.For):
        found += [pair for inner in statement.body for pair in _always_asserted(module, inner)]
    if isinstance(statement, ast.If) and statement.orelse:
        sides = [
            [pair for inner in side for pair in _always_asserted(module, inner)]
            for side in (statement.body, statement.orelse)
        ]
        both = set.intersection(*({new.text for _, new in side} for side in sides))
        found += [(inner, new) for side in sides for inner, new in side if new.text in both]
    return found


def _is_assertion(new: New) -> bool:
    return not new.guard and new.asserts is not None


class _Told:
    """What the names of a function's assertions are: parameters, or sizes that its first statements have bound."""

    def __init__(self, function: ast.FunctionDef, local: frozenset[str]) -> None:
        self.counts = assignment_counts(function)
        self.made = local - {*self.counts, *uses_by_name(function)}
        self.parameters = {argument.arg for argument in named_parameters(function) if self.counts[argument.arg] == 1}
        self.sizes: set[str] = set()

    def learn(self, statement: ast.stmt) -> None:
        """The numbers that a statement of the function itself binds, and no other one."""
        if isinstance(statement, ast.Assign):
            self.sizes |= {name for name in bound_by(statement) if self.counts[name] == 1}

    def is_fixed(self, new: New) -> bool:
        """Is it an assertion of shapes and types of parameters, and of how often loops run, by what is known by now?"""
        if not _is_assertion(new):
            return False
        test, what = _parts(new)
        nodes = list(walk(test))
        if any(isinstance(n, ast.Name) and n.id in self.made for n in nodes):
            return False  # a statement of the output binds it
        described = {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr in TENSOR_ATTRIBUTES}
        described |= {n.args[0] for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == "isinstance"}
        local = [n for n in nodes if isinstance(n, ast.Name) and n.id in self.counts]
        counts = what == LOOPS_THAT_RUN
        return bool(local) and all(
            (n.id in self.parameters and (n in described or counts)) or (n.id in self.sizes and counts) for n in local
        )
