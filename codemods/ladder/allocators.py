"""Objects that give out tensors: nkilib's managers of SBUF, as annotations and constructors name them.

Source: nki-library at 0759719, ``core/utils/allocator.py``: all of these methods take ``(shape, dtype, buffer, ...)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from .rung import Rung

_MANAGERS = frozenset({"SbufManager", "BufferManager"})
_FUNCTIONS = frozenset({"create_auto_alloc_manager"})
_METHODS = {"alloc": "sbuf", "alloc_stack": "sbuf", "alloc_heap": "sbuf", "alloc_hbm": "shared_hbm"}
"""Where a tensor is if the call does not say it."""
Bound = Mapping[str, Sequence["ast.expr | None"]]


def memory_given_out(rung: Rung, callee: ast.expr, bound: Bound) -> str:
    """Where the tensors are that ``callee`` makes without a buffer; empty if it is no method of a manager.

    ``bound`` is what each name of the function is bound to. A name for methods means what all of its bindings agree on.
    """
    if isinstance(callee, ast.Name):
        values = [arm for value in bound.get(callee.id, ()) for arm in _arms(value)]
        found = {_of(rung, value, bound) for value in values}
        return found.pop() if len(found) == 1 else ""
    return _of(rung, callee, bound)


def _of(rung: Rung, callee: ast.expr | None, bound: Bound) -> str:
    if callee is not None and rung.qualified(callee) == "nki.language.ndarray":
        return "sbuf"
    if not isinstance(callee, ast.Attribute) or not isinstance(callee.value, ast.Name):
        return ""
    return _METHODS.get(callee.attr, "") if _is_manager(rung, callee.value, bound) else ""


def _arms(value: ast.expr | None) -> Iterator[ast.expr | None]:
    if isinstance(value, ast.IfExp):
        yield from _arms(value.body)
        yield from _arms(value.orelse)
    else:
        yield value


def _is_manager(rung: Rung, name: ast.Name, bound: Bound) -> bool:
    annotation = annotation_of(rung.function(name), name.id)
    if annotation is not None:
        return bool(_names(annotation) & _MANAGERS)
    values = bound.get(name.id, ())
    makers = [_names(value.func) if isinstance(value, ast.Call) else set() for value in values]
    return bool(makers) and all(each & (_MANAGERS | _FUNCTIONS) for each in makers)


def annotation_of(function: ast.AST | None, name: str) -> ast.expr | None:
    """How a function annotates its parameter ``name``; ``None`` if it does not."""
    if not isinstance(function, ast.FunctionDef):
        return None
    own = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return next((item.annotation for item in own if item.arg == name), None)


def is_sequence(annotation: ast.expr | None) -> bool:
    """Does an annotation say that something is a list or a tuple?"""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return False
    kind = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    last = kind.attr if isinstance(kind, ast.Attribute) else kind.id if isinstance(kind, ast.Name) else ""
    if last == "Optional" and isinstance(annotation, ast.Subscript):
        return is_sequence(annotation.slice)
    return last in ("list", "tuple", "List", "Tuple", "Sequence")


def _names(node: ast.expr) -> set[str]:
    """The last names in an expression: ``{"Optional", "SbufManager"}`` for ``Optional[allocator.SbufManager]``."""
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    found |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return found | {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
