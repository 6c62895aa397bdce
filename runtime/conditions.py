"""Which sides of its conditions a kernel took while it ran, and which ways its comparisons of numbers went.

Loops that never run, and ``min`` and ``max`` of two numbers of which one is always taken, are conditions, too.

Only the child of a worker asks, and only when ``verify`` wants it: from :func:`watch` on, the code of user's files is
compiled with a call around each condition and comparison. Conditions of ``assert`` and those that only raise are left
out: what they guard against never runs. What a tensor answers is none of Python's business, and is not asked.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import linecache
from collections.abc import Mapping
from typing import Any

import numpy as np

from .compare.condition import Condition
from .positions import compiled_from
from .reading import is_packaged

_Loader = importlib.machinery.SourceFileLoader
_SEEN = "__nki_seen__"
_OF_TWO = "__nki_of_two__"
_COMPARISONS = ("__nki_comparison__", "__nki_compared__")
"""What stands for a comparison in a function of Beta 2 that is observed."""
_FUNCTION = "__nki_function__"
"""What stands around one of Python's own functions there."""
_TRUTH = "__nki_truth__"
"""What stands around a condition there."""
_ELEMENTS = "__nki_elements__"
"""What stands around what an element is stored in there."""
_NUMBERS = (int, float)
_PLAIN = (bool, int, float, str, tuple, list, dict, type(None), np.bool_)


_sites: dict[tuple[str, int, int, int, int], int] = {}
_answers: list[set[bool]] = []
_watching = False


def watch() -> None:
    """Watch the user's code that is compiled from now on, until the process ends."""
    global _watching
    _watching = True
    setattr(builtins, _SEEN, _seen)
    setattr(builtins, _OF_TWO, _of_two)
    stats = _Loader.path_stats

    def path_stats(self: Any, path: str) -> Mapping[str, Any]:
        if not is_packaged(path):
            raise OSError("compiled code on disk is not watched")
        return stats(self, path)

    def source_to_code(self: Any, data: Any, path: Any, *, _optimize: int = -1) -> Any:
        tree: Any = compile(data, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True, optimize=_optimize)
        if not is_packaged(str(path)):
            watched(tree, str(path))
        code = compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)
        compiled_from(tree, code)
        return code

    setattr(_Loader, "path_stats", path_stats)  # noqa: B010
    setattr(_Loader, "source_to_code", source_to_code)  # noqa: B010


def watched(tree: ast.AST, file: str) -> None:
    """Put the calls into ``tree``, if user's code is watched; each has the place of what it asks."""
    if _watching:
        _Watcher(file).visit(tree)


def so_far() -> tuple[Condition, ...]:
    """The conditions that were asked, in the order of files and lines."""
    return tuple(
        Condition(file, line, _text(file, line, column, last, end), True in _answers[n], False in _answers[n])
        for (file, line, column, last, end), n in sorted(_sites.items())
        if _answers[n]
    )


def _seen(site: int, value: Any) -> Any:
    if type(value) in _PLAIN:
        _answers[site].add(bool(value))
    return value


def _of_two(site: int, function: Any, one: Any, other: Any) -> Any:
    """``min(one, other)`` or ``max(one, other)``: is it the first? Equal numbers do not tell."""
    found = function(one, other)
    if type(one) in _NUMBERS and type(other) in _NUMBERS and one != other:
        _answers[site].add(bool(found == one))
    return found


def _text(file: str, line: int, column: int, last: int, end: int) -> str:
    lines = [text.encode() for text in linecache.getlines(file)[line - 1 : last]]
    if not lines:
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][column:]
    return " ".join(b" ".join(lines).decode(errors="replace").split())


class _Read(ast.NodeTransformer):
    """A target as it is read: by the names that keep what it computed."""

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        return ast.copy_location(ast.Name(node.target.id, ast.Load()), node)


class _Watcher(ast.NodeTransformer):
    def __init__(self, file: str) -> None:
        self.file = file
        self.held = 0
        self.inside = False

    def _call(self, value: ast.expr) -> ast.expr:
        if isinstance(value, ast.Constant) or not hasattr(value, "lineno"):
            return value  # the second was put there, too, and is nobody's condition
        if isinstance(value, ast.Call) and _name(value) == _SEEN:
            return value
        return self._asking(_SEEN, self._site(value, value), value, value)

    def _site(self, first: ast.stmt | ast.expr, last: ast.expr) -> int:
        """The number of the condition whose text goes from the start of ``first`` to the end of ``last``."""
        place = (self.file, first.lineno, first.col_offset, last.end_lineno or 0, last.end_col_offset or 0)
        if place not in _sites:
            _sites[place] = len(_answers)
            _answers.append(set())
        return _sites[place]

    def _asking(self, name: str, site: int, place: ast.AST, *arguments: ast.expr) -> ast.Call:
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(site), *arguments], [])
        for node in (call, call.func, call.args[0]):
            ast.copy_location(node, place)
        return call

    def _said(self, site: int, place: ast.AST, value: ast.expr) -> ast.stmt:
        """A statement that says how a condition went."""
        ast.copy_location(value, place)
        return ast.copy_location(ast.Expr(self._asking(_SEEN, site, place, value)), place)

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            found = self.visit(statement)
            made += found if isinstance(found, list) else [found]
        return made

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        """A loop that runs says so in its body; before it, that it may not."""
        site = self._site(node, node.iter)
        self.generic_visit(node)
        node.body.insert(0, self._said(site, node.iter, ast.Constant(True)))
        return [self._said(site, node.iter, ast.Constant(False)), node]

    def _test(self, test: ast.expr) -> ast.expr:
        """A condition: of ``and``, ``or`` and ``not`` the parts."""
        asked = test.args[0] if isinstance(test, ast.Call) and _name(test) == _TRUTH else test
        made = self.visit(test)
        return made if isinstance(asked, (ast.BoolOp, ast.UnaryOp)) else self._call(made)

    def visit_If(self, node: ast.If) -> ast.AST:
        if any(isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(node.test)):
            return node  # a script's own part, which no launch runs
        guards = _only_raises(node.body) or _only_raises(node.orelse) or (not self.inside and _defines(node))
        node.test = node.test if guards else self._test(node.test)
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        around, self.inside = self.inside, True
        self.generic_visit(node)
        self.inside = around
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self._test(node.test)
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test, node.body, node.orelse = self._test(node.test), self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self._test(value) for value in node.values]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        return self._call(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = _name(node)
        if name.endswith("assert") or name in (_SEEN, _OF_TWO):
            return node
        of_two = _is_of_two(node)
        site = self._site(node, node) if of_two else 0
        made = self.generic_visit(node)
        if of_two:
            return self._asking(_OF_TWO, site, node, node.func, *node.args)
        return self._call(node) if name in _COMPARISONS else made

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        return self._bound(node, node.targets[0], node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.stmt]:
        return self._bound(node, node.target, node.value)

    def _bound(
        self, node: ast.Assign | ast.AnnAssign, target: ast.expr, value: ast.expr | None
    ) -> ast.AST | list[ast.stmt]:
        """A comparison of tiles has the name that it is bound to: nothing comes in between, and the name is asked."""
        if value is None or not _is_comparison(value):
            return self.generic_visit(node)
        if not self._hold(target):
            return node
        read = ast.parse(ast.unparse(target), mode="eval").body
        bound = _Read().visit(read)
        return [node, self._said(self._site(value, value), value, bound)]

    def _hold(self, target: ast.expr) -> bool:
        """Keep what ``target`` computes (a place of a list, the list) under names, so that it can be read again.

        ``False`` for several targets, and for slices, which hold no comparison of numbers.
        """
        if isinstance(target, ast.Attribute | ast.Subscript):
            if isinstance(target, ast.Subscript):
                indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
                if any(isinstance(index, ast.Slice | ast.Starred) for index in indices):
                    return False
                if isinstance(target.slice, ast.Tuple):
                    target.slice.elts = [self._held(index) for index in indices]
                else:
                    target.slice = self._held(target.slice)
            if self._hold(target.value):
                return True
            target.value = self._held(target.value)
            return True
        if isinstance(target, ast.Call) and _name(target) == _ELEMENTS and len(target.args) == 1:
            return self._hold(target.args[0])
        return isinstance(target, ast.Name)

    def _held(self, value: ast.expr) -> ast.expr:
        """``value`` under a name of ours; a name and a constant are read again as they are."""
        if isinstance(value, ast.Name | ast.Constant):
            return value
        self.held += 1
        name = ast.copy_location(ast.Name(f"_nki_held_{self.held}", ast.Store()), value)
        return ast.copy_location(ast.NamedExpr(name, value), value)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_of_two(call: ast.Call) -> bool:
    """Is it ``min`` or ``max`` of two arguments, in a function of Beta 2 that is observed, too?"""
    function = call.func
    if isinstance(function, ast.Call) and _name(function) == _FUNCTION and function.args:
        function = function.args[0]
    named = isinstance(function, ast.Name) and function.id in ("min", "max")
    return (
        named and len(call.args) == 2 and not call.keywords and not any(isinstance(a, ast.Starred) for a in call.args)
    )


def _is_comparison(value: ast.expr) -> bool:
    return isinstance(value, ast.Compare) or (isinstance(value, ast.Call) and _name(value) in _COMPARISONS)


def _defines(node: ast.If) -> bool:
    """Does a condition of a module decide what it defines, as ``if HAS_NKI`` does? No launch asks it."""
    return any(isinstance(s, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom) for s in node.body)


def _only_raises(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)
