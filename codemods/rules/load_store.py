"""NKI020 load-store: ``nl.load`` and ``nl.store`` become ``nisa.dma_copy``.

Why: Beta 2 removed both. A load that returned a tile needs a tile to load into, so one is declared with the shape of
the access and the type of the source. A store of a PSUM tile goes through an SBUF tile, because DMA cannot read PSUM.
``mode=`` becomes ``oob_mode=``.

Safe: the same bytes move between the same places; where the types differ, both convert in the same way.

Source: NKI migration guide, "What features in neuronxcc.nki.* are not available in nki.*?".
"""

from __future__ import annotations

from ..compute import Call, Instruction, in_sbuf, lowers
from ..operands import Operand
from ..render import render

CODE = "NKI020"
GOLDENS = ("load_store", "optional_tensors")


@lowers(CODE, "nl.load")
def load(call: Call) -> Instruction:
    src = call.tensor("src")
    if src.space != "hbm":
        raise call.refuse(CODE, "nl.load of a tensor that is not in HBM", "use nisa.tensor_copy")
    dtype = call.dtype()
    dims = src.dims if src.dims is None or len(src.dims) >= 2 else (*src.dims, "1", "1")[:2]
    like = src.like
    given: list[tuple[str, Operand | str]] = [("src", src), *out_of_bounds(call)]
    return Instruction("dma_copy", given, dims, dtype or src.dtype, like=like, explicit=dtype is not None)


def out_of_bounds(call: Call) -> list[tuple[str, Operand | str]]:
    """What ``mode=`` says about indices out of bounds, as Beta 2's ``oob_mode=``."""
    return [("oob_mode", render(call.scope, call.arguments["mode"]))] if call.has("mode") else []


def store(call: Call) -> tuple[Operand, Operand]:
    """Destination and value of ``nl.store``; a value in PSUM, or one that is computed, is in a tile of its own."""
    dst, value = call.tensor("dst"), call.tensor("value")
    if dst.space != "hbm":
        raise call.refuse(CODE, "nl.store into a tensor that is not in HBM", "use nisa.tensor_copy")
    if value.space == "hbm":
        raise call.refuse(CODE, "nl.store of a tensor in HBM", "use nisa.dma_copy")
    if value.perhaps_psum:
        if call.scope.direct:
            raise call.refuse(CODE, "nl.store of a PSUM tile in a direct-allocation kernel", "copy it to SBUF first")
        value = in_sbuf(call.scope, call.node, value)
    return dst, value
