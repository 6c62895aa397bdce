"""Functions as the units of a round: each is walked once, or not at all where an earlier round tells what it plans."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..analysis.scope import Scope
from ..expr.frames import Analysis
from ..expr.values import Parameters, Value
from ..plan.variants import telling_flags
from ..project.draft import Draft
from ..project.program import Module
from ..project.walks import Known, Unit, same
from .functions import walk


def walk_function(
    module: Module,
    node: ast.FunctionDef,
    parameters: Parameters,
    *,
    caller: Scope | None = None,
    within: bool = False,
) -> Analysis:
    """Rewrite one function, once. ``parameters`` are the kinds of its parameters where a caller tells them.

    ``within``: as a part of what its caller is rewritten to, which may plan something for it before.
    """
    on_device = caller is not None and caller.on_device
    if not within and node not in module.plan.lifted:
        return module.program.told(_walked, module, node, parameters, on_device).analysis
    if node not in module.summaries.analyzed:
        found = _drafted(module, node, parameters, on_device, caller if node in module.plan.lifted else None)
        if module.program.unit is not None:
            module.program.unit.within[node] = found
    return module.summaries.analyzed[node]


@dataclass(frozen=True)
class _Told:
    """What a function tells its callers: what it gives, and the parameters that it gets besides its own."""

    analysis: Analysis
    handed: tuple[str, ...]


def _walked(module: Module, node: ast.FunctionDef, parameters: Parameters, on_device: bool) -> _Told:
    if node not in module.summaries.analyzed:
        _walk_once(module, node, parameters, on_device)
    return _Told(module.summaries.analyzed[node], tuple(module.summaries.handed.get(node, ())))


def _walk_once(module: Module, node: ast.FunctionDef, parameters: Parameters, on_device: bool) -> None:
    """Plan a function: as an earlier round did, where that holds."""
    program, summaries = module.program, module.summaries
    known = _known(module, node, parameters, on_device, telling_flags(module, node, parameters))
    summaries.analyzed[node] = Analysis(parameters, Value())  # for calls of itself
    module.local_names(node)
    before = program.walks.units.pop(node, None)
    unit = before.again(program.answer) if before is not None and same(before.known, known) else Unit(known)
    if unit is before:
        module.whole.add(unit.plan)
        summaries.analyzed |= unit.within
    else:
        _walk_as(unit, module, node)
    if unit.is_repeatable:
        program.walks.units[node] = unit
    summaries.analyzed[node] = unit.analysis
    if unit.handed:
        summaries.handed[node] = unit.handed


def _known(
    module: Module, function: ast.FunctionDef, parameters: Parameters, on_device: bool, flags: dict[str, bool]
) -> Known:
    lines, premises = range(function.lineno, (function.end_lineno or function.lineno) + 1), module.premises
    here = {place for place in premises.to_list if place[0] == module.path and place[1] in lines}
    left = {key for key in premises.carried if key[0][0] == module.path and key[0][1] in lines}
    return Known(
        parameters,
        on_device,
        flags,
        dict(module.whole.inside.get(function, {})),
        {place: premises.to_list[place] for place in here},
        {each for each in premises.resized if each[:2] == (module.path, function.lineno)},
        {key: premises.carried[key] for key in left},
    )


def _walk_as(unit: Unit, module: Module, node: ast.FunctionDef) -> None:
    """Walk a function, and record in its unit what it plans, asks of others and tells them."""
    around, module.plan, module.program.unit = module.plan, unit.plan, unit
    unit.plan.edits.expressions.update(unit.known.inside)
    try:
        unit.analysis = _drafted(module, node, unit.known.parameters, unit.known.on_device)
        unit.handed = module.summaries.handed.get(node, [])
    finally:
        module.plan, module.program.unit = around, None
        module.whole.add(unit.plan)


def _drafted(
    module: Module, node: ast.FunctionDef, parameters: Parameters, on_device: bool, outer: Scope | None = None
) -> Analysis:
    """A function's walk has a draft of its own: what is decided about it stays, whatever becomes of a call."""
    around, module.program.draft = module.program.draft, Draft()
    try:
        return walk(module, node, parameters, on_device, outer)
    finally:
        module.program.draft = around
