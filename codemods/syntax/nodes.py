"""Small questions about ``ast`` nodes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeGuard

from nki_migrate.runtime.spec.grammar import copied

from .names import dotted
from .node_index import children, indexed, of_kinds, trees_changed, walk

SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Assert)
"""Statements without a body that compute something."""


LEAVES = ast.Break | ast.Continue | ast.Return | ast.Raise
"""Statements that end a pass of a loop, or all of it, early."""


@indexed
def bound_by(statement: ast.AST) -> frozenset[str]:
    """Names that a statement (or a part of it) binds."""
    if isinstance(statement, ast.FunctionDef):
        return frozenset((statement.name,))
    nodes = walk(statement)
    inner = {n for part in nodes if isinstance(part, ast.comprehension) for n in walk(part.target)}
    stored = (n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return frozenset(n.id for n in stored if n not in inner)


def is_shape(node: ast.AST | None) -> TypeGuard[ast.Attribute]:
    """Is an expression the shape of something: ``x.shape``?"""
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def lines_of(function: ast.FunctionDef) -> range:
    """The lines of a function, with its decorators."""
    first = first_line(function)
    return range(first, (function.end_lineno or first) + 1)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements that a node holds: its body, and what else it may run."""
    for holder in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(holder, name, None)
            if isinstance(statements, list):
                yield statements


def inner_functions(
    node: ast.AST, around: tuple[ast.FunctionDef | ast.ClassDef, ...] = ()
) -> Iterator[tuple[tuple[ast.FunctionDef | ast.ClassDef, ...], ast.FunctionDef]]:
    """Functions in functions and in classes, each with the definitions around it, outermost first."""
    for child in (statement for block in blocks(node) for statement in block):
        if isinstance(child, ast.FunctionDef) and around:
            yield around, child
        inside = (*around, child) if isinstance(child, ast.FunctionDef | ast.ClassDef) else around
        yield from inner_functions(child, inside)


def names_read_by_nested(function: ast.FunctionDef) -> dict[str, set[str]]:
    """By the name of each function inside another one: the names around it that it, or what it calls, reads."""
    inner = [n for n in of_kinds(function, ast.FunctionDef) if n is not function]
    read: dict[str, set[str]] = {nested.name: set() for nested in inner}
    for nested in inner:
        names = list(of_kinds(nested, ast.Name))
        own = {n.id for n in names if not isinstance(n.ctx, ast.Load)}
        own |= {n.arg for n in of_kinds(nested.args, ast.arg)}
        read[nested.name] |= {n.id for n in names} - own
    for _ in read:
        read = {name: found.union(*(read[n] for n in found & read.keys())) for name, found in read.items()}
    return read


def way_to(node: ast.AST, target: ast.stmt) -> list[tuple[list[ast.stmt], int]]:
    """The blocks around ``target``, outermost first, and where in each it stands, or what it stands in."""
    for block in blocks(node):
        for index, statement in enumerate(block):
            inside = [] if statement is target else way_to(statement, target)
            if inside or statement is target:
                return [(block, index), *inside]
    return []


def is_name(node: ast.AST, name: str) -> bool:
    """Is a node this name, read or bound?"""
    return isinstance(node, ast.Name) and node.id == name


def whole_of(node: ast.expr) -> ast.expr:
    """What an expression gives a part of, by an index or an attribute; or itself."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node


def root_of(node: ast.expr | None) -> ast.Name | None:
    """The name of which an expression gives a part, or the name that it is."""
    whole = whole_of(node) if node is not None else None
    return whole if isinstance(whole, ast.Name) else None


def is_none(node: ast.expr) -> bool:
    """Is an expression ``None`` as it is written?"""
    return isinstance(node, ast.Constant) and node.value is None


@indexed
def parents_of(root: ast.AST) -> dict[ast.AST, ast.AST]:
    """What each node below ``root`` stands in."""
    return {child: node for node in walk(root) for child in children(node)}


@indexed
def uses_by_name(root: ast.AST) -> dict[str, list[ast.Name]]:
    """The names below ``root``, read and bound, by what they are called."""
    found: dict[str, list[ast.Name]] = {}
    for node in of_kinds(root, ast.Name):
        found.setdefault(node.id, []).append(node)
    return found


def replace_node(parents: dict[ast.AST, ast.AST], old: ast.AST, new: ast.AST) -> None:
    """Put ``new`` where ``old`` stands in the tree."""
    parent = parents[old]
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
        elif isinstance(value, list):
            value[:] = [new if item is old else item for item in value]
    trees_changed()


def with_names(node: ast.expr, meant: Callable[[str], ast.expr | None]) -> ast.expr:
    """A copy of an expression in which names are what they are ``meant`` to be (``None``: what they are)."""
    replaced: ast.expr = _Named(meant).visit(copied(node))
    return replaced


class _Named(ast.NodeTransformer):
    def __init__(self, meant: Callable[[str], ast.expr | None]) -> None:
        self.meant = meant

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.meant(node.id) or node


def named_parameters(function: ast.FunctionDef | ast.Lambda) -> list[ast.arg]:
    """The parameters that an argument can be given to by its own: all but ``*args`` and ``**kwargs``."""
    return [*positional_parameters(function), *function.args.kwonlyargs]


def positional_parameters(function: ast.FunctionDef | ast.Lambda) -> list[ast.arg]:
    """The parameters that take positional arguments, in their order."""
    return [*function.args.posonlyargs, *function.args.args]


def returned_expression(function: ast.FunctionDef) -> ast.expr | None:
    """What a function returns that does nothing else (a docstring aside) and has no decorator."""
    *before, last = function.body
    is_plain = not function.decorator_list and all(
        isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in before
    )
    return last.value if is_plain and isinstance(last, ast.Return) else None


def default_values(function: ast.FunctionDef) -> dict[ast.arg, ast.expr]:
    """The default of each parameter that has one."""
    arguments = function.args
    positional = reversed(positional_parameters(function))
    values = dict(zip(positional, reversed(arguments.defaults), strict=False))
    values.update({a: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None})
    return values


def definition_names(tree: ast.AST) -> dict[tuple[int, int], str]:
    """The name of each function, behind those of the classes and functions that it stands in, by its line and column.

    A name that several definitions have means none of them.
    """
    found: dict[tuple[int, int], str] = {}
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, around = pending.pop()
        for child in children(node):
            name = around
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{around}.{child.name}".lstrip(".")
            if isinstance(child, ast.FunctionDef):
                found[child.lineno, child.col_offset] = name
            pending.append((child, name))
    often = Counter(found.values())
    return {place: name for place, name in found.items() if often[name] == 1}


def returns_masked(function: ast.FunctionDef) -> bool:
    """Does a function return what an instruction under a mask computes? Its tile is not written elsewhere."""
    returned = [n.value for n in of_kinds(function, ast.Return) if n.value is not None]
    given = [k for value in returned for n in of_kinds(value, ast.Call) for k in n.keywords]
    return any(k.arg == "mask" and not (isinstance(k.value, ast.Constant) and k.value.value is None) for k in given)


@indexed
def written_names(tree: ast.AST) -> frozenset[str]:
    """Every name that some code binds or reads."""
    names = {node.id for node in of_kinds(tree, ast.Name)}
    names |= {node.name for node in of_kinds(tree, ast.FunctionDef, ast.ClassDef)}
    return frozenset(names | {node.arg for node in of_kinds(tree, ast.arg)})


def unpacks_shape(function: ast.FunctionDef, name: str) -> bool:
    """Does a function tell the rank of ``name``: ``rows, columns = name.shape``?"""
    for statement in function.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            starred = any(isinstance(n, ast.Starred) for n in statement.targets[0].elts)
            if dotted(statement.value) == (name, ("shape",)) and not starred:
                return True
    return False


@indexed
def is_indexed(function: ast.FunctionDef, name: str) -> bool:
    """Does a function take parts of ``name``, or hand it on to code, or to a name, of which parts may be taken?"""
    for node in walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            given += [node.func.value] if isinstance(node.func, ast.Attribute) else []
            if any(isinstance(n, ast.Name) and n.id == name for n in given):
                return True
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.For) and name in _handed_by(node):
            return True
    return False


def _handed_by(node: ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.For) -> set[str]:
    """Names whose values a binding gives to others, alone or in a container."""
    pending, found = [node.iter if isinstance(node, ast.For) else node.value], set()
    while pending:
        value = pending.pop()
        if isinstance(value, ast.Name):
            found.add(value.id)
        elif isinstance(value, ast.IfExp | ast.BoolOp | ast.Tuple | ast.List | ast.Dict | ast.Starred):
            pending += [child for child in children(value) if isinstance(child, ast.expr)]
    return found


@indexed
def reads_guarded(function: ast.FunctionDef, name: str) -> bool:
    """Does a function read ``name`` only where a test on it has said that it is there, or to pass it on?"""
    return all(_guarded(statement, name, False) for statement in function.body)


def _guarded(node: ast.AST, name: str, tested: bool) -> bool:
    if isinstance(node, ast.Name):
        return tested or node.id != name or not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.If | ast.IfExp):
        tested = tested or any(isinstance(n, ast.Name) and n.id == name for n in walk(node.test))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return all(isinstance(n, ast.Name) or _guarded(n, name, tested) for n in given)
    return all(_guarded(child, name, tested) for child in children(node))


def is_only_read(function: ast.FunctionDef, name: str) -> bool:
    """Does a function only loop over a list, or take its elements and its length?"""
    allowed: set[ast.AST] = set()
    for node in walk(function):
        if isinstance(node, ast.For):
            allowed.add(node.iter)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _READING:
            allowed.update(node.args)
    return all(n in allowed for n in of_kinds(function, ast.Name) if n.id == name)


_READING = {"len", "zip", "enumerate"}


def is_filled(function: ast.FunctionDef, name: str) -> bool:
    """Is a list bound once, grown in one place, and else only returned or measured?"""
    allowed: set[ast.AST] = set()
    places = 0
    for node in walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            allowed.add(node.value)
        elif isinstance(node, ast.Expr) and appended_to(node.value) == name:
            assert isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute)
            allowed.add(node.value.func.value)
            places += 1
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
            allowed.update(node.args)
    loads = [n for n in of_kinds(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    return places == 1 and all(n in allowed for n in loads)


def appended_to(node: ast.expr) -> str:
    """The name of the list in ``a.append(x)``; empty for anything else."""
    function = node.func if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords else None
    grows = isinstance(function, ast.Attribute) and function.attr == "append"
    holder = function.value if grows and isinstance(function, ast.Attribute) else None
    return holder.id if isinstance(holder, ast.Name) else ""


def viewed(node: ast.expr) -> ast.expr | None:
    """``x`` of a call ``x.view(dtype)``; ``None`` for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "view":
        return node.func.value if len(node.args) == 1 and not node.keywords else None
    return None


def by_parameter(function: ast.FunctionDef, node: ast.Call) -> list[tuple[str, str | None, ast.expr]]:
    """Parameter, keyword and expression of each argument (too many of them is the user's error: Python says so)."""
    names = [a.arg for a in positional_parameters(function)]
    positional = [(names[n] if n < len(names) else "", None, a) for n, a in enumerate(node.args)]
    return [*positional, *((k.arg, k.arg, k.value) for k in node.keywords if k.arg is not None)]


def assignment_counts(node: ast.FunctionDef) -> Counter[str]:
    """How often a function binds each name (parameters count once, ``+=`` counts twice)."""
    return Counter(_assignment_counts(node))


@indexed
def _assignment_counts(node: ast.FunctionDef) -> Counter[str]:
    counts: Counter[str] = Counter()
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    counts.update(a.arg for a in arguments if a is not None)
    for child in walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store | ast.Del):
            counts[child.id] += 1
        elif isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name):
            counts[child.target.id] += 1
        elif isinstance(child, ast.FunctionDef) and child is not node:
            counts[child.name] += 1
    return counts
