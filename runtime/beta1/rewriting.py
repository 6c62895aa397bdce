"""What ``nki.jit`` changes in a kernel's source before it runs.

* ``for i in range(...)`` is ``for i in nl.sequential_range(...)``, in nested functions too (of helpers only
  ``range(nt.scalar(tile))``, whose trip count the chip reads);
* ``return`` as the last statement of an NKI loop returns after all iterations;
* ``x: nt.tensor[128, 512] = ...`` checks the shape.

A kernel that has none of these runs as it is; of the helpers that it calls, only the second is changed, and a loop on
the chip. Lines and columns stay those of the file.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from contextlib import suppress
from types import CellType, CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from ..errors import KernelError, NotModelled, is_emulator_file
from ..reading import is_standard
from ..recompiled import recompiled
from ..source import function_source, last_statement
from ..spec.grammar import copied
from .base import Tensor
from .loops import end_returns_handled, python_range
from .reached import holds_a_function
from .typing import Annotation

_RANGE = "__nki_range__"
_CHECK = "__nki_check__"
_RETURNS = "__nki_returns__"
_LOOPS = ("affine_range", "sequential_range", _RANGE)


def rewritten(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with the changes of the module docstring; itself when there are none."""
    if not isinstance(function, FunctionType):
        return function
    key = id(function.__code__)
    if key not in _REWRITTEN:
        _REWRITTEN[key] = (function.__code__, _rewritten_code(function))
    code = _REWRITTEN[key][1]
    return function if code is None else _over(function, code)


_REWRITTEN: dict[int, tuple[CodeType, CodeType | None]] = {}
"""By ``id`` of the code, which is kept alive: the hash of a code object is that of all its constants."""


def _rewritten_code(function: FunctionType) -> CodeType | None:
    found = function_source(function.__code__)
    if found is None:
        if "range" in function.__code__.co_names:
            raise NotModelled(f"'range' in kernel '{function.__name__}', whose source is not available")
        return None
    tree = copied(found)
    rewriter = _Rewriter()
    tree.body = [statement for old in tree.body for statement in rewriter.statements(old)]
    free = dict.fromkeys((*function.__code__.co_freevars, *_ADDED))  # of a kernel that was rewritten, its own have some
    return _compiled(function, tree, tuple(free)) if rewriter.changed else None


def rewrite_helpers(function: Callable[..., Any], seen: set[CodeType] | None = None) -> None:
    """Make the functions that ``function`` calls by name return after all iterations, as the kernel itself does.

    A helper is ordinary Python otherwise (its ``range`` is Python's), and is only changed for a ``return`` that ends
    an NKI loop, and for a loop whose bound the chip reads: its code is replaced, once and for all.
    """
    seen = _SEARCHED if seen is None else seen
    code = getattr(function, "__code__", None)
    if code is None or code in seen:
        return
    seen.add(code)
    names = set() if is_standard(code.co_filename) else _names(code)  # what it holds may be the user's, no global is
    known = {name: function.__globals__[name] for name in names if name in function.__globals__}
    cells = zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=False)
    for name, cell in cells:
        with suppress(ValueError):
            known[name] = cell.cell_contents
    for value in list(known.values()):
        if isinstance(value, ModuleType):
            members = vars(value)
            for name in names & members.keys():
                _rewrite_helper(members[name], seen)
        else:
            _rewrite_helper(value, seen)


_SEARCHED: set[CodeType] = set()


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(code.co_freevars, *(_names(c) for c in inner))


def _rewrite_helper(value: Any, seen: set[CodeType]) -> None:
    helper = value.func if holds_a_function(value) else _held_function(value)
    if not isinstance(helper, FunctionType) or helper.__code__ in seen or is_emulator_file(helper.__code__.co_filename):
        return
    may_change = _iterates(helper.__code__) and not is_standard(helper.__code__.co_filename)
    found = function_source(helper.__code__) if may_change else None
    if helper is value and found is not None and any(_changes(node) for node in ast.walk(found)):
        tree = copied(found)
        rewriter = _Rewriter(helper=True)
        tree.body = [statement for old in tree.body for statement in rewriter.statements(old)]
        helper.__globals__.update({_RETURNS: Returns, _RANGE: python_range})
        helper.__code__ = _compiled(helper, tree, helper.__code__.co_freevars)
    rewrite_helpers(helper, seen)


def _held_function(value: Any) -> Any:
    """What a decorator that is a class holds as ``func``, without asking the object; ``value`` itself without one."""
    held = value if isinstance(value, type) else inspect.getattr_static(value, "func", value)
    if not isinstance(held, MemberDescriptorType):
        return held
    try:
        return held.__get__(value)
    except AttributeError:  # a slot that nothing was put into
        return value


def _iterates(code: CodeType) -> bool:
    return any(name in code.co_names for name in (*_LOOPS, "range"))


def _changes(node: ast.AST) -> bool:
    return _ends_with_return(node) or (isinstance(node, ast.For) and _is_on_chip(node.iter))


def _is_on_chip(iterated: ast.expr) -> bool:
    """Is it ``range(scalar(...))``?"""
    if not isinstance(iterated, ast.Call) or not isinstance(iterated.func, ast.Name) or iterated.func.id != "range":
        return False
    bounds = (bound.func for bound in iterated.args if isinstance(bound, ast.Call))
    return any((b.attr if isinstance(b, ast.Attribute) else getattr(b, "id", "")) == "scalar" for b in bounds)


def _ends_with_return(node: ast.AST) -> bool:
    return isinstance(node, ast.For) and is_nki_loop(node) and isinstance(last_statement(node), ast.Return)


def _compiled(function: FunctionType, tree: ast.FunctionDef, free: tuple[str, ...]) -> CodeType:
    code = recompiled(function, tree, free)
    end_returns_handled(code)
    return code


def _over(function: FunctionType, code: CodeType) -> FunctionType:
    """A function like ``function`` that runs ``code``, over the same globals and closure."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(cells[name] if name in cells else CellType(_ADDED[name]) for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__qualname__ = function.__qualname__
    return made


class Returns:
    """The value that a loop body returned; the last iteration's counts."""

    def __init__(self) -> None:
        self.value: Any = None
        self.given = False

    def set(self, value: Any) -> None:
        self.value, self.given = value, True


def check_annotation(value: Any, annotation: Callable[[], Any]) -> None:
    """Raise when ``value`` does not have the shape of a ``nt.tensor[...]`` annotation."""
    try:
        wanted = annotation()
    except (NameError, AttributeError):
        return
    if not isinstance(wanted, Annotation) or wanted.shape is None or not isinstance(value, Tensor):
        return
    shape = tuple(int(n) for n in value.shape)
    if shape != wanted.shape:
        raise KernelError(
            "err_annotation_shape_mismatch",
            f"shape of `data[{', '.join(map(str, shape))}]` does not match the expected shape of {list(wanted.shape)}",
        )


_ADDED: dict[str, Any] = {_RANGE: python_range, _CHECK: check_annotation, _RETURNS: Returns}
"""What a rewritten body calls."""


class _Rewriter:
    """Rewrites statements; ``changed`` tells whether anything was. In a ``helper`` only returns that end a loop are."""

    def __init__(self, helper: bool = False) -> None:
        self.helper = helper
        self.changed = False
        self._names = 0

    def statements(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.For):
            return self._loop(node)
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                setattr(node, field, [s for old in inner for s in self.statements(old)])
        for handler in getattr(node, "handlers", []):
            handler.body = [s for old in handler.body for s in self.statements(old)]
        annotated = isinstance(node, ast.AnnAssign) and node.value is not None and _is_tensor(node.annotation)
        if isinstance(node, ast.AnnAssign) and annotated and not self.helper:
            return [node, self._check(node)]
        return [node]

    def _check(self, node: ast.AnnAssign) -> ast.stmt:
        self.changed = True
        value = ast.parse(ast.unparse(node.target), mode="eval").body
        nothing = ast.arguments([], [], None, [], [], None, [])
        annotation = ast.Lambda(nothing, copied(node.annotation))
        return _at(node, ast.Expr(ast.Call(ast.Name(_CHECK, ast.Load()), [value, annotation], [])))

    def _loop(self, node: ast.For) -> list[ast.stmt]:
        called = node.iter.func if isinstance(node.iter, ast.Call) else None
        is_range = isinstance(called, ast.Name) and called.id == "range"
        if is_range and (not self.helper or _is_on_chip(node.iter)):
            assert isinstance(node.iter, ast.Call)
            node.iter.func = ast.copy_location(ast.Name(_RANGE, ast.Load()), node.iter.func)
            self.changed = True
        last = last_statement(node)
        returned = last if isinstance(last, ast.Return) and is_nki_loop(node) else None
        name = ""
        if returned is not None:
            self.changed = True
            self._names += 1
            name = f"__nki_returned_{self._names}"
            self._remember(node, returned, name)
        node.body = [s for old in node.body for s in self.statements(old)]
        node.orelse = [s for old in node.orelse for s in self.statements(old)]
        if not name:
            return [node]
        made = ast.Assign([ast.Name(name, ast.Store())], ast.Call(ast.Name(_RETURNS, ast.Load()), [], []))
        given = ast.Attribute(ast.Name(name, ast.Load()), "given", ast.Load())
        value = ast.Attribute(ast.Name(name, ast.Load()), "value", ast.Load())
        return [_at(node, made), node, _at(returned, ast.If(given, [ast.Return(value)], []))]

    def _remember(self, loop: ast.For, returned: ast.AST | None, name: str) -> None:
        """Replace the return by a note of its value."""
        assert isinstance(returned, ast.Return)
        value = returned.value or ast.Constant(None)
        note = ast.Expr(ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "set", ast.Load()), [value], []))
        body = _tail(loop)
        body[-1] = _at(returned, note)


def is_nki_loop(node: ast.AST) -> bool:
    """Does the loop, by the name of what it iterates over, trace its body once?"""
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
        return False
    called = node.iter.func
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in _LOOPS


def _tail(loop: ast.For) -> list[ast.stmt]:
    """The statements of the loop that ends ``loop`` (itself, or the innermost one where loops end in loops)."""
    last = loop.body[-1]
    return _tail(last) if isinstance(last, ast.For) else loop.body


def _is_tensor(annotation: ast.expr) -> bool:
    if not isinstance(annotation, ast.Subscript):
        return False
    holder = annotation.value
    return (holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", "")) in (
        "tensor",
        "mutable_tensor",
    )


def _at(place: ast.AST | None, node: ast.stmt) -> ast.stmt:
    """``node`` with the position of ``place`` everywhere."""
    assert place is not None
    for part in ast.walk(node):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node
