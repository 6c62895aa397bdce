"""NKI010 block-dimensions: dimensions before ``par_dim`` become lists of tensors, one tensor, or a tensor in a loop.

Why: Beta 2 has no block dimensions. What they become is decided for each tensor, and ``rewrite --verbose`` says why:

* in the **loop** where every block belongs to one iteration: all uses stand in one loop from 0 and are indexed by its
  variable, so that no block outlives its iteration. A tensor that the loop declares is a fresh one in each iteration,
  so nothing is serialised.
* **folded** behind the partitions, ``(8, par_dim(128), 512)`` to ``(128, 8, 512)`` and ``t[i, 0:128, 0:512]`` to
  ``t[0:128, i, 0:512]``, where all blocks are alive at once (or their addresses are pinned side by side) and every
  use is an operand that names one block. Blocks that take turns on pinned tiles are one tensor of those tiles, indexed
  modulo their number, however many blocks there are; blocks that share one tile are that tile.
* a **list** of tensors, ``t[i][0:128, 0:512]``, several block dimensions nested lists, in all other cases: PSUM
  tiles that do not belong to an iteration (a tile cannot cross a bank), blocks that are filled at their declaration,
  passed on, viewed or returned.

``--blocks list``, ``fold`` and ``loop`` ask for one of them wherever it is possible. Direct-allocated tensors keep
every tile's address in each.

Safe. Left alone: block dimensions indexed with slices or vectors, ``.shape`` of a tensor with blocks.

Source: NKI migration guide, "Translation of Block Dimensions".
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..analysis.changed_objects import changes
from ..analysis.index import index_value
from ..analysis.scope import Scope
from ..analysis.unit_loops import passes_from_zero
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Allocator, Python
from ..syntax import codes
from ..syntax.node_index import children, walk
from ..syntax.nodes import names_read_by_nested, viewed

if TYPE_CHECKING:
    from ..expr.declarations import Plan

CODE = codes.BLOCK_DIMENSIONS
GOLDENS = ("block_list", "block_fold", "block_loop", "block_grid", "par_dim_spellings")
_HELP = "the list of tensors is always right; use --blocks list to silence this"
_MOST_DIMENSIONS = 4
"""Of a folded tensor: an access has the partitions and up to four free dimensions, and an index may add one."""


@dataclass(frozen=True)
class Style:
    """What the blocks of a tensor become (``list``, ``fold`` or ``loop``), and why; ``loop`` is the loop they join."""

    name: str
    reason: str
    loop: ast.For | None = None


class NotInLoop(str):
    """Why the declaration of a tensor cannot stand in a loop, where nothing says that it cannot be folded."""

    __slots__ = ()


def style_of(scope: Scope, plan: Plan) -> Style:
    """The style of a tensor with blocks: what ``--blocks`` asks for where it is possible."""
    wanted = scope.module.options.blocks
    if wanted == "list":
        return Style("list", "--blocks list")
    refused = scope.module.to_list.get(scope.module.position(plan.node), "")
    if refused and not isinstance(refused, NotInLoop):
        return Style("list", refused)
    found = uses(scope, plan.name, len(plan.blocks))
    loop: ast.For | None = None
    no_loop: str = refused
    if wanted in ("auto", "loop") and not refused:
        loop, no_loop = loop_of(scope, plan, found)
    if loop is not None:
        variable = scope.source.segment(loop.target)
        return Style("loop", f"every block belongs to one iteration over {variable} (line {loop.lineno})", loop)
    no_fold = _fold_refusal(scope, plan, found) if wanted in ("auto", "fold") else ""
    if wanted == "auto":
        return _chosen(scope, plan, found, no_loop, no_fold)
    if no_loop or no_fold:
        what = {"fold": "cannot be folded into its free dimensions", "loop": "cannot be declared in a loop"}[wanted]
        reason = no_loop or no_fold
        refusal = Refuse(plan.node, CODE, f"'{plan.name}' {what}: {reason}; it became a list", _HELP)
        scope.module.report(refusal, informs=True)
        return Style("list", reason)
    return Style(wanted, f"--blocks {wanted}")


def _chosen(scope: Scope, plan: Plan, found: Uses, no_loop: str, no_fold: str) -> Style:
    """``auto`` for a tensor that no loop takes."""
    reason = no_fold or _not_operands(scope, found)
    if not reason and len(plan.blocks) + len(plan.dims) > _MOST_DIMENSIONS:
        reason = f"folded it would have {len(plan.blocks) + len(plan.dims)} dimensions"
    pinned = isinstance(plan.buffer, Allocator)
    statements = _statements_of(scope, plan, found)
    if not reason and not pinned and len(statements) < 2:
        reason = f"{no_loop}, and its blocks need not be alive at once"
    if reason:
        return Style("list", reason)
    if pinned:
        return Style("fold", "its blocks are pinned side by side")
    first, last = statements[0].lineno, statements[-1].lineno
    return Style("fold", f"all its blocks are alive between line {first} and line {last}")


@dataclass(frozen=True)
class Uses:
    """Every use of a tensor's name in its function.

    ``subscripts`` give a block. ``other`` says what else there is, and is empty if that is all: every use gives all
    block indices, and nothing else is called so. ``nested`` says that some stand in a function inside of it.
    """

    subscripts: tuple[ast.Subscript, ...]
    other: str
    nested: bool


def uses(scope: Scope, name: str, rank: int) -> Uses:
    subscripts: list[ast.Subscript] = []
    seen = nested = 0
    for node in walk(scope.function):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            seen += 1
        if isinstance(node, ast.Subscript) and _is_name(viewed(node.value) or node.value, name):
            subscripts.append(node)
        if isinstance(node, ast.FunctionDef | ast.Lambda) and node is not scope.function:
            nested += any(isinstance(n, ast.Name) and n.id == name for n in walk(node))
    other = ""
    if scope.assigned[name] != 1:
        other = f"'{name}' is bound more than once"
    elif len(subscripts) != seen or any(len(_indices(s)) < rank for s in subscripts):
        other = "it is used otherwise than block by block"
    return Uses(tuple(subscripts), other, nested > 0)


def _indices(node: ast.Subscript) -> list[ast.expr]:
    """The scalar indices that a subscript begins with."""
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    leading: list[ast.expr] = []
    for element in elements:
        if isinstance(element, ast.Slice) or (isinstance(element, ast.Constant) and element.value is Ellipsis):
            break
        leading.append(element)
    return leading


def _fold_refusal(scope: Scope, plan: Plan, found: Uses) -> str:
    """Why a tensor with blocks cannot be folded; empty when it can."""
    if plan.fill is not None:
        return "it is filled block by block"
    if plan.space == "psum":
        return "a PSUM tile cannot cross a bank"
    if isinstance(plan.buffer, Allocator):
        given = {k.arg: k.value for k in plan.buffer.call.keywords}
        if plan.buffer.condition:
            return "a condition decides whether it is pinned"
        if plan.buffer.kind != "mod_alloc" or "num_par_tiles" in given:
            return "its blocks do not lie side by side"
        tiles = given.get("num_free_tiles")
        if isinstance(tiles, ast.Tuple | ast.List) and len(tiles.elts) not in (0, len(plan.blocks)):
            return "num_free_tiles has another rank than its blocks"
    return found.other


def all_used(scope: Scope, tiles: str, blocks: str) -> bool:
    """Is there a block for each of the tiles? A folded tensor holds them all."""
    some, many = scope.constant(tiles), scope.constant(blocks)
    return scope.equal(tiles, blocks) or some == 1 or (some is not None and many is not None and some <= many)


def loop_of(scope: Scope, plan: Plan, found: Uses) -> tuple[ast.For | None, str]:
    """The loop that a declaration can move into, or why there is none: all uses stand in it, by its variable."""
    if found.other or found.nested or not found.subscripts:
        return None, found.other or ("a nested function uses it" if found.nested else "it is not used")
    if plan.fill is not None:
        return None, "it is filled block by block"
    if len(plan.blocks) != 1:
        return None, "it has several block dimensions"
    if isinstance(plan.buffer, Allocator) and plan.buffer.kind == "object":
        return None, "the object that gives its address would give another one in each iteration"
    [statement, *others] = _statements_of(scope, plan, found) or [plan.statement]
    if others:
        return None, f"its blocks outlive the loop in line {statement.lineno}"
    if not isinstance(statement, ast.For) or not isinstance(statement.target, ast.Name):
        return None, "its blocks are not used in one loop"
    passes = passes_from_zero(scope, statement)
    if passes is None:
        return None, f"the loop in line {statement.lineno} does not count from 0"
    if isinstance(plan.buffer, Allocator) and not scope.equal(scope.source.segment(passes), plan.blocks[0]):
        return None, f"the loop in line {statement.lineno} may not use all of its blocks, which have addresses"
    variable = statement.target.id
    if not all(_is_name(_indices(s)[0], variable) for s in found.subscripts):
        return None, f"its blocks are not used one by one over {variable}"
    change = _change(scope, plan, variable)
    return (None, change) if change else (statement, "")


def advanced_address(scope: Scope, plan: Plan) -> ast.expr | None:
    """``base_addr`` of a tensor, where a counter is a part of it that may stand elsewhere behind the declaration."""
    if not isinstance(plan.buffer, Allocator) or plan.buffer.kind != "mod_alloc":
        return None
    base = next((k.value for k in plan.buffer.call.keywords if k.arg == "base_addr"), None)
    advanced = base is not None and any(isinstance(n, ast.Name) and scope.assigned[n.id] > 1 for n in walk(base))
    return base if advanced else None


def _change(scope: Scope, plan: Plan, variable: str) -> str:
    """What of a declaration may change from one iteration to the next; nothing where it is the same in each.

    An address that is advanced is kept for the loop where a declaration in it was asked for.
    """
    kept = scope.module.options.blocks == "loop" and advanced_address(scope, plan) is not None
    read = _read_by(plan, kept)
    closure = set().union(*(names_read_by_nested(scope.outermost).get(name, ()) for name in read))
    if any(scope.assigned[name] > 1 for name in read | closure) or scope.assigned[variable] != 1:
        return "a size or an address of it changes"
    return "an object that its address depends on changes" if closure & _changed_objects(scope) else ""


def _read_by(plan: Plan, kept: bool) -> set[str]:
    """The names that the declaration reads, without those of an address that is kept."""
    texts = [*plan.dims, plan.dtype]
    if isinstance(plan.buffer, Allocator):
        call = plan.buffer.call
        given = [*call.args, *(k.value for k in call.keywords if not (kept and k.arg == "base_addr"))]
        texts += [ast.unparse(node) for node in given]
        texts.append(plan.buffer.condition or "0")
    return set(algebra.names(" + ".join(["0", *(f"len({text})" for text in texts)])))


def _changed_objects(scope: Scope) -> set[str]:
    """The Python objects that the function changes in place."""
    found = changes(scope.module, scope.outermost, scope.function.body)
    return {c.name for c in found if not c.stored or isinstance(scope.env.get(c.name), Python)}


def _statements_of(scope: Scope, plan: Plan, found: Uses) -> list[ast.stmt]:
    """The statements after the declaration, in its block, that use it."""
    wanted = {id(s) for s in found.subscripts}
    after = scope.block[scope.block.index(plan.statement) + 1 :]
    return [statement for statement in after if any(id(n) in wanted for n in walk(statement))]


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _not_operands(scope: Scope, found: Uses) -> str:
    """Is a block used as anything but a destination or an operand of the language? Then where; empty if not."""
    wanted = {id(s) for s in found.subscripts}
    for node in walk(scope.function):
        for child in children(node):
            if id(child.value if isinstance(child, ast.keyword) else child) in wanted and not _takes(
                scope, node, child
            ):
                return f"a block is passed on in line {getattr(child, 'lineno', 0) or found.subscripts[0].lineno}"
    return ""


def _takes(scope: Scope, node: ast.AST, child: ast.AST) -> bool:
    """Does ``node`` take ``child`` as a destination or as an operand?"""
    if isinstance(node, ast.Call):
        return child is not node.func and (scope.qualified(node.func) or "").startswith(("nl.", "nisa."))
    if isinstance(node, ast.Assign):
        return not (child is node.value and any(isinstance(t, ast.Name) for t in node.targets))
    return isinstance(node, ast.AugAssign | ast.BinOp | ast.UnaryOp | ast.keyword)


def is_scalar_index(scope: Scope, element: ast.expr) -> bool:
    """Can ``element`` index a block dimension: a Python value, not a slice or a vector?"""
    if isinstance(element, ast.Slice | ast.Starred) or index_value(scope, element) is not None:
        return False
    return not isinstance(element, ast.Constant) or isinstance(element.value, int)
