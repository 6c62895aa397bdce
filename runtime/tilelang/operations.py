"""The operations on tiles, on NumPy."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from .cells import Array, Cells
from .ir import Buffer, Load, Op, Region
from .reducers import Reducer
from .values import cast


class Operations(Cells):
    """What each operation of the language does to the memory of a block."""

    def _do_copy(self, op: Op) -> None:
        target, source = (self._readable(op.operands[0], "copied to"), self._source(op.operands[1]))
        (to, into, to_starts, to_sizes), (of, out, of_starts, of_sizes) = self._boxes(target, source)
        wanted = [size for size in to_sizes if size != 1]
        if wanted != [size for size in of_sizes if size != 1]:
            raise KernelError("", f"a copy of {of_sizes} of '{of.name}' to {to_sizes} of '{to.name}'")
        values = self._gather(of, out, of_starts, of_sizes)
        self._scatter(to, into, to_starts, to_sizes, cast(values, into.dtype).reshape(to_sizes))
        self._tile_event("copy", [("dst", to, into, to_starts, to_sizes), ("src", of, out, of_starts, of_sizes)])

    def _do_fill(self, op: Op) -> None:
        target = op.operands[0]
        buffer = target if isinstance(target, Buffer) else target.buffer
        value = self._values.of(op.attributes["value"])
        if buffer.root.reducer:
            self._open(buffer, value)
            return
        if isinstance(target, Load):
            raise KernelError("", "T.fill of one element: it takes a buffer or a region")
        _, array, starts, sizes = self._box(target)
        self._scatter(buffer, array, starts, sizes, np.full(sizes, cast(value, array.dtype)))
        self._tile_event("fill", [("dst", buffer, array, starts, sizes)], ("value", float(value)))

    def _do_reducer_init(self, op: Op) -> None:
        value = op.attributes["value"]
        self._open(op.operands[0], None if value is None else self._values.of(value))

    def _do_reducer_update(self, op: Op) -> None:
        target = op.operands[0]
        self._contribute(self._reducer(target.buffer), target.indices, op.attributes["value"])

    def _do_finalize_reducer(self, op: Op) -> None:
        reducer = self._reducer(op.operands[0])
        values = reducer.finalize()
        if len(op.operands) > 1:
            to = op.operands[1]
            if not isinstance(to, Buffer) or to.scope != "local.fragment" or to.dtype != reducer.buffer.dtype:
                raise KernelError("", f"finalize_reducer writes to a fragment of {reducer.buffer.dtype}")
            array = self.array(to)
            if array.shape != values.shape:
                raise KernelError("", f"finalize_reducer writes {values.shape} to '{to.name}' of {array.shape}")
            array[...] = values
            self._written.add(id(to))
            reducer.kill()
        else:
            to, array = reducer.result, reducer.values
            self._memory[id(to)] = array
        own = ("src", reducer.buffer, reducer.array, [0] * array.ndim, list(array.shape))
        self._tile_event("finalize_reducer", [("dst", to, array, [0] * array.ndim, list(array.shape)), own])

    def _do_gemm(self, op: Op) -> None:
        (c, out, c_starts, c_sizes), (a, left, a_starts, a_sizes), (b, right, b_starts, b_sizes) = (
            self._box(self._readable(each, "multiplied")) for each in op.operands
        )
        first = self._gather(a, left, a_starts, a_sizes).astype(np.float32)
        second = self._gather(b, right, b_starts, b_sizes).astype(np.float32)
        first, second = (
            each.reshape(each.shape[-2:]) if prod(each.shape[:-2]) == 1 else each for each in (first, second)
        )
        first = first.T if op.attributes["transpose_a"] else first
        second = second.T if op.attributes["transpose_b"] else second
        if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[0]:
            raise KernelError("", f"gemm of {a_sizes} '{a.name}' and {b_sizes} '{b.name}'")
        product = (first.astype(np.float64) @ second.astype(np.float64)).astype(np.float32)
        if out.dtype.kind in "iu":
            product = np.rint(product)
        before = 0 if op.attributes["clear"] else self._gather(c, out, c_starts, c_sizes)
        if product.size != prod(c_sizes):
            raise KernelError("", f"gemm of {product.shape} to {c_sizes} of '{c.name}'")
        values = cast(before + product.reshape(c_sizes), out.dtype)
        self._scatter(c, out, c_starts, c_sizes, np.asarray(values))
        boxes = [
            ("dst", c, out, c_starts, c_sizes),
            ("a", a, left, a_starts, a_sizes),
            ("b", b, right, b_starts, b_sizes),
        ]
        flags = (
            int(op.attributes["transpose_a"]) + 2 * int(op.attributes["transpose_b"]) + 4 * int(op.attributes["clear"])
        )
        self._tile_event("gemm", boxes, ("flags", flags))

    def _do_reduce(self, op: Op) -> None:
        (to, out, to_starts, to_sizes), (of, array, starts, sizes) = (
            self._box(self._readable(op.operands[0], "written")), self._box(self._source(op.operands[1]))
        )  # fmt: skip
        values, kind = self._gather(of, array, starts, sizes), op.attributes["kind"]
        dim = int(op.attributes["dim"])
        if kind.startswith("abs"):
            values, kind = np.abs(values), kind[3:]
        found = _reduced(values, kind, dim).reshape(-1)
        if found.size != prod(to_sizes):
            raise KernelError("", f"a reduction of {sizes} over axis {dim} to {to_sizes} of '{to.name}'")
        if not op.attributes["clear"]:
            before = self._gather(to, out, to_starts, to_sizes).reshape(-1)
            found = _reduced(np.stack([before.astype(found.dtype), found]), kind, 0)
        self._scatter(to, out, to_starts, to_sizes, np.asarray(cast(found, out.dtype)).reshape(to_sizes))
        boxes = [("dst", to, out, to_starts, to_sizes), ("src", of, array, starts, sizes)]
        self._tile_event(f"reduce_{op.attributes['kind']}", boxes, ("dim", dim % len(sizes)))

    def _do_cumsum(self, op: Op) -> None:
        (to, out, to_starts, to_sizes), (of, array, starts, sizes) = map(self._box, op.operands)
        values, dim = self._gather(of, array, starts, sizes), int(op.attributes["dim"])
        flipped = np.flip(values, dim) if op.attributes["reverse"] else values
        total = np.cumsum(flipped, dim, dtype=values.dtype)
        found = np.flip(total, dim) if op.attributes["reverse"] else total
        self._scatter(to, out, to_starts, to_sizes, cast(found, out.dtype).reshape(to_sizes))
        self._tile_event("cumsum", [("dst", to, out, to_starts, to_sizes), ("src", of, array, starts, sizes)])

    def _do_atomic_add(self, op: Op) -> None:
        target = op.operands[0]
        array = self.array(self._readable(target.buffer, "added to"))
        values = self._values.of(op.attributes["value"], self._mask)
        indices = tuple(self._values.of(each, self._mask) for each in target.indices)
        inside, clipped = self._inside(target.buffer, array, indices, self._mask)
        shape = np.broadcast_shapes(np.shape(self._mask & inside), np.shape(values), *map(np.shape, clipped))
        chosen = np.broadcast_to(self._mask & inside, shape)
        places = tuple(np.broadcast_to(each, shape)[chosen] for each in clipped)
        if not self._lanes:
            raise NotModelled("T.atomic_add outside of T.Parallel: each thread adds")
        np.add.at(array, places, np.broadcast_to(cast(values, array.dtype), shape)[chosen])
        self._written.add(id(target.buffer.root))
        self._event("atomic_add", [self._elements("dst", target.buffer, array, places)],
                    self._reads_of(op.attributes["value"]))  # fmt: skip

    def _do_arrive(self, op: Op) -> None:
        buffer, number, count = self._barrier(op)
        phase, arrived = self._phases.get((id(buffer), number), (0, 0))
        arrived += self._kernel.threads
        if arrived > count:
            message = f"barrier {number} of '{buffer.name}' counts {count} arrivals, and {arrived} threads arrive"
            raise KernelError("", message)
        if arrived == count:
            phase, arrived = phase + 1, 0
        self._phases[id(buffer), number] = phase, arrived
        self._event("arrive", [self._elements("dst", buffer, self.array(buffer), (np.array([number]),))], [])

    def _do_wait(self, op: Op) -> None:
        buffer, number, count = self._barrier(op)
        parity = self._uniform(op.attributes["parity"]) % 2
        phase, arrived = self._phases.get((id(buffer), number), (0, 0))
        if phase % 2 == parity:
            there = f"counts {count} arrivals, and {arrived} have arrived"
            raise KernelError("", f"a wait for ever: barrier {number} of '{buffer.name}' {there}")
        place = self._elements("src", buffer, self.array(buffer), (np.array([number]),))
        self._event("wait", [place], [], ("parity", parity))

    def _do_deallocate_tmem(self, op: Op) -> None:
        """The columns are free from here on: their values are gone."""

    def _operation(self, op: Op) -> None:
        handler: Callable[[Op], None] | None = getattr(self, f"_do_{op.name}", None)
        if handler is None:
            raise NotModelled(f"T.{op.name}")
        if self._lanes and op.name not in ("reducer_update", "atomic_add"):
            raise KernelError("", f"T.{op.name} in T.Parallel: it is an operation of the whole block")
        handler(op)

    def _readable(self, operand: Any, what: str) -> Any:
        buffer = operand if isinstance(operand, Buffer) else operand.buffer
        if buffer.root.reducer:
            raise KernelError("", f"the reducer '{buffer.name}' is {what}: only its own operations may")
        return operand

    def _source(self, operand: Any) -> Any:
        """An operand that is read: of a reducer of the old kind its result, once it is finalized."""
        buffer = operand if isinstance(operand, Buffer) else operand.buffer
        if not buffer.root.reducer:
            return operand
        self._reducer(buffer).read()
        result = self._result_of(buffer)
        self._memory[id(result)] = self._reducer(buffer).values
        if isinstance(operand, Buffer):
            return result
        if isinstance(operand, Region):
            return Region(result, operand.starts, operand.extents)
        return Load(result, operand.indices)

    def _open(self, buffer: Buffer, value: Any) -> None:
        reducer = self._reducer(buffer)
        reducer.open(value)
        event = [("dst", buffer, reducer.array, [0] * reducer.array.ndim, list(reducer.array.shape))]
        start = None if value is None or reducer.is_identity(value) else float(value)
        self._tile_event("reducer_init", event, ("value", start))

    def _contribute(self, reducer: Reducer, indices: tuple[Any, ...], contribution: Any, sign: int = 1) -> None:
        values = self._values.of(contribution, self._mask)
        places = tuple(self._values.of(each, self._mask) for each in indices)
        if not self._lanes:
            raise KernelError("", f"'{reducer.name}' is updated outside of T.Parallel")
        _, clipped = self._inside(reducer.buffer, reducer.array, places, self._mask)
        chosen = np.broadcast_to(self._mask, self._lanes)
        numbers = np.broadcast_to(cast(values, reducer.array.dtype), self._lanes)[chosen]
        at = tuple(np.broadcast_to(each, self._lanes)[chosen] for each in clipped)
        reducer.update(at, numbers if sign > 0 else -numbers)
        target = self._elements("dst", reducer.buffer, reducer.array, at)
        self._event("reducer_update", [target], self._reads_of(contribution))

    def _barrier(self, op: Op) -> tuple[Buffer, int, int]:
        load = op.operands[0]
        number = self._uniform(load.indices[0])
        counts = load.buffer.counts
        if not 0 <= number < len(counts):
            raise KernelError("", f"'{load.buffer.name}' has {len(counts)} barriers, and barrier {number} is used")
        return load.buffer, number, counts[number]


def _reduced(values: Array, kind: str, dim: int) -> Array:
    functions: dict[str, Any] = {"sum": np.add, "max": np.maximum, "min": np.minimum}
    functions |= {"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor}
    if kind == "sum":
        wide = values.astype(np.float64) if values.dtype.kind not in "iub" else values
        return np.asarray(np.add.reduce(wide, axis=dim)).astype(values.dtype)
    return np.asarray(functions[kind].reduce(values, axis=dim))
