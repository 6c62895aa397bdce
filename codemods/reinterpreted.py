"""``x.view(dtype)``: the bytes of a tile read as elements of another type.

Both versions keep the bytes where they are; the last dimension counts elements of the new type. Beta 2 takes the
shape too (0.3 does not), and only of a whole tensor: a part is cut from the view of its tensor.

Sources: NKI 2.26.1, "tensor.view"; NKI 2.28, "NkiTensor.view".
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.dtypes import ITEMSIZE

from . import algebra
from .dtypes import type_name
from .emission import Refuse
from .facts.values import Tile
from .operands import Item, Operand
from .patterns import of_name, whole_tensor
from .rules.data_types import dtype_text, itemsize

if TYPE_CHECKING:
    from .scope import Scope

CODE = "NKI024"
_HELP = "declare the tile with the other type at the same address, or read it with .ap(..., dtype=)"


def reinterpreted(scope: Scope, node: ast.Call, base: Operand) -> Operand:
    """The tile, or the part of one, that ``base`` is, with its last dimension in elements of the new type."""
    value = base.value
    if not isinstance(value, Tile) or value.blocks or not base.dims or base.pattern is not None or base.prefix:
        raise Refuse(node, CODE, ".view(...) of a tensor of which the source does not tell the place", _HELP)
    base = whole_tensor(node, base)
    value = base.value
    dtype = dtype_text(scope, node.args[0])
    old, new = (ITEMSIZE.get(type_name(scope, text) or "") for text in (value.dtype, dtype))
    if not isinstance(value, Tile) or value.dims is None or len(value.dims) < 2:
        raise Refuse(node, CODE, ".view(...) of a tile without a free dimension", _HELP)
    if old is None and new == 1 and value.dtype is not None and base.items is None:
        width = algebra.multiply(value.dims[-1], itemsize(scope, value.dtype))
        return _whole(scope, node, base, value, (*value.dims[:-1], width), dtype)
    if old is None or new is None:
        raise Refuse(node, CODE, ".view(...) between types that are not known", _HELP)
    whole = _whole(scope, node, base, value, (*value.dims[:-1], _counted(value.dims[-1], old, new)), dtype)
    return whole if base.items is None else _part(scope, node, base, base.items, whole, old, new)


def _whole(scope: Scope, node: ast.Call, base: Operand, value: Tile, dims: tuple[str, ...], dtype: str) -> Operand:
    """The whole tile as one of ``dims`` elements of the new type."""
    scope.apply(CODE, node)
    shape = "" if scope.module.options.target == "0.3" else f", ({', '.join(dims)})"
    name = f"{base.base}.view({dtype}{shape})"
    return of_name(scope, name, replace(value, dims=dims, dtype=dtype, origin=None))


def _counted(elements: str, old: int, new: int) -> str:
    """A number of elements of ``old`` bytes in elements of ``new`` bytes."""
    if old >= new:
        return algebra.multiply(elements, str(old // new))
    return f"{algebra.paren(elements)} // {new // old}"


def _part(
    scope: Scope, node: ast.Call, base: Operand, items: tuple[Item, ...], whole: Operand, old: int, new: int
) -> Operand:
    """The same part of the view of the whole tile."""
    last = items[-1]
    walked = bool(base.sources) and base.sources[-1] == len(items) - 1
    if not walked or last.point or (base.axes and base.axes[-1] is not None):
        raise Refuse(node, CODE, ".view(...) of a part whose last dimension is indexed", "view the tile, then index it")
    assert whole.dims is not None and base.dims is not None
    if last.full:
        last = Item("0", whole.dims[-1], True, raw=":")
    elif old >= new or _whole_elements(scope, last, new // old):
        last = Item(_counted(last.start, old, new), _counted(last.count, old, new))
    else:
        raise Refuse(node, CODE, ".view(...) of a part that may hold half an element", "view the tile, then index it")
    dims = (*base.dims[:-1], last.count)
    return replace(whole, items=(*items[:-1], last), sources=base.sources, axes=base.axes, dims=dims)


def _whole_elements(scope: Scope, item: Item, factor: int) -> bool:
    """Do ``factor`` old elements each make up the new ones of a slice?"""
    ends = [scope.constant(text) for text in (item.start, item.count)]
    return all(end is not None and end % factor == 0 for end in ends)
