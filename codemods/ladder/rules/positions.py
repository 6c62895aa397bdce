"""NKV027 positions: arguments that the next version binds to another parameter by position get their names.

Why: 0.3 has ``accumulate`` before ``tile_position`` of ``nc_matmul``, and lost ``dst_rmw_op`` of ``dma_copy``; 0.4 has
``priority`` before ``oob_mode`` of ``dma_copy`` and before ``dge_mode`` of ``dma_transpose``. 0.2 has ``mask``, which
takes ``None`` only, in the middle of the parameters of most instructions, and 0.3 has none: it goes.

Safe: keywords bind the same in every version.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.beta2_symbols import Symbol, kept_positions
from nki_migrate.runtime.spec.changes import changes

from ...syntax.call_text import Argument, CallText
from ..answers import Answer, Left, Unknown, rewritten
from ..facts import Facts

CODE = "NKV027"
GOLDENS = ("ladder_positions",)
NODES = (ast.Call,)
CALLS = frozenset(f"nki.isa.{name}" for name in ("nc_matmul", "dma_copy", "dma_transpose"))
ANY_CALL = True
_NONE = Symbol("function")
_ENUMS = ("oob_mode", "dge_mode", "engine")


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Name what stands behind the parameters that keep their places; take away the mask that is none."""
    name = facts.called(node)
    symbols = _symbols(facts, name)
    order, newer = map(_names, symbols)
    text = facts.text_of(node) if order and newer and not _is_of_another_rule(facts, name) else None
    if text is None or len(node.args) > len(order):
        return None
    no_mask = _no_mask(text, order) if "mask" not in newer else None
    edits = [] if no_mask is None else [text.removed(no_mask)]
    kept = kept_positions(*symbols)
    if len(node.args) <= kept:
        return rewritten(*edits) if edits else None
    if not facts.is_certain and not _is_of_this_order(facts, node, order):
        return _of_either_order(facts, node, order)
    arguments = list(zip(text.arguments[: len(node.args)], order, strict=False))[kept:]
    named = [(argument, parameter) for argument, parameter in arguments if argument is not no_mask]
    if any(parameter == "mask" for _, parameter in named):
        return Left("the front end of 0.2 takes this for a mask", "name the arguments behind the tensors")
    return rewritten(*edits, *(text.renamed(argument, parameter) for argument, parameter in named))


def _is_of_another_rule(facts: Facts, name: str) -> bool:
    """Does another rule see to the order of a function?"""
    return any(name in row.moved for row in changes(facts.old, facts.new) if row.rule != CODE)


def _of_either_order(facts: Facts, node: ast.Call, order: list[str]) -> Unknown | None:
    """What is taken for true of a call that may stand in the order of the new version, too."""
    if _is_of_another_order(facts, node, order):
        return None
    taken = f"the arguments of {facts.called(node).removeprefix('nki.')} stand in the order of NKI {facts.new}"
    return Unknown(taken, f"NKI {facts.old} has another order", "name the arguments behind the tensors", True)


def _symbols(facts: Facts, name: str) -> tuple[Symbol, Symbol]:
    """A function in the old version and in the new one; one without parameters where there is none."""
    old, new = (beta2.symbol(name, at) or _NONE for at in (facts.old, facts.new))
    return old, new


def _names(entry: Symbol) -> list[str]:
    return [parameter.name for parameter in entry.parameters or ()]


def _no_mask(text: CallText, order: list[str]) -> Argument | None:
    """The argument that says that there is no mask."""
    by_position = dict(zip(order, text.call.args, strict=False)).get("mask")
    for argument in text.arguments:
        if argument.keyword == "mask" or argument.value is by_position:
            return argument if isinstance(argument.value, ast.Constant) and argument.value.value is None else None
    return None


def _is_of_this_order(facts: Facts, node: ast.Call, order: list[str]) -> bool:
    """Can the arguments stand in the old version's order, and not in that of the new one?"""
    newer = _names(_symbols(facts, facts.called(node))[1])
    return not _is_of_another_order(facts, node, order) and _is_of_another_order(facts, node, newer)


def _is_of_another_order(facts: Facts, node: ast.Call, order: list[str]) -> bool:
    """Does something stand where an order has a parameter that does not take it?"""
    behind = kept_positions(*_symbols(facts, facts.called(node)))
    given = list(zip(node.args, order, strict=False))[behind:]
    return len(node.args) > len(order) or any(_is_refused(facts, value, parameter) for value, parameter in given)


def _is_refused(facts: Facts, value: ast.expr, parameter: str) -> bool:
    """Is a value a member of another enumeration, or a pair where one number is meant, or the other way round?"""
    is_none = isinstance(value, ast.Constant) and value.value is None
    if parameter == "mask":
        return not is_none
    enum = facts.qualified(value).removeprefix("nki.isa.").partition(".")[0]
    if isinstance(value, (ast.Tuple, ast.List)):
        return not parameter.startswith("tile_")
    is_number = isinstance(value, ast.Constant) and value.value is not None
    return (enum in _ENUMS and parameter != enum) or (is_number and parameter.startswith("tile_"))
