"""The stack discipline behind pinned addresses: which tensors an ``SbufManager`` puts exactly where they were.

The manager is followed symbolically: where its stack and its heap stand before each declaration, in the order of the
source. A tensor goes through the manager only where the address that it would get is provably the old one:

* it starts where the stack stands;
* it starts a known number of bytes behind that: padding comes first;
* it ends where the heap ends, which stands where what is declared behind it, below it, leaves it room;
* it starts at a place where the stack stood, or behind one: the scope that began there is closed first. A scope of a
  block around it can be closed, too, before the statement that holds the tensor, as long as that holds no other one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..analysis.counters import Values, running_values
from ..analysis.unit_loops import passes_from_zero
from ..expr import algebra
from ..syntax.node_index import children, walk
from ..syntax.nodes import bound_by

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.declarations import Pinned

_ALIGNMENT = 4
"""Bytes: the largest element, and what the heap is aligned to."""


_ROUNDED_DOWN: algebra.Polynomial = {("the heap rounded down",): 1}
"""Where the heap stands after a tensor that may not start at a multiple of 4: equal to no address."""


@dataclass
class Around:
    """What is to be written around one statement: scopes are closed, opened, and closed behind it."""

    closes: int = 0
    opens: int = 0
    after: list[str] = field(default_factory=list)


@dataclass
class StackPlan:
    """Which tensors the manager places, and how.

    ``way`` says for each of them ``stack``, ``heap`` or ``section``, ``reasons`` why another one keeps its address.
    ``unaligned`` are those whose alignment cannot be told, ``around`` the scopes by statement, ``loops`` those whose
    body starts with an opened scope, ``sections`` the loops that take turns on as many sections. ``upper`` is where the
    heap ends (empty without one), ``first`` the statement before which the manager is made. ``padding`` is how many
    bytes come first.
    """

    lower: str = "0"
    upper: str = ""
    first: ast.stmt | None = None
    way: dict[Pinned, str] = field(default_factory=dict)
    reasons: dict[Pinned, str] = field(default_factory=dict)
    unaligned: set[Pinned] = field(default_factory=set)
    around: dict[ast.stmt, Around] = field(default_factory=dict)
    loops: set[ast.For] = field(default_factory=set)
    sections: dict[ast.For, str] = field(default_factory=dict)
    unsuited: dict[Pinned, str] = field(default_factory=dict)
    padding: dict[Pinned, str] = field(default_factory=dict)

    def at(self, statement: ast.stmt) -> Around:
        return self.around.setdefault(statement, Around())


@dataclass(frozen=True)
class _Mark:
    """A stack tensor of one block of statements: where it starts, and the statement that declares it."""

    start: algebra.Polynomial
    statement: ast.stmt | None


@dataclass
class _Frame:
    """A block of statements: its marks, the statement that is read, and how many tensors were placed before that."""

    marks: list[_Mark]
    statement: ast.stmt | None = None
    placed: int = 0
    entry: algebra.Polynomial = field(default_factory=dict)
    """Where the stack stands when the statement is left."""


def stack_plan(scope: Scope, tensors: Sequence[Pinned]) -> StackPlan:
    """The plan for the tensors that one kernel pins with ``sbuf.mod_alloc``, once the kernel has been rewritten."""
    follower = _Follower(scope, tensors)
    follower.block(scope.function.body, outermost=True)
    return follower.plan


def _minus(a: algebra.Polynomial, b: algebra.Polynomial) -> algebra.Polynomial:
    return algebra.total(a, {monomial: -factor for monomial, factor in b.items()})


@dataclass(frozen=True)
class Sizes:
    """The expressions that are known to be at least 1: sizes of tensors, and of the elements of tensors."""

    positive: frozenset[str]

    def is_more(self, a: algebra.Polynomial, b: algebra.Polynomial) -> bool:
        """Is ``a`` provably more than ``b``, by a number that can be written?"""
        gap = _minus(a, b)
        return bool(gap) and all(
            factor > 0 and all(atom in self.positive or _is_hardware(atom) for atom in monomial)
            for monomial, factor in gap.items()
        )


def _is_hardware(atom: str) -> bool:
    """A limit of the hardware: ``nl.tile_size.pmax``."""
    return ".tile_size." in atom and not algebra.names(atom) - {atom.partition(".")[0]}


class _Follower:
    def __init__(self, scope: Scope, tensors: Sequence[Pinned]) -> None:
        self.scope, self.plan = scope, StackPlan()
        self.values = running_values(scope)
        self.frames: list[_Frame] = []
        self.sizes = self._sizes(tensors)
        self.waiting = list(tensors)
        self.given_back: set[Pinned] = set()
        self.tensors = tensors
        self.by_statement: dict[ast.stmt, list[Pinned]] = {}
        for tensor in tensors:
            self.by_statement.setdefault(tensor.loop or tensor.plan.statement, []).append(tensor)
        self.stack = self._lowest(tensors)
        self.plan.lower = algebra.show(self.stack)
        self.heap: algebra.Polynomial | None = None
        self.missing = ""

    def _lowest(self, tensors: Sequence[Pinned]) -> algebra.Polynomial:
        """Where the stack starts: the lowest address that is a number (0 when none is)."""
        starts = [self._number(tensor, tensor.base) for tensor in tensors]
        lowest = min((start.get((), 0) for start in starts if set(start) <= {()}), default=0)
        return {(): lowest} if lowest else {}

    def _sizes(self, tensors: Sequence[Pinned]) -> Sizes:
        """What the sizes of tensors tell: a tensor has at least one element in each dimension."""
        found: set[str] = set()
        for tensor in tensors:
            for size in (*tensor.dims, *tensor.plan.blocks, *tensor.tiles):
                polynomial = self._number(tensor, size)
                if len(polynomial) == 1:
                    found |= set(next(iter(polynomial)))
        return Sizes(frozenset(found))

    def _number(self, tensor: Pinned, text: str) -> algebra.Polynomial:
        values = self._values_at(tensor)
        return algebra.normal(text, {**self.scope.sizes.definitions, **values})

    def _values_at(self, tensor: Pinned) -> Values:
        return self.values.get(tensor.loop or tensor.plan.statement, {})

    # Statements -----------------------------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt], first: Sequence[Pinned] = (), *, outermost: bool = False) -> bool:
        """Place what one block declares; ``first`` stand at its top. Has the manager placed anything in it?"""
        before = len(self.plan.way)
        frame = _Frame([])
        self.frames.append(frame)
        opened: ast.stmt | None = None
        for tensor in first:
            self._place(tensor, None)
        for statement in body:
            frame.statement, frame.placed = statement, len(self.plan.way)
            placed = len(self.plan.way)
            if isinstance(statement, ast.For | ast.While | ast.If):
                self._compound(statement)
            else:
                for tensor in self.by_statement.get(statement, []):
                    self._place(tensor, statement)
            if opened is None and len(self.plan.way) > placed:
                opened = statement
        self.frames.pop()
        if len(self.plan.way) == before:
            return False
        if outermost and opened is not None:
            self.plan.first = opened
            self.plan.at(opened)
        elif opened is not None and not any(t in self.plan.way for t in first):
            self.plan.at(opened).opens += 1
        heaps = [t for t, way in list(self.plan.way.items())[before:] if way == "heap" and t not in self.given_back]
        self.given_back.update(heaps)
        self._end(body[-1], outermost or opened is not None or bool(first), len(heaps))
        return True

    def _end(self, last: ast.stmt, scoped: bool, heaps: int) -> None:
        """Close what a block has opened, and give its heap tensors back."""
        around = self.plan.at(last)
        around.after = [*(["close_scope"] if scoped else []), *["pop_heap"] * heaps]

    def _compound(self, statement: ast.For | ast.While | ast.If) -> None:
        frame, heap = self.frames[-1], self.heap
        frame.entry = self.stack
        first = self.by_statement.get(statement, [])
        if isinstance(statement, ast.If):
            for body in (statement.body, statement.orelse):
                self.block(body)
                self.stack, self.heap = frame.entry, heap
            return
        if _is_left_early(statement):
            for tensor in self._within(statement):
                self._refuse(tensor, f"the loop in line {statement.lineno} can be left before its scope is closed")
        elif isinstance(statement, ast.For) and self._section(statement, first):
            pass
        elif self.block(statement.body, first) and any(t in self.plan.way for t in first):
            assert isinstance(statement, ast.For)
            self.plan.loops.add(statement)
        self.stack, self.heap = frame.entry, heap

    def _within(self, loop: ast.For | ast.While) -> list[Pinned]:
        inside = {id(node) for node in walk(loop)}
        return [t for t in self.waiting if id(t.loop or t.plan.statement) in inside]

    # Tensors --------------------------------------------------------------------------------------------------------

    def _place(self, tensor: Pinned, statement: ast.stmt | None) -> None:
        if tensor not in self.waiting:  # refused as a section of the loop that declares it
            return
        base, size = self._number(tensor, tensor.base), self._number(tensor, tensor.reserved)
        if tensor.unsuited:
            if base == self.stack:
                self.missing = tensor.plan.name
            self._refuse(tensor, tensor.unsuited)
            return
        if base != self.stack and not self._is_behind(tensor, base):
            if self._on_the_heap(tensor, base, size):
                return
            if not self._can_pad(base, self.stack) and not self._rewound(base):
                self._refuse(tensor, self._why_not(tensor, base))
                return
        if base != self.stack:
            self.plan.padding[tensor] = algebra.show(_minus(base, self.stack))
        self.frames[-1].marks.append(_Mark(self.stack, statement))
        self.stack = algebra.total(base, size)
        self._check_alignment(tensor, base)
        self._accept(tensor, "stack")

    def _is_behind(self, tensor: Pinned, base: algebra.Polynomial) -> bool:
        """Is an address behind the stack's, and before all that is declared later?"""
        if not self._can_pad(base, self.stack):
            return False
        return not any(self.sizes.is_more(base, self._number(t, t.base)) for t in self.waiting if t is not tensor)

    def _rewound(self, base: algebra.Polynomial) -> bool:
        """Close scopes until the stack stands at an address, or where it can reach it; ``False`` if that cannot be."""
        for depth, frame in reversed(list(enumerate(self.frames))):
            inner = self.frames[depth + 1 :]
            if any(f.marks for f in inner) or (inner and len(self.plan.way) > frame.placed):
                return False
            at = self._mark_for(frame, base)
            if at is not None and frame.statement is not None:
                mark = frame.marks[at]
                assert mark.statement is not None
                self.plan.at(mark.statement).opens += 1
                self.plan.at(frame.statement).closes += 1
                del frame.marks[at:]
                self.stack = frame.entry = mark.start
                for other in inner:
                    other.entry = mark.start
                return True
        return False

    def _mark_for(self, frame: _Frame, base: algebra.Polynomial) -> int | None:
        """The mark of a block that stands at an address, or else the last one that stands before it."""
        marks = [i for i, mark in enumerate(frame.marks) if mark.statement not in (None, frame.statement)]
        same = [i for i in marks if frame.marks[i].start == base]
        before = [i for i in marks if self._can_pad(base, frame.marks[i].start)]
        return same[0] if same else before[-1] if before else None

    def _check_alignment(self, tensor: Pinned, base: algebra.Polynomial) -> None:
        if not _aligned(base, self._number(tensor, tensor.itemsize)):
            self.plan.unaligned.add(tensor)

    def _on_the_heap(self, tensor: Pinned, base: algebra.Polynomial, size: algebra.Polynomial) -> bool:
        """A tensor that ends where the heap ends, or where the heap tensor before it starts."""
        if tensor.style in ("list", "loop"):
            return False
        end = algebra.total(base, size)
        upper = "" if self.plan.upper else self._upper(tensor, end)
        if end != self.heap and not upper:
            return False
        self.plan.upper = self.plan.upper or upper
        self.heap = base if _aligned(base, {(): _ALIGNMENT}) else _ROUNDED_DOWN
        self._accept(tensor, "heap")
        return True

    def _upper(self, tensor: Pinned, end: algebra.Polynomial) -> str:
        """Where the heap can end so that it ends with this tensor; empty where it cannot."""
        written = _upper_text(self.scope, tensor, self._values_at(tensor))
        if written:
            return written
        base = self._number(tensor, tensor.base)
        others = [t for t in self.waiting if t is not tensor]
        ends = [algebra.total(self._number(t, t.base), self._number(t, t.reserved)) for t in others]
        has_room = all(other == base or self.sizes.is_more(base, other) for other in [self.stack, *ends])
        return algebra.show(end) if has_room and self._is_known_first(end) else ""

    def _is_known_first(self, end: algebra.Polynomial) -> bool:
        """Are all names of an address bound before the manager is made, and never again?"""
        line = min(tensor.plan.statement.lineno for tensor in self.tensors)
        arguments = self.scope.function.args
        known = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        for statement in self.scope.function.body:
            if statement.lineno < line and isinstance(statement, ast.Assign | ast.AnnAssign):
                known |= bound_by(statement)
        mine = algebra.names(algebra.show(end)) & set(self.scope.names.assigned)
        return mine <= known and self._is_fixed(end)

    def _is_fixed(self, number: algebra.Polynomial) -> bool:
        """Does every name of a number stand for one value only, wherever it is written?"""
        return self.scope.names.are_fixed(algebra.names(algebra.show(number)))

    def _can_pad(self, base: algebra.Polynomial, start: algebra.Polynomial) -> bool:
        """Is an address behind another one by a number of bytes that can be written?"""
        return self.sizes.is_more(base, start) and self._is_fixed(_minus(base, start))

    def _why_not(self, tensor: Pinned, base: algebra.Polynomial) -> str:
        start, stands = algebra.show(base), algebra.show(self.stack)
        start = tensor.base if "(-" in start else start
        if self.missing:
            return f"it lies at byte {start}, behind '{self.missing}', which the stack does not hold"
        return f"it starts at byte {start}, where no scope of a stack begins: the stack stands at {stands}"

    def _section(self, loop: ast.For, first: list[Pinned]) -> bool:
        """A loop whose iterations take turns on the tiles of one tensor: the sections of a scope."""
        turning = [tensor for tensor in first if tensor.turns]
        if not turning:
            return False
        tensor = turning[0]
        base, size = self._number(tensor, tensor.base), self._number(tensor, tensor.reserved)
        others = [t for t in self.waiting if t is not tensor and not t.unsuited]
        behind = algebra.total(base, size)
        alone = [t for t in self._within(loop) if not t.unsuited] == [tensor]
        followed = any(self._number(t, t.base) == behind for t in others)
        if base != self.stack:
            for each in turning:
                self._refuse(each, self._why_not(each, base))
                self.plan.unsuited[each] = self.plan.reasons[each]
            return False
        if alone and not followed and passes_from_zero(self.scope, loop) is not None:
            self.plan.sections[loop] = tensor.turns
            self._check_alignment(tensor, base)
            self._accept(tensor, "section")
            return True
        for each in turning:
            self._refuse(each, "its tiles do not take turns as the sections of one scope")
            self.plan.unsuited[each] = self.plan.reasons[each]
        return False

    def _accept(self, tensor: Pinned, way: str) -> None:
        self.plan.way[tensor] = way
        self.waiting.remove(tensor)

    def _refuse(self, tensor: Pinned, reason: str) -> None:
        if tensor in self.waiting:
            self.plan.reasons[tensor] = reason
            self.waiting.remove(tensor)


def _aligned(base: algebra.Polynomial, itemsize: algebra.Polynomial) -> bool:
    """Is a number of bytes a multiple of an element's size (1, 2 or 4 where it cannot be told)?"""
    size = itemsize.get((), 0) if set(itemsize) <= {()} else _ALIGNMENT
    factor = next(iter(itemsize)) if len(itemsize) == 1 else ()
    if any("/" in atom.replace("//", "") for monomial in base for atom in monomial):
        return False
    return all(c % size == 0 or bool(factor and set(factor) <= set(monomial)) for monomial, c in base.items())


def _is_left_early(loop: ast.For | ast.While) -> bool:
    pending: list[ast.AST] = list(loop.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Break | ast.Continue | ast.Return):
            return True
        if not isinstance(node, ast.FunctionDef):
            pending += children(node)
    return False


def _upper_text(scope: Scope, tensor: Pinned, values: Values) -> str:
    """Where the heap ends, if the address is written as that minus the tensor's size; empty else."""
    node = algebra.parse(tensor.base)
    if isinstance(node, ast.Name) and node.id in scope.sizes.definitions:
        node = algebra.parse(scope.sizes.definitions[node.id])
    known = {**scope.sizes.definitions, **values}
    size = algebra.normal(tensor.reserved, known)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return ast.unparse(node.left) if algebra.normal(ast.unparse(node.right), known) == size else ""
    end = algebra.total(algebra.normal(tensor.base, known), size)
    set_to = [ast.unparse(value) for value in _set_to(scope, tensor.base)]
    return next((text for text in set_to if algebra.normal(text, known) == end), "")


def _set_to(scope: Scope, name: str) -> list[ast.expr]:
    """What a name that is counted down is set to."""
    found: list[ast.expr] = []
    down = False
    for node in walk(scope.function):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            found.append(node.value)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            down = down or isinstance(node.op, ast.Sub)
    return found if down else []
