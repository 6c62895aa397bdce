"""Assignments to a part of a tensor, and operators in place: computed there, filled, or accumulated in PSUM."""

from __future__ import annotations

import ast

from ..analysis.instructions import Instruction
from ..analysis.lists import assigned_to, extends_list, is_list
from ..analysis.maybe_tensors import may_be_no_number, may_be_result
from ..analysis.scope import Scope
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..expr.tables import refusal_note
from ..expr.values import (
    Python,
    Tile,
    Value,
)
from ..plan.conversions import hands_back_result
from ..render.expressions import render
from ..render.truths import check_augmented
from ..render.vector_subscripts import is_tensor_subscript
from ..rules.psum_accumulation import check_group
from ..syntax import codes
from ..syntax.codes import UNSUPPORTED
from ..syntax.nodes import returns_masked
from .access import operand
from .calls import module_function
from .computations import is_computation
from .compute import write
from .dynamic import tell_rank
from .partitions import check_partitions
from .reductions import reduced

DESTINATION = codes.ISA_DESTINATION


def store(scope: Scope, statement: ast.stmt, target: ast.Subscript, value: ast.expr) -> None:
    """``t[...] = value``: what is computed goes to its place, a number fills it."""
    destination = operand(scope, target)
    if destination is None:
        _to_no_tensor(scope, target, value)
        return
    if isinstance(destination.value, Tile) and destination.value.blocks:
        raise Refuse(target, codes.BLOCK_DIMENSIONS, "an assignment to several blocks at once", "loop over the blocks")
    if isinstance(value, ast.Call) and scope.qualified(value.func) == "nl.loop_reduce":
        reduced(scope, value, destination)
        return
    if isinstance(value, ast.Call) and scope.qualified(value.func) == "nl.load" and value.args and destination.dims:
        tell_rank(scope, value.args[0], len(destination.dims))
    function = module_function(scope, value) if isinstance(value, ast.Call) else None
    if function is not None and returns_masked(function.node):
        what = f"'{function.name}' returns a result under a mask: Beta 1 writes only what the mask lets through"
        raise Refuse(value, codes.MASKS, what, "hand the destination to the function, and write it there")
    if is_computation(scope, value) or operand(scope, value) is not None:
        write(scope, value, destination, handed_back=function is not None and hands_back_result(function.node))
        return
    if isinstance(value, ast.Call) and scope.qualified(value.func) is not None:
        raise Refuse(
            value,
            UNSUPPORTED,
            f"{scope.qualified(value.func)}(...) is not rewritten yet",
            refusal_note(scope.qualified(value.func) or ""),
        )
    _fill(scope, statement, destination, value)


def _to_no_tensor(scope: Scope, target: ast.Subscript, value: ast.expr) -> None:
    """A number or an object into what is no tensor, as far as it is known."""
    is_tile = is_computation(scope, value) or operand(scope, value) is not None
    if is_tile or is_tensor_subscript(scope, target):
        raise Refuse(target, DESTINATION, "the destination is not known to be a tensor", "declare it in this function")
    if isinstance(target.value, ast.Name) and type(scope.names.env.get(target.value.id)) is Value:
        raise Refuse(target, DESTINATION, f"'{target.value.id}' is not known to be a tensor", "declare it here")
    scope.emit(f"{element_text(scope, target)} = {render(scope, value)}")


def element_text(scope: Scope, part: ast.Subscript) -> str:
    """An element that is assigned to: Beta 2 does not count from the end there."""
    holder, index = render(scope, part.value), render(scope, part.slice)
    return f"{holder}[len({holder}) - {index[1:]}]" if index[1:].isdigit() and index[0] == "-" else f"{holder}[{index}]"


def _fill(scope: Scope, statement: ast.stmt, destination: Operand, value: ast.expr) -> None:
    number = value.operand if isinstance(value, ast.UnaryOp) else value
    known = not isinstance(value, ast.Call) and not may_be_result(scope, number) and not may_be_no_number(scope, value)
    known = known or isinstance(number, ast.Constant)
    if not known:
        raise Refuse(value, DESTINATION, "the value is not known to be a tensor or a number", "assign a tile")
    if destination.space == "hbm":
        raise Refuse(statement, DESTINATION, "a number written to HBM", "fill a tile, then copy it")
    check_group(scope, statement, "memset", destination, False)
    check_partitions(scope, statement, Instruction("memset", [], None, None), destination)
    scope.apply(DESTINATION, statement)
    scope.emit(f"{scope.nisa}.memset(dst={destination.text(())}, value={render(scope, value)})")


def augment(scope: Scope, statement: ast.stmt) -> None:
    """``t += x``: accumulation in PSUM for a matmul, else read, compute, write."""
    assert isinstance(statement, ast.AugAssign)
    target = statement.target
    destination = operand(scope, target) if isinstance(target, ast.Name | ast.Subscript) else None
    if destination is None:
        if _may_be_element(scope, target) or is_computation(scope, statement.value):
            raise Refuse(statement, DESTINATION, "the destination is not known to be a tensor", "declare it here")
        check_augmented(scope, statement)
        if extends_list(scope.module, scope.function, statement):
            scope.apply(codes.LANGUAGE, statement)
            added = render(scope, statement.value)
            added = added if isinstance(statement.value, ast.List) else f"list({added})"  # it takes no tuple
            scope.emit(f"{render(scope, target)}.extend({added})")
            return
        if isinstance(statement.op, ast.Mult) and is_list(scope.module, scope.function, target):
            what = "a list that is repeated in place, of which Beta 2 makes another list"
            raise Refuse(statement, codes.LANGUAGE, what, "give the new list a name of its own")
        operator = scope.source.text[scope.source.span(target)[1] : scope.source.span(statement.value)[0]].strip(
            " (\\\n"
        )
        scope.emit(f"{scope.source.segment(target)} {operator} {render(scope, statement.value)}")
        if isinstance(target, ast.Name) and type(scope.names.env.get(target.id)) is not Value:
            scope.names.env[target.id] = Python()
        return
    in_sbuf = destination.space == "sbuf" and not destination.perhaps_psum
    if _is_matmul(scope, statement.value) and not in_sbuf:
        if destination.space != "psum" or not isinstance(statement.op, ast.Add):
            raise Refuse(
                statement,
                codes.PSUM_ACCUMULATION,
                "a matmul accumulated outside of PSUM",
                "add it with nisa.tensor_tensor",
            )
        scope.apply(codes.PSUM_ACCUMULATION, statement)
        write(scope, statement.value, destination, accumulate=True)
        return
    combined = ast.copy_location(ast.BinOp(_load(target), statement.op, statement.value), statement)
    write(scope, combined, destination)


def _may_be_element(scope: Scope, target: ast.expr) -> bool:
    """May what is no tensor by itself be one that a list or a dictionary holds?"""
    if isinstance(target, ast.Name):
        return any(
            _may_be_element(scope, v) for v in assigned_to(scope.function, target.id) if isinstance(v, ast.Subscript)
        )
    if not isinstance(target, ast.Subscript):
        return False
    return is_tensor_subscript(scope, target) or may_be_no_number(scope, target)


def _load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    assert isinstance(target, ast.Subscript)
    return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)


def _is_matmul(scope: Scope, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and scope.qualified(value.func) in ("nisa.nc_matmul", "nl.matmul")
