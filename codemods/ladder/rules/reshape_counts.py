"""NKV034 reshape-counts: a ``reshape`` that is known to change the number of elements is reported.

Why: since 0.5 it is an error; before it took the first elements, or more than there are.

Manual: which elements are meant, a person must say.
"""

from __future__ import annotations

import ast
from math import prod

from ..answers import Answer, Left
from ..facts import Facts
from ..tensors import Tensor

CODE = "NKV034"
APPLICABILITY = "manual"
GOLDENS = ()
NODES = (ast.Call,)


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Compare the numbers, where both are known."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "reshape" or facts.called(node):
        return None
    before, after = facts.tensors.of(facts.path, node.func.value), facts.tensors.of(facts.path, node)
    if not isinstance(before, Tensor) or not isinstance(after, Tensor) or before.dtype != after.dtype:
        return None
    counts = _count(before), _count(after)
    if None in counts or counts[0] == counts[1]:
        return None
    return Left(
        f"reshape of {counts[0]} elements to {counts[1]}", "slice the tensor first, or give all elements a place"
    )


def _count(tensor: Tensor) -> int | None:
    if tensor.shape is None or not all(size.isdecimal() for size in tensor.shape):
        return None
    return prod(int(size) for size in tensor.shape)
