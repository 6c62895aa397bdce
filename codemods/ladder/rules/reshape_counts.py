"""NKV034 reshape-counts: a ``reshape`` that is known to change the number of elements is reported.

Why: since 0.5 it is an error; before it took the first elements, or more than there are.

Manual: which elements are meant, a person must say.
"""

from __future__ import annotations

import ast
from math import prod

from ..answers import Answer, Left, Said, unknown
from ..facts import Facts
from ..tensors import Tensor

CODE = "NKV034"
APPLICABILITY = "manual"
GOLDENS = ("ladder_left",)
NODES = (ast.Call,)


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Compare the numbers, where both are known."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "reshape" or facts.called(node):
        return None
    before, after = facts.tensors.of(facts.path, node.func.value), facts.tensors.of(facts.path, node)
    if not isinstance(before, Tensor) or not isinstance(after, Tensor):
        return None
    counts = _count(before), _count(after)
    if _are_equal(before, after):
        return None
    if None in counts:
        name = ast.unparse(node.func.value)
        help = "slice the tensor first, or give all elements a place"
        said = Said(
            (f"'{name}'",),
            "the reshape of {} keeps the number of elements",
            "the reshapes of {} keep their numbers of elements",
        )
        return unknown(said, f"NKI {facts.new} checks it", help)
    return Left(
        f"reshape of {counts[0]} elements to {counts[1]}", "slice the tensor first, or give all elements a place"
    )


def _are_equal(before: Tensor, after: Tensor) -> bool:
    """Are the sizes of one the factors of the other, in any order?"""
    factors = []
    for tensor in (before, after):
        if tensor.shape is None:
            return False
        product = "*".join(f"({size})" for size in tensor.shape)
        found, number = [], 1
        for each in _factors(ast.parse(product, mode="eval").body):
            if isinstance(each, ast.Constant) and isinstance(each.value, int):
                number *= each.value
            else:
                found.append(ast.unparse(each))
        factors.append((number, sorted(found)))
    return factors[0] == factors[1]


def _factors(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_factors(node.left), *_factors(node.right)]
    return [node]


def _count(tensor: Tensor) -> int | None:
    if tensor.shape is None or not all(size.isdecimal() for size in tensor.shape):
        return None
    return prod(int(size) for size in tensor.shape)
