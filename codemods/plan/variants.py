"""Functions whose calls pass different kinds of tensors: one rewritten copy for each kind.

A module is read in rounds. The first round takes a function as its first call describes it, and notes what every call
passes. When the calls disagree, or a later one tells more than the first, the module is read again with what is
known then: the kinds of arguments that fit together make one variant. Variants whose texts come out alike share a copy
(:mod:`.same_text`).
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.part_arguments import kinds
from ..expr.emission import Refuse
from ..expr.values import Absent, DType, Flag, Hbm, Object, Parameters, Python, Several, Tile, Value
from ..syntax.codes import NESTED_FUNCTIONS as CODE
from ..syntax.names import dotted
from ..syntax.node_index import walk
from ..syntax.nodes import is_indexed, reads_guarded

if TYPE_CHECKING:
    from ..project.program import Module

MOST = 8
"""More copies of one function than this are nobody's wish: the calls beyond get a finding."""

_MOST_KINDS = 32
"""Kinds of arguments that are told apart, before it is known which of them can share a copy."""


def variants_of(calls: dict[ast.FunctionDef, list[Parameters]]) -> dict[ast.FunctionDef, list[Parameters]]:
    """What each function is written for, from what all its calls pass."""
    return {function: _variants(function, told) for function, told in calls.items()}


def _variants(function: ast.FunctionDef, calls: list[Parameters]) -> list[Parameters]:
    found: list[Parameters] = []
    for told in calls:
        place = variant_for(function, found, told)
        if place is not None:
            found[place] = _merged(found[place], told)
        elif len(found) < _MOST_KINDS:
            found.append(dict(told))
    for told in calls:  # whose ranks the source does not tell, of a function that is called with several
        if variant_for(function, found, told) is None and len(found) < _MOST_KINDS:
            found.append(dict(told))
    return found


def served(module: Module, function: ast.FunctionDef) -> list[Parameters]:
    """What each copy of a function is written for."""
    kinds, shared = module.premises.variants.get(function, [{}]), module.premises.shared.get(function)
    if shared is None:
        return kinds
    return [kinds[shared.index(number)] for number in range(min(MOST, max(shared) + 1))]


def variant_for(function: ast.FunctionDef, variants: list[Parameters], told: Parameters) -> int | None:
    """The variant that a call can use; none for a tensor of unknown rank where those that fit have several."""
    fitting = [place for place, parameters in enumerate(variants) if not different_kinds(function, parameters, told)]
    exact = [place for place in fitting if _ranks(variants[place], told) == _ranks(told, told)]
    if exact:
        return exact[0]
    several = len({tuple(_ranks(variants[place], told).items()) for place in fitting}) > 1
    return fitting[0] if fitting and not several else None


def of_unknown_rank(told: Parameters) -> list[str]:
    """The tensors that a call passes without a rank."""
    return [name for name, rank in _ranks(told, told).items() if rank is None]


def _ranks(parameters: Parameters, told: Parameters) -> dict[str, int | None]:
    """The ranks of the tensors that a call passes, as far as ``parameters`` tell them."""
    values = {name: parameters.get(name) for name, value in told.items() if isinstance(value, Hbm | Tile)}
    return {
        name: len(value.dims) if isinstance(value, Hbm | Tile) and value.dims is not None else None
        for name, value in values.items()
    }


def different_kinds(function: ast.FunctionDef, first: Parameters, now: Parameters) -> list[str]:
    """The parameters that two calls give values to which one rewritten function cannot serve."""
    return [n for n in sorted({*first, *now}) if not _alike(function, n, first.get(n), now.get(n))]


def _alike(function: ast.FunctionDef, name: str, a: Value | None, b: Value | None) -> bool:
    if a is None or b is None:  # it is not known what one of them passes
        return True
    if isinstance(a, Hbm | Tile) and isinstance(b, Hbm | Tile):
        placed = not is_indexed(function, name) or kinds(a) == kinds(b)
        return type(a) is type(b) and placed and _structure(a, b) == _structure(b, a)
    if isinstance(a, Object) or isinstance(b, Object):
        return _same_tensors(function, a, b)
    if isinstance(a, Several) and isinstance(b, Several):
        pairs = zip(a.parts, b.parts, strict=False)
        return len(a.parts) == len(b.parts) and all(_alike(function, name, x, y) for x, y in pairs)
    if isinstance(a, Absent) or isinstance(b, Absent):
        given = b if isinstance(a, Absent) else a
        return not isinstance(given, Hbm | Tile) or reads_guarded(function, name)
    return type(a) is type(b) or {type(a), type(b)} <= {Python, Flag}


def _same_tensors(function: ast.FunctionDef, a: Value, b: Value) -> bool:
    """Do two objects have tensors of the same kinds? (It is not known what any other value has.)"""
    if not (isinstance(a, Object) and isinstance(b, Object)):
        return isinstance(a, Python) and isinstance(b, Python)
    one, other = dict(a.tensors), dict(b.tensors)
    return one.keys() == other.keys() and all(_alike(function, n, one[n], other[n]) for n in one)


def _structure(value: Hbm | Tile, other: Hbm | Tile) -> tuple[object, ...]:
    """What a rewrite depends on. A rank that only one of the two knows is asserted where it is not known.

    A tile of unknown rank is no column, where it is not said that it may be one: another instruction takes one.
    """
    ones = tuple(size == "1" for size in value.dims or ())
    known: object = ones if value.dims is not None and other.dims is not None else any(ones)
    if not isinstance(value, Tile):
        return (known,)
    if value.dims is None and value.perhaps_column:
        known = "perhaps"
    return value.space, len(value.blocks), known


def _merged(a: Parameters, b: Parameters) -> Parameters:
    """What two calls of one variant tell together."""
    merged = dict(a)
    for name, value in b.items():
        known = a.get(name)
        if _knowledge(value) > _knowledge(known) or isinstance(known, Absent):
            merged[name] = value
        elif isinstance(value, Python) and isinstance(a.get(name), Flag) and value != a[name]:
            merged[name] = Python()
        found = merged[name]
        plain = not isinstance(found, Python) or type(found) is Python
        if isinstance(found, Tile | DType | Python) and plain and any(_may_be_absent(v) for v in (value, known)):
            merged[name] = replace(found, optional=True)
    return merged


def _may_be_absent(value: Value | None) -> bool:
    return isinstance(value, Absent) or (isinstance(value, Tile | DType | Python) and value.optional)


def telling_flags(module: Module, node: ast.FunctionDef, parameters: Parameters) -> dict[str, bool]:
    """The flags of one variant of a function that other variants have otherwise: what they exclude is not written."""
    function = next((f for f, copies in module.summaries.copies.items() if node in copies), node)
    kinds = module.premises.variants.get(function, [])
    return {
        name: value.value
        for name, value in parameters.items()
        if isinstance(value, Flag) and any(told.get(name) == Flag(value=not value.value) for told in kinds)
    }


def _knowledge(value: Value | None) -> int:
    if value is None:
        return 0
    if isinstance(value, Hbm | Tile):
        return 3 if value.dims is not None else 2
    return 2 if isinstance(value, Object) else 1


def copy_of(module: Module, function: ast.FunctionDef, number: int) -> ast.FunctionDef:
    """The node of a function's variant: 0 is the function itself, the others are copies that stand behind it."""
    if number == 0:
        return function
    return module.program.told(_copy, module, function, number)


def _copy(module: Module, function: ast.FunctionDef, number: int) -> ast.FunctionDef:
    copies, plan = module.summaries.copies.setdefault(function, []), module.whole
    while len(copies) < number:
        node = module.program.walks.copy(function, len(copies))
        plan.applied[CODE] += 1
        plan.touched.add(function.name)
        plan.edits.renamed[node] = module.fresh(function.name)
        plan.edits.copied.setdefault(function, []).append(node)
        copies.append(node)
    return copies[number - 1]


def report_other_uses(module: Module) -> None:
    """Report where functions that got copies or further parameters are anything but called: renamed, passed on."""
    for function in [
        f for f in module.symbols.functions.values() if f in module.summaries.handed or module.summaries.copies.get(f)
    ]:
        for user, name in [(module, function.name), *module.program.users(module, function.name)]:
            nodes = list(walk(user.source.tree))
            clear = user is module or name.partition(".")[0] in module.program.links[user.path]
            called = {node.func for node in nodes if isinstance(node, ast.Call) and clear}
            for node in nodes:
                if isinstance(node, ast.Name | ast.Attribute) and node not in called and _spelled(node) == name:
                    use = "is used otherwise than by calling it" if clear else "may be another function"
                    what = f"'{name}' {use}, and its calls pass more than they did"
                    user.report(Refuse(node, CODE, what, "call it by its own name"))


def _spelled(node: ast.Name | ast.Attribute) -> str:
    chain = dotted(node) if isinstance(node.ctx, ast.Load) else None
    return ".".join((chain[0], *chain[1])) if chain is not None else ""
