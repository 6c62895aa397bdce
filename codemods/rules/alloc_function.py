"""NKI013 alloc-function: ``alloc(func)`` becomes an address that ``func`` computes for each tile.

Why: Beta 2 has no allocators. The Beta 1 compiler called ``func(idx=..., pdim_size=..., fdim_size=...)``, by keyword,
once for each block; the output does the same where the tile is declared. ``psum.alloc`` functions return (bank,
partition, byte), which becomes ``address=(partition, bank * 2048 + byte)``. ``functools.partial`` turns into keyword
arguments of the call, a dict keyed by the block index into a tuple, a factory that returns a closure into one
function.

Safe where the function has no state: it is called in the loop where a tile is declared, and perhaps more than once.
Left alone: functions that change what outlives the call, or read what another function changes; lambdas, and callables
that the source does not show. A note says where a nested function reads what changes behind the declaration: the output
calls it there, and nothing documents when Beta 1 did.

Source: direct allocation guide, "ncc.sbuf.alloc()" (the compiler calls the function by keyword).
"""

from __future__ import annotations

import ast
import itertools

from ..analysis.function_state import state_of
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Allocator, Function
from ..lower.addresses import Address, Layout, bank_byte
from ..lower.declare import allocates
from ..project.program import Module
from ..render.expressions import render
from ..syntax import codes
from ..syntax.format import tuple_text
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import root_of
from .nested_functions import factory_as_function, lift

CODE = codes.ALLOC_FUNCTION
GOLDENS = ("alloc_function", "alloc_factory", "alloc_dict")


@allocates("sbuf", "alloc")
@allocates("psum", "alloc")
def address(scope: Scope, allocator: Allocator, place: Layout) -> Address:
    call = allocator.call
    given = [*call.args, *(k.value for k in call.keywords)]
    if len(given) != 1:
        raise Refuse(call, CODE, "alloc takes one function", "pass the function alone")
    scope.apply(CODE, call)
    function, bound = _function(scope, given[0], len(place.index))
    index = tuple_text(place.index)
    arguments = [*bound, f"idx={index}", f"pdim_size={place.rows}", f"fdim_size={place.row_bytes}"]
    invocation = f"{function}({', '.join(arguments)})"
    partition, byte = scope.unused("partition"), scope.unused("byte")
    if allocator.space == "sbuf":
        return Address(partition, byte, (f"{partition}, {byte} = {invocation}",))
    bank = scope.unused("bank")
    return Address(partition, algebra.add(bank_byte(bank), byte), (f"{bank}, {partition}, {byte} = {invocation}",))


def _function(scope: Scope, node: ast.expr, rank: int) -> tuple[str, list[str]]:
    """Name of the function to call for each tile, and its bound keyword arguments."""
    if isinstance(node, ast.Call) and scope.qualified(node.func) == "functools.partial" and node.args:
        if len(node.args) > 1 or any(k.arg is None for k in node.keywords):
            raise Refuse(node, CODE, "functools.partial with positional arguments", "bind them by keyword")
        function = _named_function(scope, node.args[0])
        bound = [f"{k.arg}={_bound(scope, k, function, rank)}" for k in node.keywords]
        name, closure = _function(scope, node.args[0], rank)
        return name, [*bound, *closure]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        factory = _module_function(scope, node.func.id)
        if factory is not None:
            _check_state(scope, node, factory.node)
            name = factory_as_function(scope, node, factory.node)
            return name, _factory_arguments(scope, node, factory.node)
    function = _named_function(scope, node)
    if function is not None:
        _check_state(scope, node, function.node)
        if function.name not in scope.names.env:
            return function.name, []
        name, captured = lift(scope, function)
        _assume_when(scope, function.name, [argument.partition("=")[0] for argument in captured])
        return name, captured
    what = "has no name" if isinstance(node, ast.Lambda) else "the source does not show"
    raise Refuse(
        node,
        CODE,
        f"an allocation function that {what}",
        "compute address= by hand, or give a function that is defined with def",
    )


def _assume_when(scope: Scope, function: str, captured: list[str]) -> None:
    """A note where a nested function reads what is bound again, or changed, behind the declaration of the tile.

    Nothing documents whether Beta 1 called it there, or when all of the kernel was traced.
    """
    first = min(statement.lineno for statement in (scope.place.statement, *scope.loop_statements) if statement)
    parts = of_kinds(scope.function, ast.Name, ast.Subscript, ast.Attribute)
    later = (root_of(part) for part in parts if isinstance(part.ctx, ast.Store | ast.Del) and part.lineno > first)
    changed = {root.id for root in later if root is not None}
    names = [f"'{name}'" for name in captured if name in changed]
    if names:
        called = f"Beta 1 called '{function}' where the tile is declared"
        scope.assume(called, f"it reads {' and '.join(names)}, which change{'s' if len(names) == 1 else ''} behind it")


def _check_state(scope: Scope, node: ast.expr, function: ast.FunctionDef) -> None:
    """Raise :class:`Refuse` unless each call of a function, or of what a factory makes, gives the same address."""
    around = scope.outermost if function.name in scope.names.env else None
    made = [(inner, function) for inner in function.body if isinstance(inner, ast.FunctionDef)]
    states = [state_of(scope.module, each, outer) for each, outer in [(function, around), *made]]
    state = next(filter(None, states), "")
    if state:
        raise Refuse(
            node,
            CODE,
            f"the address that '{function.name}' gives depends on '{state}', which changes from call to call",
            "compute the addresses in the kernel, with a counter",
        )


def _named_function(scope: Scope, node: ast.expr) -> Function | None:
    if not isinstance(node, ast.Name):
        return None
    nested = scope.names.env.get(node.id)
    return nested if isinstance(nested, Function) else _module_function(scope, node.id)


def _module_function(scope: Scope, name: str) -> Function | None:
    node = scope.module.symbols.functions.get(name)
    return Function(node, name) if node is not None else None


def _factory_arguments(scope: Scope, call: ast.Call, factory: ast.FunctionDef) -> list[str]:
    names = [a.arg for a in factory.args.args]
    bound = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    return [f"{name}={render(scope, value)}" for name, value in bound.items()]


def _bound(scope: Scope, keyword: ast.keyword, function: Function | None, rank: int) -> str:
    value = keyword.value
    if not isinstance(value, ast.Dict):
        return render(scope, value)
    if function is None or keyword.arg is None:
        raise Refuse(value, CODE, "a dict that is passed to a function the source does not show", "use a list")
    entries = _dense(scope, value, rank)
    _index_by_position(scope, function.node, keyword.arg, value, rank)
    return _nested_tuple(entries, ())


def _dense(scope: Scope, node: ast.Dict, rank: int) -> dict[tuple[int, ...], str]:
    """Values of ``{(0, 0): a, (0, 1): b, ...}`` by their keys, which are all block indices of a grid."""
    found: dict[tuple[int, ...], str] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        index = _key(key)
        if index is None or len(index) != rank:
            raise Refuse(
                node, CODE, "a dict that is not keyed by block indices: Beta 2 has string keys only", "use a list"
            )
        found[index] = render(scope, value)
    grid = itertools.product(*(range(1 + max(index[d] for index in found)) for d in range(rank))) if found else iter(())
    if sorted(found) != list(grid):
        raise Refuse(node, CODE, "a dict keyed by block indices with gaps", "use a list")
    return found


def _key(node: ast.expr | None) -> tuple[int, ...] | None:
    try:
        value = ast.literal_eval(node) if isinstance(node, ast.Tuple) else None
    except ValueError:
        return None
    return value if value and all(type(i) is int for i in value) else None


def _nested_tuple(entries: dict[tuple[int, ...], str], prefix: tuple[int, ...]) -> str:
    """``((a, b), (c, d))`` of entries keyed by (row, column)."""
    if prefix in entries:
        return entries[prefix]
    below = sorted({index[len(prefix)] for index in entries if index[: len(prefix)] == prefix})
    parts = [_nested_tuple(entries, (*prefix, i)) for i in below]
    return tuple_text(parts)


def _index_by_position(scope: Scope, function: ast.FunctionDef, parameter: str, node: ast.Dict, rank: int) -> None:
    """In ``function``, the dict lookup ``parameter[idx]`` becomes ``parameter[idx[0]][idx[1]]``, a tuple lookup."""
    lookups: list[ast.Subscript] = []
    for child in walk(function):
        if isinstance(child, ast.Subscript) and isinstance(child.value, ast.Name) and child.value.id == parameter:
            lookups.append(child)
    uses = [n for n in of_kinds(function, ast.Name) if n.id == parameter]
    simple = all(isinstance(s.slice, ast.Name) and s.slice.id == "idx" for s in lookups)
    if len(uses) != len(lookups) or not simple:
        raise Refuse(node, CODE, f"'{parameter}' is used otherwise than as {parameter}[idx]", "use a list")
    text = parameter + "".join(f"[idx[{d}]]" for d in range(rank))
    module = scope.module
    for lookup in lookups:
        if not module.program.asked(_is_planned_inside, module, function, lookup, text):
            raise Refuse(
                node, CODE, f"'{parameter}' has keys of several lengths in the calls of a function", "use a list"
            )
        scope.draft.put(module.plan.edits.expressions, lookup, text)


def _is_planned_inside(module: Module, function: ast.FunctionDef, node: ast.expr, text: str) -> bool:
    """Plan a text for an expression of a function, if no other caller has planned another one."""
    texts = module.whole.inside.setdefault(function, {})
    if texts.get(node, text) != text:
        return False
    module.program.draft.put(texts, node, text)
    return True
