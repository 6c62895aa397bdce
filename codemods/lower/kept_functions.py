"""Functions of ``nl`` that stay, where the version that is written has them again: the author's own statements.

One decision for all of them (:func:`~.compute.kept`): the oldest version that the output serves has the function
(:mod:`nki_migrate.runtime.spec.kept_functions`), the operands are plain parts of tensors without a mask, and the result
is a new tile with no address of its own. Everything else becomes instructions, as at 0.2.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.kept_functions import ACTIVATIONS, ARITHMETIC, REDUCTIONS, ROUNDED

from ..analysis.instructions import Instruction, has_again, keeps, lowers
from ..analysis.load_ranks import has_any_shape
from ..expr.operands import Item, Operand
from ..expr.values import Hbm, Tile
from ..plan.truth_tiles import shows_its_type
from ..render.dtypes import assert_float, is_integer, promoted, scalar_type, type_name
from ..render.expressions import render
from ..render.one_shape import assert_one_shape, combined_as_traced
from ..render.open_ranks import assert_ranks
from ..render.patterns import of_name, of_rank, permuted
from ..render.shapes import literal_axes, reduced_axes
from ..syntax import codes
from .access import operand
from .computations import is_computation
from .compute import Call, kept
from .row_loads import of_evident_rank
from .two_operators import beside_number

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def spelled(call: Call, texts: dict[str, str]) -> str:
    """The call with these arguments, each where the author put it: by position or by its keyword."""
    names = {id(node): name for name, node in call.arguments.items()}
    given = [texts[names[id(node)]] for node in call.node.args]
    given += [f"{k.arg}={texts[k.arg]}" for k in call.node.keywords if k.arg in texts]
    return f"{call.scope.nl}.{call.name.partition('.')[2]}({', '.join(given)})"


def _stays(
    call: Call, instruction: str, given: dict[str, Operand | str], dims: tuple[str, ...] | None, dtype: str | None
) -> Operand:
    """The call as an operand: what stands in its place, and the new tile that it gives.

    ``instruction`` is what the function runs; ``given`` are its arguments, but for a type.
    """
    views: list[tuple[str, Operand | str]] = [(name, view) for name, view in given.items() if isinstance(view, Operand)]
    like = next((view.like for _, view in views if isinstance(view, Operand)), "")
    assert_ranks(call.scope, call.node, Instruction(instruction, views, dims, dtype, like=like), fresh=True)
    texts = {name: value.text(()) if isinstance(value, Operand) else value for name, value in given.items()}
    if call.has("dtype"):
        texts["dtype"] = call.dtype() or ""
    made = of_name(call.scope, spelled(call, texts), Tile("sbuf", dims, call.dtype() or dtype))
    first = next((view.reads or view.base for _, view in views if isinstance(view, Operand)), "")
    return replace(made, shape=like, reads=first)


def is_plain(view: Operand) -> bool:
    """Is an operand a whole tensor, or a part of which each dimension is one of the access, in this order?"""
    if view.dynamic or view.rows_at is not None or view.joined or view.loose or view.prefix:
        return False
    if view.pattern is not None:
        return view.dims is not None and tuple(step.count for step in view.pattern) == view.dims
    if view.items is None:
        return True
    walked = [d for d, item in enumerate(view.items) if not item.point]
    is_whole = len(walked) == len(view.items) or view.space == "hbm"
    return is_whole and view.dims is not None and list(view.sources) == walked


def _on_chip(call: Call, node: ast.expr) -> Operand | None:
    """A tile as the function reads it: one that is declared, or what another function that stays gives."""
    scope = call.scope
    if is_computation(scope, node):
        return kept(scope, node)
    view = operand(scope, node)
    return view if view is not None and view.space != "hbm" and is_plain(view) else None


def _is_given(call: Call, *parameters: str) -> bool:
    """Are the arguments of a call these parameters, perhaps without the last ones, and a type that is one?"""
    return call.arguments.keys() <= {*parameters, "dtype"} and not call.optional_dtype()


@keeps("nl.load")
def _loaded(call: Call) -> Operand | None:
    scope, node = call.scope, call.arguments["src"]
    view = operand(scope, node) if _is_given(call, "src") and not is_computation(scope, node) else None
    view = _as_column(of_evident_rank(call, view)) if view is not None else None
    if view is None or not isinstance(view.value, Hbm) or not is_plain(view) or not _gives_its_shape(call, view):
        return None
    if view.value.converted and not call.has("dtype"):
        return None
    return _stays(call, "dma_copy", {"src": view}, view.dims, view.dtype)


def _as_column(view: Operand) -> Operand:
    """``a[0:n, i]`` as ``a[0:n, i : i + 1]``, which has the shape of its tile; any other operand as it is."""
    walked = [d for d, item in enumerate(view.items or ()) if not item.point]
    if view.items is None or view.dims is None or len(view.dims) != 1 or list(view.sources) != walked:
        return view
    (rows,) = walked
    if rows + 1 == len(view.items) or view.value.dims is None:
        return view
    items = [*view.items[: rows + 1], Item(view.items[rows + 1].start, "1"), *view.items[rows + 2 :]]
    return replace(
        view, items=tuple(items), sources=(rows, rows + 1), dims=(*view.dims, "1"), axes=(*view.axes[:1], None)
    )


def _gives_its_shape(call: Call, src: Operand) -> bool:
    """Is a tile of Beta 1 of the shape of ``src``, which is loaded? It had two dimensions at least."""
    if src.dims is not None:
        return len(src.dims) > 1 and not src.is_row_slice
    may_be_vector = src.is_view and src.base.isidentifier() and has_any_shape(call.scope, call.node)
    return bool(src.like) and not may_be_vector


def kept_value(call: Call) -> Operand | None:
    """What ``nl.store`` writes, where it is a call that stays in its place; ``None`` for any other value."""
    value = call.arguments.get("value")
    inline = value is not None and has_again(call.scope, call.name) and not call.has("mask") and not call.has("mode")
    return kept(call.scope, value) if value is not None and inline else None


def kept_store(call: Call, dst: Operand, value: Operand) -> Callable[[str, str], str] | None:
    """How ``nl.store`` of a tile is written, of the texts of both sides; ``None`` where it becomes a DMA."""
    one_shape = dst.dims is None or value.dims is None or len(dst.dims) == len(value.dims)
    if not has_again(call.scope, "nl.store") or call.has("mode") or not one_shape:
        return None
    return lambda place, tile: spelled(call, {"dst": place, "value": tile})


@keeps(*(f"nl.{name}" for name in ACTIVATIONS))
def _activated(call: Call) -> Operand | None:
    view = _on_chip(call, call.arguments["x"]) if _is_given(call, "x") else None
    return _stays(call, "activation", {"x": view}, view.dims, view.dtype) if view is not None else None


@keeps(*(f"nl.{name}" for name in REDUCTIONS))
def _reduced(call: Call) -> Operand | None:
    axis, keepdims = call.arguments["axis"], call.arguments.get("keepdims")
    view = _on_chip(call, call.arguments["x"]) if _is_given(call, "x", "axis", "keepdims") else None
    if view is not None and view.dims is None and literal_axes(axis) == (1,):
        view = of_rank(call.scope, view, 2)
    if view is None or view.dims is None or not isinstance(keepdims, ast.Constant | None):
        return None
    rank, stays = len(view.dims), bool(keepdims is not None and keepdims.value)
    axes = _free_axes(reduced_axes(axis, view.dims) or (), rank)
    dims = tuple("1" if d in axes else size for d, size in enumerate(view.dims) if d not in axes or stays)
    last, text = tuple(range(rank - len(axes), rank)), _axis_text(call, axis, axes)
    if not axes or (axes != last and stays):
        return None
    if axes != last:
        view, text = permuted(call.scope, call.node, view, axes), str(list(last))
    given: dict[str, Operand | str] = {"x": view, "axis": text, "keepdims": str(stays)}
    return _stays(call, "tensor_reduce", given, dims if len(dims) > 1 else (*dims, "1"), view.dtype)


def _axis_text(call: Call, axis: ast.expr, axes: tuple[int, ...]) -> str:
    """The axes of a literal as the author spelled them; later versions count those of a list from the first only."""
    counts_back = isinstance(axis, ast.List | ast.Tuple) and any(each < 0 for each in literal_axes(axis) or ())
    if literal_axes(axis) is None:
        return str(axes[0]) if len(axes) == 1 else str(list(axes))
    return str(list(axes)) if counts_back else render(call.scope, axis)


def _free_axes(literal: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The axes that are named, counted from the first; nothing for others than free ones."""
    axes = tuple(sorted(a % rank for a in literal)) if all(-rank <= a < rank for a in literal) else ()
    return axes if axes and axes[0] > 0 and len(set(axes)) == len(axes) else ()


def reduces_all(axes: tuple[int, ...], rank: int) -> bool:
    """Are these axes, which may be counted from the end, all the free dimensions of a tile?"""
    return all(-rank <= a < rank for a in axes) and sorted(a % rank for a in axes) == list(range(1, rank))


@keeps(*(f"nl.{name}" for name in ROUNDED))
def _only_later(call: Call) -> Operand | None:
    """A function that 0.2 has not, and no instruction computes. ``nl.floor`` into an integer type is instructions."""
    view = _on_chip(call, call.arguments["x"]) if _is_given(call, "x") else None
    if view is None and _is_given(call, "x") and call.name != "nl.floor":
        view = call.tensor("x")  # what is computed for it gets a name
    if (
        view is None
        or not is_plain(view)
        or (call.name == "nl.floor" and is_integer(call.scope, call.dtype() or view.dtype))
    ):
        return None
    return _stays(call, "activation", {"x": view}, view.dims, view.dtype)


@lowers(codes.NL_COMPUTE, *(f"nl.{name}" for name in ROUNDED if name != "floor"))
def _without_instruction(call: Call) -> Instruction:
    call.tensor("x")
    message = f"{call.name} with a mask, of a part that is no plain one, or at 0.2, which has no such function"
    raise call.refuse(codes.NL_COMPUTE, message, f"compute {call.name} of a whole tile, into a tile without an address")


@keeps("nl.softmax", "nl.var")
def _normalized(call: Call) -> Operand | None:
    """``nl.var`` of later versions keeps the reduced dimensions: only of two dimensions is that one shape.

    It keeps the type, too, where Beta 1 gave the variance of integers in float32.
    """
    view = _normalizable(call, "x", "axis")
    if view is None or view.dims is None or (call.name == "nl.var" and len(view.dims) != 2):
        return None
    if call.name == "nl.var" and not call.has("dtype") and is_integer(call.scope, view.dtype):
        return None
    axes = tuple(range(1, len(view.dims)))
    given: dict[str, Operand | str] = {"x": view, "axis": _axis_text(call, call.arguments["axis"], axes)}
    dims = view.dims if call.name == "nl.softmax" else (view.dims[0], "1")
    if call.name == "nl.var" and not call.has("dtype"):
        assert_float(call.scope, view.dtype)
    return _stays(call, "tensor_scalar", given, dims, view.dtype)


@keeps("nl.rms_norm")
def _rms_normalized(call: Call) -> Operand | None:
    names = [name for name in ("n", "epsilon") if name in call.arguments]
    view, w = _normalizable(call, "x", "axis", "w", "n", "epsilon"), _on_chip(call, call.arguments["w"])
    if view is None or w is None or not _are_of_one_shape(call.scope, call.node, view, w):
        return None
    axes = tuple(range(1, len(view.dims or ())))
    given: dict[str, Operand | str] = {"x": view, "w": w, "axis": _axis_text(call, call.arguments["axis"], axes)}
    given |= {name: render(call.scope, call.arguments[name]) for name in names}
    return _stays(call, "tensor_scalar", given, view.dims, view.dtype)


def _normalizable(call: Call, *parameters: str) -> Operand | None:
    """``x`` of a call that reduces all its free dimensions, and has no other parameters than these."""
    view = _on_chip(call, call.arguments["x"]) if _is_given(call, *parameters) else None
    if view is not None and view.dims is None and literal_axes(call.arguments["axis"]) in ((1,), (-1,)):
        view = of_rank(call.scope, view, 2)
    axes = reduced_axes(call.arguments["axis"], view.dims if view is not None else None)
    is_known = view is not None and view.dims is not None and axes is not None and view.space == "sbuf"
    return view if is_known and view and reduces_all(axes or (), len(view.dims or ())) else None


@keeps(*(f"nl.{name}" for name in ARITHMETIC))
def _combined(call: Call) -> Operand | None:
    scope, x, y = call.scope, call.arguments["x"], call.arguments["y"]
    if not _is_given(call, "x", "y") or beside_number(scope, call.name.partition(".")[2], x, y) is not None:
        return None  # two operators are one instruction
    a, b = _on_chip(call, x), _on_chip(call, y)
    if a is not None and b is not None:
        return _of_tiles(call, a, b)
    view, number = (b, x) if a is None else (a, y)
    kind = scalar_type(scope, number)
    if view is None or kind is None or not (call.has("dtype") or _keeps_type(scope, view.dtype, kind)):
        return None
    text = render(scope, number)
    given: dict[str, Operand | str] = {"x": view, "y": text} if view is a else {"x": text, "y": view}
    return _stays(call, "tensor_scalar", given, view.dims, view.dtype)


def _keeps_type(scope: Scope, dtype: str | None, kind: str) -> bool:
    """Is the type of an operation on a tile and a number that of the tile?"""
    name = type_name(scope, dtype)
    return name is not None and type_name(scope, promoted(scope, f"{scope.nl}.{name}", kind)) == name


def _of_tiles(call: Call, a: Operand, b: Operand) -> Operand | None:
    """``a op b`` of two tiles of one shape, not both in PSUM; later versions promote their types as Beta 1 did."""
    scope = call.scope
    if (a.perhaps_psum and b.perhaps_psum) or not _are_of_one_shape(scope, call.node, a, b):
        return None
    shows = not call.has("dtype") and shows_its_type(scope, call.node)
    dtype = promoted(scope, a.dtype, b.dtype) if shows else None
    if shows and (dtype is None or "(" in dtype):
        return None
    return _stays(call, "tensor_tensor", {"x": a, "y": b}, a.dims, dtype)


def _are_of_one_shape(scope: Scope, node: ast.expr, a: Operand, b: Operand) -> bool:
    """Have two tiles one shape, or the kernel asserts it? Functions of later versions repeat nothing."""
    if a.dims is not None and b.dims is not None:
        return len(a.dims) == len(b.dims) and all(scope.equal(m, n) for m, n in zip(a.dims, b.dims, strict=True))
    if a.dims is not None or b.dims is not None or combined_as_traced(scope, "add", a, b, None) is not None:
        return False
    assert_one_shape(scope, node, a, b)
    return True
