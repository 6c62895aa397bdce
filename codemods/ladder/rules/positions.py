"""NKV027 positions: arguments that the next version binds to another parameter by position get their names.

Why: 0.3 has ``accumulate`` before ``tile_position`` of ``nc_matmul``, and lost ``dst_rmw_op`` of ``dma_copy``; 0.4 has
``priority`` before ``oob_mode`` of ``dma_copy`` and before ``dge_mode`` of ``dma_transpose``.

Safe: keywords bind the same in every version.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.beta2_symbols import Symbol
from nki_migrate.runtime.spec.changes import CHANGES

from ..answers import Answer, Left, Unknown, rewritten
from ..facts import Facts

CODE = "NKV027"
GOLDENS = ("ladder_positions",)
NODES = (ast.Call,)
_BEHIND = {
    "nki.isa.nc_matmul": ("dst", "stationary", "moving", "is_stationary_onezero", "is_moving_onezero", "is_transpose"),
    "nki.isa.dma_copy": ("dst", "src"),
    "nki.isa.dma_transpose": ("dst", "src", "axes"),
}
"""The parameters that every version has at these positions."""
CALLS = frozenset(_BEHIND)
_NONE = Symbol("function")
_ENUMS = ("oob_mode", "dge_mode", "engine")


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Name what stands behind the parameters that keep their places."""
    name = facts.called(node)
    moved = {item for change in CHANGES if change.rule == CODE and change.since == facts.new for item in change.moved}
    text = facts.text_of(node) if name in moved else None
    if text is None or len(node.args) <= len(_BEHIND[name]):
        return None
    order = facts.parameters(name)
    if len(node.args) > len(order):
        return None
    if not facts.is_certain and not _is_of_this_order(facts, node, order):
        if _is_of_another_order(facts, node, order):
            return None
        taken = f"the arguments of {name.removeprefix('nki.')} stand in the order of NKI {facts.new}"
        return Unknown(taken, f"NKI {facts.old} has another order", "name the arguments behind the tensors", True)
    arguments = list(zip(text.arguments[: len(node.args)], order, strict=False))[len(_BEHIND[name]) :]
    if any(parameter == "mask" for _, parameter in arguments):
        return Left("the front end of 0.2 takes this for a mask", "name the arguments behind the tensors")
    return rewritten(*(text.renamed(argument, parameter) for argument, parameter in arguments))


def _is_of_this_order(facts: Facts, node: ast.Call, order: list[str]) -> bool:
    """Can the arguments stand in the old version's order, and not in that of the new one?"""
    newer = [p.name for p in (beta2.symbol(facts.called(node), facts.new) or _NONE).parameters or ()]
    return not _is_of_another_order(facts, node, order) and _is_of_another_order(facts, node, newer)


def _is_of_another_order(facts: Facts, node: ast.Call, order: list[str]) -> bool:
    """Does something stand where an order has a parameter that does not take it?"""
    behind = len(_BEHIND[facts.called(node)])
    given = list(zip(node.args, order, strict=False))[behind:]
    return len(node.args) > len(order) or any(_is_refused(facts, value, parameter) for value, parameter in given)


def _is_refused(facts: Facts, value: ast.expr, parameter: str) -> bool:
    """Is a value a member of another enumeration, or a pair where one number is meant, or the other way round?"""
    enum = facts.qualified(value).removeprefix("nki.isa.").partition(".")[0]
    if isinstance(value, (ast.Tuple, ast.List)):
        return not parameter.startswith("tile_")
    is_number = isinstance(value, ast.Constant) and value.value is not None
    return (enum in _ENUMS and parameter != enum) or (is_number and parameter.startswith("tile_"))
