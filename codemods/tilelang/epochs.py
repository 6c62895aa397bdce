"""The epochs of a reducer of the old kind: filled, updated, finalized, read, in this order and again.

The statements of the kernel are walked in the order in which they run, with what state the reducer is in; a loop must
leave it as it found it, a branch as the other one does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..syntax.call_text import by_name
from .loops import is_parallel
from .module import Module

UNSET, OPEN, CLOSED = "before it is filled", "between fill and finalize", "after it is finalized"


class Wrong(Exception):
    """A use of a reducer that the newer kind does not have, where it stands."""

    def __init__(self, node: ast.AST, message: str) -> None:
        super().__init__(message)
        self.node = node


@dataclass(frozen=True)
class Use:
    """One use of a reducer, by its ``kind``.

    ``init``: ``node`` is the call; ``finalize``: ``node`` is the argument that is finalized; ``update``: ``node`` is
    the statement, ``target`` the element, ``value`` what is contributed, with ``sign``; ``read``: ``node`` is the name.
    """

    kind: str
    node: ast.AST
    value: ast.expr | None = None
    target: ast.expr | None = None
    sign: str = ""


class Epochs:
    """The uses of one reducer, found in one walk over its function."""

    def __init__(self, module: Module, name: ast.Name, op: str) -> None:
        self._module, self._name, self._op = module, name, op
        self._block = [use for use in module.uses(name) if use is not name]
        self._found: dict[ast.AST, Use] = {}

    def uses(self) -> list[Use]:
        """All uses, in the order of the text. Raises :class:`Wrong` for one that is no part of a whole epoch."""
        function = self._module.function(self._name)
        if function is None:
            raise Wrong(self._name, "a reducer outside of a function")
        for use in self._block:
            if self._module.function(use) is not function:
                raise Wrong(use, f"'{self._name.id}' is used in another function, too")
        state = self._walk(function.body, UNSET, parallel=False)
        if state == OPEN:
            raise Wrong(self._name, f"'{self._name.id}' is never finalized")
        if not any(use.kind == "init" for use in self._found.values()):
            raise Wrong(self._name, f"'{self._name.id}' is never filled")
        return sorted(self._found.values(), key=lambda use: self._module.start(use.node))

    # --- statements ---------------------------------------------------------------------------------------------------

    def _walk(self, statements: Sequence[ast.stmt], state: str, *, parallel: bool) -> str:
        for statement in statements:
            state = self._after(statement, state, parallel=parallel)
        return state

    def _after(self, statement: ast.stmt, state: str, *, parallel: bool) -> str:
        if isinstance(statement, (ast.For, ast.While)):
            return self._loop(statement, state, parallel=parallel)
        if isinstance(statement, ast.If):
            self._reads(statement.test, state)
            then = self._walk(statement.body, state, parallel=parallel)
            other = self._walk(statement.orelse, state, parallel=parallel)
            if then != other:
                raise Wrong(statement, f"one branch leaves '{self._name.id}' {then}, the other {other}")
            return then
        if isinstance(statement, ast.With):
            for item in statement.items:
                self._reads(item.context_expr, state)
            return self._walk(statement.body, state, parallel=parallel)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return state
        if not self._mentions(statement) or any(node is self._name for node in ast.walk(statement)):
            return state
        return self._simple(statement, state, parallel=parallel)

    def _loop(self, loop: ast.For | ast.While, state: str, *, parallel: bool) -> str:
        self._reads(loop.iter if isinstance(loop, ast.For) else loop.test, state)
        inner = parallel or (isinstance(loop, ast.For) and is_parallel(self._module, loop))
        if not self._mentions(loop):
            return state
        after = self._walk(loop.body, state, parallel=inner)
        if after != state:
            again = self._walk(loop.body, after, parallel=inner)
            if again != after or state == OPEN or after == OPEN:
                raise Wrong(loop, f"a loop finds '{self._name.id}' {state} and leaves it {after}")
        return self._walk(loop.orelse, after, parallel=parallel)

    def _mentions(self, node: ast.AST) -> bool:
        inside = set(ast.walk(node))
        return any(use in inside for use in self._block)

    def _simple(self, statement: ast.stmt, state: str, *, parallel: bool) -> str:
        module, name = self._module, self._name.id
        call = statement.value if isinstance(statement, ast.Expr) else None
        member = module.member(call.func) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and call.args and self._is_it(call.args[0]):
            if member in ("clear", "fill"):
                return self._opened(call, str(member), state)
            if member == "finalize_reducer":
                return self._closed(call, state, parallel=parallel)
        update = self._update(statement)
        if update is not None:
            if state != OPEN or not parallel:
                where = state if state != OPEN else "outside of T.Parallel"
                raise Wrong(statement, f"'{name}' is updated {where}")
            self._add(update)
            return state
        self._reads(statement, state)
        return state

    def _opened(self, call: ast.Call, member: str, state: str) -> str:
        if state == OPEN:
            raise Wrong(call, f"'{self._name.id}' is filled again before it is finalized")
        given = by_name(call, ("buffer",) if member == "clear" else ("buffer", "value"))
        if given is None:
            raise Wrong(call, f"'{self._name.id}' is filled by arguments that are not all written here")
        value = given.get("value")
        if value is not None and self._mentions(value):
            raise Wrong(call, f"'{self._name.id}' is filled with something of its own")
        self._add(Use("init", call, self._start(call, value)))
        return OPEN

    def _start(self, call: ast.Call, value: ast.expr | None) -> ast.expr | None:
        """The value that the newer kind is opened with; ``None`` where a sum begins with 0."""
        if value is None:
            if self._op != "sum":
                raise Wrong(call, f"a {self._op} that begins with 0: T.clear is no identity of it")
            return None
        number = self._module.constant(value)
        if self._op != "sum":
            return value  # T.min_value is no identity of numbers that may be infinite
        if number != 0 or isinstance(number, bool):
            raise Wrong(call, "a sum that begins with something that is not known to be 0")
        return None

    def _closed(self, call: ast.Call, state: str, *, parallel: bool) -> str:
        if state != OPEN or parallel:
            raise Wrong(call, f"'{self._name.id}' is finalized {'in T.Parallel' if parallel else state}")
        if len(call.args) != 1 or any(each.arg in ("dst", None) for each in call.keywords):
            raise Wrong(call, f"'{self._name.id}' is finalized with other arguments")
        self._add(Use("finalize", call.args[0]))
        return CLOSED

    def _update(self, statement: ast.stmt) -> Use | None:
        """``acc[i] += x``, ``acc[i] = acc[i] + x`` or ``acc[i] = T.max(acc[i], x)``, of the reducer's own operation."""
        if isinstance(statement, ast.AugAssign) and self._is_element(statement.target):
            signs = {ast.Add: "", ast.Sub: "-"}
            if self._op != "sum" or type(statement.op) not in signs or self._mentions(statement.value):
                raise Wrong(statement, f"'{self._name.id}' is changed by something else than its operation")
            return Use("update", statement, statement.value, statement.target, signs[type(statement.op)])
        if not isinstance(statement, ast.Assign) or not any(self._is_element(each) for each in statement.targets):
            return None
        target = statement.targets[0]
        sides = self._sides(statement.value)
        if len(statement.targets) == 1 and sides is not None:
            same = [side for side in sides if ast.dump(_as_load(side)) == ast.dump(_as_load(target))]
            others = [side for side in sides if side not in same]
            if len(same) == 1 and len(others) == 1 and not self._mentions(others[0]):
                return Use("update", statement, others[0], target)
        raise Wrong(statement, f"'{self._name.id}' is written by something else than its operation")

    def _sides(self, value: ast.expr) -> list[ast.expr] | None:
        if self._op == "sum":
            is_sum = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
            return [value.left, value.right] if is_sum and isinstance(value, ast.BinOp) else None
        if isinstance(value, ast.Call) and len(value.args) == 2 and not value.keywords:
            return list(value.args) if self._module.member(value.func) == self._op else None
        return None

    # --- expressions --------------------------------------------------------------------------------------------------

    def _is_it(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node in self._block

    def _is_element(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Subscript) and self._is_it(node.value) and not self._mentions(node.slice)

    def _reads(self, node: ast.AST, state: str) -> None:
        for read in self._names_in(node):
            parent = self._module.parents[read]
            written = isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load)
            if state != CLOSED or written:
                what = "written" if written else "used"
                raise Wrong(read, f"'{self._name.id}' is {what} {state}")
            if self._is_destination(read):
                raise Wrong(read, f"'{self._name.id}' is written {state}, and not by T.fill or T.clear")
            self._add(Use("read", read))

    def _is_destination(self, read: ast.Name) -> bool:
        """May a call write to it? (What a call does with an argument that is none of the language's is unknown.)"""
        at: ast.AST = read
        parent = self._module.parents[at]
        if isinstance(parent, ast.Subscript) and parent.value is at:
            at, parent = parent, self._module.parents[parent]
        if not isinstance(parent, ast.Call):
            return False
        member = self._module.member(parent.func)
        if member == "copy":
            return not (parent.args and parent.args[0] is at)
        if isinstance(at, ast.Subscript) and member is not None:
            by_reference = member in ("address_of", "access_ptr")
            return by_reference or ("atomic" in member and not (at in parent.args and parent.args[0] is not at))
        return member is None or not (parent.args and parent.args[0] is at and member.startswith("reduce_"))

    def _names_in(self, node: ast.AST) -> Iterator[ast.Name]:
        inside = set(ast.walk(node))
        return (use for use in self._block if use in inside)

    def _add(self, use: Use) -> None:
        self._found[use.node] = use


def _as_load(node: ast.expr) -> ast.expr:
    copy = ast.parse(ast.unparse(node), mode="eval").body
    return copy
