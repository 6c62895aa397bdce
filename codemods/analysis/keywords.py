"""Dictionaries of keywords, ``**kwargs``: which keys does a function have?

A function that only accepts its dictionary, reads ``kwargs["x"]`` and ``kwargs.get("x", default)``, writes
``kwargs["x"] = value``, or passes it on with ``**kwargs`` to functions of which the same holds, has as many keys as
its source shows. A key is required where ``kwargs["x"]`` is read without being written before; else it has the default
of ``get``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import default_values, named_parameters, parents_of, positional_parameters
from .aliases import CHANGING

if TYPE_CHECKING:
    from ..project.program import Module, Program

REQUIRED = ""
"""Instead of the text of a default: a key that every call must pass."""


class Unclear(Exception):
    """What a function does with its dictionary does not tell its keys."""


@dataclass
class Dictionary:
    """A function with ``**name``: what it reads, writes and passes on, in the order of the source."""

    module: Module
    node: ast.FunctionDef
    name: str
    reads: list[tuple[str, str, ast.expr]] = field(default_factory=list)
    writes: list[tuple[str, ast.Subscript]] = field(default_factory=list)
    passes: list[tuple[ast.Call, ast.keyword]] = field(default_factory=list)
    needs: dict[str, str] = field(default_factory=dict)


def dictionaries(program: Program, walked: set[ast.FunctionDef]) -> dict[ast.FunctionDef, Dictionary]:
    """The functions whose keys are known.

    ``walked`` are the functions that are rewritten at all. One of the host that passes its dictionary on to them keeps
    it: a key that they do not have ends with Python's own error.
    """
    found = {f.node: f for f in _functions(program) if f.node in walked}
    calls = _calls(program, found) if found else {}
    while not _settled(program, found, calls):
        pass
    return found


def _functions(program: Program) -> Iterator[Dictionary]:
    for module in program.modules.values():
        for node in module.symbols.functions.values():
            if node.args.kwarg is not None and node.args.vararg is None:
                try:
                    yield _read(module, node, node.args.kwarg.arg)
                except Unclear:
                    continue


def _read(module: Module, node: ast.FunctionDef, name: str) -> Dictionary:
    function, parents = Dictionary(module, node, name), parents_of(node)
    inner = [n for n in of_kinds(node, ast.FunctionDef, ast.Lambda, ast.ClassDef) if n is not node]
    if any(isinstance(n, ast.Name) and n.id == name for part in inner for n in walk(part)):
        raise Unclear
    uses = [n for n in of_kinds(node, ast.Name) if n.id == name]
    for use in sorted(uses, key=lambda n: (n.lineno, n.col_offset)):
        _note(function, use, parents)
    return function


def _note(function: Dictionary, use: ast.Name, parents: dict[ast.AST, ast.AST]) -> None:
    parent = parents[use]
    outer = parents[parent]
    if isinstance(parent, ast.Subscript) and parent.value is use and key_of(parent.slice):
        if isinstance(parent.ctx, ast.Load):
            function.reads.append((key_of(parent.slice), REQUIRED, parent))
            return
        if isinstance(parent.ctx, ast.Store) and isinstance(outer, ast.Assign) and outer.targets == [parent]:
            function.writes.append((key_of(parent.slice), parent))
            return
    if isinstance(parent, ast.Attribute) and parent.attr == "get" and isinstance(outer, ast.Call):
        plain = outer.func is parent and len(outer.args) in (1, 2) and not outer.keywords
        if plain and key_of(outer.args[0]):
            default = _literal(outer.args[1]) if len(outer.args) == 2 else "None"
            function.reads.append((key_of(outer.args[0]), default, outer))
            return
    if isinstance(parent, ast.keyword) and parent.arg is None and isinstance(outer, ast.Call):
        function.passes.append((outer, parent))
        return
    raise Unclear


def key_of(node: ast.expr) -> str:
    """The name that a key is; empty for anything else."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and value.isidentifier() else ""


def _literal(node: ast.expr) -> str:
    """The text of a default that means the same everywhere."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        raise Unclear from None
    return ast.unparse(node)


def _named(node: ast.FunctionDef) -> dict[str, str]:
    """The named parameters of a function, with their defaults."""
    arguments = named_parameters(node)
    defaults = {argument.arg: default for argument, default in default_values(node).items()}
    return {a.arg: _literal(defaults[a.arg]) if a.arg in defaults else REQUIRED for a in arguments}


def callee_of(program: Program, module: Module, call: ast.Call) -> ast.FunctionDef | None:
    own = module.symbols.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
    other = program.function(module, call.func) if own is None else None
    return own or (other[1] if other is not None else None)


def accepted_keys(callee: ast.FunctionDef, call: ast.Call, found: dict[ast.FunctionDef, Dictionary]) -> dict[str, str]:
    """The keys that a call with ``**`` can pass, with their defaults."""
    if callee.args.vararg is not None or (callee.args.kwarg is not None and callee not in found):
        raise Unclear
    if any(isinstance(a, ast.Starred) for a in call.args) or sum(k.arg is None for k in call.keywords) > 1:
        raise Unclear
    given = {k.arg for k in call.keywords} | {a.arg for a in callee.args.posonlyargs}
    given |= {a.arg for a in callee.args.args[: len(call.args)]}
    open_ones = {name: default for name, default in _named(callee).items() if name not in given}
    if callee in found:
        open_ones |= {n: default for n, default in found[callee].needs.items() if n not in given}
    return open_ones


def _settles(program: Program, function: Dictionary, found: dict[ast.FunctionDef, Dictionary]) -> bool:
    """Is it clear what the keys of a function are, as far as they are known? They are noted."""
    needs: dict[str, str] = dict(function.needs)
    try:
        own = parameter_names(function.node)
        told = [(key, default) for key, default, _ in function.reads]
        for call, _ in function.passes:
            callee = callee_of(program, function.module, call)
            if callee is None:
                raise Unclear
            told += list(accepted_keys(callee, call, found).items())
        told += [(key, "None") for key, _ in function.writes if key not in dict(told)]
        for key, default in told:
            if key in own:
                raise Unclear
            default = "None" if _written_first(function, key) else default
            needs[key] = _common(needs.get(key, default), default)
    except Unclear:
        return False
    function.needs = needs
    return True


def parameter_names(node: ast.FunctionDef) -> set[str]:
    return {a.arg for a in named_parameters(node)}


def _common(a: str, b: str) -> str:
    if a != b and REQUIRED not in (a, b):
        raise Unclear
    return REQUIRED if REQUIRED in (a, b) else a


def _written_first(function: Dictionary, key: str) -> bool:
    """Does a statement of the function's body write ``key`` before anything could read it?"""
    writes = [n for k, n in function.writes if k == key]
    first = min((n.lineno for n in writes if any(_target(s) is n for s in function.node.body)), default=None)
    if first is None:
        return False
    reads = [n.lineno for k, _, n in function.reads if k == key] + [call.lineno for call, _ in function.passes]
    return all(first < line for line in reads)


def _target(statement: ast.stmt) -> ast.expr | None:
    return statement.targets[0] if isinstance(statement, ast.Assign) else None


def _calls(program: Program, found: dict[ast.FunctionDef, Dictionary]) -> dict[ast.FunctionDef, list[ast.Call]]:
    """The calls of functions in all modules."""
    calls: dict[ast.FunctionDef, list[ast.Call]] = {node: [] for node in found}
    for module in program.modules.values():
        for call in (n for n in of_kinds(module.source.tree, ast.Call)):
            callee = callee_of(program, module, call)
            if callee in found and callee is not None:
                calls[callee].append(call)
    return calls


def _settled(
    program: Program, found: dict[ast.FunctionDef, Dictionary], calls: dict[ast.FunctionDef, list[ast.Call]]
) -> bool:
    """Is it clear what the keys of all functions are? Those of which it is not leave ``found``."""
    for function in found.values():
        function.needs = {}
    while True:
        before = {node: dict(function.needs) for node, function in found.items()}
        unclear = [node for node, function in found.items() if not _settles(program, function, found)]
        if unclear or before == {node: function.needs for node, function in found.items()}:
            break
    for node, function in found.items():
        given = {k.arg for call in calls[node] for k in call.keywords if k.arg is not None} - parameter_names(node)
        function.needs |= dict.fromkeys(sorted(given - function.needs.keys()), "None")
    unclear = unclear or [node for node, function in found.items() if not _fits(function, calls[node])]
    for node in unclear:
        del found[node]
    return not unclear


def _fits(function: Dictionary, calls: list[ast.Call]) -> bool:
    """Can the keys be parameters: do all calls pass what is required, and do the names mean nothing else?"""
    node = function.node
    required = {key for key, default in function.needs.items() if default == REQUIRED}
    for call in calls:
        given = {k.arg for k in call.keywords}
        if None not in given and not required <= given:
            return False
    positional = positional_parameters(node)
    if REQUIRED in function.needs.values() and len(node.args.defaults) and positional:
        return False  # a required parameter cannot stand behind an optional one
    return all(_is_free(function, key) for key in function.needs)


def _is_free(function: Dictionary, key: str) -> bool:
    """Is ``key`` no other name in the function, or one that gets the key's value before all else?"""
    node = function.node
    copies = [s for s in node.body if copied_key(function, s) == key]
    if function.needs[key][:1] in ("[", "{") and any(_changed(node, name) for name in _holders(function, key)):
        return False  # a default is made once, the one of get() in each call
    if any(isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == key for n in walk(node)):
        return False
    uses = [n for n in of_kinds(node, ast.Name) if n.id == key]
    if not uses:
        return True
    if not copies or any(k == key for k, _ in function.writes) or min(n.lineno for n in uses) < copies[0].lineno:
        return False
    stored = sum(not isinstance(n.ctx, ast.Load) for n in uses)
    return stored == len(copies) or _is_read_once(function, key)


def _is_read_once(function: Dictionary, key: str) -> bool:
    """Is ``key`` of a dictionary, which no call gets, read at one place?"""
    return not function.passes and sum(k == key for k, _, _ in function.reads) == 1


def _holders(function: Dictionary, key: str) -> set[str]:
    """The names that hold what a key holds."""
    read = {n for k, _, n in function.reads if k == key}
    bound = (s for s in of_kinds(function.node, ast.Assign) if s.value in read)
    return {key} | {t.id for s in bound for t in s.targets if isinstance(t, ast.Name)}


def copied_key(function: Dictionary, statement: ast.stmt) -> str:
    """The key that a statement ``x = kwargs["x"]`` gives its own name."""
    target = _target(statement)
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(target, ast.Name)):
        return ""
    return next((k for k, _, n in function.reads if n is statement.value and k == target.id), "")


def _changed(node: ast.FunctionDef, name: str) -> bool:
    """May a function change the object ``name`` in place, or hand it to others that may?"""
    for part in walk(node):
        holder = part.value if isinstance(part, ast.Subscript | ast.Attribute) else None
        if isinstance(holder, ast.Name) and holder.id == name:
            if isinstance(part, ast.Attribute) and part.attr in CHANGING:
                return True
            if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
                return True
        if isinstance(part, ast.Call) and not (isinstance(part.func, ast.Name) and part.func.id in _READERS):
            given = [*part.args, *(keyword.value for keyword in part.keywords)]
            if any(isinstance(n, ast.Name) and n.id == name for n in given):
                return True
    return False


_READERS = {"all", "any", "enumerate", "isinstance", "len", "list", "max", "min", "print", "sum", "tuple", "zip"}
