"""What a running name (an address that is advanced, a size that is set again) stands for, statement by statement.

The value is source text over names that are bound once, so that two addresses can be proved equal. The bodies of loops
that Beta 1 traced once are read once, as it did. A value that cannot be told becomes a name of its own: equal to
nothing but itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..expr import algebra
from ..syntax.node_index import of_kinds
from ..syntax.nodes import bound_by

if TYPE_CHECKING:
    from .scope import Scope

Values = dict[str, str]


def running_values(scope: Scope) -> dict[ast.stmt, Values]:
    """For each statement of the function: the names that are bound more than once, and what they stand for before it.

    For a loop: in its body. To be asked when the function has been rewritten.
    """
    reader = _Reader(scope)
    reader.block(scope.function.body)
    return reader.before


class _Reader:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.before: dict[ast.stmt, Values] = {}
        self.values: Values = {}
        self.unknown = 0

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.before[statement] = dict(self.values)
            if isinstance(statement, ast.For | ast.While):
                self._loop(statement)
            elif isinstance(statement, ast.If):
                self._branches(statement)
            else:
                self._simple(statement)

    def _loop(self, loop: ast.For | ast.While) -> None:
        once = isinstance(loop, ast.For) and loop in self.scope.summary.traced_once
        bound = {name for child in [loop, *loop.body] for name in bound_by(child)}
        targets = {n.id for n in of_kinds(loop.target, ast.Name)} if isinstance(loop, ast.For) else set()
        self._forget(targets if once else bound)
        self.before[loop] = dict(self.values)
        self.block(loop.body)
        self._forget(targets if once else bound)
        lost = [name for name, text in self.values.items() if algebra.names(text) & targets]
        self._forget(lost)

    def _branches(self, statement: ast.If) -> None:
        start = dict(self.values)
        self.block(statement.body)
        then, self.values = self.values, start
        self.block(statement.orelse)
        other = self.values
        self._forget(name for name in {*then, *other} if then.get(name) != other.get(name))

    def _simple(self, statement: ast.stmt) -> None:
        written = self._written(statement)
        if isinstance(written, ast.Assign) and len(written.targets) == 1:
            target, value = written.targets[0], written.value
            if isinstance(target, ast.Name):
                self._set({target.id: self._value(value)})
                return
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs = zip(target.elts, value.elts, strict=True)
                self._set({t.id: self._value(v) for t, v in pairs if isinstance(t, ast.Name)})
                return
        if isinstance(written, ast.AugAssign) and isinstance(written.target, ast.Name):
            name = written.target.id
            self._set({name: self._value(ast.BinOp(ast.Name(name, ast.Load()), written.op, written.value))})
            return
        self._forget(bound_by(statement))

    def _written(self, statement: ast.stmt) -> ast.stmt:
        """The statement as it is written for Beta 2, where that is one statement too."""
        new = self.scope.module.plan.edits.replaced.get(statement)
        body = ast.parse(new[0].text).body if new is not None and len(new) == 1 and not new[0].guard else []
        return body[0] if len(body) == 1 else statement

    def _value(self, node: ast.expr) -> str | None:
        if not isinstance(node, ast.BinOp | ast.UnaryOp | ast.Name | ast.Constant | ast.Attribute | ast.Subscript):
            return None
        return algebra.show(algebra.normal(ast.unparse(node), {**self.scope.sizes.definitions, **self.values}))

    def _set(self, values: dict[str, str | None]) -> None:
        self._forget(name for name, text in values.items() if text is None)
        for name, text in values.items():
            if text is not None and (self._runs(name) or name not in self.scope.sizes.definitions):
                self.values[name] = text

    def _forget(self, names: Iterable[str]) -> None:
        for name in list(names):
            if self._runs(name):
                self.unknown += 1
                self.values[name] = f"{name}__{self.unknown}"

    def _runs(self, name: str) -> bool:
        return self.scope.names.assigned[name] > 1
