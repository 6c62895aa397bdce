"""Translation validation of names: each read of the output resolves to the counterpart of the binding that it had.

The check knows nothing of the rules. It reads the old tree, the new one, and which statement of the old one has brought
about which of the new one, and resolves the names of both on its own: calls, and what functions capture, included.
What the source does not know (names that the rewrite has made) is not compared.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from ..syntax.node_index import of_kinds
from .origins import Origin, Origins
from .reaching_definitions import (
    Bindings,
    Definition,
    Space,
    definitions,
    every_statement,
    names_bound,
    names_read,
    own_parts,
    parameters,
)


@dataclass(frozen=True)
class Violation:
    """A read of the output that may see another binding than it did: the old statement, the name, and why."""

    statement: ast.stmt
    name: str
    reason: str


def violations(
    old: ast.Module,
    new: ast.Module,
    origins: Origins,
    once: Set[ast.For],
    declared: Mapping[str, Set[ast.AST]],
    left: Set[ast.stmt] = frozenset(),
) -> Iterator[Violation]:
    """Reads of ``new`` for which it cannot be shown.

    The bodies of the loops ``once`` were traced once. ``declared`` are the statements that declared the tensors of a
    name, wherever the output declares them. What is made of the statements ``left`` is under a finding already.
    """
    yield from _Check(old, new, origins, once, declared, left).all()


@dataclass(frozen=True)
class _Variable:
    """A name of the old source where a statement reads it: the space that has it, and its bindings there."""

    home: Space | None
    bindings: Bindings


class _Check:
    def __init__(
        self,
        old: ast.Module,
        new: ast.Module,
        origins: Origins,
        once: Set[ast.For],
        declared: Mapping[str, Set[ast.AST]],
        left: Set[ast.stmt],
    ) -> None:
        self.declared, self.left = declared, left
        places = {_place(s): s for s in every_statement(old.body)}
        loops = {
            id(places.get(_place(s), s)) for s in every_statement(old.body) if isinstance(s, ast.For) and s in once
        }
        self.old = definitions(old, lambda loop: id(loop) in loops)
        self.new = definitions(new)
        known = {s: (places.get(_place(o.statement)), o.place) for s, o in origins.items()}
        self.origins = {s: Origin(statement, place) for s, (statement, place) in known.items() if statement is not None}
        self.owners = {a: f for f in self.new.inside if isinstance(f, Definition) for a in parameters(f)}
        self.kept = {(o.statement, n) for s, o in self.origins.items() for n in names_bound(s)}
        self.copies = {s: top for top in _tops(new.body) for s in every_statement([top])}
        self.wholes = {s: top for top in _tops(old.body) for s in every_statement([top])}
        self.kept_in = {(self.copies.get(s), o.statement, n) for s, o in self.origins.items() for n in names_bound(s)}

    def all(self) -> Iterator[Violation]:
        for statement, origin in self.origins.items():
            if origin.statement in self.left:
                continue
            seen: set[str] = set()
            carried: set[ast.expr] = set()
            for call in _calls(statement):
                for argument, reason in self._closure(statement, origin, call):
                    carried.add(argument)
                    if reason:
                        yield Violation(origin.statement, ast.unparse(argument), reason)
            called = {id(call.func) for call in _calls(statement)}
            for node in names_read(statement):
                if node in carried or (node.id in seen and id(node) in called):
                    continue
                reason = self._read(statement, origin, node.id, called=id(node) in called)
                if reason and node.id not in seen:
                    yield Violation(origin.statement, node.id, reason)
                seen.add(node.id)

    # What the old source means --------------------------------------------------------------------------------------

    def _variable(self, origin: Origin, name: str) -> _Variable:
        """A name where the code stood that a new statement was made for."""
        statement = origin.statement
        if origin.place == "prologue":
            inner = statement.body[0]  # type: ignore[attr-defined]  # a definition
            return _Variable(*self.old.bindings(inner, name))
        return _Variable(*self.old.bindings(statement, name, behind=origin.place == "after"))

    def _captured(self, parameter: ast.arg) -> Space | None:
        """The space around the old function from which a parameter of the new one carries what it captured."""
        origin = self.origins.get(self.owners[parameter])
        if origin is None or not isinstance(origin.statement, Definition):
            return None
        space = self.old.inside[origin.statement]
        return None if parameter.arg in space.own else space.home(parameter.arg)

    # Reads ----------------------------------------------------------------------------------------------------------

    def _read(self, statement: ast.stmt, origin: Origin, name: str, *, called: bool) -> str:
        """Why a read may see something else; empty where it sees what it saw."""
        bindings = self.new.bindings(statement, name)[1]
        functions = {b for b in bindings if isinstance(b, Definition) and b in self.origins}
        if not called and any(self._carries(f) for f in functions):
            return "a function that captures names is used otherwise than by calling it"
        known = [self.origins[f].statement.name for f in functions]  # type: ignore[attr-defined]  # of definitions
        variable = self._variable(origin, known[0] if known else name)
        return "" if variable.home is None else self._compare(statement, origin, name, name, variable)

    def _compare(self, statement: ast.stmt, origin: Origin, new: str, old: str, variable: _Variable) -> str:
        """Does the name ``new`` of a new statement mean what ``old`` meant?"""
        home, bindings = self.new.bindings(statement, new)
        if home is None:
            return "nothing binds it any more"
        if any(isinstance(b, Definition) and b in self.origins for b in bindings):
            return self._compare_function(bindings, variable)
        if variable.home is self.old.inside[self.old.tree]:
            return self._compare_global(home, bindings, variable)
        if home is self.new.inside[self.new.tree] and not any(b in self.origins for b in bindings):
            return "it means a name of the module now"
        return self._compare_local(statement, origin, (new, old), bindings, variable)

    def _compare_local(
        self,
        statement: ast.stmt,
        origin: Origin,
        names: tuple[str, str],
        bindings: frozenset[ast.AST],
        variable: _Variable,
    ) -> str:
        """Does a local name mean what it meant? ``names`` are the new one and the old one."""
        new, old = names
        meant = self._before_updates(old, variable.bindings)
        found: set[ast.AST] = set()
        for binding in bindings - {self.new.tree}:
            counterparts = self._counterparts(binding, new, old, variable, origin.statement)
            if counterparts is None:
                continue
            if _imports(binding) and all(map(_imports, meant - {self.old.tree})):
                return ""
            if self.old.tree in meant:
                continue  # where it sees what it did not see, the source ended with an error
            own = set() if binding is statement else {origin.statement}
            if not counterparts & (meant | own):
                return f"it may be {self._told(counterparts)}"
            found |= counterparts
        lost = {b for b in variable.bindings if self._stands(b, old, statement)} - found
        if found and lost and origin.statement not in found:
            return f"it does not see any more what line {_line(lost)} binds"
        return ""

    def _compare_function(self, bindings: Bindings, variable: _Variable) -> str:
        """A name that may mean a function, wherever that stands now, may mean what it might have meant."""
        meant = variable.bindings - {self.old.tree}
        found = {self.origins[b].statement for b in bindings if b in self.origins}
        if meant - found:
            return f"it may be what line {_line(meant - found)} binds, too"
        return f"it may be what line {_line(found - meant)} binds" if meant and found - meant else ""

    def _stands(self, binding: ast.AST, name: str, reader: ast.stmt) -> bool:
        """Does an old statement still bind a name: in the copy of its function that the new ``reader`` stands in?

        A function that is written for some of its calls ends where the others had gone on.
        """
        copy = self.copies.get(reader)
        origin = self.origins.get(copy) if copy is not None else None
        if origin is not None and self.wholes.get(binding) is origin.statement:  # type: ignore[call-overload]  # None is no key
            return (copy, binding, name) in self.kept_in
        return (binding, name) in self.kept

    def _before_updates(self, name: str, bindings: Bindings) -> Bindings:
        """The bindings of a name, and those before statements that only update now what it is bound to."""
        found, pending = set(bindings), list(bindings)
        while pending:
            binding = pending.pop()
            if isinstance(binding, ast.stmt) and (binding, name) not in self.kept and _updates(binding, name):
                more = self.old.bindings(binding, name)[1] - found
                found |= more
                pending += more
        return frozenset(found)

    def _compare_global(self, home: Space, bindings: Bindings, variable: _Variable) -> str:
        if home is self.new.inside[self.new.tree]:
            return ""
        if all(_value(b) in {_value(s) for s in variable.bindings} for b in bindings - {self.new.tree}):
            return ""  # each call has its own now
        arguments = [b for b in bindings if isinstance(b, ast.arg)]
        if len(arguments) == len(bindings) and all(self._captured(a) is variable.home for a in arguments):
            return ""
        return "it was a name of the module"

    def _counterparts(
        self, binding: ast.AST, new: str, old: str, variable: _Variable, reader: ast.stmt, depth: int = 0
    ) -> set[ast.AST] | None:
        """The old bindings that a new one stands for; ``None`` for any."""
        if isinstance(binding, ast.arg):
            return self._of_parameter(binding, variable)
        assert isinstance(binding, ast.stmt)
        origin = self.origins.get(binding)
        if origin is None or depth > 8:
            return None
        statement = origin.statement
        if old in names_bound(statement):
            return {statement}
        value = binding.value if isinstance(binding, ast.Assign) else None
        if isinstance(value, ast.Name) and self._variable(origin, value.id).home is None:
            found: set[ast.AST] = set()
            for copied in self.new.bindings(binding, value.id)[1] - {self.new.tree}:
                inner = copied.value if isinstance(copied, ast.Assign) else None
                if not isinstance(inner, ast.Name) or copied not in self.origins:
                    return None
                for each in self.new.bindings(copied, inner.id)[1] - {self.new.tree}:
                    more = self._counterparts(each, inner.id, old, variable, reader, depth + 1)
                    if more is None:
                        return None
                    found |= more
            return found
        if statement is reader:
            return None  # what was written for one statement has names of its own
        inside: set[ast.AST] = {s for s in every_statement([statement]) if old in names_bound(s)}
        return inside or set(self.declared.get(new, ())) or {binding}

    def _of_parameter(self, parameter: ast.arg, variable: _Variable) -> set[ast.AST] | None:
        origin = self.origins.get(self.owners[parameter])
        if origin is None or not isinstance(origin.statement, Definition):
            return None
        same = {a for a in parameters(origin.statement) if a.arg == parameter.arg}
        if same:
            return set(same)
        inner = variable.home.node if variable.home is not None else None
        if isinstance(inner, ast.stmt) and inner in every_statement(origin.statement.body):
            # A factory has become what it returned.
            return {b for b in variable.bindings if isinstance(b, ast.arg) and b.arg == parameter.arg}
        captured = self._captured(parameter)
        return set(variable.bindings) if captured is variable.home else {parameter}

    def _told(self, bindings: Set[ast.AST]) -> str:
        """Bindings for a message: lines of the source, where they are in it."""
        old = {b for b in bindings if b not in self.origins and b not in self.owners}
        return f"what line {_line(old)} binds" if old else "what the rewrite binds"

    # Closures -------------------------------------------------------------------------------------------------------

    def _carries(self, function: Definition) -> list[str]:
        """The parameters of a new function that carry what the old one captured."""
        return [a.arg for a in parameters(function) if self._captured(a) is not None]

    def _closure(self, statement: ast.stmt, origin: Origin, call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
        """The arguments of a call that carry what a function captured, and what is wrong with them."""
        if not isinstance(call.func, ast.Name):
            return
        given = {k.arg: k.value for k in call.keywords if k.arg is not None}
        for function in self._called(statement, call.func.id):
            old = self.origins[function].statement
            for name in self._carries(function):
                value = given.get(name)
                if value is None:
                    yield call.func, f"a call does not pass '{name}', which it captures"
                    continue
                if isinstance(value, ast.Name):
                    home = self.old.inside[old].home(name)
                    here = self._variable(origin, name)
                    variable = here if here.home is home or home is None else _all(home, name)
                    yield value, self._compare(statement, origin, value.id, name, variable)

    def _called(self, statement: ast.stmt, name: str) -> Iterator[Definition]:
        """The new functions that a name may call."""
        for binding in self.new.bindings(statement, name)[1]:
            if isinstance(binding, Definition) and binding in self.origins:
                yield binding
            elif isinstance(binding, ast.arg) and (home := self._captured(binding)) is not None:
                meant = home.every.get(name, set())
                yield from (
                    f
                    for f in self.new.inside
                    if isinstance(f, Definition) and f in self.origins and self.origins[f].statement in meant
                )


def _tops(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, and those of its classes."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.ClassDef):
            yield from _tops(statement.body)


def _all(home: Space, name: str) -> _Variable:
    return _Variable(home, frozenset(home.every.get(name, ())))


def _value(statement: ast.AST) -> str:
    """What an assignment binds, as text; that of anything else is like no other."""
    return ast.dump(statement.value) if isinstance(statement, ast.Assign) else str(id(statement))


def _updates(statement: ast.stmt, name: str) -> bool:
    """Does a statement bind a name to something made of what it was bound to?"""
    return any(node.id == name for node in names_read(statement))


def _imports(binding: ast.AST) -> bool:
    return isinstance(binding, ast.Import | ast.ImportFrom)


def _calls(statement: ast.stmt) -> list[ast.Call]:
    return [n for part in own_parts(statement) for n in of_kinds(part, ast.Call)]


def _place(statement: ast.stmt) -> tuple[str, int, int]:
    return type(statement).__name__, statement.lineno, statement.col_offset


def _line(nodes: Set[ast.AST]) -> int:
    return min(getattr(node, "lineno", 0) for node in nodes)
