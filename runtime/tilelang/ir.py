"""What a kernel is traced to: expressions, buffers and statements, each statement with its line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import KernelError, NotModelled
from .traces import innermost
from .types import promoted

Number = bool | int | float


class Expr:
    """A value that is known when the kernel runs: ``op`` on ``args``, of ``dtype``.

    ``weak`` marks literals, which take the type of what they meet.
    """

    __slots__ = ("args", "dtype", "op", "weak")

    def __init__(self, op: str, args: tuple[Any, ...], dtype: str, *, weak: bool = False) -> None:
        self.op, self.args, self.dtype, self.weak = op, args, dtype, weak

    def __bool__(self) -> bool:
        raise NotModelled("a value of the kernel as a Python truth value")

    def __index__(self) -> int:
        raise KernelError("", "a value that is known only when the kernel runs is used as a Python integer")

    def __hash__(self) -> int:
        return id(self)

    def astype(self, dtype: Any) -> Expr:
        """The value converted to ``dtype``."""
        return Expr("cast", (self,), str(dtype))

    def __add__(self, other: Any) -> Any:
        return binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return binary("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return binary("mod", other, self)

    def __and__(self, other: Any) -> Any:
        return binary("bitand", self, other)

    def __rand__(self, other: Any) -> Any:
        return binary("bitand", other, self)

    def __or__(self, other: Any) -> Any:
        return binary("bitor", self, other)

    def __ror__(self, other: Any) -> Any:
        return binary("bitor", other, self)

    def __xor__(self, other: Any) -> Any:
        return binary("bitxor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return binary("bitxor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return binary("shl", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return binary("shl", other, self)

    def __rshift__(self, other: Any) -> Any:
        return binary("shr", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return binary("shr", other, self)

    def __neg__(self) -> Any:
        return binary("sub", 0, self)

    def __pos__(self) -> Expr:
        return self

    def __invert__(self) -> Expr:
        return Expr("invert", (self,), self.dtype)

    def __lt__(self, other: Any) -> Expr:
        return compare("lt", self, other)

    def __le__(self, other: Any) -> Expr:
        return compare("le", self, other)

    def __gt__(self, other: Any) -> Expr:
        return compare("gt", self, other)

    def __ge__(self, other: Any) -> Expr:
        return compare("ge", self, other)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]  # an expression, as in TVM
        return compare("eq", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]  # an expression, as in TVM
        return compare("ne", self, other)


class Var(Expr):
    """A variable: of a loop, a block index, a dynamic size."""

    __slots__ = ("name",)

    def __init__(self, name: str, dtype: str = "int32") -> None:
        super().__init__("var", (), dtype)
        self.name = name


class Load(Expr):
    """One element of a buffer."""

    __slots__ = ()

    def __init__(self, buffer: Buffer, indices: tuple[Any, ...]) -> None:
        super().__init__("load", (buffer, indices), buffer.dtype)

    @property
    def buffer(self) -> Buffer:
        found: Buffer = self.args[0]
        return found

    @property
    def indices(self) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self.args[1]
        return found


class Region:
    """A box of a buffer: the first index and the extent of each axis; ``None`` for an extent that is the rest's."""

    def __init__(self, buffer: Buffer, starts: Sequence[Any], extents: Sequence[Any]) -> None:
        self.buffer, self.starts, self.extents = buffer, tuple(starts), tuple(extents)


class Buffer(Expr):
    """Memory of a kernel: an argument, or what ``alloc_*`` made. One of scope ``local.var`` is its own element.

    ``alias`` is the buffer whose bytes it has (``T.view``), ``counts`` the arrivals of each barrier, ``reducer`` the
    operation of a reducer.
    """

    __slots__ = ("alias", "counts", "line", "name", "reducer", "replicated", "scope", "shape", "uid")

    def __init__(self, name: str, shape: Sequence[Any], dtype: str, scope: str, line: tuple[str, int]) -> None:
        super().__init__("buffer", (), dtype)
        self.name, self.shape, self.scope, self.line = name, tuple(shape), scope, line
        self.alias: Buffer | None = None
        self.counts: tuple[int, ...] = ()
        self.reducer = ""
        self.replicated: str | None = None
        self.uid = -1

    @property
    def is_var(self) -> bool:
        return self.scope == "local.var"

    @property
    def root(self) -> Buffer:
        return self if self.alias is None else self.alias.root

    def __getitem__(self, key: Any) -> Load | Region:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > len(self.shape):
            raise KernelError("", f"'{self.name}' has {len(self.shape)} axes and is indexed with {len(keys)}")
        if any(isinstance(each, slice) for each in keys) or len(keys) < len(self.shape):
            return self._region((*keys, *[slice(None)] * (len(self.shape) - len(keys))))
        return Load(self, tuple(map(value, keys)))

    def _region(self, keys: tuple[Any, ...]) -> Region:
        starts, extents = [], []
        for each, size in zip(keys, self.shape, strict=True):
            if isinstance(each, slice):
                if each.step not in (None, 1):
                    raise KernelError("", f"a slice of '{self.name}' with a step")
                start = 0 if each.start is None else value(each.start)
                starts.append(start)
                extents.append((size if each.stop is None else value(each.stop)) - start)
            else:
                starts.append(value(each))
                extents.append(1)
        return Region(self, starts, extents)

    def __setitem__(self, key: Any, stored: Any) -> None:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(each, slice) for each in keys) or len(keys) != len(self.shape):
            raise NotModelled("an assignment to a slice of a buffer")
        innermost().emit(Store(self, tuple(map(value, keys)), value(stored)))


def value(given: Any) -> Any:
    """An operand: numbers stay, a variable buffer is its element."""
    if isinstance(given, Buffer):
        if given.is_var:
            return Load(given, (0,))
        raise KernelError("", f"'{given.name}' is used as a value: only an element of it is one")
    if isinstance(given, (Expr, bool, int, float)):
        return given
    if hasattr(given, "item"):
        return given.item()
    raise KernelError("", f"{type(given).__name__} is no value of a kernel")


def dtype_of(operand: Any) -> str:
    if isinstance(operand, Expr):
        return operand.dtype
    return "bool" if isinstance(operand, bool) else "int32" if isinstance(operand, int) else "float32"


def joined(left: Any, right: Any) -> str:
    """The type that two operands are computed in."""
    weak = [not isinstance(each, Expr) or each.weak for each in (left, right)]
    first, second = dtype_of(left), dtype_of(right)
    if weak[0] != weak[1]:
        strong, loose = (second, first) if weak[0] else (first, second)
        return promoted(strong, loose) if loose == "float32" and "float" not in strong else strong
    return promoted(first, second)


_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}


def binary(op: str, left: Any, right: Any) -> Any:
    left, right = value(left), value(right)
    if not isinstance(left, Expr) and not isinstance(right, Expr) and op in _FOLD:
        return _FOLD[op](left, right)
    if op == "add" and isinstance(right, int) and right == 0:
        return left
    dtype = joined(left, right)
    if op == "div" and "float" not in dtype:
        raise KernelError("", "a division of integers with /: write // or T.truncdiv")
    return Expr(op, (left, right), dtype)


def compare(op: str, left: Any, right: Any) -> Expr:
    left, right = value(left), value(right)
    return Expr(op, (left, right, joined(left, right)), "bool")


def call(name: str, *args: Any, dtype: str | None = None) -> Expr:
    """A function of the language on values."""
    values = tuple(map(value, args))
    if dtype is None:
        dtype = dtype_of(values[0]) if len(values) == 1 else joined(values[0], values[1])
    return Expr(name, values, dtype)


def select(test: Expr, then: Any, other: Any) -> Expr:
    """``then`` where ``test`` holds, else ``other``: both are computed."""
    return Expr("select", (value(test), value(then), value(other)), call("max", then, other).dtype)


# --- statements ------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Stmt:
    place: tuple[str, int] = ("", 0)


@dataclass
class Store(Stmt):
    """An element that is assigned."""

    buffer: Buffer
    indices: tuple[Any, ...]
    stored: Any


@dataclass
class Op(Stmt):
    """An operation on tiles: ``copy``, ``gemm``, ``reduce``, ..., with operands (buffers, regions) and attributes."""

    name: str
    operands: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Bind(Stmt):
    """A name for a value: it is computed where it stands."""

    var: Var
    bound: Any


@dataclass
class For(Stmt):
    """A loop: ``kind`` is ``serial``, ``unrolled``, ``vectorized``, ``Pipelined`` or ``Parallel``."""

    kind: str
    vars: tuple[Var, ...]
    starts: tuple[Any, ...]
    extents: tuple[Any, ...]
    body: list[Stmt]
    stages: int = 0
    step: int = 1


@dataclass
class If(Stmt):
    condition: Any
    body: list[Stmt]
    orelse: list[Stmt]


@dataclass
class Kernel:
    """One traced kernel: its arguments, grid, threads, buffers in declaration order, and statements."""

    name: str
    parameters: list[Buffer | Var]
    grid: tuple[Any, ...]
    blocks: tuple[Var, ...]
    threads: int
    buffers: list[Buffer]
    body: list[Stmt]
    notes: list[str] = field(default_factory=list)
