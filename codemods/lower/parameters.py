"""What the parameters of a function are: told by its callers, or by how it uses them."""

from __future__ import annotations

import ast

from ..analysis.facts import Names
from ..analysis.instructions import HANDLERS
from ..analysis.maybe_tensors import TENSOR_ATTRIBUTES
from ..analysis.scope import Scope
from ..expr.values import EITHER, Absent, Container, DType, Flag, Hbm, Python, Tensors, Tile, Value
from ..render.type_names import is_dtype
from ..render.vector_subscripts import is_index_tile, vector_subscripts
from ..rules.observed_facts import with_observed
from ..rules.psum_accumulation import of_another
from ..syntax.node_index import of_kinds
from ..syntax.nodes import assignment_counts, by_parameter, default_values, is_only_read, uses_by_name


def kernel_parameters(scope: Scope, told: dict[str, Value]) -> None:
    """Put the function's parameters into its environment, and rewrite their defaults and annotations."""
    arguments = scope.function.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    by_name = {argument.arg: default for argument, default in default_values(scope.function).items()}
    for argument in given:
        name = argument.arg
        value = told.get(name)
        is_open = value is None or isinstance(value, Absent)
        known = _of_source(scope, name, by_name.get(name), value) if is_open else _of_calls(scope, name, told[name])
        scope.names.env[name] = with_observed(scope, argument, known, value)
        if name not in told and not scope.decorated and isinstance(scope.names.env[name], Python):
            scope.names.untold.add(name)
    for name, default in by_name.items():
        text = scope.evaluator.operator_value(scope, default, name) or scope.evaluator.render(scope, default)
        if text != scope.source.segment(default):
            scope.module.plan.edits.expressions[default] = text


def _of_calls(scope: Scope, name: str, value: Value) -> Value:
    """What a parameter is that the calls give ``value``."""
    if isinstance(value, Tensors) and not is_only_read(scope.function, name):
        value = Container()
    changes = isinstance(value, Flag) and scope.names.assigned[name] > 1
    return Python() if changes else of_another(name, value)


def _of_source(scope: Scope, name: str, default: ast.expr | None, told: Value | None) -> Value:
    """What a parameter is by its default and its uses, where no call gives a value; calls leave absent ones out."""
    absent = isinstance(told, Absent)
    if absent and scope.names.assigned[name] > 1:
        return Absent()  # until the function binds it to something else
    optional = isinstance(default, ast.Constant) and default.value is None
    if default is not None and not (optional and _is_tensor(scope, name)):
        known = DType(name) if is_dtype(scope, default) else Python(optional=optional)
        return Absent() if absent and type(known) is Python else known
    if _is_tile(scope, name):
        return Tile(EITHER, None, f"{name}.dtype", untold=True)
    if _is_tensor(scope, name):
        return Hbm(None, f"{name}.dtype", untold=not scope.decorated)
    if scope.decorated and scope.outer is None and _holds_tensors(scope, name):
        return Tensors()
    return Python(optional=absent)


def _holds_tensors(scope: Scope, name: str) -> bool:
    """Does a kernel loop over its parameter, and use what it holds as tensors? It does nothing else with it then."""
    function = scope.function
    if scope.names.assigned[name] > 1 or not is_only_read(function, name):
        return False
    held = [t for loop in of_kinds(function, ast.For) for t in _elements_of(loop, name)]
    return bool(held) and all(isinstance(t, ast.Name) and _is_tensor(scope, t.id) for t in held)


def _elements_of(loop: ast.For, name: str) -> list[ast.expr]:
    """The variables of a loop that are elements of ``name``: ``for w in ws``, ``for i, w in enumerate(ws)``."""
    if _names(loop.iter, name):
        return [loop.target]
    call, target = loop.iter, loop.target
    if not isinstance(call, ast.Call) or not isinstance(target, ast.Tuple) or ast.unparse(call.func) not in _PAIRING:
        return []
    elements = target.elts[1:] if ast.unparse(call.func) == "enumerate" else target.elts
    pairs = zip(elements, call.args, strict=False)
    return [element for element, source in pairs if _names(source, name)]


def _is_tile(scope: Scope, name: str) -> bool:
    """Does a helper compute with its parameter, or store it, which Beta 1 does with tiles only, and not load it?"""
    if scope.decorated and scope.outer is None:
        return False
    calls = of_kinds(scope.function, ast.Call)
    if any(_names(_owner(operand), name) for call in calls for operand in _moved(scope, call)):
        return False
    attributes = {n.attr for n in of_kinds(scope.function, ast.Attribute) if _names(n.value, name)}
    is_tensor = bool(attributes & (TENSOR_ATTRIBUTES | _TILE_ATTRIBUTES)) or any(vector_subscripts(scope, name))
    computed = (operand for call in calls for operand in _computed(scope, call, is_tensor))
    return is_index_tile(scope, name) or any(_names(_owner(operand), name) for operand in computed)


def _stored(scope: Scope, call: ast.Call) -> list[ast.expr]:
    """What a call stores."""
    if scope.qualified(call.func) != "nl.store":
        return []
    return [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "value")]


def _moved(scope: Scope, call: ast.Call) -> list[ast.expr]:
    """The operands of a call that moves data between HBM and tiles, but for what it stores."""
    if scope.qualified(call.func) not in _MOVES:
        return []
    stored = _stored(scope, call)
    given = [*call.args, *(k.value for k in call.keywords if k.arg in _OPERANDS)]
    return [node for node in given if node not in stored]


def _computed(scope: Scope, call: ast.Call, is_tensor: bool) -> list[ast.expr]:
    """The operands of a call that must be tiles: without keywords only those which are known to be tensors."""
    stored = _stored(scope, call)
    if scope.qualified(call.func) not in HANDLERS:
        return stored
    sure = [k.value for k in call.keywords if k.arg in _TILE_OPERANDS]
    return [*stored, *sure, *(call.args if is_tensor else [])]


_TILE_ATTRIBUTES = {"buffer", "expand_dims", "as_tile"}
_TILE_OPERANDS = {"data", "data0", "data1", "data2", "stationary", "moving", "on_true_tile"}
"""Parameters of instructions that are tiles, whatever else they get."""


def _names(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_tensor(scope: Scope, name: str, seen: frozenset[tuple[ast.FunctionDef, str]] = frozenset()) -> bool:
    """Does a function use its parameter as a tensor: its shape or type, with vectors, in a move, or passed on?"""
    if name not in uses_by_name(scope.function):
        return False
    if any(vector_subscripts(scope, name)):
        return True
    attributes = TENSOR_ATTRIBUTES | ({"reshape"} if scope.decorated else set())  # a helper may reshape a tile
    for node in of_kinds(scope.function, ast.Attribute, ast.Call):
        if isinstance(node, ast.Attribute) and node.attr in attributes:
            if isinstance(node.value, ast.Name) and node.value.id == name:
                return True
            continue
        if isinstance(node, ast.Call) and scope.qualified(node.func) in _MOVES:
            operands = [*node.args, *(k.value for k in node.keywords if k.arg in _OPERANDS)]
            for operand in operands:
                operand = _owner(operand)
                if isinstance(operand, ast.Name) and operand.id == name:
                    return True
        elif isinstance(node, ast.Call) and _is_tensor_there(scope, node, name, seen):
            return True
    return scope.decorated and any(_is_reduced(node, name) for node in of_kinds(scope.function, ast.Subscript))


def _is_reduced(node: ast.Subscript, name: str) -> bool:
    """Are indices taken of ``name`` beside slices, which only a tensor has? Beta 2 indexes the result no more."""
    if not _names(node.value, name):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    slices = sum(isinstance(part, ast.Slice) for part in parts)
    return 0 < slices < len(parts)


def _is_tensor_there(scope: Scope, node: ast.Call, name: str, seen: frozenset[tuple[ast.FunctionDef, str]]) -> bool:
    """Does a call hand ``name`` on to a function that uses it as a tensor? What a launch gives is no tile there."""
    if (scope.function, name) in seen:
        return False
    module, seen = scope.module, seen | {(scope.function, name)}
    own = module.symbols.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
    home, function = (module, own) if own is not None else module.program.function(module, node.func) or (module, None)
    if function is None:
        return False
    given = [p for p, _, value in by_parameter(function, node) if isinstance(value, ast.Name) and value.id == name]
    there = Scope(home, function, scope.decorated, names=Names(assigned=assignment_counts(function)))
    return any(_is_tensor(there, parameter, seen) for parameter in given)


def _owner(node: ast.expr) -> ast.expr:
    """What a part or another view of a tensor is taken of: ``x`` for ``x.reshape(shape)[0]``."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
            node = node.func.value
        else:
            return node


_PAIRING = ("enumerate", "zip")
_VIEWS = {"reshape", "broadcast_to", "view"}
_MOVES = {"nl.load", "nl.store", "nisa.dma_copy", "nl.load_transpose2d"}
_OPERANDS = {"src", "dst", "value"}
"""Their parameters that are tensors."""
