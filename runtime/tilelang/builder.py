"""The state of a trace: the statements so far, and what the rewritten source of a kernel calls (``__tb``)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import KernelError, NotModelled, user_location
from .ir import Bind, Buffer, Expr, For, If, Kernel, Region, Stmt, Store, Var, binary, select, value
from .traces import RUNNING, innermost

_AUGMENTED = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "div",
    "FloorDiv": "floordiv",
    "Mod": "mod",
    "BitAnd": "bitand",
    "BitOr": "bitor",
    "BitXor": "bitxor",
    "LShift": "shl",
    "RShift": "shr",
}
_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "MatMult": operator.imatmul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
}
_MISSING = object()


class LoopRange:
    """What a loop of the language runs over."""

    def __init__(self, kind: str, starts: tuple[Any, ...], extents: tuple[Any, ...], stages: int = 0, step: int = 1):
        self.kind, self.starts, self.extents, self.stages, self.step = kind, starts, extents, stages, step

    def __iter__(self) -> Iterator[Any]:
        """Trace the body once, with a variable for each axis."""
        builder = current()
        variables = tuple(Var(f"i{builder.number()}") for _ in self.extents)
        loop = For(self.kind, variables, self.starts, self.extents, [], self.stages, self.step, place=user_location())
        builder.emit(loop)
        with builder.block(loop.body):
            yield variables[0] if len(variables) == 1 else variables


class Builder:
    """One trace. ``loops`` counts the loops of the language around the statement that is traced now."""

    def __init__(self) -> None:
        self.blocks: list[list[Stmt]] = [[]]
        self.buffers: list[Buffer] = []
        self.kernel: Kernel | None = None
        self.threads = 128
        self.notes: list[str] = []
        self.mbarriers: Buffer | None = None
        self._count = 0

    def number(self) -> int:
        self._count += 1
        return self._count

    def emit(self, statement: Stmt) -> None:
        """Add a statement at the line of the kernel that runs now."""
        if not statement.place[1]:
            statement.place = user_location()
        self.blocks[-1].append(statement)

    @contextmanager
    def block(self, body: list[Stmt]) -> Iterator[None]:
        self.blocks.append(body)
        try:
            yield
        finally:
            self.blocks.pop()

    def allocate(self, shape: Any, dtype: str, scope: str) -> Buffer:
        """A buffer whose name is that which it is assigned to."""
        sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        sizes = tuple(size if isinstance(size, Expr) else int(size) for size in sizes)
        made = Buffer("", sizes, dtype, scope, user_location())
        self.buffers.append(made)
        return made


def current() -> Builder:
    """The trace that runs now. Raises :class:`KernelError` outside of a kernel."""
    found: Builder = innermost()
    return found


@contextmanager
def tracing(builder: Builder) -> Iterator[Builder]:
    RUNNING.append(builder)
    try:
        yield builder
    finally:
        RUNNING.pop()


class Surface:
    """What the rewritten source of a kernel calls where Python's own statements would ask for values."""

    def condition(self, test: Any) -> Any:
        """Begin an ``if``: a Python truth value decides, a value of the kernel makes a statement."""
        if isinstance(test, Region) or (isinstance(test, Buffer) and not test.is_var):
            raise KernelError("", "a buffer is no condition")
        if not isinstance(test, Expr):
            return bool(test)
        branch = If(value(test), [], [], place=user_location())
        current().emit(branch)
        return branch

    def then(self, chosen: Any) -> bool:
        if isinstance(chosen, If):
            current().blocks.append(chosen.body)
            return True
        return bool(chosen)

    def end(self, chosen: Any) -> None:
        if isinstance(chosen, If):
            current().blocks.pop()

    def otherwise(self, chosen: Any) -> bool:
        if isinstance(chosen, If):
            current().blocks.append(chosen.orelse)
            return True
        return not chosen

    def both(self, left: Any, right: Callable[[], Any]) -> Any:
        if not isinstance(left, Expr):
            return left and right()
        other = right()
        return binary("and", left, other) if isinstance(other, Expr) else (left if other else False)

    def either(self, left: Any, right: Callable[[], Any]) -> Any:
        if not isinstance(left, Expr):
            return left or right()
        other = right()
        return binary("or", left, other) if isinstance(other, Expr) else (True if other else left)

    def negation(self, operand: Any) -> Any:
        return Expr("not", (value(operand),), "bool") if isinstance(operand, Expr) else not operand

    def choice(self, test: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
        if not isinstance(test, Expr):
            return then() if test else other()
        return select(test, then(), other())

    def iterate(self, over: Any) -> Iterable[Any]:
        if isinstance(over, range):
            return LoopRange("serial", (over.start,), (len(over),), step=over.step)
        if isinstance(over, Expr):
            raise KernelError("", "a loop over a value of the kernel")
        found: Iterable[Any] = over
        return found

    def range_of(self, *bounds: Any) -> Any:
        if not any(isinstance(each, Expr) for each in bounds):
            return range(*bounds)
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        if len(bounds) > 2 and bounds[2] != 1:
            raise NotModelled("a range with a step and bounds that are values of the kernel")
        return LoopRange("serial", (value(start),), (value(stop) - value(start),))

    def repeat(self, test: Callable[[], Any]) -> bool:
        found = test()
        if isinstance(found, Expr):
            raise NotModelled("a while loop over values of the kernel")
        return bool(found)

    def leave(self, what: str) -> None:
        """Refuse a loop that has a ``break`` or a ``continue``."""
        raise NotModelled(f"{what} in a loop of the kernel")

    def bind(self, name: str, given: Any, old: Callable[[], Any]) -> Any:
        """``name = given``: a store where the name is a variable of the kernel; else the name is bound."""
        before = self._old(old)
        if isinstance(before, Buffer) and before.is_var and given is not before and not isinstance(given, Region):
            is_declared = isinstance(given, Buffer) and given.is_var and not given.name
            if not is_declared:
                current().emit(Store(before, (0,), value(given)))
                return before
        if isinstance(given, Buffer):
            if not given.name:
                given.name = name
            return given
        if isinstance(given, Var) or not isinstance(given, Expr) or not RUNNING:
            return given
        if current().kernel is None:
            return given
        variable = Var(name, given.dtype)
        current().emit(Bind(variable, given))
        return variable

    def augmented(self, name: str, op: str, old: Callable[[], Any], operand: Any) -> Any:
        before = old()
        if isinstance(before, Expr) or isinstance(operand, Expr):
            if op not in _AUGMENTED:
                raise NotModelled(f"the augmented assignment {op}")
            result = binary(_AUGMENTED[op], before, operand)
            return self.bind(name, result, old)
        return _PLAIN[op](before, operand)

    def _old(self, old: Callable[[], Any]) -> Any:
        try:
            return old()
        except NameError:
            return _MISSING
