"""Bodies of functions followed on index vectors, masks and texts of the caller's: what they return.

No statement of the user's is executed. A value that is no vector is the text of an expression that the caller could
have written; what the text does not decide stays undecided, and whoever asked is told so.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.grammar import copied

from ..analysis.body_values import ClassItself, Known, Text, Thing, Undecided
from ..analysis.classes import class_named, field_class, never_none
from ..analysis.objects import changing_part
from ..expr import algebra
from ..expr.tables import beta2_has
from ..expr.values import Grid, Index, Mask, Several, Value
from ..syntax.names import canonical, dotted
from ..syntax.node_index import of_kinds
from ..syntax.nodes import default_values
from .index import COMPONENTS, arange, chosen, combined, mgrid, negated, reshaped
from .masks import compared, joined

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..project.program import Module

_DEPTH = 12
_BUILTINS = {"min", "max", "len", "int", "abs"}
_COMPARISONS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass
class Facts:
    """What following one call has found out on the way: statements for the caller, calls that were followed."""

    scope: Scope
    statements: list[str] = field(default_factory=list)
    followed: list[tuple[Module, ast.FunctionDef, ast.Call]] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)

    def binds(self, name: str) -> bool:
        """Does the caller, or a function around it, give a name another meaning?"""
        scope: Scope | None = self.scope
        while scope is not None and name not in scope.names.assigned:
            scope = scope.outer
        return scope is not None

    def stable(self, part: str) -> str:
        """A part of an object or container as text that may be read later: one that may change by then gets a name."""
        if part not in self.given:
            node = algebra.parse(part)
            named = {n.id for n in of_kinds(node, ast.Name)} & set(self.given.values())
            changes = bool(named) or changing_part(self.scope, node)
            hint = node.attr if isinstance(node, ast.Attribute) else "size"
            self.given[part] = self.scope.fresh(hint) if changes else part
            if changes:
                self.statements.append(f"{self.given[part]} = {part}")
        return self.given[part]


def result(facts: Facts, home: Module, function: ast.FunctionDef, given: dict[str, Value], depth: int = 0) -> Value:
    """What ``function`` returns for the parameters ``given``. Raises :class:`Undecided` where that is not known."""
    if depth > _DEPTH:
        raise Undecided("it calls itself")
    env = dict(given)
    for argument, default in default_values(function).items():
        if argument.arg not in env:
            env[argument.arg] = Body(facts, home, {}, depth).value(default)
    found = Body(facts, home, env, depth).run(function.body)
    return found or Known(None)


def bound(function: ast.FunctionDef, positional: list[Value], keywords: dict[str, Value]) -> dict[str, Value]:
    """Arguments by parameter."""
    arguments = function.args
    names = [a.arg for a in [*arguments.posonlyargs, *arguments.args]]
    known = {*names, *(a.arg for a in arguments.kwonlyargs)}
    optional = {a.arg for a in default_values(function)}
    given = dict(zip(names, positional, strict=False))
    twice = given.keys() & keywords.keys()
    given |= keywords
    fits = len(positional) <= len(names) and not twice and given.keys() <= known and known <= given.keys() | optional
    if arguments.vararg or arguments.kwarg or not fits:
        raise Undecided("its arguments do not fit its parameters one by one")
    return given


def method_call(owner: Value, name: str) -> tuple[Module, ast.FunctionDef, list[Value]] | None:
    """The method that ``owner.name`` is, with what it gets before the arguments."""
    if not isinstance(owner, Thing | ClassItself):
        return None
    method = owner.cls.methods.get(name)
    kind = owner.cls.kind(method) if method is not None else None
    if method is None or kind is None or name in owner.cls.home.program.assigned_attributes:
        return None
    if kind == "classmethod":
        return owner.cls.home, method, [ClassItself(owner.cls)]
    if kind == "staticmethod":
        return owner.cls.home, method, []
    if isinstance(owner, Thing) and not kind:
        return owner.cls.home, method, [replace(owner, there=True)]
    return None


@dataclass
class Body:
    """A function while it is followed: the names that it has bound."""

    facts: Facts
    home: Module
    env: dict[str, Value]
    depth: int

    # Statements -------------------------------------------------------------------------------------------------

    def run(self, body: list[ast.stmt]) -> Value | None:
        """What the statements return; ``None`` when they end without."""
        for number, statement in enumerate(body):
            if isinstance(statement, ast.Return):
                return self.value(statement.value) if statement.value is not None else Known(None)
            if isinstance(statement, ast.If):
                return self._choice(statement, body[number + 1 :])
            self._statement(statement)
        return None

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Pass) or _is_text(statement):
            return
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._bind(statement.targets[0], self.value(statement.value))
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._bind(statement.target, self.value(statement.value))
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            name = ast.Name(statement.target.id, ast.Load())
            self.env[name.id] = self.value(ast.BinOp(name, statement.op, statement.value))
        elif isinstance(statement, ast.Assert):
            self._assert(self.value(statement.test), statement.msg)
        else:
            raise Undecided(f"line {statement.lineno} of it is no assignment, assertion or choice")

    def _bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.env[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List) and len(target.elts) == len(_parts(value)):
            for element, part in zip(target.elts, _parts(value), strict=True):
                self._bind(element, part)
        else:
            raise Undecided(f"line {target.lineno} of it binds more than names")

    def _assert(self, test: Value, message: ast.expr | None) -> None:
        if isinstance(test, Known) and test.value:
            return
        if not isinstance(test, Text):
            raise Undecided("an assertion of it fails, or is about a vector")
        try:
            text = f", {self._text(message)}" if message is not None else ""
        except Undecided:
            text = ""
        self.facts.statements.append(f"assert {test.text}{text}")

    def _choice(self, statement: ast.If, rest: list[ast.stmt]) -> Value | None:
        test = self.value(statement.test)
        if isinstance(test, Known):
            return self.run([*(statement.body if test.value else statement.orelse), *rest])
        if not isinstance(test, Text):
            raise Undecided("a vector decides what it does")
        if len(statement.body) == 1 and isinstance(statement.body[0], ast.Raise) and not statement.orelse:
            self.facts.statements.append(f"assert not {algebra.paren(test.text)}")
            return self.run(rest)
        before = list(self.facts.statements)
        branches = [replace(self, env=dict(self.env)).run([*b, *rest]) for b in (statement.body, statement.orelse)]
        if self.facts.statements != before:
            raise Undecided(f"whether it asserts depends on {test.text}")
        return self._either(statement.test, test.text, *(b or Known(None) for b in branches))

    def _either(self, node: ast.expr, test: str, a: Value, b: Value) -> Value:
        if a == b:
            return a
        if isinstance(a, Index) and isinstance(b, Index):
            return chosen(node, a, b, lambda: test)
        if isinstance(a, Text | Known) and isinstance(b, Text | Known):
            return Text(algebra.choice(test, written(a), written(b)))
        raise Undecided(f"what it returns depends on {test}")

    # Expressions ------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """What an expression is."""
        if isinstance(node, ast.Constant):
            return Known(node.value)
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Tuple):
            return Several(tuple(self.value(element) for element in node.elts))
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.BinOp):
            return self._operation(node, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp):
            return self._unary(node, self.value(node.operand))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._comparison(node, node.ops[0], self.value(node.left), self.value(node.comparators[0]))
        if isinstance(node, ast.BoolOp):
            return self._connected(node)
        if isinstance(node, ast.IfExp):
            return self._choose(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        return Text(self._text(node))

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.env:
            return self.env[node.id]
        cls = class_named(self.home, node)
        if cls is not None:
            return ClassItself(cls)
        if node.id in self.home.environment.definitions:
            if self.home is self.facts.scope.module and not self.facts.binds(node.id):
                return Text(node.id)
            return Known(ast.literal_eval(self.home.environment.definitions[node.id]))
        raise Undecided(f"it reads '{node.id}'")

    def _attribute(self, node: ast.Attribute) -> Value:
        qualified = self._qualified(node)
        if qualified is not None:
            if not beta2_has(qualified):
                raise Undecided(f"it reads {qualified}")
            return Text(self.facts.scope.beta2(qualified))
        base = self.value(node.value)
        if isinstance(base, Grid) and node.attr in COMPONENTS:
            return base.components[COMPONENTS[node.attr]]
        if isinstance(base, Thing):
            return self._field(base, node.attr)
        if isinstance(base, Text):
            return Text(f"{algebra.paren(base.text)}.{node.attr}")
        raise Undecided(f"it reads {ast.unparse(node)}")

    def _field(self, owner: Thing, name: str) -> Value:
        method = owner.cls.methods.get(name)
        if method is not None:
            if owner.cls.kind(method) != "property":
                raise Undecided(f"it takes the method '{name}' as a value")
            first = method.args.args[0].arg if method.args.args else "self"
            return result(self.facts, owner.cls.home, method, {first: replace(owner, there=True)}, self.depth + 1)
        text = f"{owner.text}.{name}"
        cls = field_class(owner.cls, name)
        return Thing(text, cls) if cls is not None else Text(self.facts.stable(text))

    def _subscript(self, node: ast.Subscript) -> Value:
        if self._qualified(node.value) == "nl.mgrid":
            return mgrid(node, self._text, "")
        base = self.value(node.value)
        if isinstance(base, Index):
            return reshaped(base, node)
        if isinstance(base, Grid | Several) and isinstance(node.slice, ast.Constant):
            parts, number = _parts(base), node.slice.value
            if isinstance(number, int) and -len(parts) <= number < len(parts):
                return parts[number]
        return Text(self.facts.stable(self._text(node)))

    def _operation(self, node: ast.BinOp, a: Value, b: Value) -> Value:
        if isinstance(a, Index) or isinstance(b, Index):
            return combined(node, _vector(a), _vector(b))
        if isinstance(a, Mask) or isinstance(b, Mask):
            if not isinstance(node.op, ast.BitAnd):
                raise Undecided("it combines masks otherwise than with &")
            return joined(_mask(a), _mask(b))
        left, right = written(a), written(b)
        if isinstance(a, Known) and isinstance(b, Known):
            number = algebra.constant(ast.unparse(ast.BinOp(algebra.parse(left), node.op, algebra.parse(right))), {})
            if number is not None:
                return Known(number)
        if isinstance(node.op, ast.Add):
            return Text(algebra.add(left, right))
        if isinstance(node.op, ast.Sub):
            return Text(algebra.subtract(left, right))
        if isinstance(node.op, ast.Mult):
            return Text(algebra.multiply(left, right))
        return Text(ast.unparse(ast.BinOp(algebra.parse(left), node.op, algebra.parse(right))))

    def _unary(self, node: ast.UnaryOp, operand: Value) -> Value:
        if isinstance(node.op, ast.USub) and isinstance(operand, Index):
            return negated(operand)
        if isinstance(node.op, ast.Not) and isinstance(operand, Known):
            return Known(not operand.value)
        return Text(ast.unparse(ast.UnaryOp(node.op, algebra.parse(written(operand)))))

    def _comparison(self, node: ast.Compare, how: ast.cmpop, a: Value, b: Value) -> Value:
        if isinstance(how, ast.Is | ast.IsNot) and isinstance(b, Known) and b.value is None:
            there = self._is_there(a)
            if there is not None:
                return Known(there == isinstance(how, ast.IsNot))
        elif isinstance(a, Index) or isinstance(b, Index):
            return compared(node, _vector(a), _vector(b))
        if isinstance(a, Known) and isinstance(b, Known):
            compare = _COMPARISONS.get(type(how))
            if compare is not None:
                return Known(compare(a.value, b.value))
        sides = [algebra.parse(written(side)) for side in (a, b)]
        return Text(ast.unparse(ast.Compare(sides[0], [how], [sides[1]])))

    def _is_there(self, value: Value) -> bool | None:
        """Is a value not ``None``? ``None`` where that is not known."""
        if isinstance(value, Known):
            return value.value is not None
        if not isinstance(value, Text | Thing) or (isinstance(value, Thing) and value.there):
            return True
        return True if never_none(self.facts.scope, algebra.parse(value.text)) else None

    def _connected(self, node: ast.BoolOp) -> Value:
        ends = isinstance(node.op, ast.Or)
        left: list[Value] = []
        before = 0
        for part in node.values:
            value = self.value(part)
            if left:
                self._always(before)
            before = len(self.facts.statements)
            decides = isinstance(value, Known) and bool(value.value) == ends
            if decides or part is node.values[-1]:
                return self._together(node.op, [*left, value])
            left += [] if isinstance(value, Known) else [value]
        raise AssertionError("an operation without operands")

    def _together(self, how: ast.boolop, parts: list[Value]) -> Value:
        if len(parts) == 1:
            return parts[0]
        if any(isinstance(part, Mask) for part in parts):
            if isinstance(how, ast.Or) or any(isinstance(part, Mask) for part in parts[:-1]):
                raise Undecided("it combines masks otherwise than with &")
            total = Mask()
            for part in parts:
                total = joined(total, _mask(part))
            return total
        return Text(ast.unparse(ast.BoolOp(how, [algebra.parse(written(part)) for part in parts])))

    def _choose(self, node: ast.IfExp) -> Value:
        test = self.value(node.test)
        if isinstance(test, Known):
            return self.value(node.body if test.value else node.orelse)
        if not isinstance(test, Text):
            raise Undecided("a vector decides what it does")
        before = len(self.facts.statements)
        branches = self.value(node.body), self.value(node.orelse)
        self._always(before)
        return self._either(node, test.text, *branches)

    def _always(self, before: int) -> None:
        """Raise :class:`Undecided` where a case that may not occur has statements for the caller, who runs them all."""
        if len(self.facts.statements) != before:
            raise Undecided("it reads a part of an object, or asserts, in one case only")

    # Calls ------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        qualified = self._qualified(node.func)
        if qualified == "nl.arange":
            return arange(node, [self._text(argument) for argument in node.args], "")
        if qualified is not None:
            raise Undecided(f"it calls {qualified}")
        if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS and self._is_builtin(node.func.id):
            text = f"{node.func.id}({', '.join(self._text(argument) for argument in node.args)})"
            return Text(self.facts.stable(text))
        found = self._callee(node.func)
        if found is None:
            raise Undecided(f"it calls {ast.unparse(node.func)}(...)")
        home, function, first = found
        positional = [*first, *self._positional(node)]
        keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg is not None}
        if len(keywords) != len(node.keywords):
            raise Undecided("it passes arguments with **")
        self.facts.followed.append((home, function, node))
        return result(self.facts, home, function, bound(function, positional, keywords), self.depth + 1)

    def _positional(self, node: ast.Call) -> list[Value]:
        given: list[Value] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                given += _parts(self.value(argument.value))
            else:
                given.append(self.value(argument))
        return given

    def _callee(self, node: ast.expr) -> tuple[Module, ast.FunctionDef, list[Value]] | None:
        if isinstance(node, ast.Name):
            if node.id in self.env:
                return None
            own = self.home.symbols.functions.get(node.id)
            if own is not None:
                return None if own.decorator_list else (self.home, own, [])
        if isinstance(node, ast.Attribute):
            root = dotted(node)
            module = root is not None and root[0] not in self.env and root[0] in self.home.program.links[self.home.path]
            if not module:
                return method_call(self.value(node.value), node.attr)
        other = self.home.program.function(self.home, node)
        return None if other is None or other[1].decorator_list else (*other, [])

    def _is_builtin(self, name: str) -> bool:
        caller = self.facts.scope
        taken = {
            *self.env,
            *self.home.symbols.rebound,
            *self.home.symbols.imports,
            *caller.module.symbols.rebound,
            *caller.module.symbols.imports,
        }
        return name not in taken

    # Texts ------------------------------------------------------------------------------------------------------

    def _text(self, node: ast.expr) -> str:
        """An expression as the caller would write it."""
        body, whole = self, copied(node)

        class Written(ast.NodeTransformer):
            def visit(self, inner: ast.AST) -> ast.AST:
                if isinstance(inner, ast.Name | ast.Attribute | ast.Call | ast.Subscript) and inner is not whole:
                    return algebra.parse(written(body.value(inner)))
                return self.generic_visit(inner)

        if isinstance(node, ast.Name | ast.Attribute | ast.Call):
            return written(self.value(node))
        if isinstance(
            node, ast.Lambda | ast.comprehension | ast.GeneratorExp | ast.ListComp | ast.NamedExpr | ast.Await
        ):
            raise Undecided("it computes in a way that is not followed")
        return ast.unparse(Written().visit(whole))

    def _qualified(self, node: ast.expr) -> str | None:
        """The name of NKI or of another package that an expression means."""
        chain = dotted(node)
        if chain is None or chain[0] in self.env or chain[0] not in self.home.symbols.imports:
            return None
        if chain[0] in self.home.program.links[self.home.path]:
            return None
        return canonical(".".join((self.home.symbols.imports[chain[0]].path, *chain[1])))


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _parts(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Several):
        return value.parts
    if isinstance(value, Grid):
        return value.components
    raise Undecided("it takes apart what is no tuple")


def written(value: Value) -> str:
    """A value as the caller would write it."""
    if isinstance(value, Text | Thing):
        return value.text
    if isinstance(value, Known) and isinstance(value.value, str):
        return json.dumps(value.value, ensure_ascii=False)
    if isinstance(value, Known) and not isinstance(value.value, type(Ellipsis)):
        return repr(value.value)
    raise Undecided("it computes a number from a vector")


def _vector(value: Value) -> Index:
    return value if isinstance(value, Index) else Index(0, (), written(value))


def _mask(value: Value) -> Mask:
    if isinstance(value, Mask):
        return value
    if isinstance(value, Known) and (value.value is None or value.value is True):
        return Mask()
    return Mask((written(value),))
