"""Parts of tensors that are handed to functions: the tensor, and where the part lies, go along.

Beta 2 cannot index a part of a tensor again. ``load(x[b], i)``, whose function reads ``part[i]``, becomes
``load(x[b], i, part_tensor=x, part_index0=b)``: the part keeps its meaning (its shape, its type), and what the function
takes of it is taken of the tensor itself.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..expr.operands import Item, Operand
from ..expr.values import Hbm, Tile, Value
from ..project.usage import names_used
from .name_views import parameter_value

if TYPE_CHECKING:
    from ..project.program import Module


def access_of(view: Operand) -> Operand | None:
    """The access to a whole tensor that an argument is, where one can be written; ``None`` for whole tensors."""
    access = view.origin if view.is_view else view
    if access is None or access.pattern is not None or access.dynamic or access.is_view:
        return None
    return access if access.items is not None or access.prefix else None


def handed_on(parameter: str, value: Hbm | Tile, access: Operand) -> tuple[Value, dict[str, str]]:
    """What the function sees, and the further arguments by their parameters."""
    tensor = f"{parameter}_tensor"
    whole = parameter_value(tensor, access.value)
    assert isinstance(whole, Hbm | Tile)
    texts = {tensor: access.base}
    written = access.items if not access.prefix else None
    sizes = whole.dims or tuple(f"{tensor}.shape[{d}]" for d in range(len(written or ())))
    items = [_item(parameter, d, item, sizes[d], texts) for d, item in enumerate(written or ())]
    prefix = tuple(_point(parameter, d, text, texts) for d, text in enumerate(access.prefix))
    dims = None if written is None else tuple("1" if s is None else items[s].count for s in access.sources)
    inside = replace(
        access,
        base=tensor,
        value=whole,
        dims=dims,
        items=tuple(items) if written is not None else None,
        axes=(None,) * len(dims or ()),
        prefix=prefix,
        shape="",
    )
    part = parameter_value(parameter, value)
    assert isinstance(part, Hbm | Tile)
    return replace(part, origin=inside), texts


def _item(parameter: str, d: int, item: Item, size: str, texts: dict[str, str]) -> Item:
    if item.full:
        return Item("0", size, True, raw=":")
    if item.point:
        return Item(_point(parameter, d, item.start, texts), "1", point=True)
    start, count = item.start, item.count
    if not start.isdigit():
        texts[f"{parameter}_start{d}"], start = start, f"{parameter}_start{d}"
    if not count.isdigit():
        texts[f"{parameter}_count{d}"], count = count, f"{parameter}_count{d}"
    return Item(start, count)


def _point(parameter: str, d: int, text: str, texts: dict[str, str]) -> str:
    name = f"{parameter}_index{d}"
    texts[name] = text
    return name


def further_parameters(module: Module, function: ast.FunctionDef, parameters: dict[str, Value]) -> list[str]:
    """The parameters that a rewritten function needs for the parts that it got, in the order of its own."""
    read, bound = names_used(module.plan.edits, [function])
    needed: list[str] = []
    for name, value in parameters.items():
        origin = getattr(value, "origin", None)
        if isinstance(origin, Operand):
            starts = [text for item in origin.items or () for text in (item.start, item.count)]
            needed += [
                n for n in (origin.base, *origin.prefix, *starts) if n.startswith(f"{name}_") and n in read - bound
            ]
    return list(dict.fromkeys(needed))


def kinds(value: Hbm | Tile) -> tuple[object, ...]:
    """Where a part lies in its tensor, as far as a function's rewrite depends on it."""
    origin = value.origin
    if not isinstance(origin, Operand):
        return (value.view,)
    items = [_kind(item.start, item.count, item.full, item.point) for item in origin.items or ()]
    return (value.view, tuple(items), len(origin.prefix), origin.sources)


def _kind(start: str, count: str, full: bool, point: bool) -> tuple[object, ...]:
    known = tuple(text if text.isdigit() else "" for text in (start, count))
    return (full, point) if full or point else (full, point, *known)
