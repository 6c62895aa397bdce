"""Functions that make index vectors from sizes: ``i_p, i_k, i_f = make(rows, kernel, columns)``.

What such a function does may depend on which sizes are 1 (``0`` takes the place of ``nl.arange(1)``, a last dimension
of 1 is left out). It is read once for each answer; the vectors are known where all answers reach the same elements.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..expr.values import Index, Shorter, Term
from ..syntax.names import canonical, dotted
from ..syntax.node_index import of_kinds
from ..syntax.nodes import by_parameter, default_values
from .index import new_axis

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..project.program import Module

_MOST_SIZES = 6
_MOST_STEPS = 2000


@dataclass(frozen=True)
class _Size:
    """A size that is known by its text only."""

    text: str


class _Unread(Exception):
    """The function does something that this module does not follow."""


class _Refused(Exception):
    """The function's own assertion refuses these sizes."""


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


_OPAQUE = object()
"""The value of an expression that is not followed: nothing may use it."""


def made_vectors(scope: Scope, call: ast.Call, home: Module, function: ast.FunctionDef) -> list[Index | None] | None:
    """The index vectors that a call gives (``None`` for a 0), or ``None`` for a call that gives anything else."""
    if not _makes_vectors(home, function) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    texts = {id(n): scope.evaluator.render_stable(scope, n) for n in [*call.args, *(k.value for k in call.keywords)]}

    def size(node: ast.expr) -> int | _Size:
        text = texts[id(node)]
        known = scope.constant(text)
        return _Size(text) if known is None else known

    try:
        given = _bound(function, call, size)
    except _Unread:
        return None
    sizes = list(dict.fromkeys(s.text for s in _sizes(given)))
    return _agreed(home, function, given, sizes) if len(sizes) <= _MOST_SIZES else None


def _makes_vectors(module: Module, function: ast.FunctionDef) -> bool:
    """May a function only compute index vectors: does it use ``nl.arange`` and nothing else of NKI?"""
    used = {_qualified(module, n) for n in of_kinds(function, ast.Attribute, ast.Name)}
    names = {name for name in used if name.partition(".")[0] in ("nl", "nisa", "ncc", "nki", "np") and "." in name}
    return names == {"nl.arange"} and not function.decorator_list


def _qualified(module: Module, node: ast.AST) -> str:
    chain = dotted(node)
    bound = module.symbols.imports.get(chain[0]) if chain is not None else None
    return canonical(".".join((bound.path, *chain[1]))) if bound is not None and chain is not None else ""


def _bound(function: ast.FunctionDef, call: ast.Call, size: Callable[[ast.expr], Any]) -> dict[str, Any]:
    """The parameters of the function in one call."""
    positional = len(function.args.posonlyargs) + len(function.args.args)
    defaults = {a.arg: d.value for a, d in default_values(function).items() if isinstance(d, ast.Constant)}
    given: dict[str, Any] = {**defaults}
    given |= {name: size(node) for name, _, node in by_parameter(function, call) if name}
    if function.args.kwarg is not None or (len(call.args) > positional and function.args.vararg is None):
        raise _Unread
    if function.args.vararg is not None:
        given[function.args.vararg.arg] = tuple(size(node) for node in call.args[positional:])
    return given


def _sizes(given: dict[str, Any]) -> Iterator[_Size]:
    for value in given.values():
        yield from (part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, _Size))


def _agreed(
    home: Module, function: ast.FunctionDef, given: dict[str, Any], sizes: list[str]
) -> list[Index | None] | None:
    """What the function returns, when it reaches the same elements whichever of the sizes are 1."""
    found: dict[frozenset[str], list[Any]] = {}
    extents: set[str] = set()
    for answers in itertools.product((False, True), repeat=len(sizes)):
        ones = frozenset(size for size, is_one in zip(sizes, answers, strict=True) if is_one)
        reading = _Reading(home, dict(given), ones)
        try:
            found[ones] = reading.returned(function)
            extents = extents or reading.extents
            if not reading.decisive <= extents:  # what is no extent of a vector may be 0, or less
                return None
        except _Refused:
            continue
        except (_Unread, IndexError, TypeError, ValueError, KeyError):
            return None
    general = found.get(frozenset())
    if general is None or not all(isinstance(v, Index) or v == 0 for v in general):
        return None
    if not all(_is_same(general, other, ones) for ones, other in found.items()):
        return None
    loose = _shorter(found, general) if any(_ranks(o) != _ranks(general) for o in found.values()) else None
    return [replace(v, loose=loose) if isinstance(v, Index) else None for v in general]


def _shorter(found: dict[frozenset[str], list[Any]], general: list[Any]) -> Shorter:
    """Which sizes decide about the rank of vectors: those of the dimensions that are missing then, and no others."""
    ranks = _ranks(general)
    for rank in range(1, max(ranks)):
        sizes = tuple(dict.fromkeys(_sizes_behind(general, rank)))
        told = all(
            _ranks(other) in ({rank}, set()) if ones.issuperset(sizes) else _ranks(other) == ranks
            for ones, other in found.items()
        )
        if sizes and told and len(ranks) == 1:
            return Shorter(rank, sizes)
    return Shorter(0, (), next(_calls))


_calls = itertools.count(1)


def _sizes_behind(vectors: list[Any], rank: int) -> Iterator[str]:
    """The sizes of the dimensions behind the first ``rank``."""
    for vector in (v for v in vectors if isinstance(v, Index)):
        yield from (term.axis.size for term in vector.terms if term.position >= rank)


def _ranks(vectors: list[Any]) -> set[int]:
    return {v.ndim for v in vectors if isinstance(v, Index)}


def _is_same(general: list[Any], other: list[Any], ones: frozenset[str]) -> bool:
    """Do vectors reach the elements of the general ones, where the sizes ``ones`` are 1?"""
    return len(general) == len(other) and all(_reaches(a, b, ones) for a, b in zip(general, other, strict=True))


def _reaches(general: Any, other: Any, ones: frozenset[str]) -> bool:
    if not isinstance(general, Index):
        return bool(general == other)
    if not isinstance(other, Index):
        return other == 0 and general.offset == "0" and all(t.axis.size in ones for t in general.terms)
    if _form(general) != _form(other) or other.ndim > general.ndim:
        return False
    return all(t.axis.size in ones for t in general.terms if t.position >= other.ndim)


def _form(vector: Index) -> object:
    return vector.offset, [(t.axis.start, t.axis.size, t.coefficient, t.position) for t in vector.terms]


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class _Reading:
    """One reading of a function, with the answer which of its sizes are 1.

    ``decisive`` are the sizes that it asked about, ``extents`` those of the vectors that it made.
    """

    def __init__(self, home: Module, names: dict[str, Any], ones: frozenset[str]) -> None:
        self.home, self.names, self.ones, self.steps = home, names, ones, 0
        self.decisive: set[str] = set()
        self.extents: set[str] = set()

    def returned(self, function: ast.FunctionDef) -> list[Any]:
        """The elements of the list or tuple that the function returns."""
        try:
            self.block(function.body)
        except _Returned as returned:
            if isinstance(returned.value, list | tuple):
                return list(returned.value)
        raise _Unread

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise _Unread
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self.bind(node.targets[0], self.loosely(node.value))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.names[node.target.id] = self.binary(node.op, self.names[node.target.id], self.value(node.value))
        elif isinstance(node, ast.If):
            self.block(node.body if self.holds(node.test) else node.orelse)
        elif isinstance(node, ast.For) and not node.orelse:
            for item in list(self.value(node.iter)):
                self.bind(node.target, item)
                self.block(node.body)
        elif isinstance(node, ast.Assert):
            if not self.holds(node.test):
                raise _Refused
        elif isinstance(node, ast.Return) and node.value is not None:
            raise _Returned(self.value(node.value))
        elif isinstance(node, ast.Expr):
            self.value(node.value)
        else:
            raise _Unread

    def bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, list | tuple) and len(target.elts) == len(value):
            for part, item in zip(target.elts, value, strict=True):
                self.bind(part, item)
        elif isinstance(target, ast.Subscript) and isinstance(holder := self.value(target.value), list):
            holder[self.value(target.slice)] = value
        else:
            raise _Unread

    def loosely(self, node: ast.expr) -> Any:
        """The value of an expression; that of ``map`` and ``filter`` is not followed until something uses it."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("map", "filter"):
            return _OPAQUE
        return self.value(node)

    def value(self, node: ast.expr) -> Any:
        found = self._value(node)
        if found is _OPAQUE:
            raise _Unread
        return found

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.names[node.id]
        if isinstance(node, ast.List):
            return [self.value(n) for n in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple(self.value(n) for n in node.elts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.value(node.operand)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not self.holds(node.operand)
        if isinstance(node, ast.BinOp):
            return self.binary(node.op, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self.compared(node.ops[0], self.value(node.left), self.value(node.comparators[0]))
        if isinstance(node, ast.IfExp):
            return self.value(node.body if self.holds(node.test) else node.orelse)
        if isinstance(node, ast.Subscript):
            return self.element(self.value(node.value), node.slice)
        if isinstance(node, ast.Call) and not node.keywords:
            return self.call(node)
        raise _Unread

    def holds(self, node: ast.expr) -> bool:
        """Is a condition true? A size or a vector in place of one does not tell."""
        found = self.value(node)
        if isinstance(found, _Size | Index):
            raise _Unread
        return bool(found)

    def binary(self, op: ast.operator, a: Any, b: Any) -> Any:
        numbers = all(type(x) is int for x in (a, b))
        lists = isinstance(a, list) and (type(b) is int or isinstance(b, list))
        if type(op) in _BINARY and (numbers or lists):
            return _BINARY[type(op)](a, b)
        raise _Unread

    def compared(self, op: ast.cmpop, a: Any, b: Any) -> bool:
        """A comparison. Sizes that are not known are compared with 1: they are 1, or more."""
        if isinstance(a, _Size) and type(b) is int and b == 1 and type(op) in _COMPARE:
            self.decisive.add(a.text)
            a = 1 if a.text in self.ones else 2
        if any(isinstance(x, _Size | Index) for x in (a, b)) or type(op) not in _COMPARE:
            raise _Unread
        return bool(_COMPARE[type(op)](a, b))

    def element(self, base: Any, index: ast.expr) -> Any:
        if isinstance(base, Index):
            return _spread(base, self.value(index) if not isinstance(index, ast.Tuple) else self.places(index))
        if isinstance(base, list | tuple) and not isinstance(index, ast.Slice):
            return base[self.value(index)]
        raise _Unread

    def places(self, index: ast.Tuple) -> tuple[Any, ...]:
        full = (isinstance(n, ast.Slice) and not (n.lower or n.upper or n.step) for n in index.elts)
        return tuple(slice(None) if f else self.value(n) for f, n in zip(full, index.elts, strict=True))

    def call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "append" and len(node.args) == 1:
            holder, item = self.value(node.func.value), self.value(node.args[0])
            if not isinstance(holder, list):
                raise _Unread
            holder.append(item)
            return None
        arguments = [self.value(n) for n in node.args]
        if _qualified(self.home, node.func) == "nl.arange" and len(arguments) == 1:
            size = arguments[0].text if isinstance(arguments[0], _Size) else str(arguments[0])
            self.extents.add(size)
            return Index(1, (Term(new_axis("0", size), "1", 0),))
        builtin = node.func.id if isinstance(node.func, ast.Name) and node.func.id not in self.names else ""
        if builtin in _BUILTINS and builtin not in self.home.symbols.functions:
            return _BUILTINS[builtin](*arguments)
        raise _Unread


_BUILTINS: dict[str, Callable[..., Any]] = {
    "enumerate": enumerate,
    "len": len,
    "list": list,
    "range": range,
    "reversed": reversed,
    "slice": slice,
    "tuple": tuple,
}


def _spread(vector: Index, places: Any) -> Index:
    """``vector[None, :, None]`` of a vector of one dimension."""
    if vector.ndim != 1 or not isinstance(places, tuple) or places.count(slice(None)) != 1:
        raise _Unread
    if any(place is not None and place != slice(None) for place in places):
        raise _Unread
    terms = tuple(replace(term, position=places.index(slice(None))) for term in vector.terms)
    return replace(vector, ndim=len(places), terms=terms)
