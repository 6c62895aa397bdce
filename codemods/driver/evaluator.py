"""The answers to the questions of :mod:`..expr.evaluation`."""

from __future__ import annotations

from ..expr.evaluation import Evaluator
from ..lower.access import operand
from ..lower.calls import call_value, called_tensor, list_both, module_function, nested_call
from ..lower.computations import is_computation
from ..lower.compute import temporary
from ..lower.declare import creation, declare
from ..lower.items import basic_item, is_slice
from ..lower.number_tables import is_element, reduced_table
from ..lower.operator_values import operator_choice, operator_value
from ..render.dtypes import type_name
from ..render.expressions import is_pure, render, render_named, render_stable
from ..render.type_names import dtype_text
from ..render.vector_calls import called, is_unread
from ..rules.allocator_objects import object_allocator
from ..rules.nl_compute import lower_operator
from .units import walk_function

EVALUATOR = Evaluator(
    render=render,
    render_stable=render_stable,
    render_named=render_named,
    is_pure=is_pure,
    operand=operand,
    is_slice=is_slice,
    basic_item=basic_item,
    call_value=call_value,
    module_function=module_function,
    nested_call=nested_call,
    called_tensor=called_tensor,
    list_both=list_both,
    called=called,
    is_unread=is_unread,
    is_computation=is_computation,
    temporary=temporary,
    lower_operator=lower_operator,
    type_name=type_name,
    dtype_text=dtype_text,
    is_element=is_element,
    reduced_table=reduced_table,
    operator_choice=operator_choice,
    operator_value=operator_value,
    creation=creation,
    declare=declare,
    object_allocator=object_allocator,
    walk_function=walk_function,
)
