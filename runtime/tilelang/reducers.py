"""The epochs of a reducer while a kernel runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import KernelError, NotModelled
from .ir import Buffer, Expr, Load, Store
from .types import highest, lowest

Array = npt.NDArray[Any]
_IDENTITY = {"sum": 0, "bitor": 0, "bitxor": 0, "bitand": -1}
_COMBINE: dict[str, Any] = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}
_WORDS = {"unset": "before reducer_init", "open": "before finalize_reducer", "dead": "after finalize_reducer"}


class Reducer:
    """One reducer: opened, updated, finalized; then read (the old kind) or opened again.

    Contributions are combined in the order of the iterations, a starting value last, once.
    """

    def __init__(self, buffer: Buffer, array: Array) -> None:
        self.buffer, self.array = buffer, array
        self.name = buffer.name
        self.values: Array = array
        self._state = "unset"
        self._start: Any = None
        self.result = Buffer(f"{buffer.name}_result", buffer.shape, buffer.dtype, "local.fragment", buffer.line)

    def identity(self) -> Any:
        if self.buffer.reducer in _IDENTITY:
            return np.asarray(_IDENTITY[self.buffer.reducer]).astype(self.array.dtype)
        if "float" in self.buffer.dtype:
            return np.asarray(-np.inf if self.buffer.reducer == "max" else np.inf).astype(self.array.dtype)
        limit = lowest if self.buffer.reducer == "max" else highest
        return np.asarray(limit(self.buffer.dtype)).astype(self.array.dtype)

    def is_identity(self, value: Any) -> bool:
        return bool(np.asarray(value).astype(self.array.dtype) == self.identity())

    def open(self, value: Any) -> None:
        """Begin an epoch, with ``value`` as one more contribution (``None``: none)."""
        if self._state == "open":
            raise KernelError("", f"the reducer '{self.name}' is opened twice: {_WORDS['open']}")
        self._state, self._start = "open", value
        self.array[...] = self.identity()

    def update(self, places: tuple[Array, ...], numbers: Array) -> None:
        if self._state != "open":
            raise KernelError("", f"the reducer '{self.name}' is updated {_WORDS.get(self._state, 'out of its epoch')}")
        _COMBINE[self.buffer.reducer].at(self.array, places, numbers)

    def finalize(self) -> Array:
        """End the epoch; the result."""
        if self._state != "open":
            raise KernelError("", f"the reducer '{self.name}' is finalized without an open epoch")
        self._state = "closed"
        self.values = self.array.copy()
        if self._start is not None:
            start = np.asarray(self._start).astype(self.array.dtype)
            self.values[...] = _COMBINE[self.buffer.reducer](self.values, start)
        return self.values

    def kill(self) -> None:
        """Nothing may read the handle any more."""
        self._state = "dead"

    def read(self) -> None:
        if self._state != "closed":
            raise KernelError("", f"the reducer '{self.name}' is read {_WORDS.get(self._state, '')}")

    def end(self) -> None:
        if self._state == "open":
            file, line = self.buffer.line
            raise KernelError("", f"the reducer '{self.name}' is never finalized", file=file, line=line)

    def contribution(self, statement: Store) -> tuple[Any, int]:
        """What ``acc[i] += x`` (or ``acc[i] = T.max(acc[i], x)``) contributes, and its sign."""
        stored = statement.stored
        wanted = {"sum": ("add", "sub"), "max": ("max",), "min": ("min",)}.get(self.buffer.reducer, ())
        if isinstance(stored, Expr) and stored.op in wanted:
            sides = list(stored.args)
            own = [side for side in sides if isinstance(side, Load) and self._is_same(side, statement)]
            if len(own) == 1 and (stored.op != "sub" or own[0] is sides[0]):
                other = next(side for side in sides if side is not own[0])
                return other, -1 if stored.op == "sub" else 1
        raise KernelError("", f"the reducer '{self.name}' is written by something else than its operation")

    def _is_same(self, load: Load, statement: Store) -> bool:
        if load.buffer.root is not self.buffer or len(load.indices) != len(statement.indices):
            return False
        for mine, theirs in zip(load.indices, statement.indices, strict=True):
            if mine is not theirs and not (isinstance(mine, int) and mine == theirs):
                if isinstance(mine, Expr) and isinstance(theirs, Expr):
                    raise NotModelled("a reducer whose index is computed twice")
                return False
        return True
