"""Names that stand for parts of different tensors after an ``if``: the tensor and the place of the part get names, too.

Beta 2 cannot take a part of a part. Behind ``t = nl.copy(x[:, i])`` in one branch and ``t = x[:, i]`` in the other,
``t.view(dtype)`` is taken of a tensor that has a name in both: ``t_tensor = t.reshape((128, 1, 64))`` and ``t_index1 =
0`` in one, ``t_tensor = x`` and ``t_index1 = i`` in the other. Names that nothing reads in the end are not written.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.name_views import parameter_value
from ..expr.algebra import names as names_in
from ..expr.emission import New
from ..expr.frames import Joint
from ..expr.operands import Item, Operand
from ..expr.values import Hbm, Python, Tile, Value
from ..project.usage import names_used
from ..syntax.nodes import LEAVES, bound_by

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def join_places(scope: Scope, statement: ast.If, then: Mapping[str, Value], otherwise: Mapping[str, Value]) -> None:
    """Give places to the names that ``statement`` binds to a part of a tensor in one branch, or in both."""
    if scope.outer is not None or not all(map(_can_end, _branches(scope, statement))):
        return
    for name in sorted(bound_by(statement)):
        value, sides = scope.names.env.get(name), [branch.get(name) for branch in (then, otherwise)]
        if isinstance(value, Tile) and value.view and value.origin is None and value.dims is not None:
            _join(scope, statement, name, value, sides)


def _branches(scope: Scope, statement: ast.If) -> list[list[ast.stmt]]:
    """The branches behind which names can be given; a missing one is what stands before the condition."""
    first = scope.source.segment(statement).startswith("elif") and not statement.orelse
    nested = len(statement.orelse) == 1 and scope.source.segment(statement.orelse[0]).startswith("elif")
    return [statement.body, [] if first or nested else statement.orelse or [statement]]


def _can_end(branch: list[ast.stmt]) -> bool:
    return bool(branch) and not isinstance(branch[-1], LEAVES)


def _join(scope: Scope, statement: ast.If, name: str, value: Tile, sides: list[Value | None]) -> None:
    parts = [side.origin for side in sides if isinstance(side, Tile) and isinstance(side.origin, Operand)]
    shape = parts[0] if parts else None
    if shape is None or not _is_plain(shape):
        return
    places = [place for side in sides if (place := _place(name, side, shape)) is not None]
    if len(places) < len(sides) or value.dims is None:
        return
    own = {f"count{d}": f"{name}.shape[{r}]" for r, d in enumerate(shape.sources) if name in names_in(value.dims[r])}
    then, otherwise = ({**place, **own} for place in places)
    keys = [key for key in then if not (then[key] == otherwise[key] == "0")]
    names = {key: scope.fresh(f"{name}_{key}") for key in keys}
    scope.names.joints.append(
        Joint(statement, *({names[key]: place[key] for key in keys} for place in (then, otherwise)))
    )
    scope.names.joined.setdefault(name, set()).update(names.values())
    scope.names.env.update(dict.fromkeys(names.values(), Python()))
    scope.names.env[name] = replace(value, origin=_joined(names, value, shape))


def _is_plain(part: Operand) -> bool:
    """Is a part written as slices and numbers, of a tensor whose dimensions are known?"""
    whole = part.value
    plain = part.pattern is None and not (part.dynamic or part.is_view or part.prefix) and None not in part.sources
    return plain and part.items is not None and isinstance(whole, Tile) and whole.dims is not None and not whole.blocks


def _whole_place(name: str, shape: Operand, items: Sequence[Item], rank: int) -> dict[str, str]:
    """A whole tensor of ``rank`` as the part that the other branch gives: its single indices are dimensions of one."""
    sizes = {d: f"{name}.shape[{r}]" for r, d in enumerate(shape.sources)}
    whole = ", ".join(sizes.get(d, "1") for d in range(len(items)))
    texts = {"tensor": name if len(items) == rank else f"{name}.reshape(({whole}))"}
    return texts | {_key(d, item): "0" for d, item in enumerate(items) if not item.full}


def _place(name: str, side: Value | None, shape: Operand) -> dict[str, str] | None:
    """The tensor that one branch gives ``name`` a part of, and where it lies there; ``None`` where that differs."""
    assert shape.items is not None
    if not isinstance(side, Tile) or side.blocks or side.optional or side.dims is None:
        return None
    if len(side.dims) != len(shape.sources):
        return None
    if not side.view:
        return _whole_place(name, shape, shape.items, len(side.dims))
    part = side.origin
    if not isinstance(part, Operand) or not _is_plain(part) or part.items is None or part.sources != shape.sources:
        return None
    kinds = [[(item.full, item.point) for item in items] for items in (part.items, shape.items)]
    if kinds[0] != kinds[1]:
        return None
    return {"tensor": part.base} | {_key(d, item): item.start for d, item in enumerate(part.items) if not item.full}


def _key(d: int, item: Item) -> str:
    return f"index{d}" if item.point else f"start{d}"


def _joined(names: Mapping[str, str], value: Tile, shape: Operand) -> Operand:
    """The part as the names say it."""
    tensor = names["tensor"]
    whole = parameter_value(tensor, replace(shape.value, view=False, origin=None))
    assert isinstance(whole, Hbm | Tile) and shape.items is not None and value.dims is not None
    sizes = {d: names.get(f"count{d}", value.dims[r]) for r, d in enumerate(shape.sources) if d is not None}
    items = []
    for d, item in enumerate(shape.items):
        start = names.get(_key(d, item), "0")
        full = Item("0", f"{tensor}.shape[{d}]", True, raw=":")
        items.append(full if item.full else Item(start, "1", point=True) if item.point else Item(start, sizes[d]))
    axes = (None,) * len(value.dims)
    return replace(shape, base=tensor, value=whole, dims=value.dims, items=tuple(items), axes=axes, shape="")


def write_joints(scope: Scope) -> None:
    """Write the names that the function reads in the end behind the branches."""
    edits = scope.module.plan.edits
    for joint in reversed(scope.names.joints):
        read, _ = names_used(edits, [scope.function])
        body, other = _branches(scope, joint.statement)
        for branch, texts in ((body, joint.then), (other, joint.otherwise)):
            lines = [New(f"{name} = {text}") for name, text in texts.items() if name in read]
            place = edits.before if branch[-1] is joint.statement else edits.after
            if lines:
                place[branch[-1]] = [*place.get(branch[-1], []), *lines]
