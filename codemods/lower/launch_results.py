"""What a kernel returns to its launch: Beta 2 drops what is no tensor from a tuple or list.

Source: KLR, ``Trace``: what a kernel returns besides tensors is dropped without a word.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.grammar import copied

from ..expr.emission import Refuse
from ..expr.values import Absent, DType, Flag, Keyed, Numbers, OfNumpy, Python, Several, Value
from ..project.reaching_definitions import Definitions, definitions_in, names_bound, own_parts, parameters
from ..rules.kernel_outputs import CODE, is_launched
from ..syntax.node_index import indexed, walk
from ..syntax.nodes import default_values, way_to

if TYPE_CHECKING:
    from ..analysis.scope import Scope

_IN_PART = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""What may leave a part of itself unevaluated."""
_NO_TENSORS = frozenset({Python, Absent, Flag, Numbers, OfNumpy, Keyed, DType})


def check_returned(scope: Scope, statement: ast.Return, value: Value) -> None:
    """Refuse a return that drops something certainly, and assert that nothing is dropped where it may be.

    A ``None`` that is returned alone is the same to the launch.
    """
    returned = statement.value
    alone = isinstance(returned, ast.Constant) and returned.value is None
    if returned is None or alone or scope.outer is not None or not scope.module.options.enabled(CODE):
        return
    if not is_launched(scope.module, scope.function):
        return
    dropped = next((part for part in _dropped(returned, value) if not _is_untold(scope, part)), None)
    if dropped is not None:
        message = (
            f"the kernel '{scope.function.name}' returns '{ast.unparse(dropped)}', which is no tensor: Beta 2 drops it "
            "without a word, so that the launch gets fewer values"
        )
        raise Refuse(dropped, CODE, message, "return tensors alone, and take the others elsewhere at the launch")
    for name in _maybe_none(scope, statement) if isinstance(returned, ast.Tuple | ast.List) else ():
        scope.assert_that(f"{name} is not None", "a launch that gets a tensor in each place: Beta 2 drops None")


def _maybe_none(scope: Scope, statement: ast.Return) -> list[str]:
    """The names that a kernel returns and that may be bound to ``None`` where it does."""
    assert statement.value is not None
    bound = _bound_to_none(scope.function)
    names = dict.fromkeys(name.id for name in _returned_names(statement.value) if name.id in bound)
    if not names:
        return []
    function, here = _where(scope, statement)
    flow = definitions_in(function)
    if here not in flow.of_statement:
        return []
    return [
        name
        for name in names
        if any(_binds_none(function, binding) for binding in flow.bindings(here, name)[1])
        and not any(_needs_tensor(s, name) and _same(flow, s, here, name) for s in _passed(function, here))
    ]


def _where(scope: Scope, statement: ast.Return) -> tuple[ast.FunctionDef, ast.Return]:
    """The kernel without what does not run where ``statement`` does, and the statement in it.

    A test of names that are bound once comes out alike wherever it stands.
    """
    taken: dict[str, bool] = {}
    around = [block[at] for block, at in way_to(scope.function, statement)]
    for outer, inner in itertools.pairwise(around):
        if isinstance(outer, ast.If) and _is_stable(scope, outer.test):
            taken[ast.unparse(outer.test)] = inner in outer.body
    function = _Taken(taken).visit(copied(scope.function))
    returns = (n for n in walk(function) if isinstance(n, ast.Return))
    place = (statement.lineno, statement.col_offset)
    return function, next(n for n in returns if (n.lineno, n.col_offset) == place)


def _is_stable(scope: Scope, test: ast.expr) -> bool:
    nodes = walk(test)
    return not any(
        isinstance(n, ast.Call) or (isinstance(n, ast.Name) and scope.names.assigned[n.id] > 1) for n in nodes
    )


class _Taken(ast.NodeTransformer):
    """Puts the side of a test that runs in place of the test."""

    def __init__(self, taken: Mapping[str, bool]) -> None:
        self.taken = taken

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        side = self.taken.get(ast.unparse(node.test))
        if side is None:
            return node
        return (node.body if side else node.orelse) or [ast.copy_location(ast.Pass(), node)]


def _passed(function: ast.FunctionDef, statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements that have run, in whole or up to the block around ``statement``, whenever it runs."""
    for block, at in way_to(function, statement):
        yield from block[: at + 1]


def _needs_tensor(statement: ast.stmt, name: str) -> bool:
    """Does a statement fail where a name is ``None``: does it itself take a part of what the name is bound to?"""
    nodes = [node for part in own_parts(statement) for node in walk(part)]
    taken = (node.value for node in nodes if isinstance(node, ast.Subscript))
    whole = not any(isinstance(node, _IN_PART) for node in nodes)
    return whole and any(isinstance(base, ast.Name) and base.id == name for base in taken)


def _same(flow: Definitions, earlier: ast.stmt, statement: ast.stmt, name: str) -> bool:
    return earlier in flow.of_statement and flow.bindings(earlier, name) == flow.bindings(statement, name)


def _returned_names(node: ast.expr) -> Iterator[ast.Name]:
    """The names that stand in a tuple or list, or in one of those in it."""
    if isinstance(node, ast.Tuple | ast.List):
        for part in node.elts:
            yield from _returned_names(part)
    elif isinstance(node, ast.Name):
        yield node


@indexed
def _bound_to_none(function: ast.FunctionDef) -> frozenset[str]:
    """The names that a function binds to ``None`` somewhere (:func:`_binds_none`)."""
    bindings = [n for n in walk(function) if isinstance(n, ast.arg | ast.stmt) and _binds_none(function, n)]
    stored = {name for n in bindings if isinstance(n, ast.stmt) for name in names_bound(n)}
    return frozenset(stored | {n.arg for n in bindings if isinstance(n, ast.arg)})


def _binds_none(function: ast.FunctionDef, binding: ast.AST) -> bool:
    """Does a statement or parameter bind a name to ``None``, or in one case to ``None``?"""
    value = binding.value if isinstance(binding, ast.Assign | ast.AnnAssign) else None
    if isinstance(binding, ast.arg):
        value = default_values(function).get(binding)
    sides = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    return any(isinstance(side, ast.Constant) and side.value is None for side in sides)


def _dropped(node: ast.expr, value: Value) -> Iterator[ast.expr]:
    """The parts of a returned expression that are certainly no tensors."""
    if isinstance(node, (ast.Tuple, ast.List)):
        parts = value.parts if isinstance(value, Several) else ()
        for at, item in enumerate(node.elts):
            yield from _dropped(item, parts[at] if len(parts) == len(node.elts) else Value())
    elif isinstance(node, (ast.Constant, ast.Dict, ast.JoinedStr)) or _is_dropped(value):
        yield node


def _is_untold(scope: Scope, part: ast.expr) -> bool:
    """Is something a parameter without a default, so that only the launch tells whether it is a tensor?"""
    name = part.id if isinstance(part, ast.Name) else ""
    with_default = {argument.arg for argument in default_values(scope.function)}
    arguments = {argument.arg for argument in parameters(scope.function)}
    return name in arguments - with_default and scope.names.assigned[name] == 1


def _is_dropped(value: Value) -> bool:
    """Is something certainly no tensor, or a tuple with a part that is none?"""
    if isinstance(value, Several):
        return any(_is_dropped(part) for part in value.parts)
    return type(value) in _NO_TENSORS
