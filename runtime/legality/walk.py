"""The walk over kernel code: one pass, rules called by node type.

The models are pyupgrade and django-upgrade: a rule is a function that yields violations for one node, registered
under the node types it wants. What the front end refuses as a whole (an inner function, a comprehension) is not
looked into.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ..spec import beta2
from ..spec.grammar import children
from ..spec.versions import EVER, FUNCTION_LOOPS, VERSIONS, Span, Version
from .classes import head_problem, read_methods
from .model import RuleDoc, Violation
from .names import Function, Module
from .reach import Reached, is_kernel_decorator, is_opaque, loop_bodies
from .tensors import tensor_names

CODES: dict[str, RuleDoc] = {}
"""Every rule, by code: what ``nki-migrate explain`` shows."""


@dataclass(frozen=True)
class Context:
    """Where a node stands.

    ``function`` is the function around it (``None`` in the body of a class), ``owner`` the class of a method,
    ``local`` the names that are local to the function, ``tensors`` those that surely hold tensors, ``ancestors`` the
    nodes above, innermost last; ``annotation`` is set in annotations, which are read but never evaluated.
    """

    module: Module
    target: Version
    item: Reached
    function: Function | None = None
    owner: ast.ClassDef | None = None
    local: frozenset[str] = frozenset()
    tensors: frozenset[str] = frozenset()
    ancestors: tuple[ast.AST, ...] = field(default=())
    annotation: bool = False

    @property
    def parent(self) -> ast.AST | None:
        return self.ancestors[-1] if self.ancestors else None

    @property
    def is_kernel(self) -> bool:
        """Is the function around the node a kernel itself, not a helper?"""
        function = self.function
        return function is not None and any(
            is_kernel_decorator(self.module, decorator) for decorator in function.decorator_list
        )

    def below(self, node: ast.AST) -> Context:
        """Where the nodes right below ``node`` stand, which stands here."""
        above = (*self.ancestors, node)
        names = self.local, self.tensors
        return Context(self.module, self.target, self.item, self.function, self.owner, *names, above, self.annotation)

    def qualified(self, node: ast.expr) -> str | None:
        """The qualified name of ``node``, or ``None``."""
        return self.module.qualified(node, self.local)

    def symbol(self, node: ast.expr) -> beta2.Symbol | None:
        """What the Beta 2 table knows of ``node``."""
        name = self.qualified(node)
        return beta2.symbol(name, self.target) if name else None

    def is_tensor(self, node: ast.AST) -> bool:
        """Is ``node`` surely a tensor: a name that only ever holds one, a part or a view of one?"""
        if isinstance(node, ast.Name):
            return node.id in self.tensors
        if isinstance(node, ast.Subscript):
            return self.is_tensor(node.value)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("ap", "reshape", "view")
        ):
            return self.is_tensor(node.func.value)
        return False


_BEFORE_TRACING = ("gather", "simplify")
"""Stages that read the source of a whole function; tracing does not get beyond its return."""

Check = Callable[[Any, Context], Iterator[Violation]]
_CHECKS: dict[type[ast.AST], list[tuple[Span, bool, Check]]] = {}


def document(doc: RuleDoc) -> RuleDoc:
    """Enter ``doc`` into :data:`CODES`."""
    if doc.code in CODES:
        raise ValueError(f"{doc.code} is taken")
    CODES[doc.code] = doc
    return doc


def on(*types: type[ast.AST], span: Span = EVER, evaluated: bool = False) -> Callable[[Check], Check]:
    """Register a check for nodes of ``types``, for the NKI versions of ``span``; ``evaluated``: not in annotations."""

    def register(check: Check) -> Check:
        for node_type in types:
            _CHECKS.setdefault(node_type, []).append((span, evaluated, check))
        return check

    return register


def report(doc: RuleDoc, node: ast.AST, *parts: object, help: str = "", message: str = "") -> Violation:
    """A violation of ``doc`` at ``node``; ``parts`` fill the message."""
    text = message or (doc.message.format(*parts) if parts else doc.message)
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    return Violation(line, column + 1, doc.code, text, " ".join((help or doc.help).split()))


def violations(module: Module, item: Reached, target: Version) -> Iterator[Violation]:
    """What is wrong with one function or class that is kernel code."""
    context = Context(module, target, item)
    if isinstance(item.node, ast.ClassDef):
        yield from _class(item.node, context)
    else:
        yield from _function(item.node, context)


def _class(node: ast.ClassDef, context: Context) -> Iterator[Violation]:
    yield from _checked(node, context)
    inside = replace(context, owner=node, ancestors=(node,))
    for decorator in [] if head_problem(node) else node.decorator_list:
        yield from _walk(decorator, inside)
    for method in read_methods(node):
        yield from _function(method, inside)


def _function(node: Function, context: Context) -> Iterator[Violation]:
    """Decorators, defaults and body; the annotations of parameters are ignored by the front end."""
    inside = replace(
        context,
        function=node,
        local=context.module.local_names(node) | context.local,
        tensors=tensor_names(node, context.module) | (context.tensors - context.module.local_names(node)),
        ancestors=(*context.ancestors, node),
    )
    yield from _checked(node, inside)
    outer = replace(inside, local=context.local)
    defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
    for expression in [*node.decorator_list, *defaults]:
        yield from _walk(expression, outer)
    is_traced = True
    for statement in node.body:
        yield from (v for v in _walk(statement, inside) if is_traced or CODES[v.code].stage in _BEFORE_TRACING)
        is_traced = is_traced and not isinstance(statement, ast.Return)


def is_loop_body(node: ast.AST, context: Context) -> bool:
    """Is ``node`` a function in a kernel that a loop on the device calls? From 0.6 on the front end reads these."""
    function = context.function
    return (
        context.target in FUNCTION_LOOPS
        and function is not None
        and any(node is body for body in context.module.remembered(_loop_bodies, function))
    )


def _loop_bodies(function: Function, module: Module) -> list[ast.FunctionDef]:
    return loop_bodies(module, function)


def _walk(node: ast.AST, context: Context) -> Iterator[Violation]:
    if isinstance(node, ast.FunctionDef) and is_loop_body(node, context):
        yield from _function(node, context)
        return
    yield from _checked(node, context)
    if is_opaque(node):
        return
    below = children(node)
    inside = context.below(node) if below else context
    for child in below:
        is_annotation = isinstance(node, ast.AnnAssign) and child is node.annotation
        yield from _walk(child, replace(inside, annotation=True) if is_annotation else inside)


def _checked(node: ast.AST, context: Context) -> Iterator[Violation]:
    for check in _checks_of(type(node), context.target.position, context.annotation):  # type: ignore[arg-type]  # a class's hash
        yield from check(node, context)


@cache
def _checks_of(kind: type[ast.AST], target: int, annotation: bool) -> tuple[Check, ...]:
    """What is asked of nodes of one kind at a version, a place in :data:`VERSIONS`."""
    rows = _CHECKS.get(kind, ())
    return tuple(
        check for span, evaluated, check in rows if VERSIONS[target] in span and not (evaluated and annotation)
    )


def enclosing_loop(context: Context) -> ast.For | ast.While | None:
    """The innermost loop around the current node, in the same function."""
    return next((node for node in reversed(context.ancestors) if isinstance(node, (ast.For, ast.While))), None)
