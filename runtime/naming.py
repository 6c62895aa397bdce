"""Which variable is a tile assigned to? Layout rows are named after it.

The calling statement is found in the source file (:mod:`.source`) and gives a :class:`_Plan`, once per call site; what
the plan leaves open (list positions) is read from the frame.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from .errors import is_emulator_file
from .positions import COMPREHENSION_CODES
from .source import COMPREHENSIONS, source_at

Name = tuple[str, tuple[int, ...]]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

_boundaries: set[CodeType] = set()


def kernel_boundary(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark the function that calls a kernel: no name is looked up in the frames outside it."""
    _boundaries.add(function.__code__)
    return function


@dataclass(frozen=True)
class _Plan:
    """How the value of one call is bound.

    ``base`` is the expression that holds it, ``kind`` what happens: ``"name"`` binds it, ``"item"`` stores it under
    ``index``, ``"augmented"`` is ``+=``, ``"append"`` appends it, ``"return"`` hands it to the caller, ``"none"`` does
    nothing of these. ``inner`` are positions inside list displays and comprehensions on the way; an entry is an int or
    the comprehension's loop. ``name`` is set where the frame does not matter.
    """

    kind: str
    base: ast.expr | None = None
    index: ast.expr | None = None
    inner: tuple[int | ast.comprehension, ...] = ()
    function: ast.AST | None = None
    name: Name | None = None


def declared_name(frame: FrameType) -> Name | None:
    """The variable that the call running in ``frame`` is assigned to, and its position when that is a list.

    ``x = f()`` is ``("x", ())``, ``xs.append(f())`` is ``("xs", (len(xs),))``, ``xs[i] = f()`` is ``("xs", (i,))``.
    A call that is returned by a helper takes the name its caller gives it. ``None`` when no name can be told.
    """
    known = _DECLARED.get((id(frame.f_code), frame.f_lasti))
    if known is not None:
        return known[1]
    at: FrameType | None = frame
    while at is not None:
        plan = _plan(at)
        if plan is None or (plan.base is None and plan.kind != "return"):
            return None
        if plan.kind != "return":
            return _always(_DECLARED, frame, at, plan.name) if plan.name else _resolved(plan, at)
        at = _caller(at)
    return None


def is_fixed(frame: FrameType) -> bool:
    """Is the :func:`declared_name` of the call that runs in ``frame`` known to be the same every time?"""
    return (id(frame.f_code), frame.f_lasti) in _DECLARED


def bound_name(frame: FrameType) -> Name | None:
    """:func:`declared_name` of a call whose result is bound, with an empty name where none can be told.

    It is not bound, and the result ``None``, where it goes straight into a subscripted destination (``t[i] = f()``,
    ``t += f()``), or when the source is not known. A call that is returned by a helper is judged by its caller.
    """
    known = _BOUND.get((id(frame.f_code), frame.f_lasti))
    if known is not None:
        return known[1]
    at: FrameType | None = frame
    while at is not None:
        plan = _plan(at)
        if plan is None or plan.kind in ("item", "augmented"):
            return _always(_BOUND, frame, at, None)
        if plan.kind != "return":
            fixed = plan.name or (None if plan.base is not None else ("", ()))
            return _always(_BOUND, frame, at, fixed) if fixed else _resolved(plan, at) or ("", ())
        at = _caller(at)
    return None


def is_bound_fixed(frame: FrameType) -> bool:
    """Is the :func:`bound_name` of the call that runs in ``frame`` known to be the same every time?"""
    return (id(frame.f_code), frame.f_lasti) in _BOUND


_Sites = dict[tuple[int, int], tuple[CodeType, Name | None]]
"""Names that a call site has whatever its frame holds, by ``id`` of the code, which is kept alive, and by the place."""
_DECLARED: _Sites = {}
_BOUND: _Sites = {}


def _always(known: _Sites, frame: FrameType, judged: FrameType, name: Name | None) -> Name | None:
    """``name``, remembered where the call site alone decides it."""
    if judged is frame and frame.f_code.co_name not in COMPREHENSION_CODES:
        known[id(frame.f_code), frame.f_lasti] = frame.f_code, name
    return name


def _caller(frame: FrameType) -> FrameType | None:
    at = frame.f_back
    while at is not None:
        if at.f_code in _boundaries:
            return None
        if not is_emulator_file(at.f_code.co_filename):
            return at
        at = at.f_back
    return None


_PLANS: dict[tuple[int, int, int], tuple[CodeType, _Plan | None]] = {}
"""By ``id`` of the code, which is kept alive: the hash of a code object is that of all its constants.

And by where a comprehension is called: equal ones on one line share their code.
"""


def _plan(frame: FrameType) -> _Plan | None:
    outer = frame.f_back if frame.f_code.co_name in COMPREHENSION_CODES else None
    key = (id(frame.f_code), frame.f_lasti, -1 if outer is None else outer.f_lasti)
    known = _PLANS.get(key)
    if known is None:
        source = source_at(frame)
        call = source.call_at(frame) if source is not None else None
        plan = _plan_of(call, source.parents) if call is not None and source is not None else None
        known = _PLANS[key] = (frame.f_code, plan)
    return known[1]


# --- from the statement to the plan ----------------------------------------------------------------------------------


_NOTHING = _Plan("none")


def _plan_of(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> _Plan:
    """Walk from ``call`` outwards until something binds it."""
    inner: list[int | ast.comprehension] = []
    elements: list[int] = []
    child: ast.AST = call
    at = parents.get(call)
    while at is not None:
        function = _enclosing_function(at, parents)
        if isinstance(at, (ast.Tuple, ast.List)):
            elements.insert(0, at.elts.index(child))  # type: ignore[arg-type]  # an element
            inner.insert(0, elements[0])
        elif isinstance(at, COMPREHENSIONS) and child not in at.generators:
            inner[:0] = at.generators
        elif isinstance(at, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            target = at.targets[0] if isinstance(at, ast.Assign) else at.target
            while isinstance(target, (ast.Tuple, ast.List)) and elements and inner[0] == elements[0]:
                if elements[0] >= len(target.elts):
                    return _NOTHING
                target = target.elts[elements.pop(0)]
                inner.pop(0)
            return _bound_to(target, tuple(inner), function)
        elif isinstance(at, ast.AugAssign):
            return _Plan("augmented")
        elif isinstance(at, (ast.Return, ast.Lambda)):
            return _Plan("return")
        elif isinstance(at, ast.Call):
            if child is at.func:
                return _plan_of(at, parents)
            return _appended(at, child, tuple(inner), function)
        elif not isinstance(at, (ast.IfExp, ast.Attribute, ast.Starred, ast.Dict)):
            return _NOTHING
        child, at = at, parents.get(at)
    return _NOTHING


def _bound_to(target: ast.expr, inner: tuple[int | ast.comprehension, ...], function: ast.AST | None) -> _Plan:
    if isinstance(target, ast.Subscript):
        return _Plan("item", target.value, target.slice, inner, function)
    if isinstance(target, (ast.Name, ast.Attribute)):
        return _Plan("name", target, None, inner, function, None if inner else (ast.unparse(target), ()))
    return _NOTHING


def _appended(
    call: ast.Call, child: ast.AST, inner: tuple[int | ast.comprehension, ...], function: ast.AST | None
) -> _Plan:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "append" or call.args != [child]:
        return _NOTHING
    return _Plan("append", call.func.value, None, inner, function)


def _enclosing_function(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST | None:
    at: ast.AST | None = node
    while at is not None and not isinstance(at, (*_FUNCTIONS, ast.Module)):
        at = parents.get(at)
    return at


# --- from the plan and the frame to the name -------------------------------------------------------------------------


class _Unknown(Exception):
    """An expression that cannot be evaluated without side effects."""


def _resolved(plan: _Plan, frame: FrameType) -> Name | None:
    assert plan.base is not None
    try:
        inner = tuple(_position(step, frame) for step in plan.inner)
        if plan.kind == "name":
            return _held(plan.base, inner, plan.function, frame, seen=frozenset())
        container = _value(plan.base, frame)
        if plan.kind == "append":
            if not isinstance(container, list):
                return None
            return _held(plan.base, (len(container), *inner), plan.function, frame, seen=frozenset())
        if not isinstance(container, (list, dict)) or plan.index is None:
            return None
        key = _value(plan.index, frame)
        if isinstance(container, list) and isinstance(key, int):
            return _held(plan.base, (key % max(len(container), 1), *inner), plan.function, frame, seen=frozenset())
        if isinstance(key, tuple) and all(isinstance(k, int) for k in key):
            return ast.unparse(plan.base), (*key, *inner)
        if isinstance(key, int):
            return ast.unparse(plan.base), (key, *inner)
        return f"{ast.unparse(plan.base)}[{key!r}]", inner
    except _Unknown:
        return None


def _held(
    base: ast.expr, index: tuple[int, ...], function: ast.AST | None, frame: FrameType, seen: frozenset[str]
) -> Name:
    """Name and position of ``base[index]``; a list that the function appends to another list is part of that one."""
    if isinstance(base, ast.Subscript):
        key = _value(base.slice, frame)
        if isinstance(key, int):
            return _held(base.value, (key, *index), function, frame, seen)
        return f"{ast.unparse(base.value)}[{key!r}]", index
    if not isinstance(base, ast.Name):
        return ast.unparse(base), index
    if function is not None and index and base.id not in seen:
        for outer in _lists_that_take(base.id, function):
            position = _place_in(outer, base, frame)
            if position is not None:
                return _held(outer, (position, *index), function, frame, seen | {base.id})
    return base.id, index


def _place_in(outer: ast.expr, base: ast.Name, frame: FrameType) -> int | None:
    try:
        container, row = _value(outer, frame), _value(base, frame)
    except _Unknown:
        return None
    if not isinstance(container, list):
        return None
    for position, item in enumerate(container):
        if item is row:
            return position
    return len(container)


_TAKERS: dict[tuple[ast.AST, str], list[ast.expr]] = {}


def _lists_that_take(name: str, function: ast.AST) -> list[ast.expr]:
    """Lists ``L`` for which ``function`` says ``L.append(name)``."""
    key = (function, name)
    if key not in _TAKERS:
        _TAKERS[key] = [
            node.func.value
            for node in ast.walk(function)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "append"
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Name)
            and node.args[0].id == name
        ]
    return _TAKERS[key]


def _position(step: int | ast.comprehension, frame: FrameType) -> int:
    """Position in a list display or, for a comprehension, of its current element."""
    if isinstance(step, int):
        return step
    for at in _comprehension_frames(frame):
        iterator = at.f_locals.get(".0")
        if iterator is not None and _assigns(step.target, at):
            consumed = _consumed(iterator)
            if consumed is not None:
                return consumed
    if isinstance(step.iter, ast.Call) and not step.iter.keywords:
        start, stride = 0, 1
        arguments = [_value(argument, frame) for argument in step.iter.args]
        if len(arguments) >= 2:
            start = arguments[0]
        if len(arguments) == 3:
            stride = arguments[2]
        value = _value(step.target, frame)
        if all(isinstance(n, int) for n in (value, start, stride)) and stride:
            return int((value - start) // stride)
    if isinstance(step.target, ast.Name):
        value, items = _value(step.target, frame), _value(step.iter, frame)
        if isinstance(items, (list, tuple)):
            for position, item in enumerate(items):
                if item is value:
                    return position
    raise _Unknown


def _comprehension_frames(frame: FrameType) -> Iterator[FrameType]:
    """Frames of comprehensions around ``frame`` (Python before 3.12 gives each its own)."""
    at: FrameType | None = frame
    while at is not None and at.f_code.co_name in COMPREHENSION_CODES:
        yield at
        at = at.f_back


def _assigns(target: ast.expr, frame: FrameType) -> bool:
    names = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    return names <= set(frame.f_code.co_varnames + frame.f_code.co_cellvars)


def _consumed(iterator: Any) -> int | None:
    """Index of the element that a builtin iterator gave last."""
    reduced: list[Any] = list(iterator.__reduce__()) if type(iterator).__module__ == "builtins" else []
    position = reduced[2] if len(reduced) == 3 else None
    return position - 1 if isinstance(position, int) else None


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def _value(node: ast.expr, frame: FrameType) -> Any:
    """Value of a simple expression in ``frame``: names, constants, arithmetic on ints, list elements, attributes."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, *(outer.f_locals for outer in _outer(frame)), frame.f_globals):
            if node.id in names:
                return names[node.id]
    elif isinstance(node, ast.Tuple):
        return tuple(_value(element, frame) for element in node.elts)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, frame), _value(node.right, frame)
        if isinstance(left, int) and isinstance(right, int):
            return _OPERATORS[type(node.op)](left, right)
    elif isinstance(node, ast.Subscript):
        return _element(_value(node.value, frame), _value(node.slice, frame))
    elif isinstance(node, ast.Attribute):
        holder = _value(node.value, frame)
        if hasattr(holder, "__dict__") and node.attr in vars(holder):
            return vars(holder)[node.attr]
    elif isinstance(node, ast.Call):
        return _length(node, frame)
    raise _Unknown


def _length(node: ast.Call, frame: FrameType) -> int:
    """What ``len`` of a container gives; no other call is made."""
    if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        counted = _value(node.args[0], frame)
        if isinstance(counted, (list, tuple, dict)):
            return len(counted)
    raise _Unknown


def _element(container: Any, key: Any) -> Any:
    """An element of a list, tuple or dictionary; raises :class:`_Unknown` for any other."""
    if isinstance(container, (list, tuple, dict)) and isinstance(key, (int, str, tuple)):
        try:
            return container[key]  # type: ignore[index]  # what is no container raises
        except (LookupError, TypeError):
            pass
    raise _Unknown


def _outer(frame: FrameType) -> list[FrameType]:
    """The frames around a comprehension's own, inner first."""
    frames = list(_comprehension_frames(frame))
    outer = [at.f_back for at in frames]
    return [at for at in outer if at is not None]
