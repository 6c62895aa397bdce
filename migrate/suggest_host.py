"""Cases from host code that gets a kernel as an argument: ``test(kernel, other)``, ``nki.benchmark()(kernel)(x, y)``.

Statements are read in order, without running any: a name is a number, a tensor of a known shape, the kernel, a function
of the file, or unknown. Functions are followed into the calls that reach the kernel, and for what they return.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nki_migrate.runtime.cases import Case, DtypeSpec, NoneSpec
from nki_migrate.runtime.numerics import DTYPES

from .suggest_calls import tensor
from .suggest_expressions import Unknown, evaluated
from .suggest_factories import Factory
from .suggest_facts import parameters

_DEPTH = 5
_CASES = 8
_STEPS = 20_000
"""Statements that are read for one kernel, at most."""
_ALIKE = ("astype", "copy", "to", "contiguous", "cuda", "cpu", "clone", "detach", "float", "half", "bfloat16", "clip")
"""Methods and functions whose result has the shape of their object, or of their first argument."""
_OF_FIRST = ("array", "asarray", "from_numpy", "tensor", "static_cast", "ascontiguousarray", "abs", "exp", "sqrt")
_FROM_SHAPE = ("zeros", "ones", "empty", "full", "ndarray", "uniform", "normal", "standard_normal", "random")
_FROM_SIZES = ("rand", "randn", "zeros", "ones", "empty", "random_sample", "reshape", "view")


@dataclass(frozen=True)
class _Tensor:
    shape: tuple[int, ...]
    dtype: str = "float32"


@dataclass(frozen=True)
class _Kernel:
    """The kernel, on a launch grid; ``made`` is what the function got that made it."""

    grid: tuple[int, ...] = ()
    made: tuple[tuple[str, object], ...] = ()


class _List(tuple[object, ...]):
    """The items of a list."""


_UNKNOWN = object()
Env = dict[str, object]


def host_cases(path: Path, tree: ast.Module, kernel: ast.FunctionDef, factory: Factory | None = None) -> Iterator[Case]:
    """Cases of the launches that the host code of a file comes to, with arguments whose shapes it tells.

    ``kernel`` is what ``factory`` makes, if there is one: the cases have what both get.
    """
    host = _Host(path, tree, kernel if factory is None else factory.kernel, factory)
    host.body(tree.body, host.module, 0)
    for function in host.functions.values():
        if len(host.found) < _CASES and not _required(function) and function is not kernel:
            host.returned(function, [], {}, 0)
    yield from list(host.found.values())[:_CASES]


def _required(function: ast.FunctionDef) -> list[str]:
    """The parameters that a call must give."""
    arguments = function.args
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    own = positional[: len(positional) - len(arguments.defaults)]
    return own + [a.arg for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is None]


@dataclass
class _Host:
    path: Path
    tree: ast.Module
    kernel: ast.FunctionDef
    factory: Factory | None = None
    module: Env = field(default_factory=dict)
    found: dict[str, Case] = field(default_factory=dict)
    steps: int = 0

    def __post_init__(self) -> None:
        self.functions = {n.name: n for n in self.tree.body if isinstance(n, ast.FunctionDef)}
        self.module |= (
            {**self.functions} if self.factory is not None else {**self.functions, self.kernel.name: _Kernel()}
        )

    def body(self, statements: Sequence[ast.stmt], env: Env, depth: int) -> object:
        """Read statements in order; what a ``return`` gives, one that is under no condition if there is any."""
        maybe: object = _UNKNOWN
        for statement in statements:
            self.steps += 1
            if self.steps > _STEPS or isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                continue
            if isinstance(statement, ast.Return):
                return _UNKNOWN if statement.value is None else self.value(statement.value, env, depth)
            self._statement(statement, env, depth)
            for part in ("body", "orelse", "finalbody"):
                inner = getattr(statement, part, None)
                found = self.body(inner, env, depth) if isinstance(inner, list) else _UNKNOWN
                maybe = maybe if found is _UNKNOWN else found
        return maybe

    def _statement(self, statement: ast.stmt, env: Env, depth: int) -> None:
        if isinstance(statement, ast.Assign):
            value = self.value(statement.value, env, depth)
            for target in statement.targets:
                _bind(target, value, env)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            _bind(statement.target, self.value(statement.value, env, depth), env)
        elif isinstance(statement, ast.For):
            _bind(statement.target, self._first(statement.iter, env, depth), env)
        elif isinstance(statement, (ast.Expr, ast.With)):
            parts = [statement.value] if isinstance(statement, ast.Expr) else [i.context_expr for i in statement.items]
            for part in parts:
                self.value(part, env, depth)
        elif isinstance(statement, (ast.If, ast.Assert)):
            self.value(statement.test, env, depth)

    def _first(self, node: ast.expr, env: Env, depth: int) -> object:
        """The first item of what a loop is over."""
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if called == "range":
            return 0
        if called in ("enumerate", "zip") and isinstance(node, ast.Call):
            items = tuple(self._first(each, env, depth) for each in node.args)
            return (0, *items) if called == "enumerate" else items
        over = self.value(node, env, depth)
        return over[0] if isinstance(over, tuple) and over else _UNKNOWN

    def returned(self, function: ast.FunctionDef, args: Sequence[object], keywords: Env, depth: int) -> object:
        """What a call of a function of the file gives."""
        if depth >= _DEPTH:
            return _UNKNOWN
        names, arguments = parameters(function), function.args
        positional = [*arguments.posonlyargs, *arguments.args]
        given = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
        given += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        env = {**self.module, **dict.fromkeys(names, _UNKNOWN)}
        env |= {a.arg: self.value(d, self.module, depth) for a, d in given}
        env |= dict(zip(names, args, strict=False)) | {k: v for k, v in keywords.items() if k in names}
        return self.body(function.body, env, depth + 1)

    # --- expressions -------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr, env: Env, depth: int) -> object:
        """What an expression is."""
        if isinstance(node, ast.Name):
            return env.get(node.id, _UNKNOWN)
        if isinstance(node, (ast.Tuple, ast.List)):
            items = tuple(self.value(item, env, depth) for item in node.elts)
            return _List(items) if isinstance(node, ast.List) else items
        if isinstance(node, ast.Call):
            return self._call(node, env, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, env, depth)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, env, depth)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp)):
            parts = (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
            tensors = [each for part in parts if isinstance(each := self.value(part, env, depth), _Tensor)]
            if tensors:
                return max(tensors, key=lambda each: math.prod(each.shape))
        return self._plain_value(node, env)

    def _plain_value(self, node: ast.expr, env: Env) -> object:
        try:
            return evaluated(node, _plain(env))
        except Unknown:
            return _UNKNOWN

    def _attribute(self, node: ast.Attribute, env: Env, depth: int) -> object:
        if node.attr in DTYPES:
            return DtypeSpec(node.attr)
        owner = self.value(node.value, env, depth)
        if isinstance(owner, _Tensor):
            told = {"shape": owner.shape, "T": _Tensor(owner.shape[::-1], owner.dtype), "dtype": DtypeSpec(owner.dtype)}
            return told.get(node.attr, _UNKNOWN)
        if isinstance(owner, _Kernel):
            return owner if node.attr == "func" else _UNKNOWN
        try:
            return evaluated(node, {})
        except Unknown:
            return _UNKNOWN

    def _subscript(self, node: ast.Subscript, env: Env, depth: int) -> object:
        owner = self.value(node.value, env, depth)
        index = _UNKNOWN if isinstance(node.slice, ast.Slice) else self.value(node.slice, env, depth)
        if isinstance(owner, _Kernel):
            grid = index if isinstance(index, tuple) else (index,)
            return _Kernel(grid, owner.made) if _are_sizes(grid) else _UNKNOWN
        if isinstance(owner, tuple) and type(index) is int and -len(owner) <= index < len(owner):
            return owner[index]
        if ast.unparse(node.value).rpartition(".")[2] == "tensor" and isinstance(index, tuple) and len(index) == 2:
            return _made(index[0], index[1])  # nt.tensor[[rows, columns], nl.float32]
        if isinstance(owner, _Tensor) and type(index) is int:
            return _Tensor(owner.shape[1:], owner.dtype)
        return _UNKNOWN

    def _call(self, node: ast.Call, env: Env, depth: int) -> object:
        args = list(self._arguments(node.args, env, depth))
        keywords = {each.arg: self.value(each.value, env, depth) for each in node.keywords if each.arg}
        called = self.value(node.func, env, depth)
        if isinstance(called, ast.FunctionDef):
            is_factory = self.factory is not None and called is self.factory.function
            return self._made(args, keywords) if is_factory else self.returned(called, args, keywords, depth)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "simulate_kernel" and args and isinstance(args[0], _Kernel):
            called, args = args[0], args[1:]
        if isinstance(called, _Kernel):
            self._launched(called, args, keywords)
            return _UNKNOWN
        if len(args) == 1 and isinstance(args[0], _Kernel):
            return args[0]  # a decorator, applied
        owner = self.value(node.func.value, env, depth) if isinstance(node.func, ast.Attribute) else _UNKNOWN
        return self._array(name, owner, args, keywords, node, env)

    def _made(self, args: Sequence[object], keywords: Env) -> object:
        """What the factory gives: its kernel, alone or among others."""
        assert self.factory is not None
        given = dict(zip(parameters(self.factory.function), args, strict=False)) | keywords
        kernel = _Kernel((), tuple(given.items()))
        place = self.factory.place
        return kernel if place is None else (*[_UNKNOWN] * place, kernel)

    def _arguments(self, nodes: Sequence[ast.expr], env: Env, depth: int) -> Iterator[object]:
        for node in nodes:
            if not isinstance(node, ast.Starred):
                yield self.value(node, env, depth)
                continue
            several = self.value(node.value, env, depth)
            yield from several if isinstance(several, tuple) else (_UNKNOWN,)

    def _array(
        self, name: str, owner: object, args: Sequence[object], keywords: Env, node: ast.Call, env: Env
    ) -> object:
        """The tensor that a call of a library makes, or the number that it gives."""
        said = next((each.dtype for each in (*args, *keywords.values()) if isinstance(each, DtypeSpec)), "")
        if isinstance(owner, _Tensor):
            return _of_tensor(name, owner, args, said, name in _ALIKE)
        if args and isinstance(args[0], _Tensor):
            return _of_tensor(name, args[0], args[1:], said, name in _OF_FIRST or name.endswith("_like"))
        shape = _shape_given(name, args, keywords)
        if shape:
            return _Tensor(shape, said or ("int32" if name == "randint" else "float32"))
        try:
            return evaluated(node, _plain(env))
        except Unknown:
            return _UNKNOWN

    def _launched(self, kernel: _Kernel, args: Sequence[object], keywords: Env) -> None:
        given = dict(zip(parameters(self.kernel), args, strict=False)) | keywords
        made = {name: _argument(name, value) for name, value in {**given, **dict(kernel.made)}.items()}
        if made and all(value is not _UNKNOWN for value in made.values()):
            name = self.kernel.name if self.factory is None else self.factory.function.name
            case = Case(name, "", str(self.path), grid=kernel.grid, args=made)
            self.found.setdefault(repr(case), case)


def _bind(target: ast.expr, value: object, env: Env) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        known = isinstance(value, tuple) and len(value) == len(target.elts)
        for n, each in enumerate(target.elts):
            _bind(each, value[n] if known and isinstance(value, tuple) else _UNKNOWN, env)
    elif isinstance(target, ast.Name):
        env[target.id] = value


def _plain(env: Mapping[str, object]) -> dict[str, object]:
    """The names that an expression of sizes can compute with, and the shapes of tensors."""
    plain = {n: v for n, v in env.items() if v is None or isinstance(v, (bool, int, float, str, tuple))}
    return plain | {f"{name}.shape": v.shape for name, v in env.items() if isinstance(v, _Tensor)}


def _are_sizes(values: Sequence[object]) -> bool:
    return bool(values) and all(type(each) is int and each > 0 for each in values)


def _made(shape: object, dtype: object) -> object:
    known = isinstance(shape, tuple) and _are_sizes(shape)
    return _Tensor(shape, dtype.dtype if isinstance(dtype, DtypeSpec) else "float32") if known else _UNKNOWN  # type: ignore[arg-type]  # a tuple of sizes


def _of_tensor(name: str, owner: _Tensor, args: Sequence[object], dtype: str, is_alike: bool) -> object:
    """What a method of a tensor gives, or a function of it."""
    if name in ("reshape", "view", "permute", "transpose", "t"):
        return _rearranged(name, owner, args)
    return _Tensor(owner.shape, dtype or owner.dtype) if is_alike else _UNKNOWN


def _shape_given(name: str, args: Sequence[object], keywords: Env) -> tuple[int, ...]:
    """The shape that a call makes a tensor of: an argument, or all of them; empty if it tells none."""
    if name in (*_FROM_SHAPE, *_FROM_SIZES, "randint"):
        given = [*(keywords[key] for key in ("size", "shape") if key in keywords), *args]
        found = next((each for each in given if isinstance(each, tuple) and _are_sizes(each)), None)
        if found:
            return found
    return tuple(args) if name in _FROM_SIZES and _are_sizes(args) else ()  # type: ignore[arg-type]  # sizes


def _rearranged(name: str, owner: _Tensor, args: Sequence[object]) -> object:
    """``x.reshape(a, b)`` with one ``-1`` at most, ``x.transpose(1, 0)``, ``x.permute(...)``."""
    numbers = args[0] if len(args) == 1 and isinstance(args[0], tuple) else tuple(args)
    if not all(type(each) is int for each in numbers):
        return _UNKNOWN
    if name in ("reshape", "view"):
        known = math.prod(each for each in numbers if each > 0)
        left = math.prod(owner.shape) // known if known else 0
        shape = tuple(left if each == -1 else each for each in numbers)
        return _Tensor(shape, owner.dtype) if _are_sizes(shape) else _UNKNOWN
    if not numbers:
        return _Tensor(owner.shape[::-1], owner.dtype)
    rank = len(owner.shape)
    if len(numbers) == 2 != rank and name == "transpose":
        order = list(range(rank))
        one, other = (each % rank for each in numbers)
        order[one], order[other] = order[other], order[one]
        numbers = tuple(order)
    is_order = sorted(each % rank for each in numbers) == list(range(rank))
    return _Tensor(tuple(owner.shape[each] for each in numbers), owner.dtype) if is_order else _UNKNOWN


def _argument(name: str, value: object) -> object:
    """An argument of a case."""
    if isinstance(value, _Tensor):
        return tensor(name, value.shape, value.dtype)
    if value is None:
        return NoneSpec()
    if isinstance(value, tuple):
        items = [_argument(f"{name}_{n}", each) for n, each in enumerate(value)]
        known = tuple(items) if all(each is not _UNKNOWN for each in items) else _UNKNOWN
        return items if isinstance(value, _List) and known is not _UNKNOWN else known
    return value if isinstance(value, (bool, int, float, str, DtypeSpec)) else _UNKNOWN
