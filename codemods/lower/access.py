"""A subscript of a tensor, understood dimension by dimension, and written again with plain slices.

A block index becomes a list index, an index vector a slice, an integer in a free dimension a slice of width 1 where the
dimension must stay. Sources: NKI migration guide, "Update indexing syntax for mgrid and arange" and "Translation of
Block Dimensions"; NKI 2.26.1, "Tensor indexing".
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.scope import is_tile
from ..analysis.tuple_parts import part_of
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Item, Operand
from ..expr.values import Axis, Grid, Hbm, Index, Object, Slice, Tile, Value
from ..project.least_ranks import rank_at_least
from ..render.expressions import render, render_named
from ..render.index import components_of, index_value
from ..render.masks import is_mask
from ..render.patterns import (
    assert_all_named,
    broadcast,
    check_mates,
    indexed,
    of_name,
    of_rank,
    recut,
    rest_of,
    whole_tensor,
)
from ..render.shapes import broadcast_sizes
from ..render.vector_positions import only_position, positioned
from ..render.vector_ranks import aligned
from ..rules.block_dimensions import is_scalar_index
from ..syntax import codes
from ..syntax.names import dotted
from ..syntax.node_index import walk
from ..syntax.nodes import viewed
from .dynamic import dynamic_access, index_tile
from .items import basic_item, is_everything, is_slice, refuse_dynamic, written_slice
from .own_tiles import own_tile
from .reshape import expanded, reshaped
from .row_broadcasts import on_rows
from .stepped_slices import stepped_vectors
from .type_views import reinterpreted

if TYPE_CHECKING:
    from ..analysis.scope import Scope

VECTORS = codes.INDEX_VECTORS
BLOCKS = codes.BLOCK_DIMENSIONS


OPERANDS: dict[str, Callable[[Scope, ast.Call], Operand]] = {}
"""Beta 1 functions whose result is a tensor that can be an operand right away: name -> how it is written."""


def operand(scope: Scope, node: ast.expr) -> Operand | None:
    """The tensor operand that an expression is; ``None`` when it is not a tensor (or a part of one)."""
    if isinstance(node, ast.Name):
        return _whole(scope, node)
    if isinstance(node, ast.Call) and scope.qualified(node.func) in OPERANDS:
        return OPERANDS[scope.qualified(node.func) or ""](scope, node)
    if isinstance(node, ast.Call) and _creates(scope, node):
        return _created(scope, node)
    if isinstance(node, ast.Call):
        called = scope.evaluator.called_tensor(scope, node)
        if called is not None or not isinstance(node.func, ast.Attribute):
            return called
        return _method(scope, node, node.func)
    if isinstance(node, ast.Attribute):
        return _field(scope, node)
    if not isinstance(node, ast.Subscript):
        return None
    part = part_of(scope, node)
    if part is not None:
        return of_name(scope, part[0], part[1]) if isinstance(part[1], Hbm | Tile) else None
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    elements = components_of(scope, [_named_slice(scope, element) for element in elements])
    found = _reinterpreted_block(scope, node, elements)
    if found is not None:
        return found
    base = operand(scope, node.value)
    if base is None:
        return None
    if is_mask(scope, node.slice):
        raise Refuse(
            node, codes.MASKS, "a mask on an operand of anything but a matmul", "pass mask= to the instruction"
        )
    return subscript(scope, node, base, elements)


def _reinterpreted_block(scope: Scope, node: ast.Subscript, elements: list[ast.expr]) -> Operand | None:
    """``t.view(dtype)[block, ...]`` of a tensor with block dimensions: the block, then its view, then the rest."""
    call, tensor = node.value, viewed(node.value)
    if tensor is None or not isinstance(call, ast.Call):
        return None
    base = operand(scope, tensor)
    blocks = len(base.value.blocks) if base is not None and isinstance(base.value, Tile) else 0
    if base is None or not blocks or len(elements) < blocks:
        return None
    block = reinterpreted(scope, call, subscript(scope, node, base, elements[:blocks]))
    return subscript(scope, node, block, elements[blocks:]) if elements[blocks:] else block


def _named_slice(scope: Scope, element: ast.expr) -> ast.expr:
    """The ``nl.ds(...)`` that a name stands for, and ``a:b`` for ``slice(a, b)``; any other index as it is."""
    value = scope.names.env.get(element.id) if isinstance(element, ast.Name) else None
    made = value.call if isinstance(value, Slice) else element
    return written_slice(scope, made) or made


def _whole(scope: Scope, node: ast.Name) -> Operand | None:
    value = scope.names.env.get(node.id)
    if not isinstance(value, Hbm | Tile):
        return None
    whole = of_name(scope, node.id, value)
    # a mask cuts the tensor itself: Beta 2 cannot take a part of a part
    return whole.origin if scope.masks.clamps and whole.is_view and whole.origin is not None else whole


def _field(scope: Scope, node: ast.Attribute) -> Operand | None:
    """The tensor that is known to be in a field of an object."""
    chain = dotted(node)
    value = scope.names.env.get(chain[0]) if chain is not None else None
    for name in chain[1] if chain is not None else ():
        value = dict(value.tensors).get(name) if isinstance(value, Object) else None
    return of_name(scope, scope.source.segment(node), value) if isinstance(value, Hbm | Tile) else None


def _creates(scope: Scope, node: ast.Call) -> bool:
    return scope.evaluator.creation(scope, node) is not None


def _created(scope: Scope, node: ast.Call) -> Operand | None:
    """A tensor that is made in the middle of an expression, under a name."""
    if scope.place.statement is None:
        return None
    if node not in scope.output.called:
        name = scope.fresh(f"{(scope.evaluator.creation(scope, node) or '').rpartition('.')[2]}_tile")
        scope.output.called[node] = name, scope.evaluator.declare(scope, name, node, scope.place.statement)
        scope.names.env[name] = scope.output.called[node][1]
    name, value = scope.output.called[node]
    return of_name(scope, name, value) if isinstance(value, Hbm | Tile) else None


def owner(scope: Scope, node: ast.expr) -> Operand | None:
    """The tensor that a method is called on; one that is computed gets a name."""
    if not scope.evaluator.is_computation(scope, node):
        return operand(scope, node)
    if node not in scope.output.called:
        tile = scope.evaluator.temporary(scope, node)
        scope.output.called[node] = tile.base, tile.value
    name, value = scope.output.called[node]
    assert isinstance(value, Hbm | Tile)
    return of_name(scope, name, value)


def _method(scope: Scope, node: ast.Call, function: ast.Attribute) -> Operand | None:
    base = owner(scope, function.value)
    if base is None:
        return None
    if function.attr == "reshape" and (node.args or [k.arg for k in node.keywords] == ["shape"]):
        return reshaped(scope, node, base)
    if viewed(node) is not None:
        return reinterpreted(scope, node, base)
    if function.attr == "expand_dims":
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if len(given) == 1:
            return expanded(scope, node, base, given[0])
    if function.attr == "broadcast_to" and len(node.args) == 1 and isinstance(base.value, Tile):
        return _broadcast(scope, node, base)
    if function.attr == "as_tile" and not (node.args or node.keywords) and is_tile(base.value):
        return base
    raise Refuse(
        node, codes.UNSUPPORTED, f".{function.attr}(...) of a tensor", "write it by hand with .ap(...) or .reshape(...)"
    )


def _broadcast(scope: Scope, node: ast.Call, base: Operand) -> Operand:
    """``x.broadcast_to((P, F))`` of a (P, 1) tile: an access pattern that steps 0 elements along the free dimension."""
    sizes = broadcast_sizes(scope, node, node.args[0], base)
    base = of_rank(scope, base, len(sizes))
    return on_rows(scope, node, base, sizes) or broadcast(scope, node, base, sizes)


def subscript(scope: Scope, node: ast.Subscript, base: Operand, elements: list[ast.expr]) -> Operand:
    """``base[elements]``: block indices first, then one item for each dimension of the tile."""
    value = base.value
    if isinstance(value, Tile) and value.blocks:
        base, elements = _blocks(scope, node, base, value, elements)
        value = base.value
        if not elements or (isinstance(value, Tile) and value.blocks):
            return base
    if base.items is not None or base.pattern is not None or base.is_view:
        return base if all(is_everything(e) for e in elements) else _nested(scope, node, base, elements)
    if base.dims is None:
        return _unknown_rank(scope, node, base, elements)
    return _indexed(scope, node, base, _padded(scope, node, elements, len(base.dims)))


def _nested(scope: Scope, node: ast.Subscript, base: Operand, elements: list[ast.expr]) -> Operand:
    """A subscript of a subscript: Beta 2 has only one, on the tensor itself."""
    if base.is_view and base.origin is None and base.pattern is None:
        return subscript(scope, node, own_tile(scope, node, base), elements)
    base = whole_tensor(node, base)
    of_unknown_rank = bool(base.prefix)
    if of_unknown_rank:
        base = _prefixed(base, len(elements))
    if base.items is None:
        return subscript(scope, node, base, elements)
    assert base.dims is not None
    flat = replace(base, items=None, sources=(), prefix=())
    inner = _indexed(scope, node, flat, _padded(scope, node, elements, len(base.dims)), base)
    scope.apply(VECTORS, node)
    if inner.pattern is not None:
        return inner
    found = recut(base, inner, list(base.items))
    deeper = of_unknown_rank and all(item.point for item in found.items or ())
    return replace(found, prefix=tuple(item.start for item in found.items or ())) if deeper else found


def _prefixed(base: Operand, indices: int) -> Operand:
    """``x[i]`` of a tensor whose rank is not known, once ``indices`` more tell it."""
    rank = len(base.prefix) + indices
    dims = tuple(f"{base.base}.shape[{d}]" for d in range(rank))
    items = [Item(text, "1", point=True) for text in base.prefix]
    items += [Item("0", size, True) for size in dims[len(base.prefix) :]]
    free = dims[len(base.prefix) :]
    sources = tuple(range(len(base.prefix), rank))
    return replace(base, dims=free, items=tuple(items), sources=sources, axes=(None,) * indices, shape="", prefix=())


def _blocks(
    scope: Scope, node: ast.Subscript, base: Operand, value: Tile, elements: list[ast.expr]
) -> tuple[Operand, list[ast.expr]]:
    text: Operand = base
    tile: Tile = value
    index: list[str] = []
    while tile.blocks and elements:
        element = elements[0]
        if not is_scalar_index(scope, element):
            raise Refuse(node, BLOCKS, "a block dimension is indexed with a slice or a vector", "loop over the blocks")
        existing = tile.folded[len(index)] if tile.folded else tile.blocks[0]
        is_listed = tile.style == "list" and not (tile.joined and tile.joined[len(index)])
        index.append(render(scope, element))
        listed = _in_turns(scope, index[-1], existing, tile.blocks[0])
        tile = tile.block()
        name = f"{text.base}[{listed}]" if is_listed else text.base
        text = replace(text, base=name, value=tile, dims=tile.dims)
        elements = elements[1:]
    if not value.listed:
        scope.apply(BLOCKS, node)
    view = replace(text, axes=(None,) * len(tile.dims or ()))
    if tile.style == "fold" and not tile.blocks:
        return _folded(scope, node, view, tile, value, index, elements), []
    return view, elements


def _folded(
    scope: Scope,
    node: ast.Subscript,
    view: Operand,
    tile: Tile,
    value: Tile,
    index: list[str],
    elements: list[ast.expr],
) -> Operand:
    """One block of a folded tensor: its index (modulo the blocks that exist) stands behind the partitions."""
    assert tile.dims is not None
    if elements:
        view = _indexed(scope, node, view, _padded(scope, node, elements, len(tile.dims)))
    if view.pattern is not None:  # its steps are those of a block, not of the tensor that holds them all
        message = f"an access pattern of a block of '{view.base}', which is folded"
        raise Refuse(node, BLOCKS, message, "use --blocks list, or write one .ap(...) of the whole tensor")
    items = view.items or tuple(Item("0", size, True, raw=":") for size in tile.dims)
    sources = view.sources if view.items else tuple(range(len(tile.dims)))
    exist = [(i, n, b) for i, n, b in zip(index, tile.folded, value.blocks, strict=True) if scope.constant(n) != 1]
    points = [Item(_in_turns(scope, i, n, b), "1", point=True) for i, n, b in exist]
    moved = tuple(s + len(points) if s else s for s in sources)
    whole = replace(tile, dims=(tile.dims[0], *(n for _, n, _ in exist), *tile.dims[1:]))
    return replace(view, value=whole, items=(items[0], *points, *items[1:]), sources=moved, dims=view.dims or tile.dims)


def _in_turns(scope: Scope, index: str, size: str, blocks: str) -> str:
    """The number of the tile, of ``size`` ones, that a block is on."""
    if covers(scope, size, blocks):
        return index
    return "0" if scope.constant(size) == 1 else algebra.modulo(index, size)


def covers(scope: Scope, size: str, blocks: str) -> bool:
    """Is ``i % size`` the same as ``i`` for every block index?"""
    if scope.equal(size, blocks):
        return True
    a, b = scope.constant(size), scope.constant(blocks)
    return a is not None and b is not None and b <= a


def _padded(scope: Scope, node: ast.Subscript, elements: list[ast.expr], rank: int) -> list[ast.expr]:
    everything = ast.Slice(None, None, None)
    result: list[ast.expr] = []
    for element in elements:
        if isinstance(element, ast.Constant) and element.value is Ellipsis:
            result += [everything] * (rank - len(elements) + 1)
        elif isinstance(element, ast.Constant) and element.value is None:
            raise Refuse(node, VECTORS, "None in the subscript of a tensor", "use .reshape(...)")
        else:
            result.append(element)
    if len(result) > rank:
        raise Refuse(node, VECTORS, f"{len(result)} indices on a tensor of {rank} dimensions", "check the subscript")
    return result + [everything] * (rank - len(result))


def _unknown_rank(scope: Scope, node: ast.Subscript, base: Operand, elements: list[ast.expr]) -> Operand:
    """An HBM tensor whose rank the source does not tell: only what the subscript itself says."""
    if any(isinstance(e, ast.Constant) and e.value is Ellipsis for e in elements):
        if len(elements) == 1:
            return base
        raise Refuse(node, VECTORS, "'...' on a tensor whose rank is not known", "write every dimension")
    assert_all_named(scope, base, len(elements))
    dynamic = any(index_tile(scope, element) is not None for element in elements)
    points = [] if dynamic else [e for e in elements if not is_slice(scope, e) and index_value(scope, e) is None]
    prefix: tuple[str, ...] = ()
    if points and len(points) == len(elements):
        for element in elements:
            refuse_dynamic(scope, node, element)
        prefix = tuple(render_named(scope, e) for e in elements)
    least = rank_at_least(scope.function, node, base.base) if not dynamic else 0
    if prefix and least >= len(elements) + 2:
        return rest_of(base, prefix)
    least = max(least, len(elements), 2 if isinstance(base.value, Tile) else 0)
    dims = tuple(f"{base.base}.shape[{d}]" for d in range(least))
    whole = replace(base, dims=dims, axes=(None,) * len(dims))
    found = _indexed(scope, node, whole, _padded(scope, node, elements, len(dims)))
    return replace(found, prefix=prefix)


def _indexed(
    scope: Scope, node: ast.Subscript, base: Operand, elements: list[ast.expr], cut: Operand | None = None
) -> Operand:
    """``elements`` on the dimensions of ``base``; ``cut`` is the access that left those dimensions."""
    assert base.dims is not None
    moving = dynamic_access(scope, node, cut or base, elements)
    if moving is not None:
        return moving
    vectors = [index_value(scope, e) if not isinstance(e, ast.Slice) else None for e in elements]
    stepped = stepped_vectors(scope, node, elements, base.dims) if not any(vectors) else None
    if stepped is not None:
        return indexed(scope, node, cut or base, elements, stepped)
    if any(isinstance(v, Grid) for v in vectors):
        raise Refuse(node, VECTORS, "an mgrid object as a subscript", "use its components")
    if any(isinstance(v, Index) for v in vectors):
        vectors = aligned(scope, node, base, vectors)
        found = _advanced(scope, node, base, elements, vectors, cut)
        return replace(found, loose=any(isinstance(v, Index) and v.loose is not None for v in vectors))
    written = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
    items, sources = [], []
    for d, element in enumerate(elements):
        item = basic_item(scope, node, element, base.dims[d])
        items.append(replace(item, implied=d >= written and item.full))
        if not item.point:
            sources.append(d)
    return _result(scope, node, base, items, list(sources), [None] * len(sources))


def _refuse_unread(scope: Scope, node: ast.Subscript, element: ast.expr) -> None:
    """Beside index vectors, what a function of another package gives may be one, too."""
    for part in walk(element):
        if isinstance(part, ast.Call) and scope.evaluator.is_unread(scope, part):
            what = f"it is not known what the index '{ast.unparse(part)}' is"
            raise Refuse(node, VECTORS, what, "write slices, or give its start and size in the kernel")


def _advanced(
    scope: Scope,
    node: ast.Subscript,
    base: Operand,
    elements: list[ast.expr],
    vectors: list[Value | None],
    cut: Operand | None,
) -> Operand:
    """Index vectors: slices where each walks one dimension, in order and one by one; an access pattern elsewhere."""
    assert base.dims is not None
    rank = max(v.ndim for v in vectors if isinstance(v, Index))
    items: list[Item] = []
    owner: list[int | None] = [None] * rank
    axes: list[Axis | None] = [None] * rank
    _check_numbers(scope, node, elements)
    for d, (element, vector) in enumerate(zip(elements, positioned(scope, vectors, rank), strict=True)):
        if not isinstance(vector, Index):
            items.append(vector or basic_item(scope, node, element, base.dims[d]))
            continue
        position = only_position(vector, rank)
        if position is None or owner[position] is not None:
            return indexed(scope, node, cut or base, elements, vectors)
        axis = vector.terms[0].axis
        owner[position], axes[position] = d, axis
        start = algebra.add(vector.offset, axis.start)
        full = start == "0" and scope.equal(axis.size, base.dims[d])
        items.append(Item(start, axis.size, full))
    order = [d for d in owner if d is not None]
    if order != sorted(order):
        return indexed(scope, node, cut or base, elements, vectors)
    check_mates(scope, node, [v for v in vectors if isinstance(v, Index)], axes)
    scope.apply(VECTORS, node)
    return _result(scope, node, base, items, owner, axes)


def _check_numbers(scope: Scope, node: ast.Subscript, elements: list[ast.expr]) -> None:
    """Raise :class:`Refuse` for what is no number among index vectors."""
    for element in elements:
        if isinstance(element, ast.Slice):
            raise Refuse(node, VECTORS, "a subscript that mixes slices and index vectors", "write slices only")
        if index_value(scope, element) is None:
            refuse_dynamic(scope, node, element)
            _refuse_unread(scope, node, element)


def _result(
    scope: Scope,
    node: ast.Subscript,
    base: Operand,
    items: list[Item],
    sources: list[int | None],
    axes: list[Axis | None],
) -> Operand:
    """The operand, after points became slices of width 1 where Beta 1 keeps a dimension that Beta 2 would drop."""
    on_chip = isinstance(base.value, Tile)
    if on_chip and len(sources) < 2:
        missing: list[int | None] = [None] * (2 - len(sources))
        first_is_point = bool(items) and items[0].point
        sources = missing + sources if first_is_point else sources + missing
        extra: list[Axis | None] = [None] * (2 - len(axes))
        axes = extra + axes if first_is_point else axes + extra
    for result, source in enumerate(sources):
        if source is None:
            partition = on_chip and result == 0 and items[0].point
            spare = 0 if partition else _spare_point(items, sources, result)
            if spare is not None:
                full = items[spare].start == "0" and base.dims is not None and scope.constant(base.dims[spare]) == 1
                items[spare] = replace(items[spare], point=False, full=full)
                sources[result] = spare
    if on_chip and items[0].point:
        raise Refuse(node, VECTORS, "a partition index whose dimension disappears", "write it as a slice of width 1")
    dims = tuple("1" if source is None else items[source].count for source in sources)
    return replace(base, items=tuple(items), sources=tuple(sources), axes=tuple(axes), dims=dims)


def _spare_point(items: list[Item], sources: list[int | None], result: int) -> int | None:
    """The integer index that stands where result dimension ``result`` does."""
    before = [s for s in sources[:result] if s is not None]
    after = [s for s in sources[result + 1 :] if s is not None]
    low, high = (max(before) + 1 if before else 0), (min(after) if after else len(items))
    candidates = [d for d in range(low, high) if items[d].point]
    waiting = sum(s is None for s in sources[result + 1 :])  # results that need a point of their own
    return candidates[max(0, len(candidates) - 1 - waiting)] if candidates else None
