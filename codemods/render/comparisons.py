"""``rate > 0`` of a float becomes ``float(rate) > 0.0``: Beta 2 compares the types of numbers before their values.

A parameter that an instruction computes with may be a float: it is compared as one, which a whole number survives.
"""

from __future__ import annotations

import ast

from ..analysis.maybe_tensors import is_number, names_taken
from ..analysis.scope import Scope
from ..expr import algebra
from ..syntax.codes import LANGUAGE
from ..syntax.node_index import of_kinds
from ..syntax.nodes import default_values, named_parameters

_NUMBERS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def comparison_text(scope: Scope, node: ast.expr) -> str | None:
    """``float(rate) > 0.0`` for a comparison of what may be a float with an integer, or of a number with a float.

    ``None`` for any other comparison.
    """
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], _NUMBERS):
        return None
    sides = [node.left, node.comparators[0]]
    whole = [_number(side) for side in sides]
    if not any(_is_of_other_type(scope, side, other) for side, other in zip(sides, reversed(whole), strict=True)):
        return None
    scope.apply(LANGUAGE, node)
    texts = [
        f"float({scope.evaluator.render(scope, side)})" if number is None else repr(float(number))
        for side, number in zip(sides, whole, strict=True)
    ]
    between = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
    return f"{texts[0]} {between[type(node.ops[0])]} {texts[1]}"


def _is_of_other_type(scope: Scope, side: ast.expr, number: int | float | None) -> bool:
    """May what is compared with ``number`` be of the other type? Nobody knows whether a caller gives 1 or 1.0."""
    if isinstance(number, float):
        optional = any(getattr(scope.names.env.get(name), "optional", False) for name in names_taken(side))
        return is_number(scope, side) and not optional and not _gives_float(scope, side)
    return number is not None and _is_float(scope, side)


def _gives_float(scope: Scope, node: ast.expr) -> bool:
    """Is an expression a float, whatever its names are?"""
    match node:
        case ast.Name(id=name) if name in scope.sizes.definitions:
            return isinstance(_number(algebra.parse(scope.sizes.definitions[name])), float)
        case ast.Call(func=ast.Name(id="float")) | ast.BinOp(op=ast.Div()):
            return True
    return _number(node) is not None


def _number(node: ast.expr) -> int | float | None:
    """The value of a number that is written out."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return None if isinstance(value, bool) else -value
        case ast.Constant(value=int() | float() as value):
            return None if isinstance(value, bool) else value
    return None


def _is_float(scope: Scope, node: ast.expr) -> bool:
    """Is it a parameter or a field that is annotated as a float, that is one by default, or that may be one?"""
    if isinstance(node, ast.Name):
        return node.id in _float_parameters(scope.function) | _computed_with(scope.function)
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and _is_field(scope, node.attr)


def _float_parameters(function: ast.FunctionDef) -> set[str]:
    defaults = default_values(function)
    return {arg.arg for arg in named_parameters(function) if _says_float(arg.annotation, defaults.get(arg))}


def _computed_with(function: ast.FunctionDef) -> set[str]:
    """The parameters that the source does not describe, and that instructions get as a number to compute with."""
    told = default_values(function)
    untold = {arg.arg for arg in named_parameters(function) if arg.annotation is None and arg not in told}
    calls = (node for node in of_kinds(function, ast.Call))
    operands = {keyword.value for call in calls for keyword in call.keywords if keyword.arg in _OPERANDS}
    numbers = {operand.operand if isinstance(operand, ast.UnaryOp) else operand for operand in operands}
    return untold & {number.id for number in numbers if isinstance(number, ast.Name)}


_OPERANDS = {"operand0", "operand1", "scale", "on_false_value", "fill_value"}
"""Parameters of instructions that are numbers, or tiles: those are not compared."""


def _is_field(scope: Scope, name: str) -> bool:
    """Is ``name`` a float wherever a class of the module has a field of that name?"""
    fields = [
        statement
        for node in scope.module.symbols.classes.values()
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and statement.target.id == name
    ]
    return bool(fields) and all(_says_float(field.annotation, field.value) for field in fields)


def _says_float(annotation: ast.expr | None, default: ast.expr | None) -> bool:
    annotated = isinstance(annotation, ast.Name) and annotation.id == "float"
    return annotated or (isinstance(default, ast.Constant) and type(default.value) is float)
