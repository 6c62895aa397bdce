"""The statements of a kernel's source as a :class:`~.model.Program`.

Sizes are evaluated from the names that are known; an allocation whose size nothing tells, or buffers in a place where
this reader does not follow them, end in :class:`Unreadable` with the line. Nothing is guessed and nothing runs.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...spec.ascend import (
    EFFECTS,
    LOOPS,
    MATMULS,
    Effect,
)
from .declarations import Declarations
from .effects import Access, buffers_in, is_flat_index, scalar_reads, store_covers
from .inference import with_spaces
from .model import Entry, Program, Touch
from .values import UNKNOWN, NameOf


def read_kernel(
    function: ast.FunctionDef,
    names: Mapping[str, object],
    name_of: NameOf,
    pools: Iterable[ast.Assign] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    sized: bool = True,
) -> Program:
    """The program of ``function``, a ``T.prim_func``; ``names`` are the values of what is known around it.

    ``pools`` are the pools of the file, ``shapes`` those of the tensors that the kernel gets, where they are known.
    Without ``sized`` a size that nothing tells is 0: for what needs the memories of buffers only.
    Raises :class:`Unreadable`.
    """
    reader = _Reader(names, name_of)
    reader.sized = sized
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    for statement in pools:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and target.id in used:
            reader.allocation(target.id, statement.value)
    reader.parameters(function)
    reader.shapes |= dict(shapes or {})
    reader.block(function.body)
    found = Program(
        function.name,
        tuple(reader.buffers.values()),
        tuple(reader.entries),
        tuple(reader.pools.values()),
        tuple(reader.notes),
        reader.annotated,
    )
    return with_spaces(found, reader.matmuls)


class _Reader(Declarations):
    def __init__(self, names: Mapping[str, object], name_of: NameOf) -> None:
        super().__init__(names, name_of)
        self.matmuls: dict[str, set[int]] = {}
        self.level = 0
        self._statements = 0

    def parameters(self, function: ast.FunctionDef) -> None:
        """The shapes of the tensors that the kernel gets, as far as they are known."""
        for argument in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]:
            annotation = argument.annotation
            self.names.setdefault(argument.arg, UNKNOWN)
            if isinstance(annotation, ast.Call) and annotation.args:
                shape = self.shape_of(annotation.args[0])
                if shape is not None:
                    self.shapes[argument.arg] = shape

    # --- statements --------------------------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is not None:
            method(node)
        elif not isinstance(node, (ast.Pass, ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Assert)):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.reading(child, node)

    def add(self, node: ast.stmt | ast.expr, touches: list[Touch], **more: object) -> None:
        """One entry that touches buffers; a buffer that is read and written by several touches is one touch."""
        merged: dict[str, Touch] = {}
        for touch in touches:
            known = merged.get(touch.buffer)
            if known is None:
                merged[touch.buffer] = touch
            else:
                reads, writes = known.reads or touch.reads, known.writes or touch.writes
                merged[touch.buffer] = Touch(touch.buffer, reads, writes, writes and not reads and known.whole)
        if merged or more:
            entry = Entry("touch", self._next(), self.level, node.lineno, tuple(merged.values()))
            self.entries.append(replace(entry, **more))  # type: ignore[arg-type]  # fields of an entry

    def _next(self) -> int:
        self._statements += 1
        return self._statements

    def scope(
        self, node: ast.stmt, body: list[ast.stmt], touches: list[Touch], *, loop: bool = False,
        branch: bool = False, otherwise: bool = False, sure: bool = False,
    ) -> None:  # fmt: skip
        """The entries of a scope: its opening, its body, its close, which has the buffers of the header."""
        statement, opening = self._next(), len(self.entries)
        self.level += loop
        entry = Entry("open", statement, self.level, node.lineno, (), loop, branch, sure, otherwise=otherwise)
        self.entries.append(entry)
        self.block(body)
        self.entries.append(replace(entry, kind="close", touches=tuple(touches)))
        self.level -= loop
        if loop:
            inside = self.entries[opening + 1 : -1]
            self.entries[opening] = replace(entry, covers=tuple(self._covers(node, inside)))

    def _covers(self, node: ast.stmt, inside: list[Entry]) -> Iterator[str]:
        """The buffers that a loop as a whole overwrites before it reads them."""
        if not isinstance(node, ast.For):
            return
        variables, extents = _loop_variables(node), self.extents(node)
        for name in {t.buffer for e in inside for t in e.touches if t.writes}:
            buffer = self.buffers.get(name)
            first = next(e for e in inside if any(t.buffer == name for t in e.touches))
            touch = next(t for t in first.touches if t.buffer == name)
            if buffer is not None and self.stores_in_turn(node, name, buffer.shape):
                yield name
            if buffer is None or first.level != self.level + 1:
                continue
            if store_covers(node, first.line, name, buffer.shape, variables, extents, touch, self.aliased):
                yield name

    def stores_in_turn(self, node: ast.For, name: str, shape: tuple[int, ...]) -> bool:
        """Do two loops, one in the other, store each element of a flat buffer once, and do nothing else with it?

        ``for n in T.serial(4): ... for i in T.serial(64): name[n * 64 + i] = ...``
        """
        inner = [s for s in node.body if isinstance(s, ast.For)]
        uses = [n for n in ast.walk(node) if isinstance(n, ast.Name) and self.aliased(n) == name]
        if len(uses) != 1 or len(shape) != 1:
            return False
        for loop in inner:
            for statement in loop.body:
                target = statement.targets[0] if isinstance(statement, ast.Assign) else None
                if isinstance(target, ast.Subscript) and self.aliased(target.value) == name:
                    variables, extents = (*_loop_variables(node), *_loop_variables(loop)), self.extents(node)
                    return is_flat_index(target.slice, variables, (*extents, *self.extents(loop)), shape[0], self.worth)
        return False

    # The names of these methods are those of the nodes.

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for one, value in zip(target.elts, node.value.elts, strict=False):
                self.assignment(node, one, value)
            return
        for target in node.targets:
            self.assignment(node, target, node.value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assignment(node, node.target, node.value)

    def assignment(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            self.store(node, target, value)
            return
        if not isinstance(target, ast.Name):
            self.refuse_buffers(value)
            self.reading(value, node)
            return
        if self.allocation(target.id, value):
            return
        base = self.viewed(value)
        if base is not None:
            self.aliases[target.id] = base
            return
        self.refuse_buffers(value)
        self.reading(value, node)
        self.names[target.id] = self.worth(value)

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript):
            self.store(node, node.target, node.value, adds=True)
        else:
            self.reading(node.value, node)
            if isinstance(node.target, ast.Name):
                self.names[node.target.id] = UNKNOWN

    def store(self, node: ast.stmt, target: ast.Subscript, value: ast.expr, adds: bool = False) -> None:
        touches = scalar_reads(value, self.aliased)
        base = self.aliased(target.value)
        if base is not None:
            touches += [*scalar_reads(target.slice, self.aliased), Touch(base, adds, True)]
        self.add(node, touches)

    def _expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.call(node.value)
        else:
            self.reading(node.value, node)

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.reading(node.value, node)

    def _for(self, node: ast.For) -> None:
        called = self.name_of(node.iter.func) if isinstance(node.iter, ast.Call) else None
        touches = scalar_reads(node.iter, self.aliased)
        extents = self.extents(node)
        sure = bool(extents) and all(isinstance(e, int) and e > 0 for e in extents)
        variables = _loop_variables(node)
        for name in variables:
            self.names[name] = UNKNOWN
        if called == "Pipelined" and isinstance(node.iter, ast.Call):
            stages = self.worth(keyword) if (keyword := self.argument(node.iter, 9, "num_stages")) else 0
            if stages is UNKNOWN or (isinstance(stages, int) and stages > 1):
                text = "T.Pipelined keeps several stages at once; the plan counts each buffer once"
                self.notes.append((node.lineno, text))
        if called == "Parallel":
            self.parallel(node, variables, extents)
            return
        self.scope(node, node.body, touches, loop=True, sure=sure)

    def parallel(self, node: ast.For, variables: tuple[str, ...], extents: tuple[object, ...]) -> None:
        """``T.Parallel`` becomes vector instructions: one entry; it overwrites what it stores to element by element."""
        before = len(self.entries)
        self.block(node.body)
        inner = self.entries[before:]
        del self.entries[before:]
        for name, touch in {t.buffer: t for e in inner for t in e.touches}.items():
            touches = [t for e in inner for t in e.touches if t.buffer == name]
            reads, writes = any(t.reads for t in touches), any(t.writes for t in touches)
            buffer = self.buffers[name]
            plain = all(e.kind == "touch" for e in inner)
            whole = plain and writes and not reads and _stores_each(node.body, name, buffer.shape, variables, extents)
            inner = [replace(e, touches=tuple(t for t in e.touches if t.buffer != name)) for e in inner]
            inner.append(Entry("touch", 0, 0, node.lineno, (replace(touch, reads=reads, writes=writes, whole=whole),)))
        self.add(node, [t for e in inner for t in e.touches])

    def extents(self, node: ast.For) -> tuple[object, ...]:
        """How often each variable of a loop runs; :data:`UNKNOWN` for what is not known."""
        if not isinstance(node.iter, ast.Call):
            return ()
        called = self.name_of(node.iter.func)
        plain = isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
        values = [self.worth(a) for a in node.iter.args]
        if called in ("Parallel", "grid"):
            return tuple(values)
        if plain or called in LOOPS:
            numbers = [v for v in values if isinstance(v, int)]
            if len(numbers) != len(values) or not values:
                return (UNKNOWN,)
            return (len(range(*numbers[:3])),) if called != "Pipelined" else (numbers[0],)
        return ()

    def _while(self, node: ast.While) -> None:
        self.scope(node, node.body, scalar_reads(node.test, self.aliased), loop=True)

    def _if(self, node: ast.If) -> None:
        test = self.worth(node.test)
        if test is not UNKNOWN:
            self.block(node.body if test else node.orelse)
            return
        touches = scalar_reads(node.test, self.aliased)
        if touches:
            self.add(node, touches)
        self.scope(node, node.body, touches, branch=True)
        if node.orelse:
            self.scope(node, node.orelse, [], branch=True, otherwise=True)

    def _try(self, node: ast.Try) -> None:
        self.scope(node, node.body, [], branch=True)
        for handler in node.handlers:
            self.scope(node, handler.body, [], branch=True)
        self.block([*node.orelse, *node.finalbody])

    def _with(self, node: ast.With) -> None:
        released: list[str] = []
        branch = False
        for item in node.items:
            called = self.name_of(item.context_expr.func) if isinstance(item.context_expr, ast.Call) else None
            branch = branch or called in ("Then", "Else")
            if called == "allocate" and isinstance(item.optional_vars, ast.Name):
                self.allocation(item.optional_vars.id, item.context_expr)
                released.append(item.optional_vars.id)
                continue
            self.reading(item.context_expr, node)
            for name in ast.walk(item.optional_vars) if item.optional_vars is not None else ():
                if isinstance(name, ast.Name):
                    self.names[name.id] = UNKNOWN
        if released:
            self.block(node.body)
            self.add(node, [], frees=tuple(released))
        else:
            self.scope(node, node.body, [], branch=branch)

    # --- calls -------------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> None:
        called = self.name_of(node.func)
        if called == "annotate_address":
            self.annotate(node)
        elif called == "free" or (isinstance(node.func, ast.Attribute) and node.func.attr == "free"):
            names = [name for a in node.args if (name := self.aliased(a)) is not None]
            if names:
                self.add(node, [], frees=tuple(names))
        elif called == "evaluate" and node.args and isinstance(node.args[0], ast.Call):
            self.evaluated(node.args[0])
        else:
            self.operation(node, called)

    def evaluated(self, node: ast.Call) -> None:
        """``buf[i].assign(value)``, the seed's way to store an element."""
        function = node.func
        element = function.value if isinstance(function, ast.Attribute) and function.attr == "assign" else None
        if isinstance(element, ast.Subscript) and node.args:
            self.store(ast.copy_location(ast.Expr(node), node), element, node.args[0])
        else:
            self.call(node)

    def operation(self, node: ast.Call, called: str | None) -> None:
        effect = EFFECTS.get(called or "")
        if called in MATMULS:
            for position, argument in enumerate(node.args[:3]):
                base = self.aliased(argument)
                if base is not None:
                    self.matmuls.setdefault(base, set()).add(position)
        if called == "copy":
            self.settle(node)
        self.add(node, self.touches(node, effect))

    def touches(self, node: ast.Call, effect: Effect | None) -> list[Touch]:
        found: list[Touch] = []
        for position, argument in enumerate([*node.args, *(k.value for k in node.keywords)]):
            for base, exact in buffers_in(argument, self.aliased):
                if exact is Access.INDEX:
                    found.append(Touch(base, True, False))
                elif effect is None:
                    found.append(Touch(base, True, True))
                elif position in effect.writes:
                    found.append(Touch(base, *self.written(node, effect, exact)))
                else:
                    found.append(Touch(base, True, position not in effect.reads))
        return found

    def written(self, node: ast.Call, effect: Effect, exact: Access) -> tuple[bool, bool, bool]:
        """(reads, writes, whole) of the buffer that a call writes."""
        whole = exact is Access.WHOLE and self.fills(node, effect)
        if effect.init:
            start = next((k.value for k in node.keywords if k.arg == effect.init), None)
            start = node.args[3] if start is None and effect.init == "init" and len(node.args) > 3 else start
            fresh = start is not None and self.worth(start) is True
            return not fresh, True, fresh and whole
        return False, True, whole

    def fills(self, node: ast.Call, effect: Effect) -> bool:
        """Has what a call computes as many elements as the buffer that it writes?"""
        base = self.aliased(node.args[effect.writes[0]]) if len(node.args) > effect.writes[0] else None
        if base is None:
            return False
        elements = math.prod(self.buffers[base].shape)
        if effect.count is not None:
            count = self.argument(node, effect.count, "count")
            return count is not None and self.worth(count) == elements
        if not effect.sizes:
            return True
        sources = [self.aliased(a) for at, a in enumerate(node.args) if at in effect.reads and isinstance(a, ast.Name)]
        return all(name is None or math.prod(self.buffers[name].shape) == elements for name in sources)


def _loop_variables(node: ast.For) -> tuple[str, ...]:
    target = node.target
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return tuple(name.id for name in names if isinstance(name, ast.Name))


def _stores_each(
    body: list[ast.stmt], name: str, shape: tuple[int, ...], variables: tuple[str, ...], extents: tuple[object, ...]
) -> bool:
    """Does an element-wise body store ``name[i, j]`` for each element, outside of any condition?"""
    for statement in body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
            indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
            plain = tuple(index.id for index in indices if isinstance(index, ast.Name))
            if len(plain) == len(indices) and plain == variables and tuple(extents) == shape:
                return True
    return False
