"""Calls of functions that are one expression of their parameters, ``div_ceil(n, d)``, written out."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING, TypeGuard

from ..syntax.names import dotted
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import by_parameter, default_values, returned_expression, with_names

if TYPE_CHECKING:
    from ..project.program import Module
    from .scope import Scope

_CEILINGS = {"math.ceil", "np.ceil"}
_CEILING = "math.ceil"
"""One name for them, which no text can be parsed to."""
_ARITHMETIC = ast.Name | ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.expr_context
_DEEPEST = 4


def written_out(scope: Scope, node: ast.expr) -> ast.expr:
    """``node`` with what such calls give; ``math.ceil`` by whatever name, an ``int`` of it, too, is ``math.ceil``.

    It is for reading alone.
    """
    return _written_out(scope.module, scope.names.env.keys(), node, 0)


def is_formula(scope: Scope, call: ast.Call) -> bool:
    """Does a call give an expression of its arguments, and do nothing else?"""
    fresh = ast.parse(ast.unparse(call), mode="eval").body
    written = _Calls(scope.module, scope.names.env.keys(), 0).visit(fresh)
    return not isinstance(written, ast.Call) or is_ceiling(written)


def is_ceiling(node: ast.AST) -> TypeGuard[ast.Call]:
    """Is this ``math.ceil(x)``, as :func:`written_out` spells it?"""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return False
    return isinstance(node.func, ast.Name) and node.func.id == _CEILING


def _written_out(module: Module, local: Collection[str], node: ast.expr, depth: int) -> ast.expr:
    fresh = ast.parse(f"({ast.unparse(node)})", mode="eval").body
    written: ast.expr = _Calls(module, local, depth).visit(fresh)
    return written


class _Calls(ast.NodeTransformer):
    """Writes out the calls in an expression of ``module``, in which the ``local`` names mean something else."""

    def __init__(self, module: Module, local: Collection[str], depth: int) -> None:
        self.module, self.local, self.depth = module, local, depth

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        chain = dotted(node.func)
        if chain is None or chain[0] in self.local or any(isinstance(a, ast.Starred) for a in node.args):
            return node
        if self._is_ceiling(node.func, chain[0]):
            return ast.Call(ast.Name(_CEILING), node.args, [])
        if self._is_int(node.func) and len(node.args) == 1 and is_ceiling(node.args[0]):
            return node.args[0]
        return self._formula(node) or node

    def _is_ceiling(self, node: ast.expr, root: str) -> bool:
        """Is this a ceiling of the module's own text, or one that the rewrite spells with an import of its own?"""
        own = self.module.symbols.host_name(node) in _CEILINGS and root not in self.module.symbols.classes
        return own or ast.unparse(node) == f"{self.module.program.asked(_imported, self.module, 'math')}.ceil"

    def _is_int(self, node: ast.expr) -> bool:
        own = self.module.symbols.rebound | self.module.symbols.imports.keys() | self.module.symbols.classes.keys()
        return isinstance(node, ast.Name) and node.id == "int" and "int" not in own

    def _formula(self, node: ast.Call) -> ast.expr | None:
        found = self._function(node.func)
        returned = returned_expression(found[1]) if found is not None else None
        if found is None or returned is None or self.depth >= _DEEPEST:
            return None
        home, function = found
        parameters = {argument.arg for argument in of_kinds(function.args, ast.arg)}
        given = {parameter.arg: value for parameter, value in default_values(function).items()}
        given |= {name: value for name, _, value in by_parameter(function, node)}
        written = _written_out(home, parameters, returned, self.depth + 1)
        is_plain = all(isinstance(value, ast.Constant) for value in default_values(function).values())
        known = is_plain and parameters == given.keys() and all(k.arg is not None for k in node.keywords)
        if not known or not _is_arithmetic(written, parameters):
            return None
        return with_names(written, given.get)

    def _function(self, node: ast.expr) -> tuple[Module, ast.FunctionDef] | None:
        """The function of a module that a name means, which nothing else in its file is called."""
        own = self.module.symbols.functions.get(node.id) if isinstance(node, ast.Name) else None
        found = (self.module, own) if own is not None else self.module.program.function(self.module, node)
        return found if found is not None and found[1].name not in found[0].symbols.bound_again else None


def _is_arithmetic(node: ast.expr, names: Collection[str]) -> bool:
    """Is an expression arithmetic of these names, with ceilings of it?"""
    ceilings = [call for call in of_kinds(node, ast.Call) if is_ceiling(call)]
    spelled = {part for call in ceilings for part in (call, *walk(call.func))}
    rest = [part for part in walk(node) if part not in spelled]
    own = all(part.id in names for part in rest if isinstance(part, ast.Name))
    return own and all(isinstance(part, _ARITHMETIC) for part in rest)


def _imported(module: Module, path: str) -> str | None:
    return module.names.needed_imports.get(path)
