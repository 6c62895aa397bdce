"""Objects that give out tensors: nkilib's managers of SBUF, as annotations and constructors name them.

Source: nki-library at 0759719, ``core/utils/allocator.py``: all of these methods take ``(shape, dtype, buffer, ...)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..syntax.node_index import of_kinds
from .bindings import behind_name, binder
from .program import Program
from .rung import Rung

_MANAGERS = frozenset({"SbufManager", "BufferManager"})
_FUNCTIONS = frozenset({"create_auto_alloc_manager"})
_METHODS = {"alloc": "sbuf", "alloc_stack": "sbuf", "alloc_heap": "sbuf", "alloc_hbm": "shared_hbm"}
"""Where a tensor is if the call does not say it."""
_DEEPEST = 8
_BEFORE_AUTO_ALLOC = 3
"""The positional parameters of a manager in front of ``use_auto_alloc``."""


def memory_given_out(program: Program, path: str, callee: ast.expr) -> str:
    """Where the tensors are that ``callee`` makes without a buffer; empty if it is no method of a manager.

    A name for methods means what all of its bindings agree on.
    """
    if not isinstance(callee, ast.Name):
        return _of(program, path, callee)
    if program.rungs[path].qualified(callee):
        return ""
    values = behind_name(program, path, callee) or ()
    found = {_of(program, where, arm) for where, value in values for arm in _arms(value)}
    return found.pop() if len(found) == 1 else ""


def is_placed_by_manager(program: Program, path: str, call: ast.Call) -> bool:
    """Does a manager give out a tensor in SBUF that was made here, with a range of addresses of its own?

    One that an argument brings along, or that leaves the place to the compiler, tells nothing of it.
    """
    callee = call.func
    if not isinstance(callee, ast.Attribute) or _METHODS.get(callee.attr) != "sbuf":
        return False
    if not isinstance(callee.value, ast.Name):
        return False
    values = [value for _, value in behind_name(program, path, callee.value) or ()]
    return bool(values) and all(isinstance(value, ast.Call) and _has_addresses(value) for value in values)


def _has_addresses(made: ast.Call) -> bool:
    is_manager = bool(_names(made.func) & _MANAGERS) and len(made.args) <= _BEFORE_AUTO_ALLOC
    return is_manager and not any(keyword.arg in (None, "use_auto_alloc") for keyword in made.keywords)


def _of(program: Program, path: str, callee: ast.expr | None) -> str:
    if callee is not None and program.rungs[path].qualified(callee) == "nki.language.ndarray":
        return "sbuf"
    if not isinstance(callee, ast.Attribute) or not isinstance(callee.value, ast.Name):
        return ""
    memory = _METHODS.get(callee.attr, "")
    return memory if memory and _is_manager(program, path, callee.value, 0) else ""


def _arms(value: ast.expr | None) -> Iterator[ast.expr | None]:
    if isinstance(value, ast.IfExp):
        yield from _arms(value.body)
        yield from _arms(value.orelse)
    else:
        yield value


def _is_manager(program: Program, path: str, value: ast.expr | None, depth: int) -> bool:
    """Is a value a manager: by its class, by how it is annotated, or by what all calls in the files give?"""
    if isinstance(value, ast.Call):
        return bool(_names(value.func) & (_MANAGERS | _FUNCTIONS))
    if not isinstance(value, ast.Name) or depth > _DEEPEST:
        return False
    owner = binder(program.rungs[path], value)
    annotation = annotation_of(owner, value.id)
    if annotation is not None:
        return bool(_names(annotation) & _MANAGERS)
    bound = [(where, arm) for where, each in behind_name(program, path, value) or () for arm in _arms(each)]
    others = [(where, arm) for where, arm in bound if not _adds_nothing(program.rungs[where], arm, value.id, owner)]
    if owner is not None and others and all(arm is None for _, arm in others):
        return _opens_scopes(owner, value.id)
    return bool(others) and all(_is_manager(program, where, arm, depth + 1) for where, arm in others)


def _opens_scopes(function: ast.AST, name: str) -> bool:
    """Does a function open scopes of a parameter of which no call is seen? Only managers have them."""
    calls = (call.func for call in of_kinds(function, ast.Call))
    opened = (c.value for c in calls if isinstance(c, ast.Attribute) and c.attr == "open_scope")
    return any(isinstance(owner, ast.Name) and owner.id == name for owner in opened)


def _adds_nothing(rung: Rung, value: ast.expr | None, name: str, owner: ast.AST | None) -> bool:
    """Is a value ``None``, which has no methods, or the name of ``owner`` that it is bound to?"""
    if isinstance(value, ast.Name):
        return value.id == name and owner is not None and binder(rung, value) is owner
    return isinstance(value, ast.Constant) and value.value is None


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
