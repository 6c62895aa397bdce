"""Shapes of tensors whose every index is written out: loops, vectors and slices of numbers tell how far each reaches.

A kernel that was generated, or written for one size, has no name for its sizes. The largest element that it reads or
writes in each dimension is what it needs; an element behind a mask (``10943 - (128 * i + f) >= 0``) is none. Sizes that
a kernel computes from other arguments are known for a case that has those.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from nki_migrate.runtime.cases import Case, TensorSpec

from .suggest_calls import tensor
from .suggest_expressions import Unknown, evaluated

_RANGES = ("range", "affine_range", "sequential_range", "static_range")


@dataclass(frozen=True)
class _Linear:
    """A number, and multiples of loop variables and vectors."""

    number: int
    terms: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: _Linear, times: int = 1) -> _Linear:
        names = {*self.terms, *other.terms}
        terms = {name: self.terms.get(name, 0) + times * other.terms.get(name, 0) for name in names}
        return _Linear(self.number + times * other.number, {name: by for name, by in terms.items() if by})

    def times(self, factor: int) -> _Linear:
        return _Linear(self.number * factor, {name: by * factor for name, by in self.terms.items() if by * factor})


class _Untold(Exception):
    """An index that numbers alone do not tell."""


def extents(
    kernel: ast.FunctionDef, case: Case | None = None, tree: ast.Module | None = None
) -> dict[str, tuple[int, ...]]:
    """The shapes of the parameters of a kernel that are only indexed, each time by what numbers tell.

    The numbers are those of the kernel and of its module ``tree``, and what it computes from the arguments of ``case``.
    """
    reading = _Reading(kernel, known_values(kernel, case, tree))
    names = [a.arg for a in (*kernel.args.posonlyargs, *kernel.args.args)]
    return {name: shape for name in names if (shape := reading.shape(name))}


def with_extents(cases: Iterator[Case], kernel: ast.FunctionDef, tree: ast.Module | None = None) -> Iterator[Case]:
    """The first of some cases, with the shapes that the kernel's indices tell; none where they tell none.

    Where they depend on the other arguments, the first few.
    """
    fixed = extents(kernel)
    for case in itertools.islice(cases, _CASES if tree is not None and not fixed else 1):
        shapes = fixed or extents(kernel, case, tree)
        told = {name: tensor(name, shape, _dtype(case.args.get(name))) for name, shape in shapes.items()}
        if told:
            yield replace(case, args={**case.args, **told})


_CASES = 3


def known_values(kernel: ast.FunctionDef, case: Case | None, tree: ast.Module | None) -> dict[str, object]:
    """The names of a kernel, and of its module, that are told by the arguments of a case: those bound once."""
    if case is None:
        return {}
    known = dict(_given(case))
    top = [node for node in tree.body if isinstance(node, ast.Assign)] if tree is not None else []
    own = sorted((n for n in ast.walk(kernel) if isinstance(n, ast.Assign)), key=lambda node: node.lineno)
    for node in (*top, *own):
        with contextlib.suppress(Unknown):
            known |= _named(node.targets[0], evaluated(node.value, known))
    stored = Counter(n.id for n in ast.walk(kernel) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return {name: value for name, value in known.items() if stored[name] < 2}


def _given(case: Case) -> Iterator[tuple[str, object]]:
    """What the arguments of a case tell by themselves: shapes and plain values."""
    for name, value in case.args.items():
        if isinstance(value, TensorSpec):
            yield f"{name}.shape", tuple(value.shape)
        elif type(value) in (int, float, bool, str):
            yield name, value


def _named(target: ast.expr, value: object) -> dict[str, object]:
    """What an assignment of a value, or of several, gives names."""
    if isinstance(target, ast.Tuple) and isinstance(value, tuple):
        pairs = zip(target.elts, value, strict=False)
        return {each.id: part for each, part in pairs if isinstance(each, ast.Name)}
    return {target.id: value} if isinstance(target, ast.Name) else {}


def _dtype(value: object) -> str:
    return value.dtype if isinstance(value, TensorSpec) else "float32"


class _Reading:
    """What loops, vectors and plain names of a kernel are."""

    def __init__(self, kernel: ast.FunctionDef, known: Mapping[str, object]) -> None:
        self.kernel, self.known = kernel, known
        nodes = list(ast.walk(kernel))
        stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        plain = [n for n in nodes if isinstance(n, ast.Assign) and len(n.targets) == 1]
        self.values = {
            n.targets[0].id: n.value
            for n in plain
            if isinstance(n.targets[0], ast.Name) and stored.count(n.targets[0].id) == 1
        }
        self.most: dict[str, int] = {}
        for loop in (n for n in nodes if isinstance(n, ast.For) and isinstance(n.target, ast.Name)):
            self._loop(loop)
        self.masks = {
            call: k.value for call in nodes if isinstance(call, ast.Call) for k in call.keywords if k.arg == "mask"
        }

    def _loop(self, loop: ast.For) -> None:
        """The last value of a loop's variable; none where loops of one name differ, or run over no numbers."""
        assert isinstance(loop.target, ast.Name)
        name, call = loop.target.id, loop.iter
        called = ast.unparse(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
        try:
            numbers = [self._number(each) for each in call.args] if isinstance(call, ast.Call) else []
            last = range(*numbers)[-1] if called in _RANGES and numbers else -1
        except (_Untold, IndexError, TypeError, ValueError):
            last = -1
        self.most[name] = last if self.most.get(name, last) == last else -1

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape that a parameter needs; empty where it is used otherwise, or something is not told."""
        uses = [n for n in ast.walk(self.kernel) if isinstance(n, ast.Name) and n.id == name]
        subscripts = {n.value: n for n in ast.walk(self.kernel) if isinstance(n, ast.Subscript)}
        if not uses or not all(use in subscripts for use in uses):
            return ()
        try:
            needed = [tuple(self._reach(subscripts[use])) for use in uses]
        except _Untold:
            return ()
        if len({len(each) for each in needed}) != 1:
            return ()
        return tuple(max(sizes) for sizes in zip(*needed, strict=True))

    def _reach(self, subscript: ast.Subscript) -> Iterator[int]:
        """How far a subscript reaches in each dimension."""
        mask = next((m for call, m in self.masks.items() if any(n is subscript for n in ast.walk(call))), None)
        bounds = list(self._bounds(mask)) if mask is not None else []
        items = subscript.slice.elts if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]
        for item in items:
            index, behind = self._index(item)
            last = self._largest(index)
            # number - index >= 0: the index is at most the number
            masked = [bound.number + index.number for bound in bounds if bound.plus(index).terms == {}]
            size = min([last, *(number for number in masked if number >= 0)]) + behind
            if size < 1:
                raise _Untold
            yield size

    def _index(self, item: ast.expr) -> tuple[_Linear, int]:
        """The largest index of a dimension, and what its size is more: 1, or 0 for the end of a slice."""
        if isinstance(item, ast.Slice):
            if item.upper is None or item.step is not None:
                raise _Untold
            return self._linear(item.upper), 0
        if isinstance(item, ast.Call) and ast.unparse(item.func).endswith("ds") and len(item.args) == 2:
            return self._linear(item.args[0]).plus(_Linear(self._number(item.args[1]))), 0
        return self._linear(item), 1

    def _largest(self, index: _Linear) -> int:
        if any(self.most.get(name, -1) < 0 for name in index.terms):
            raise _Untold
        return index.number + sum(max(by * self.most[name], 0) for name, by in index.terms.items())

    def _bounds(self, mask: ast.expr) -> Iterator[_Linear]:
        """What a mask says is not negative."""
        parts = [mask.left, mask.right] if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd) else [mask]
        for part in parts:
            if part is not mask:
                yield from self._bounds(part)
            elif isinstance(part, ast.Compare) and len(part.ops) == 1:
                left, right = (self._try(each) for each in (part.left, part.comparators[0]))
                if left is None or right is None:
                    continue
                if isinstance(part.ops[0], (ast.GtE, ast.Gt)):
                    yield left.plus(right, -1).plus(_Linear(-isinstance(part.ops[0], ast.Gt)))
                elif isinstance(part.ops[0], (ast.LtE, ast.Lt)):
                    yield right.plus(left, -1).plus(_Linear(-isinstance(part.ops[0], ast.Lt)))

    def _try(self, node: ast.expr) -> _Linear | None:
        try:
            return self._linear(node)
        except _Untold:
            return None

    def _linear(self, node: ast.expr, depth: int = 8) -> _Linear:
        """An index as a sum. Raises :class:`_Untold`."""
        if isinstance(node, ast.Name) and node.id in self.most:
            return _Linear(0, {node.id: 1})
        if isinstance(node, ast.Name) and type(number := self.known.get(node.id)) is int:
            return _Linear(number)
        if isinstance(node, ast.Name) and node.id in self.values and depth:
            return self._linear(self.values[node.id], depth - 1)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            return self._vector(node.value, ast.unparse(node.slice))
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            left, right = self._linear(node.left, depth), self._linear(node.right, depth)
            return left.plus(right, 1 if isinstance(node.op, ast.Add) else -1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = self._linear(node.left, depth), self._linear(node.right, depth)
            if not left.terms or not right.terms:
                return right.times(left.number) if not left.terms else left.times(right.number)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._linear(node.operand, depth).times(-1)
        return _Linear(self._number(node))

    def _vector(self, call: ast.Call, axis: str) -> _Linear:
        """``nl.arange(n)[:, None]``: one vector for each size and axis."""
        if not ast.unparse(call.func).endswith("arange") or len(call.args) != 1:
            raise _Untold
        size = self._number(call.args[0])
        name = f"arange({size})[{axis}]"
        self.most[name] = size - 1
        return _Linear(0, {name: 1})

    def _number(self, node: ast.expr, depth: int = 8) -> int:
        """A number, of names that are bound once to numbers of such names. Raises :class:`_Untold`."""
        known = dict(self.known)
        for part in ast.walk(node) if depth else ():
            if isinstance(part, ast.Name) and part.id not in known and part.id in self.values:
                with contextlib.suppress(_Untold):
                    known[part.id] = self._number(self.values[part.id], depth - 1)
        try:
            value = evaluated(node, known)
        except Unknown:
            raise _Untold from None
        if type(value) is not int:
            raise _Untold
        return value
