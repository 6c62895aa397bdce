"""NKI033 observed-facts: what the source does not tell of a parameter, cases that call the function show.

Why: a rewrite needs to know what a parameter is: a tensor in HBM or a tile, of which rank. Mostly the calls say so, or
what the function does with it. Where neither does (nothing in these files calls the function, or an argument comes out
of a container), ``rewrite --cases FILE`` runs the old kernels on the emulator and notes what the functions that they
enter get: kind, memory, rank, and which sizes of tiles are 1. Other sizes, and numbers, are not used.

Review (``--unsafe`` writes it): the cases need not show all that the function is called with. With ``--write --verify``
it is written without ``--unsafe``, where all that uses it verifies as equal. What differed in kind or rank from call to
call tells nothing (a finding says so), and neither do index vectors, masks, Python values and block dimensions. Left
alone: matmuls into PSUM tiles that no call in these files passes, because cases do not tell what is in them before.

Source: runs of the user's own kernels; the documents of NKI say nothing of helpers.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.seen import ON_CHIP, Seen, SeenFunction

from ..expr.emission import Refuse
from ..expr.values import EITHER, Container, DType, Hbm, Python, Tile, Value
from ..model import Assumption
from ..syntax import codes
from ..syntax.nodes import default_values, unpacks_shape
from .psum_accumulation import of_another

if TYPE_CHECKING:
    from ..analysis.scope import Scope

CODE = codes.OBSERVED_FACTS
APPLICABILITY = "review"
GOLDENS = ("observed_facts",)


def with_observed(scope: Scope, argument: ast.arg, known: Value, told: Value | None) -> Value:
    """What a parameter is: ``known`` of the source (``told`` by the calls), and of the cases what is open then."""
    function = scope.module.seen.get((scope.function.lineno, scope.function.col_offset))
    if function is None or not scope.module.options.enabled(CODE) or not _is_open(scope, argument, known, told):
        return known
    name = argument.arg
    all_kinds = dict(function.parameters).get(name, ())
    kinds = tuple(seen for seen in all_kinds if seen.kind != "none")
    common = _common(kinds)
    if common is None:
        if len(kinds) > 1 and any(seen.is_tensor for seen in kinds):
            scope.module.report(_conflict(argument, kinds, function), informs=True)
        return known
    found = _value(name, common, optional=len(kinds) < len(all_kinds))
    if isinstance(told, Hbm | Tile):
        if not _extends(found, told):
            return known
        assert isinstance(found, Hbm | Tile)
        found = replace(found, view=told.view, origin=told.origin)
    assumption = Assumption(
        argument.lineno, argument.col_offset + 1, name, function.name, _described(common), function.cases
    )
    scope.module.plan.assumptions.add(assumption)
    # A matmul into the tile of a caller that nobody sees is left alone: whether it starts a group, the caller tells.
    return of_another(name, found) if isinstance(told, Tile) else found


def _is_open(scope: Scope, argument: ast.arg, known: Value, told: Value | None) -> bool:
    """Does the source not tell what a parameter is?"""
    if isinstance(known, Hbm | Tile):
        blocks = isinstance(known, Tile) and known.blocks
        return known.dims is None and not blocks and not unpacks_shape(scope.function, argument.arg)
    if told is not None:
        return type(told) in (Python, Container)  # the first is said of attributes, too, whatever they are
    default = default_values(scope.function).get(argument)
    optional = isinstance(default, ast.Constant) and default.value is None
    return type(known) is Python and (default is None or optional)


def _common(kinds: tuple[Seen, ...]) -> Seen | None:
    """What all of some values are; ``None`` where they differ, and where it tells nothing."""
    if {seen.kind for seen in kinds} == {"dtype"}:
        return kinds[0]
    spaces, forms = {seen.kind for seen in kinds}, {(len(seen.ones), seen.lists) for seen in kinds}
    if len(forms) != 1 or not (spaces == {"hbm"} or spaces <= set(ON_CHIP)):
        return None
    ones = tuple(all(sizes) for sizes in zip(*(seen.ones for seen in kinds), strict=True))
    space = spaces.pop() if len(spaces) == 1 else EITHER
    return Seen(space, ones, any(seen.part for seen in kinds), kinds[0].lists)


def _value(name: str, seen: Seen, *, optional: bool) -> Value:
    """A parameter that is like what was seen, described through its own name."""
    if seen.kind == "dtype":
        return DType(name)
    first = name + "[0]" * seen.lists
    sizes = tuple(f"{first}.shape[{d}]" for d in range(len(seen.ones)))
    if seen.kind == "hbm":
        return Hbm(sizes, f"{name}.dtype", seen.part)
    dims = tuple("1" if one else size for one, size in zip(seen.ones, sizes, strict=True))
    lists = tuple(f"len({name}{'[0]' * d})" for d in range(seen.lists))
    return Tile(seen.kind, dims, f"{first}.dtype", lists, view=seen.part, optional=optional)


def _extends(found: Value, told: Hbm | Tile) -> bool:
    """Does what was seen only add to what the calls tell?"""
    if not (isinstance(found, Tile) and isinstance(told, Tile)):
        return type(found) is type(told)
    return not found.blocks and (EITHER in (found.space, told.space) or found.space == told.space)


def reason(assumption: Assumption) -> str:
    """Why something is assumed, in words."""
    named = [f"'{case}'" for case in assumption.cases[:_MOST_NAMED]]
    more = len(assumption.cases) - len(named)
    cases = f"{', '.join(named)}{f' and {more} more' if more else ''}"
    return f"as observed in {'case' if len(assumption.cases) == 1 else 'cases'} {cases}; the source does not tell"


_MOST_NAMED = 3


def _conflict(argument: ast.arg, kinds: tuple[Seen, ...], function: SeenFunction) -> Refuse:
    """A finding on a parameter that was of different kinds in different calls."""
    what = " and ".join(dict.fromkeys(_described(seen) for seen in kinds))
    message = f"'{argument.arg}' of {function.name}() is {what} in different calls of the cases, which tells nothing"
    return Refuse(argument, CODE, message, "split the function by what it gets", "manual")


def _described(seen: Seen) -> str:
    """What was seen, in words."""
    noun = {"hbm": "tensor", EITHER: "tile", "sbuf": "tile", "psum": "tile"}.get(seen.kind)
    if noun is None:
        return {"dtype": "a data type", "blocks": "a tensor with block dimensions"}.get(seen.kind, "no tensor")
    place = "SBUF or PSUM" if seen.kind == EITHER else seen.kind.upper()
    ones = [str(d) for d, one in enumerate(seen.ones) if one] if seen.kind != "hbm" else []
    sizes = f" (of size 1 in dimension {' and '.join(ones)})" if ones else ""
    article = "a list of " + "lists of " * (seen.lists - 1) if seen.lists else "a part of a " if seen.part else "a "
    return f"{article}{noun}{'s' if seen.lists else ''} in {place} of rank {len(seen.ones)}{sizes}"
