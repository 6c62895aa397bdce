"""Writes into PSUM tensors: which parts they write, whether two of them can be of one part, and which comes first.

A part is a block, or what a slice leaves of a tile. A loop that declares the tensor again in each pass has other tiles
each time; all others around a write repeat it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.frames import Part, Written
from ..expr.operands import Operand
from ..expr.values import Declaration
from ..syntax.node_index import indexed, of_kinds, walk
from ..syntax.nodes import LEAVES, bound_by
from .positivity import positive
from .unit_loops import bound_in_body, counted

if TYPE_CHECKING:
    from ..expr.frames import Loop
    from .scope import Scope


def repeating(scope: Scope, declaration: Declaration) -> list[Loop]:
    """The loops around the statement at hand that do not declare the tile again in each iteration."""
    return [loop for loop in scope.place.loops if loop.statement not in declaration.loops]


def blocks_of(target: Operand) -> tuple[str, ...]:
    """The block indices of an access, outermost first."""
    found: list[str] = []
    base: ast.AST = algebra.parse(target.base)
    while isinstance(base, ast.Subscript):
        found.insert(0, ast.unparse(base.slice))
        base = base.value
    return tuple(found)


def part_of(target: Operand) -> list[Part]:
    """Where an access starts, and how far it goes: its block indices, then its slices."""
    blocks = [Part(index, "1") for index in blocks_of(target)]
    return [*blocks, *(Part(item.start, item.count) for item in target.items or ())]


def is_whole(scope: Scope, target: Operand) -> bool:
    """Does an instruction write all of a tile, under no mask?"""
    everything = target.items is None or all(item.full for item in target.items)
    return everything and target.pattern is None and not scope.output.guards and not scope.masks.clamps


def ranges_around(scope: Scope) -> dict[str, tuple[str, str]]:
    """The first value and the end of the variable of each loop that runs, where its steps are 1."""
    found = {}
    for loop in scope.place.loops:
        values = counted(scope, loop.statement)
        if values is not None:
            found[loop.variable] = ast.unparse(values[0]), ast.unparse(values[1])
    return found


@dataclass(frozen=True)
class Recurrence:
    """A loop in which an access may write a part again, or what to assert so that none does."""

    loop: Loop | None
    conditions: tuple[str, ...] = ()


NEVER = Recurrence(None)


def recurrence(scope: Scope, loops: Sequence[Loop], part: Sequence[Part]) -> Recurrence:
    """Does an access write the same part again in another pass of ``loops``?

    It does not where each loop's variable moves one position of it, by more than what the passes of the loops further
    in cover there. Source text is compared where that is no number, and asserted where it differs.
    """
    moved: dict[int, list[tuple[Loop, str]]] = {}
    for loop in loops:
        steady = loop.variable not in bound_in_body(loop.statement)
        places = ((at, _coefficient(scope, each.start, loop.variable)) for at, each in enumerate(part))
        place = next(((at, step) for at, step in places if step), None)
        if place is None or not steady or _changes_otherwise(scope, part[place[0]].start, loops):
            return Recurrence(loop)
        moved.setdefault(place[0], []).append((loop, place[1]))
    conditions: list[str] = []
    for at, steps in moved.items():
        found = _apart(scope, part[at].count, steps)
        if found.loop is not None:
            return found
        conditions += found.conditions
    return Recurrence(None, tuple(conditions))


def _apart(scope: Scope, count: str, steps: list[tuple[Loop, str]]) -> Recurrence:
    """Are parts of ``count`` elements apart that start where the variables of loops lead to, each by its step?"""
    if len(steps) == 1 and not any(_reaches(scope, size, count) for size in _sizes(steps[0][1])):
        return _asserted(scope, *steps[0], count)
    for loop, step in steps:
        passes = counted(scope, loop.statement)
        for size in _sizes(step):
            if not _reaches(scope, size, count):
                continue
            if len(steps) == 1:
                return NEVER
            rest = [each for each in steps if each[0] is not loop]
            if passes is not None:
                covered = algebra.multiply(size, algebra.subtract(ast.unparse(passes[1]), ast.unparse(passes[0])))
                if (found := _apart(scope, covered, rest)).loop is None:
                    return found
    return Recurrence(steps[0][0])


def _asserted(scope: Scope, loop: Loop, step: str, covered: str) -> Recurrence:
    """What to assert where it is not known whether the one step left covers a part: two names for sizes, say."""
    changing = changing_names(scope.outermost)
    if scope.constant(step) is not None and scope.constant(covered) is not None:
        return Recurrence(loop)
    if any(name in changing for text in (step, covered) for name in algebra.names(text)):
        return Recurrence(loop)
    size = algebra.negative(step) if algebra.is_negative(step) else step
    return Recurrence(None, (f"{size} >= {covered}",))


def _sizes(step: str) -> tuple[str, str]:
    """How far a step leads, whichever way it goes."""
    return step, algebra.negative(step)


def _reaches(scope: Scope, size: str, covered: str) -> bool:
    """Is a size known to be at least another one?"""
    if scope.equal(size, covered):
        return scope.constant(size) != 0
    number, least = scope.constant(size), scope.constant(covered)
    return number is not None and least is not None and number >= max(least, 1)


def _changes_otherwise(scope: Scope, start: str, loops: Sequence[Loop]) -> bool:
    """Does a start depend on what changes in ``loops`` beside their variables?"""
    variables = {loop.variable for loop in scope.place.loops}
    bound = {name for loop in loops for name in bound_in_body(loop.statement)} - variables
    read = {
        name
        for monomial in algebra.normal(start, scope.sizes.definitions)
        for a in monomial
        for name in algebra.names(a)
    }
    return bool(read & bound)


def _coefficient(scope: Scope, text: str, variable: str) -> str | None:
    """The coefficient of ``variable`` in an index that is linear in it, as text; ``None`` otherwise."""
    polynomial = algebra.normal(text, scope.sizes.definitions)
    found: algebra.Polynomial = {}
    for monomial, coefficient in polynomial.items():
        inside = [a for a in monomial if variable in algebra.names(a)]
        if not inside:
            continue
        if inside != [variable]:
            return None
        found[tuple(a for a in monomial if a != variable)] = coefficient
    return algebra.show(found) if found else None


def exclusive(scope: Scope, declaration: Declaration, earlier: Written, now: Written) -> bool:
    """Can the statement at hand never run after ``earlier`` on one tile, since they are on two sides of an ``if``?

    In a loop around that condition each pass may take another side: then both must write a part of their own in each.
    """
    for side in earlier.branch:
        if side.other not in now.branch:
            continue
        around = [loop for loop in scope.place.loops[: side.loops] if loop.statement not in declaration.loops]
        if not around:
            return True
        if now.part is not None and earlier.part == now.part and recurrence(scope, around, now.part) == NEVER:
            return True
    return False


def same_blocks(a: Written, b: Written) -> bool:
    """Do two accesses write to blocks with the same indices, by their text?"""
    return a.blocks == b.blocks and None not in a.blocks


def is_replaced(written: Written, now: Written) -> bool:
    """Was the tile declared again since, wherever ``now`` runs?"""
    return any(
        now.branch[: len(branch)] == branch and now.loops[: len(loops)] == loops for branch, loops in written.ended
    )


def leading(scope: Scope, matmul: Written, now: Written) -> list[str] | None:
    """What to assert so that ``matmul`` has surely written all that ``now`` writes, in the same pass of their loops.

    ``None`` where it may not have.
    """
    if not matmul.whole or not same_blocks(matmul, now) or now.branch[: len(matmul.branch)] != matmul.branch:
        return None
    inner = [loop for loop in matmul.loops if loop not in now.loops]
    if matmul.loops[: len(matmul.loops) - len(inner)] != now.loops[: len(matmul.loops) - len(inner)]:
        return None
    indices = {name for block in now.blocks for name in algebra.names(block or "")}
    common = {loop.variable for loop in scope.place.loops if loop.statement in matmul.loops}
    bound = {name for loop in inner for name in bound_by(loop)}
    if indices & (bound | (changing_names(scope.outermost) - common)):
        return None
    counts = [_passes(scope, loop) for loop in inner]
    return None if None in counts else [f"{count} > 0" for count in counts if count and not positive(scope, count)]


def _passes(scope: Scope, loop: ast.stmt) -> str | None:
    """How often a loop runs to its end that is over; ``None`` where it may end early, or the source does not tell."""
    values = counted(scope, loop)
    if values is None or any(isinstance(node, LEAVES) for node in walk(loop)):
        return None
    count = algebra.subtract(ast.unparse(values[1]), ast.unparse(values[0]))
    return None if algebra.names(count) & changing_names(scope.outermost) else count


def disjoint(scope: Scope, a: Written, b: Written) -> bool:
    """Are two writes always into different blocks of one tensor, in whichever iterations of their loops?"""
    return any(
        x is not None and y is not None and _differ(scope, x, a.ranges, y, b.ranges)
        for x, y in zip(a.blocks, b.blocks, strict=False)
    )


def _differ(
    scope: Scope, x: str, x_ranges: Mapping[str, tuple[str, str]], y: str, y_ranges: Mapping[str, tuple[str, str]]
) -> bool:
    """Is one of two indices larger than the other, whatever the variables of the loops around each are?"""
    low, high = extremes(scope, x, x_ranges), extremes(scope, y, y_ranges)
    if low is None or high is None:
        return False
    pairs = ((low[0], high[1]), (high[0], low[1]))
    return any((algebra.constant(f"{least} - ({most})", scope.sizes.definitions) or 0) > 0 for least, most in pairs)


def extremes(scope: Scope, index: str, ranges: Mapping[str, tuple[str, str]]) -> tuple[str, str] | None:
    """The least and the greatest value of an index, in names that are bound once; ``None`` where it is not linear."""
    least = greatest = "0"
    for monomial, coefficient in algebra.normal(index, scope.sizes.definitions).items():
        term = algebra.paren(algebra.show({monomial: coefficient}))
        varying = [v for v in ranges if any(v in algebra.names(atom) for atom in monomial)]
        if varying and monomial != (varying[0],):
            return None
        for variable in varying:
            first, end = ranges[variable]
            ends = [f"{coefficient} * ({first})", f"{coefficient} * ({end} - 1)"]
            below, above = ends if coefficient > 0 else reversed(ends)
            least, greatest = f"{least} + {below}", f"{greatest} + {above}"
        if not varying:
            least, greatest = f"{least} + {term}", f"{greatest} + {term}"
    changing = changing_names(scope.outermost)
    stable = not any(name in changing for text in (least, greatest) for name in algebra.names(text))
    return (least, greatest) if stable else None


def is_index(scope: Scope, block: str, ranges: Mapping[str, tuple[str, str]]) -> bool:
    """Is a block index known not to be negative?"""
    least = extremes(scope, block, ranges)
    return least is not None and ((scope.constant(least[0]) or 0) > 0 or positive(scope, algebra.add(least[0], "1")))


@indexed
def changing_names(function: ast.FunctionDef) -> frozenset[str]:
    """Names that a function binds more than once, or in a loop: the same text may be another number the next time."""
    bound = [n.id for n in of_kinds(function, ast.Name) if isinstance(n.ctx, ast.Store)]
    loops = list(of_kinds(function, ast.For, ast.While))
    inside = {n.id for loop in loops for n in of_kinds(loop, ast.Name) if isinstance(n.ctx, ast.Store)}
    return frozenset(inside | {name for name in bound if bound.count(name) > 1})
