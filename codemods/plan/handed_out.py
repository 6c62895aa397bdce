"""What an object that hands out ``sbuf.mod_alloc(...)`` hands out in one kernel, call by call, as source text.

The object's method is followed symbolically: its counters start where ``__init__`` sets them, and each call in the
order of the source moves them on. What is not a straight line of arithmetic, or a table of the sizes of data types, is
not followed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.declarations import Pinned
from ..expr.values import Allocator
from ..render.expressions import render
from ..render.type_names import itemsize
from ..syntax.node_index import of_kinds
from ..syntax.nodes import default_values

if TYPE_CHECKING:
    from ..analysis.scope import Scope

Class = tuple[ast.ClassDef, ast.FunctionDef]


def with_addresses(scope: Scope, tensors: Sequence[Pinned], classes: Mapping[Pinned, Class]) -> dict[Pinned, Pinned]:
    """The tensors of objects whose addresses can be told, with these: all tensors of one object, or none of them."""
    found: dict[Pinned, Pinned] = {}
    for name in dict.fromkeys(owner_of(tensor) for tensor in classes):
        mine = [tensor for tensor in tensors if tensor in classes and owner_of(tensor) == name]
        uses = [n for n in of_kinds(scope.function, ast.Name) if n.id == name]
        in_order = all(tensor.plan.statement in scope.function.body for tensor in mine)
        alike = len({classes[tensor] for tensor in mine}) == 1
        if len(uses) == len(mine) and in_order and alike:
            found |= _told(scope, mine, _Object.made(scope, classes[mine[0]]))
    return found


def _told(scope: Scope, tensors: list[Pinned], held: _Object) -> dict[Pinned, Pinned]:
    found: dict[Pinned, Pinned] = {}
    for tensor in tensors:
        base = held.handed_out(_arguments(scope, held.method, tensor))
        if base is None:
            return {}
        found[tensor] = replace(tensor, base=base, unsuited="")
    return found


def owner_of(tensor: Pinned) -> str:
    """The name of the object that gives a tensor its address; empty where none does."""
    buffer = tensor.plan.buffer
    if not isinstance(buffer, Allocator) or buffer.kind != "object":
        return ""
    function = buffer.call.func
    assert isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    return function.value.id


def _arguments(scope: Scope, method: ast.FunctionDef, tensor: Pinned) -> dict[str, str]:
    assert isinstance(tensor.plan.buffer, Allocator)
    call = tensor.plan.buffer.call
    given: dict[str, ast.expr] = {a.arg: value for a, value in default_values(method).items()}
    given.update(zip([a.arg for a in method.args.args[1:]], call.args, strict=False))
    given.update({k.arg: k.value for k in call.keywords if k.arg})
    return {name: render(scope, value) for name, value in given.items()}


@dataclass(frozen=True)
class _Object:
    """An object, and what its attributes stand for by now."""

    scope: Scope
    cls: ast.ClassDef
    method: ast.FunctionDef
    state: dict[str, str]

    @classmethod
    def made(cls, scope: Scope, held: Class) -> _Object:
        """The attributes are those that ``__init__`` sets to whole numbers."""
        state: dict[str, str] = {}
        start = _method(held[0], "__init__")
        for statement in start.body if start is not None else []:
            target, value = _assignment(statement)
            if not isinstance(target, ast.Attribute) or not _of_self(target) or not isinstance(value, ast.Constant):
                continue
            if type(value.value) is int:
                state[target.attr] = str(value.value)
        return cls(scope, *held, state)

    def handed_out(self, arguments: dict[str, str]) -> str | None:
        """The address that the next call hands out; ``None`` where it cannot be told."""
        names = dict(arguments)
        for statement in self.method.body:
            if isinstance(statement, ast.Return):
                keywords = statement.value.keywords if isinstance(statement.value, ast.Call) else []
                base = next((k.value for k in keywords if k.arg == "base_addr"), None)
                return self._value(base, names) if base is not None else None
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            target, value = _assignment(statement)
            text = self._value(value, names) if value is not None else None
            if text is None:
                return None
            if isinstance(target, ast.Name):
                names[target.id] = text
            elif isinstance(target, ast.Attribute) and _of_self(target):
                self.state[target.attr] = text
            else:
                return None
        return None

    def _value(self, node: ast.expr, names: Mapping[str, str]) -> str | None:
        """An expression of the method in the names of the kernel; ``None`` where it is no arithmetic."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return str(node.value)
        if isinstance(node, ast.Name):
            return names.get(node.id)
        if isinstance(node, ast.Attribute) and _of_self(node):
            return self.state.get(node.attr)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            left, right = self._value(node.left, names), self._value(node.right, names)
            if left is None or right is None:
                return None
            return ast.unparse(ast.BinOp(algebra.parse(left), node.op, algebra.parse(right)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _of_self(node.func):
            table = _method(self.cls, node.func.attr)
            dtype = self._value(node.args[0], names) if len(node.args) == 1 and not node.keywords else None
            if table is not None and dtype is not None and self._gives_sizes(table):
                return itemsize(self.scope, dtype)
        return None

    def _gives_sizes(self, table: ast.FunctionDef) -> bool:
        """Is a method ``if dtype == nl.float32: return 4``, and so on, that else stops, and are the sizes right?"""
        if len(table.args.args) != 2 or len(table.body) != 1:
            return False
        statement = table.body[0]
        while isinstance(statement, ast.If):
            if len(statement.orelse) != 1 or not self._is_size(table.args.args[1].arg, statement):
                return False
            statement = statement.orelse[0]
        return isinstance(statement, ast.Raise)

    def _is_size(self, parameter: str, statement: ast.If) -> bool:
        test, body = statement.test, statement.body
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
            return False
        returned = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
        size = itemsize(self.scope, render(self.scope, test.comparators[0]))
        compared = isinstance(test.left, ast.Name) and test.left.id == parameter
        return compared and isinstance(returned, ast.Constant) and str(returned.value) == size


def _method(cls: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((s for s in cls.body if isinstance(s, ast.FunctionDef) and s.name == name), None)


def _of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _assignment(statement: ast.stmt) -> tuple[ast.expr | None, ast.expr | None]:
    """The target of an assignment, and its value; an augmented one is written out."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return statement.targets[0], statement.value
    if isinstance(statement, ast.AugAssign):
        return statement.target, ast.BinOp(statement.target, statement.op, statement.value)
    return None, None
