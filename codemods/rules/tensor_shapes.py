"""NKI034 tensor-shapes: ``ndim``, ``shape_2d`` and ``expand_dims`` of tensors are said with their shapes.

Why: a tensor of Beta 2 has a ``shape`` and a ``reshape``, and none of the others. ``x.ndim`` becomes ``len(x.shape)``,
``x.shape_2d`` the partitions and the product of the free dimensions, ``x.expand_dims(axis)`` and
``nl.expand_dims(x, axis)`` a ``reshape``. Where only a trace tells the rank or the axes, a function that the rewrite
adds computes the new shape.

Safe: the same numbers, and a view of the same bytes in both versions. Left alone: ``expand_dims`` of a part of a
tensor, and of tensors with block dimensions.

Source: "nki.tensor" of the 2.26.1 API reference; KLR/Trace/Term.lean of leanprover/KLR.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..lower.access import OPERANDS, owner
from ..lower.compute import bound_call
from ..lower.reshape import expanded
from ..syntax import codes

if TYPE_CHECKING:
    from ..analysis.scope import Scope

CODE = codes.TENSOR_SHAPES
GOLDENS = ("tensor_shapes",)


def _expanded(scope: Scope, node: ast.Call) -> Operand:
    """``nl.expand_dims(data, axis)``, a view in both versions."""
    arguments = bound_call(scope, node, "nl.expand_dims").arguments
    base = owner(scope, arguments["data"])
    if base is None:
        raise Refuse(node, CODE, "nl.expand_dims of what is not known to be a tensor", "reshape a tensor")
    return expanded(scope, node, base, arguments["axis"])


OPERANDS["nl.expand_dims"] = _expanded
