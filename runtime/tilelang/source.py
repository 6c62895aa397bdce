"""The source of a kernel with its statements as calls: branches, loops and assignments must be traced, not run."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from ..errors import KernelError
from .builder import Surface

HOOK = "__tb"
_SURFACE = Surface()


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with the statements of its body as calls to :class:`~.builder.Surface`. Lines stay."""
    assert isinstance(function, FunctionType)
    if HOOK in function.__code__.co_freevars or HOOK in function.__code__.co_names:
        return function
    tree = _tree_of(function)
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise KernelError("", f"'{function.__name__}' is no function with a def of its own")
    definition.decorator_list = []
    definition.returns = None
    for each in ast.walk(definition.args):
        if isinstance(each, ast.arg):
            each.annotation = None
    definition.args.defaults = [ast.Constant(None) for _ in definition.args.defaults]
    definition.args.kw_defaults = [None if each is None else ast.Constant(None) for each in definition.args.kw_defaults]
    _Statements().visit_body(definition)
    free = [HOOK, *function.__code__.co_freevars]
    outer = ast.FunctionDef(
        "__outer",
        ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, []),
        [definition, ast.Return(ast.Name(definition.name, ast.Load()))],
        [],
    )
    module = ast.fix_missing_locations(ast.Module([outer], []))
    code = _inner_code(compile(module, function.__code__.co_filename, "exec"), definition.name)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[HOOK] = CellType(_SURFACE)
    closure = tuple(cells.get(name) or CellType() for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _tree_of(function: FunctionType) -> ast.Module:
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError as error:
        raise KernelError("", f"the source of '{function.__name__}' cannot be read") from error
    tree = ast.parse(textwrap.dedent("".join(lines)))
    return ast.increment_lineno(tree, first - 1)


def _inner_code(code: CodeType, name: str) -> CodeType:
    for outer in code.co_consts:
        if isinstance(outer, CodeType):
            for inner in outer.co_consts:
                if isinstance(inner, CodeType) and inner.co_name == name:
                    return inner
    raise KernelError("", f"'{name}' cannot be compiled")


def _hook(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name(HOOK, ast.Load()), name, ast.Load()), list(args), [])


def _thunk(node: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), node)


class _Statements(ast.NodeTransformer):
    def __init__(self) -> None:
        self._count = 0

    def visit_body(self, node: ast.FunctionDef) -> None:
        body: list[ast.stmt] = []
        for statement in node.body:
            found = self.visit(statement)
            body += found if isinstance(found, list) else [found]
        node.body = body

    def _temporary(self) -> str:
        self._count += 1
        return f"__tb_{self._count}"

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        name = self._temporary()
        chosen = ast.Name(name, ast.Load())
        first = ast.Assign([ast.Name(name, ast.Store())], _hook("condition", node.test))
        then = ast.If(_hook("then", chosen), [*node.body, ast.Expr(_hook("end", chosen))], [])
        new: list[ast.stmt] = [first, then]
        if node.orelse:
            new.append(ast.If(_hook("otherwise", chosen), [*node.orelse, ast.Expr(_hook("end", chosen))], []))
        return [ast.copy_location(each, node) for each in new]

    def visit_For(self, node: ast.For) -> Any:
        exits = _own_exits(node.body)
        self.generic_visit(node)
        if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range":
            node.iter = ast.copy_location(_hook("range_of", *node.iter.args), node.iter)
        if exits:
            what = ast.Constant("break" if isinstance(exits[0], ast.Break) else "continue")
            refusal = ast.Expr(_hook("leave", what))
            node.body = [ast.copy_location(refusal, exits[0]), *node.body]
        node.iter = ast.copy_location(_hook("iterate", node.iter), node.iter)
        return node

    def visit_While(self, node: ast.While) -> Any:
        self.generic_visit(node)
        node.test = ast.copy_location(_hook("repeat", _thunk(node.test)), node.test)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            old = _thunk(ast.Name(name, ast.Load()))
            node.value = ast.copy_location(_hook("bind", ast.Constant(name), node.value, old), node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None or not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        name = node.target.id
        old = _thunk(ast.Name(name, ast.Load()))
        made = _hook("augmented", ast.Constant(name), ast.Constant(type(node.op).__name__), old, node.value)
        return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.copy_location(made, node)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        name = "both" if isinstance(node.op, ast.And) else "either"
        found = node.values[0]
        for operand in node.values[1:]:
            found = ast.copy_location(_hook(name, found, _thunk(operand)), node)
        return found

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return ast.copy_location(_hook("negation", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        return ast.copy_location(_hook("choice", node.test, _thunk(node.body), _thunk(node.orelse)), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        sides = [node.left, *node.comparators]
        parts: list[ast.expr] = [
            ast.copy_location(ast.Compare(left, [op], [right]), node)
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        found = parts[0]
        for part in parts[1:]:
            found = ast.copy_location(_hook("both", found, _thunk(part)), node)
        return found

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.visit_body(node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node


def _own_exits(body: list[ast.stmt]) -> list[ast.stmt]:
    """The ``break`` and ``continue`` of a loop's own body."""
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, (ast.Break, ast.Continue)):
            found.append(statement)
        elif not isinstance(statement, (ast.For, ast.While, ast.FunctionDef, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody"):
                found += _own_exits(getattr(statement, field, []))
    return found
