"""Calls: of the module's own functions, of instructions with a destination, and of everything else."""

from __future__ import annotations

import ast
from dataclasses import replace

from .access import of_name, operand
from .compute import COMMANDS, HANDLERS, Instruction, bound_call, is_computation, place, temporary
from .emission import Refuse
from .facts.index import index_value
from .facts.masks import mask_value
from .facts.values import DType, Function, Hbm, Python, Tile, Value
from .operands import Operand
from .parameters import described, parameter_value
from .patterns import of_rank
from .render import render
from .rules.masks import masked
from .rules.nested_functions import lift
from .rules.unsupported import CODE as UNSUPPORTED
from .scope import Scope
from .tables import operator_token, refusal_note

HELPERS = "NKI003"
LOAD_STORE = "NKI020"
DESTINATION = "NKI021"


def module_function(scope: Scope, node: ast.Call) -> Function | None:
    """The function of this module (nested or not) that a call refers to."""
    if not isinstance(node.func, ast.Name):
        return None
    value = scope.env.get(node.func.id)
    if isinstance(value, Function):
        return value
    function = scope.module.functions.get(node.func.id)
    return Function(function, node.func.id) if function is not None and value is None else None


def call_value(scope: Scope, node: ast.Call) -> tuple[str, Value]:
    """A call of one of the module's functions: its text, and what it returns."""
    function = module_function(scope, node)
    assert function is not None
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        raise Refuse(node, "NKI091", "a call with starred arguments", "write the arguments out")
    names = [a.arg for a in [*function.node.args.posonlyargs, *function.node.args.args]]
    told: dict[str, Value] = {}
    known = scope.module.analyzed.get(function.node)
    first = known.parameters if known is not None else {}
    texts: list[str] = []
    for position, argument in enumerate(node.args):
        text, value = _argument(scope, argument, first.get(names[position]) if position < len(names) else None)
        texts.append(text)
        if position < len(names):
            told[names[position]] = parameter_value(names[position], value)
    for keyword in node.keywords:
        text, value = _argument(scope, keyword.value, first.get(keyword.arg or ""))
        texts.append(f"{keyword.arg}={text}")
        assert keyword.arg is not None
        told[keyword.arg] = parameter_value(keyword.arg, value)
    nested = isinstance(scope.env.get(function.name), Function)
    name, closure = lift(scope, function, told) if nested else (function.name, [])
    analysis = scope.walk_function(function.node, told)
    _check_same_kinds(node, function, analysis.parameters, told)
    return f"{name}({', '.join([*texts, *closure])})", analysis.returned or Value()


def called_tensor(scope: Scope, node: ast.Call) -> Operand | None:
    """The tensor that a call of one of the module's functions returns, under a name; ``None`` for anything else."""
    if module_function(scope, node) is None:
        return None
    if node not in scope.called:
        text, value = call_value(scope, node)
        if isinstance(value, Hbm | Tile):
            function = module_function(scope, node)
            name = scope.module.fresh(f"{function.name if function else 'call'}_result")
            scope.emit(f"{name} = {text}")
            text, value = name, named(value, name)
            scope.env[name] = value
        scope.called[node] = text, value
    text, value = scope.called[node]
    return of_name(scope, text, value) if isinstance(value, Hbm | Tile) else None


def named(value: Value, name: str) -> Value:
    """A tensor that a call returned, described through the name it is bound to."""
    if isinstance(value, Tile):
        return described(name, replace(value, declaration=None))
    return parameter_value(name, value)


def _argument(scope: Scope, node: ast.expr, first: Value | None) -> tuple[str, Value]:
    """One argument as text and as a kind. ``first`` is what the function got in its first call."""
    if index_value(scope, node) is not None:
        raise Refuse(node, "NKI024", "an index vector is passed to a function", "pass its start and size")
    mask = mask_value(scope, node)
    if mask is not None and mask.bounds:
        raise Refuse(node, "NKI025", "a mask is passed to a function", "pass the clamped sizes")
    view = temporary(scope, node) if is_computation(scope, node) else operand(scope, node)
    if view is not None:
        if isinstance(first, Hbm | Tile) and first.dims is not None:
            view = of_rank(scope, view, len(first.dims))
        if view.pattern is not None:
            raise Refuse(node, "NKI024", "an access pattern is passed to a function", "pass the tensor")
        part = view.items is not None
        return view.text(()), replace(view.value, dims=view.dims, view=True) if part else view.value
    value = scope.env.get(node.id) if isinstance(node, ast.Name) else None
    return render(scope, node), value if isinstance(value, DType) else Python()


def _check_same_kinds(node: ast.Call, function: Function, first: dict[str, Value], now: dict[str, Value]) -> None:
    """A function is rewritten once: every call must pass the same kinds of tensors."""
    for name in {*first, *now}:
        a, b = _told(first.get(name), now.get(name))
        kinds = _structure(a), _structure(b)
        for_any_rank = isinstance(a, Tile) and a.dims is None
        alike = kinds[0] == kinds[1] or (for_any_rank and kinds[0][:2] == kinds[1][:2])
        if type(a) is not type(b) or not alike:
            raise Refuse(
                node,
                HELPERS,
                f"'{function.name}' is called with different kinds of '{name}'",
                "split the function: the rewrite depends on what a parameter is",
            )


def _told(a: Value | None, b: Value | None) -> tuple[Value, Value]:
    """What two calls pass; one that leaves a tensor out passes a Python value, the default."""
    default = next((value for value in (a, b) if value is not None and not isinstance(value, Hbm | Tile)), Python())
    return a or default, b or default


def _structure(value: Value) -> tuple[object, ...]:
    if isinstance(value, Tile):
        return value.space, len(value.blocks), value.dims and tuple(size == "1" for size in value.dims)
    return ()


def returned_value(scope: Scope, node: ast.expr) -> tuple[str, Value]:
    """What ``return node`` returns, as text and as a kind."""
    if is_computation(scope, node):
        view = temporary(scope, node)
        return view.text(()), view.value
    if isinstance(node, ast.Tuple):
        parts = [returned_value(scope, element)[0] for element in node.elts]
        inner = ", ".join(parts) + ("," if len(parts) == 1 else "")
        parenthesized = scope.source.segment(node).startswith("(")
        return (f"({inner})" if parenthesized else inner), Value()
    if isinstance(node, ast.Call) and module_function(scope, node) is not None:
        return call_value(scope, node)
    tensor = operand(scope, node)
    if tensor is not None:
        if tensor.items is not None or tensor.pattern is not None:
            raise Refuse(node, "NKI024", "a part of a tensor is returned", "return the tensor")
        return tensor.text(()), tensor.value
    return render(scope, node), Python()


def call_statement(scope: Scope, node: ast.Call) -> None:
    """A call that stands alone."""
    name = scope.qualified(node.func)
    if name == "nl.store":
        _store(scope, node)
    elif name == "nisa.dma_copy":
        _dma_copy(scope, node)
    elif name in COMMANDS:
        code, order, handler = COMMANDS[name]
        scope.apply(code, node)
        with masked(scope, node):
            dst, instruction = handler(bound_call(scope, node, name), order)
            place(scope, node, instruction, dst)
    elif name in HANDLERS:
        raise Refuse(node, DESTINATION, f"the result of {name} is not used", "remove the call, or assign its result")
    elif name is not None and name.partition(".")[0] in ("nl", "nisa", "ncc", "nccl", "nki"):
        raise Refuse(node, UNSUPPORTED, f"{name}(...) is not rewritten yet", refusal_note(name))
    elif module_function(scope, node) is not None:
        text, _ = call_value(scope, node)
        scope.emit(text)
    else:
        scope.emit(render(scope, node))


def _store(scope: Scope, node: ast.Call) -> None:
    from .rules.load_store import store

    scope.apply(LOAD_STORE, node)
    with masked(scope, node):
        dst, value = store(bound_call(scope, node, "nl.store"))
        place(scope, node, Instruction("dma_copy", [("src", value)], value.dims, value.dtype), dst)


def _dma_copy(scope: Scope, node: ast.Call) -> None:
    call = bound_call(scope, node, "nisa.dma_copy")
    scope.apply(DESTINATION, node)
    with masked(scope, node):
        dst, src = call.tensor("dst"), call.tensor("src")
        given: list[tuple[str, Operand | str]] = [("src", src)]
        for name in ("dst_rmw_op", "oob_mode", "dge_mode"):
            if not call.has(name):
                continue
            value = call.arguments[name]
            token = operator_token(scope.qualified(value) or "") if name == "dst_rmw_op" else None
            given.append((name, f"{scope.nl}.{token}" if token else render(scope, value)))
        place(scope, node, Instruction("dma_copy", given, src.dims, src.dtype), dst)
