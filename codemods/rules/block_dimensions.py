"""NKI010 block-dimensions: dimensions before ``par_dim`` become lists of tensors.

Why: Beta 2 has no block dimensions. ``(8, par_dim(128), 512)`` becomes a list of eight ``(128, 512)`` tensors,
several block dimensions nested lists; ``t[i, 0:128, 0:512]`` becomes ``t[i][0:128, 0:512]``. ``--blocks fold`` folds
the blocks behind the partitions instead, ``(128, 8, 512)``: every use must give all block indices, and addresses must
advance evenly. ``--blocks loop`` declares the tensor in the loop that uses it: every use must stand in one loop and
be indexed by that loop's variable, so that no block outlives its iteration. Direct-allocated tensors keep every
tile's address.

Safe. Left alone: block dimensions indexed with slices or vectors, ``.shape`` of a tensor with blocks.

Source: NKI migration guide, "Translation of Block Dimensions".
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .. import algebra
from ..emission import Refuse
from ..facts.index import index_value
from ..facts.values import Allocator
from ..scope import Scope

CODE = "NKI010"
GOLDENS = ("block_list", "block_fold", "block_loop", "block_grid", "par_dim_spellings")
_HELP = "the list of tensors is always right; use --blocks list to silence this"


@dataclass(frozen=True)
class Uses:
    """Every use of a tensor's name in its function."""

    subscripts: tuple[ast.Subscript, ...]
    complete: bool


def uses(scope: Scope, name: str, rank: int) -> Uses:
    """The subscripts of ``name``; ``complete`` if there is no other use, and each gives all ``rank`` block indices."""
    subscripts: list[ast.Subscript] = []
    seen = 0
    for node in ast.walk(scope.function):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            seen += 1
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            subscripts.append(node)
    complete = len(subscripts) == seen and scope.assigned[name] == 1
    return Uses(tuple(subscripts), complete and all(len(_indices(s)) >= rank for s in subscripts))


def _indices(node: ast.Subscript) -> list[ast.expr]:
    """The scalar indices that a subscript begins with."""
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    leading: list[ast.expr] = []
    for element in elements:
        if isinstance(element, ast.Slice) or (isinstance(element, ast.Constant) and element.value is Ellipsis):
            break
        leading.append(element)
    return leading


def fold_refusal(scope: Scope, name: str, rank: int, buffer: str | Allocator) -> str:
    """Why a tensor with ``rank`` block dimensions cannot be folded; empty when it can."""
    if isinstance(buffer, Allocator):
        if buffer.space == "psum":
            return "a PSUM tile cannot cross a bank"
        given = {k.arg for k in buffer.call.keywords}
        if buffer.kind != "mod_alloc" or "num_par_tiles" in given:
            return "its blocks do not lie side by side"
        if "num_free_tiles" not in given:
            return "its blocks share one address"
    elif buffer == "psum":
        return "a PSUM tile cannot cross a bank"
    if not uses(scope, name, rank).complete:
        return "it is used otherwise than block by block"
    return ""


def loop_of(scope: Scope, name: str, rank: int, statement: ast.stmt, address: str) -> ast.For | None:
    """The loop that a declaration can move into: all uses stand in it, indexed by its variable."""
    found = uses(scope, name, rank)
    if rank != 1 or not found.complete or not found.subscripts:
        return None
    after = scope.block[scope.block.index(statement) + 1 :]
    for candidate in after:
        inside = {id(n) for n in ast.walk(candidate)}
        if not any(id(s) in inside for s in found.subscripts):
            continue
        fits = isinstance(candidate, ast.For) and all(id(s) in inside for s in found.subscripts)
        if not fits or not isinstance(candidate, ast.For) or not isinstance(candidate.target, ast.Name):
            return None
        variable = candidate.target.id
        by_variable = all(_is_name(_indices(s)[0], variable) for s in found.subscripts)
        stable = all(scope.assigned[n] <= 1 for n in algebra.names(address)) and scope.assigned[variable] == 1
        return candidate if by_variable and stable else None
    return None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def report_list(scope: Scope, node: ast.AST, name: str, style: str, reason: str) -> None:
    """The user asked for another style than a list, and this tensor cannot have it."""
    what = {"fold": "cannot be folded into its free dimensions", "loop": "cannot be declared in a loop"}[style]
    scope.module.report(Refuse(node, CODE, f"'{name}' {what}: {reason}; it became a list", _HELP))


def is_scalar_index(scope: Scope, element: ast.expr) -> bool:
    """Can ``element`` index a block dimension: a Python value, not a slice or a vector?"""
    if isinstance(element, ast.Slice | ast.Starred) or index_value(scope, element) is not None:
        return False
    return not isinstance(element, ast.Constant) or isinstance(element.value, int)
