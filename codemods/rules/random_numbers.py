"""NKI032 random-numbers: ``nl.dropout`` and ``nl.random_seed`` become ``nisa.dropout`` and ``nisa.set_rng_seed``.

Why: Beta 2 has no function of ``nl`` for either. ``nisa.dropout`` takes the probability by which an element becomes 0,
a number or a (P, 1) tile; ``nisa.set_rng_seed`` reads the seed from a tile of one 32-bit element, into which a number
is written first.

Review (``--unsafe`` writes them): which random bits follow from a seed is the hardware's business, and the public front
end of Beta 2 calls the probability that of keeping an element, where the documentation has that of dropping it. On the
emulator both versions draw the same bits. Left alone: masks on index vectors, rates that are tiles of another shape,
seeds in tiles of another type than int32 and uint32, of which ``nisa.set_rng_seed`` would read the bits.

Source: ``nki.isa.dropout`` and ``nki.isa.set_rng_seed`` of the 2.28 API reference.
"""

from __future__ import annotations

import ast

from ..analysis.instructions import Instruction, lowers
from ..analysis.scope import Scope
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..expr.values import Tile
from ..lower.compute import Call, bound_call, materialized, operand_or_text
from ..render.dtypes import type_name
from .masks import masked

CODE = "NKI032"
APPLICABILITY = "review"
GOLDENS = ("random_numbers",)


@lowers(CODE, "nl.dropout", "nisa.dropout")
def dropout(call: Call) -> Instruction:
    data, rate = ("x", "rate") if call.name == "nl.dropout" else ("data", "prob")
    x, probability, dtype = call.tensor(data), call.value(rate), call.dtype()
    if isinstance(probability, Operand):
        _check_column(call, probability, x)
    natural = Tile("sbuf", x.dims, dtype or x.dtype)
    _accept(
        call.scope, call.node, "a dropout: other random bits, and perhaps another reading of the probability", natural
    )
    given: list[tuple[str, Operand | str]] = [("data", x), ("prob", probability)]
    return Instruction("dropout", given, x.dims, dtype or x.dtype, like=x.like, explicit=dtype is not None, cut=False)


def _check_column(call: Call, rate: Operand, x: Operand) -> None:
    """A rate that is a tile has one number for each partition: the kernel asserts what the source does not tell."""
    scope = call.scope
    column = rate.dims is not None and len(rate.dims) == 2 and scope.constant(rate.dims[1]) == 1
    numbers = scope.constant(rate.rows), scope.constant(x.rows)
    if not column or x.dims is None or (None not in numbers and numbers[0] != numbers[1]):
        raise call.refuse(CODE, "a dropout rate that is no number and no (partitions, 1) tile", "broadcast the rate")
    scope.assert_equal(rate.rows, x.rows, "a dropout rate for each partition")


def _check_word(call: Call, seed: Operand) -> None:
    """A seed that is a tile has an integer of 32 bits: of any other type, ``set_rng_seed`` would read other bits."""
    scope, nl = call.scope, call.scope.nl
    known = type_name(scope, seed.dtype)
    if seed.dtype is None or known not in (None, "int32", "uint32"):
        raise call.refuse(CODE, "a seed that is no integer of 32 bits", "load or copy it as nl.int32")
    if known is None:
        scope.assert_that(f"{seed.dtype} == {nl}.int32 or {seed.dtype} == {nl}.uint32", "a seed of 32 bits")


def _accept(scope: Scope, node: ast.expr, what: str, result: Tile | None = None) -> None:
    """Raise :class:`Refuse` unless the user accepts what needs a review."""
    if not scope.module.options.unsafe:
        raise Refuse(node, CODE, what, "--unsafe writes the instruction of nisa", "review", result)


def random_seed(scope: Scope, node: ast.Call) -> None:
    """``nl.random_seed(seed)``, a statement."""
    scope.apply(CODE, node)
    call = bound_call(scope, node, "nl.random_seed")
    with masked(scope, node):
        seed = operand_or_text(scope, call.arguments["seed"])
        if scope.masks.clamps:
            raise call.refuse(CODE, "a seed under a mask on index vectors", "guard it with an if")
        _accept(scope, node, "a seed: the random bits that follow from it are others")
        if isinstance(seed, Operand):
            _check_word(call, seed)
        else:
            number = Instruction("memset", [("value", seed)], ("1", "1"), f"{scope.nl}.int32")
            seed = materialized(scope, node, number)
        scope.emit(f"{scope.nisa}.set_rng_seed(src_seeds={seed.text(())})")
