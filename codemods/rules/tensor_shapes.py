"""NKI034 tensor-shapes: ``ndim``, ``shape_2d`` and ``expand_dims`` of tensors are said with their shapes.

Why: a tensor of Beta 2 has a ``shape`` and a ``reshape``, and none of the others. ``x.ndim`` becomes ``len(x.shape)``,
``x.shape_2d`` the partitions and the product of the free dimensions, ``x.expand_dims(axis)`` a
``reshape``. Where only a trace tells the rank or the axes, a function that the rewrite adds computes the new shape.

Safe: the same numbers, and a view of the same bytes in both versions. Left alone: ``expand_dims`` of a part of a
tensor, and of tensors with block dimensions.

Source: "nki.tensor" of the 2.26.1 API reference; KLR/Trace/Term.lean of leanprover/KLR.
"""

from __future__ import annotations

from ..syntax import codes

CODE = codes.TENSOR_SHAPES
GOLDENS = ("tensor_shapes",)
