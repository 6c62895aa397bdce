"""NKI029 dynamic-loops: ``for _ in range(scalar(tile))`` becomes a loop of ``nl.dynamic_range`` over a register.

Why: a loop whose trip count stands in a tile runs on the device. Beta 1 wrote its bound as ``nt.scalar(tile)``; Beta 2
loads the tile into a register, ``nisa.register_load``, and loops over ``nl.dynamic_range(0, register, 1)``.

Safe: both versions trace the body once; Python values that it advances are put back as in other loops (NKI004).
Left alone: statements that read the loop's index, which is a register in Beta 2, ``return`` in such a loop, and matmuls
that add to a PSUM tile from outside of it.

Source: NKI migration guide, "Dynamic control flow"; the front end of leanprover/KLR (``forLoop`` in Trace/NKI.lean).
"""

from __future__ import annotations

import ast

from ..analysis.scope import Scope
from ..expr.emission import New, Refuse
from ..expr.operands import Operand
from ..expr.values import Gone
from ..lower.compute import operand_or_text
from ..render.expressions import render

CODE = "NKI029"
GOLDENS = ("dynamic_trips",)
BOUND = "nt.scalar"


def is_dynamic(scope: Scope, loop: ast.For) -> bool:
    """Does a tile bound a loop: ``range(scalar(tile))``?"""
    call = loop.iter
    return isinstance(call, ast.Call) and any(_tile_of(scope, argument) is not None for argument in call.args)


def _tile_of(scope: Scope, bound: ast.expr) -> ast.expr | None:
    """``tile`` of ``scalar(tile)``."""
    plain = isinstance(bound, ast.Call) and len(bound.args) == 1 and not bound.keywords
    return bound.args[0] if plain and scope.qualified(bound.func) == BOUND else None  # type: ignore[attr-defined]  # plain: a call


def rewrite(scope: Scope, loop: ast.For) -> None:
    """Plan the loop's header. Raises :class:`Refuse` for bounds that are no tile of one element and no number."""
    call = loop.iter
    assert isinstance(call, ast.Call)
    if call.keywords or len(call.args) > 2 or not isinstance(loop.target, ast.Name):
        raise Refuse(call, CODE, "a loop over a tile with a step, or with several targets", "write nl.dynamic_range")
    scope.apply(CODE, loop)
    bounds = [_bound(scope, argument) for argument in call.args]
    first, last = bounds if len(bounds) == 2 else ("0", bounds[0])
    scope.module.plan.edits.expressions[call] = f"{scope.nl}.dynamic_range({first}, {last}, 1)"
    scope.module.plan.edits.before.setdefault(loop, []).extend(scope.output.lines)
    scope.output.lines = []


def _bound(scope: Scope, node: ast.expr) -> str:
    """A number as it is, the number in a tile as a register that is loaded in front of the loop."""
    tile = _tile_of(scope, node)
    if tile is None:
        return render(scope, node)
    view = operand_or_text(scope, tile)
    if not isinstance(view, Operand) or view.space == "hbm":
        raise Refuse(node, CODE, "the bound of a loop is not known to be a tile", "load it into SBUF first")
    register = scope.fresh(f"{view.base if view.base.isidentifier() else 'tile'}_register")
    scope.output.lines += [
        New(f"{register} = {scope.nisa}.register_alloc()"),
        New(f"{scope.nisa}.register_load({register}, {view.text(())})"),
    ]
    return register


INDEX = Gone("is the index of a loop on the device, which is a register: count in a tile")
