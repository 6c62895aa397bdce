"""NKI020 load-store: ``nl.load`` and ``nl.store`` become ``nisa.dma_copy``.

Why: Beta 2 removed both. A load that returned a tile needs a tile to load into, so one is declared with the shape of
the access and the type of the source, two dimensions at least: ``x[i]`` and ``x[a:b]`` of a tensor of unknown rank
leave the shape to a function that the rewrite adds. The rank of ``x[a:b]`` is what the documentation of ``x`` says
(``bias: (channels,)``), or 1 where its tile is combined with one that has columns: the kernel asserts it. Another
subscript of such a tensor, or all of it, asserts the rank where the shape of the tile shows. A store of a PSUM tile
goes through an SBUF tile, because DMA cannot read PSUM.
``mode=`` becomes ``oob_mode=``. A number that is stored fills a tile first.

From 0.3 on both are there again: where the target has them (and a range of targets, ``0.3..0.6``, all of it), a load of
a plain part without a mask into a tile that has no address stays, and so do stores of tiles in SBUF. NKI022 keeps
computations in the same way.

Safe: the same bytes move between the same places; where the types differ, both convert in the same way.

Source: NKI migration guide, "What features in neuronxcc.nki.* are not available in nki.*?".
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..analysis.instructions import Instruction, lowers
from ..analysis.load_ranks import has_any_shape
from ..analysis.maybe_tensors import may_be_no_number, may_be_result
from ..analysis.objects import changing_part
from ..expr.operands import Operand
from ..expr.values import Absent, Hbm, Object, Python
from ..lower.access import operand
from ..lower.compute import Call, in_sbuf, materialized
from ..lower.row_loads import of_evident_rank
from ..render.expressions import render
from ..render.patterns import of_name, rest_of
from ..render.support import tile_shape_function
from ..syntax import codes
from ..syntax.names import dotted

CODE = codes.LOAD_STORE
GOLDENS = ("load_store", "loaded_ranks", "optional_tensors")


@lowers(CODE, "nl.load")
def load(call: Call) -> Instruction:
    src = of_evident_rank(call, _field(call) or call.tensor("src"))
    if src.space != "hbm":
        raise call.refuse(CODE, "nl.load of a tensor that is not in HBM", "use nisa.tensor_copy")
    dtype = call.dtype()
    dims = src.dims if src.dims is None or len(src.dims) >= 2 else (*src.dims, "1", "1")[:2]
    like = src.like
    of_any_rank = _is_of_any_rank(call, src)
    if of_any_rank:
        src = rest_of(of_name(call.scope, src.base, src.value), src.prefix) if src.prefix else src
        dims, like = None, f"{tile_shape_function(call.scope)}({src.like or f'{src.text(())}.shape'})"
    given: list[tuple[str, Operand | str]] = [("src", src), *out_of_bounds(call)]
    return Instruction(
        "dma_copy",
        given,
        dims,
        dtype or src.dtype,
        like=like,
        perhaps_column=of_any_rank,
        explicit=not call.scope.same_dtype(dtype or src.dtype, src.dtype),
    )


def _is_of_any_rank(call: Call, src: Operand) -> bool:
    """May a part of a tensor have less than the two dimensions of a tile, or more, for all that the source tells?"""
    named = src.is_view and src.base.isidentifier()  # otherwise the function takes more dimensions of it elsewhere
    open = src.prefix or src.is_row_slice
    return has_any_shape(call.scope, call.node) if open else src.dims is None and named


def _field(call: Call) -> Operand | None:
    """The tensor in a field of an object that is loaded whole: it is in HBM, whatever else the object has."""
    node, scope = call.arguments.get("src"), call.scope
    chain = dotted(node) if isinstance(node, ast.Attribute) else None
    if not isinstance(node, ast.Attribute) or chain is None or operand(scope, node) is not None:
        return None
    if type(scope.names.env.get(chain[0])) not in (Python, Absent, Object):
        return None
    text = ast.unparse(node)
    if changing_part(scope, node):
        name = scope.fresh(node.attr)
        scope.emit(f"{name} = {text}")
        text = name
    return of_name(scope, text, Hbm(None, f"{text}.dtype"))


def out_of_bounds(call: Call) -> list[tuple[str, Operand | str]]:
    """What ``mode=`` says about indices out of bounds, as Beta 2's ``oob_mode=``."""
    return [("oob_mode", render(call.scope, call.arguments["mode"]))] if call.has("mode") else []


def _filled(call: Call, dst: Operand) -> Operand:
    """A tile of the shape of ``dst`` that holds the number which is stored: a DMA can only copy."""
    node = call.arguments["value"]
    number = node.operand if isinstance(node, ast.UnaryOp) else node
    unknown = may_be_result(call.scope, number) or may_be_no_number(call.scope, node)
    if not isinstance(number, ast.Constant) and unknown:
        raise call.refuse(CODE, "the value of nl.store is not known to be a tensor or a number", "store a tile")
    if dst.dims is None or len(dst.dims) < 2 or dst.dtype is None:
        raise call.refuse(CODE, "a number stored to a place whose shape is not known", "fill a tile, then copy it")
    clamps, call.scope.masks.clamps = call.scope.masks.clamps, {}
    fill = Instruction("memset", [("value", render(call.scope, node))], dst.dims, dst.dtype)
    tile = materialized(call.scope, call.node, fill)
    call.scope.masks.clamps = clamps
    return replace(tile, axes=dst.axes)


def store(call: Call, stays: Operand | None) -> tuple[Operand, Operand]:
    """Destination and value of ``nl.store``; a value in PSUM, or one that is computed, is in a tile of its own.

    ``stays`` is a value that is a call which stays as it is.
    """
    dst = call.tensor("dst")
    value = stays or (call.value("value") if "value" in call.arguments else call.tensor("value"))
    value = _filled(call, dst) if isinstance(value, str) else value
    if dst.space != "hbm":
        raise call.refuse(CODE, "nl.store into a tensor that is not in HBM", "use nisa.tensor_copy")
    if value.space == "hbm":
        raise call.refuse(CODE, "nl.store of a tensor in HBM", "use nisa.dma_copy")
    if value.perhaps_psum:
        if call.scope.memory.direct:
            raise call.refuse(CODE, "nl.store of a PSUM tile in a direct-allocation kernel", "copy it to SBUF first")
        value = in_sbuf(call.scope, call.node, value)
    return dst, value
