"""What an expression is: the port by which parts of the analysis ask for the whole of it.

An expression is text, a tensor operand, a vector, a mask or the result of a call, and its parts are expressions again.
What knows one of these kinds stands in a module of its own and asks the others by this port, so that none imports what
imports it. :mod:`..driver.evaluator` fills the port.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .frames import Analysis
from .operands import Item, Operand
from .values import Allocator, Function, Value

Text = Callable[[Any, ast.expr], str]
Truth = Callable[[Any, Any], bool]
Perhaps = Callable[[Any, ast.Call], str | None]


@dataclass(frozen=True)
class Evaluator:
    """One function for each question. All get the scope first, then the expression (or the text of a data type).

    ``render``, ``render_stable`` and ``render_named`` give text, ``operand`` a tensor operand, ``called_tensor`` that
    of a call, ``temporary`` that of a computation, ``lower_operator`` what an operator computes; ``called``,
    ``call_value`` and ``nested_call`` what a call gives, ``module_function`` the function that it calls. ``is_pure``,
    ``is_unread``, ``is_computation``, ``is_element`` and ``is_slice`` are truths about an expression. ``creation`` and
    ``declare`` are of declarations, ``object_allocator`` of what gives their addresses. ``walk_function`` reads a
    function for a caller.
    """

    render: Text
    render_stable: Text
    render_named: Callable[[Any, ast.expr, str], str]
    is_pure: Truth
    operand: Callable[[Any, ast.expr], Operand | None]
    is_slice: Truth
    basic_item: Callable[[Any, ast.Subscript, ast.expr, str], Item]
    call_value: Callable[[Any, ast.Call], tuple[str, Value]]
    module_function: Callable[[Any, ast.Call], Function | None]
    nested_call: Perhaps
    called_tensor: Callable[[Any, ast.Call], Operand | None]
    list_both: Callable[[Any, Value | None, Value | None], None]
    called: Callable[[Any, ast.Call], Value | None]
    is_unread: Truth
    is_computation: Truth
    temporary: Callable[[Any, ast.expr], Operand]
    lower_operator: Callable[..., Any]
    type_name: Callable[[Any, str | None], str | None]
    dtype_text: Text
    is_element: Truth
    reduced_table: Perhaps
    operator_choice: Callable[[Any, ast.expr, set[bool]], str]
    operator_value: Callable[..., str]
    creation: Callable[[Any, ast.expr], str | None]
    declare: Callable[[Any, str, ast.Call, ast.stmt], Value]
    object_allocator: Callable[[Any, ast.expr], Allocator | None]
    walk_function: Callable[..., Analysis]
