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
from nki_migrate.runtime.spec.versions import LATER, version

from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Item, Operand
from ..expr.values import Tile
from ..render.dtypes import type_name
from ..render.patterns import of_name, whole_tensor
from ..render.shapes import shape_text
from ..render.type_names import dtype_text, itemsize
from ..syntax import codes

if TYPE_CHECKING:
    from ..analysis.scope import Scope

CODE = codes.INDEX_VECTORS
_HELP = "declare the tile with the other type at the same address, or read it with .ap(..., dtype=)"


def reinterpreted(scope: Scope, node: ast.Call, base: Operand) -> Operand:
    """The tile, or the part of one, that ``base`` is, with its last dimension in elements of the new type."""
    value = base.value
    if not isinstance(value, Tile) or value.blocks or not base.dims or base.pattern is not None or base.prefix:
        raise Refuse(node, CODE, ".view(...) of a tensor of which the source does not tell the place", _HELP)
    base = whole_tensor(node, base)
    value = base.value
    dtype = dtype_text(scope, node.args[0])
    if not isinstance(value, Tile) or value.dims is None or len(value.dims) < 2 or value.dtype is None:
        raise Refuse(node, CODE, ".view(...) of a tile without a free dimension", _HELP)
    old, new = _sizes(scope, value.dtype, dtype)
    written = _own_sizes(base.base, value.dims)
    dims = (*value.dims[:-1], value.dims[-1] if old == new else _counted(written[-1], old, new))
    whole = _whole(scope, node, base, value, dims, (*written[:-1], dims[-1] if old != new else written[-1]), dtype)
    return whole if base.items is None else _part(scope, node, base, base.items, whole, old, new)


def _sizes(scope: Scope, old: str, new: str) -> tuple[str, str]:
    """The bytes of an element of two types, of which one divides the other.

    Two types of which the source does not tell the sizes are asserted to have the same.
    """
    known = [ITEMSIZE.get(type_name(scope, text) or "") for text in (old, new)]
    sizes = (str(known[0] or itemsize(scope, old)), str(known[1] or itemsize(scope, new)))
    if None not in known or "1" in sizes:
        return sizes
    if old != new:
        scope.assert_equal(*sizes, "types of one size")
    return "1", "1"


def _own_sizes(name: str, dims: tuple[str, ...]) -> tuple[str, ...]:
    """The sizes of a tensor through its name, where those of one that a function gets tell them: 1 may be a call's."""
    described = name.isidentifier() and any(".shape[" in n for n in dims)
    return tuple(f"{name}.shape[{d}]" for d in range(len(dims))) if described else dims


def _whole(
    scope: Scope,
    node: ast.Call,
    base: Operand,
    value: Tile,
    dims: tuple[str, ...],
    written: tuple[str, ...],
    dtype: str,
) -> Operand:
    """The whole tile as one of ``dims`` elements of the new type, ``written`` as its shape."""
    scope.apply(CODE, node)
    shape = "" if version(scope.module.options.target) in LATER else f", {shape_text(scope, written, '')}"
    name = f"{base.base}.view({dtype}{shape})"
    return of_name(scope, name, replace(value, dims=dims, dtype=dtype, view=False, origin=None))


def _counted(elements: str, old: str, new: str) -> str:
    """A number of elements of ``old`` bytes in elements of ``new`` bytes."""
    if new == "1":
        return algebra.multiply(elements, old)
    if not (old.isdigit() and new.isdigit()):
        return f"{algebra.paren(elements)} // {new}"
    if int(old) >= int(new):
        return algebra.multiply(elements, str(int(old) // int(new)))
    return f"{algebra.paren(elements)} // {int(new) // int(old)}"


def _part(
    scope: Scope, node: ast.Call, base: Operand, items: tuple[Item, ...], whole: Operand, old: str, new: str
) -> Operand:
    """The same part of the view of the whole tile."""
    last = items[-1]
    walked = bool(base.sources) and base.sources[-1] == len(items) - 1
    if old == new:
        return replace(whole, items=items, sources=base.sources, axes=base.axes, dims=base.dims)
    if not walked or last.point or (base.axes and base.axes[-1] is not None):
        raise Refuse(node, CODE, ".view(...) of a part whose last dimension is indexed", "view the tile, then index it")
    assert whole.dims is not None and base.dims is not None
    if last.full:
        last = Item("0", whole.dims[-1], True, raw=":")
    elif new == "1" or _whole_elements(scope, last, old, new):
        last = Item(_counted(last.start, old, new), _counted(last.count, old, new))
    else:
        raise Refuse(node, CODE, ".view(...) of a part that may hold half an element", "view the tile, then index it")
    dims = (*base.dims[:-1], last.count)
    return replace(whole, items=(*items[:-1], last), sources=base.sources, axes=base.axes, dims=dims)


def _whole_elements(scope: Scope, item: Item, old: str, new: str) -> bool:
    """Do whole old elements make up the new ones of a slice?"""
    if not (old.isdigit() and new.isdigit()):
        return False
    factor = max(int(new) // int(old), 1)
    ends = [scope.constant(text) for text in (item.start, item.count)]
    return all(end is not None and end % factor == 0 for end in ends)
