"""NKI010 block-dimensions: dimensions before ``par_dim`` become lists of tensors, one tensor, or a tensor in a loop.

Why: Beta 2 has no block dimensions. What they become is decided for each tensor, and ``rewrite --verbose`` says why:

* in the **loop** where every block belongs to one iteration: all uses stand in one loop from 0 and are indexed by its
  variable (for several block dimensions in several loops, one in the other, a variable for each), so that no block
  outlives its iteration. A tensor that the loop declares is a fresh one in each iteration, so nothing is serialised.
* **folded** behind the partitions, ``(8, par_dim(128), 512)`` to ``(128, 8, 512)`` and ``t[i, 0:128, 0:512]`` to
  ``t[0:128, i, 0:512]``, where all blocks are alive at once (or their addresses are pinned side by side) and every
  use is an operand that names one block. One ``memset`` fills the blocks of ``nl.zeros``. Blocks that take turns on
  pinned tiles are one tensor of those tiles, indexed modulo their number, however many blocks there are; blocks that
  share one tile are that tile.
* a **list** of tensors, ``t[i][0:128, 0:512]``, several block dimensions nested lists, in all other cases: PSUM
  tiles that do not belong to an iteration (a tile cannot cross a bank), blocks that are passed on, viewed or returned.

Loops may take some of the block dimensions: where all uses stand in one loop over the batch, it declares what one
batch uses, ``(128, 8, 512)`` of ``(batch, 8, par_dim(128), 512)``. PSUM tiles stay where they are declared.

Blocks that are all alive at once, of one tensor or of several, and need more of a partition than there is, get a
finding with the bytes of each: they are written, and Beta 2 has no room for them. So do those that one iteration uses.

``--blocks list``, ``fold`` and ``loop`` ask for one of them wherever it is possible. Direct-allocated tensors keep
every tile's address in each.

Safe. Left alone: block dimensions indexed with slices or vectors, ``.shape`` of a tensor with blocks.

Source: NKI migration guide, "Translation of Block Dimensions".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..analysis.changed_objects import changes
from ..analysis.scope import Scope
from ..analysis.unit_loops import passes_from_zero
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Allocator, Python
from ..plan.capacity import report_excess, report_excess_of_iteration
from ..render.index import index_value
from ..syntax import codes
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.nodes import is_name, names_read_by_nested, uses_by_name, viewed

if TYPE_CHECKING:
    from ..expr.declarations import Plan

CODE = codes.BLOCK_DIMENSIONS
GOLDENS = (
    "block_list",
    "block_fold",
    "block_loop",
    "block_nest",
    "block_batch",
    "block_filled",
    "block_grid",
    "par_dim_spellings",
    "par_dim_names",
)
_HELP = "the list of tensors is always right; use --blocks list to silence this"
_MOST_DIMENSIONS = 4
"""Of a folded tensor: an access has the partitions and up to four free dimensions, and an index may add one."""


@dataclass(frozen=True)
class Style:
    """What the blocks of a tensor become (``list``, ``fold`` or ``loop``), and why.

    ``loops`` are those that it joins, one in the other, ``index`` has the variable for each block dimension. A list and
    a folded tensor may be declared in loops, too, which go over the block dimensions that are ``joined``.
    """

    name: str
    reason: str
    loops: tuple[ast.For, ...] = ()
    index: tuple[str, ...] = ()
    joined: tuple[bool, ...] = ()

    @property
    def loop(self) -> ast.For | None:
        """The loop that declares the tensor."""
        return self.loops[-1] if self.loops else None


class NotInLoop(str):
    """Why the declaration of a tensor cannot stand in a loop, where nothing says that it cannot be folded."""

    __slots__ = ()


def style_of(scope: Scope, plan: Plan) -> Style:
    """The style of a tensor with blocks: what ``--blocks`` asks for where it is possible.

    Blocks that no loop takes, and that are too many to be alive at once, get a finding.
    """
    style = _style_of(scope, plan)
    found = uses(scope, plan.name, len(plan.blocks))
    statements = _statements_of(scope, plan, found)
    if style.name == "loop" or isinstance(plan.buffer, Allocator):
        return style
    if not style.loops and (plan.fill is not None or len(statements) > 1):
        report_excess(scope, plan, statements)
    elif not found.other:
        _report_iteration(scope, plan, found, statements)
    return style


def _report_iteration(scope: Scope, plan: Plan, found: Uses, statements: list[ast.stmt]) -> None:
    """A finding where several statements of a loop use more blocks than there is room for."""
    blocks, loop = plan.blocks, None
    for loop, taken in _nest(plan, found, statements):
        blocks = tuple("1" if is_taken else size for size, is_taken in zip(blocks, taken, strict=True))
        statements = _using(loop.body, found)
    if loop is not None and len(statements) > 1:
        report_excess_of_iteration(scope, plan, blocks, loop)


def _nest(plan: Plan, found: Uses, statements: list[ast.stmt]) -> Iterator[tuple[ast.For, list[bool]]]:
    """The loops, one in the other, that all uses of a tensor stand in, and which blocks each indexes in every use."""
    index = [_index(plan, subscript) for subscript in found.subscripts]
    while len(statements) == 1 and isinstance(loop := statements[0], ast.For):
        variable = ast.unparse(loop.target)
        yield loop, [all(each[d] == variable for each in index) for d in range(len(plan.blocks))]
        statements = _using(loop.body, found)


def _style_of(scope: Scope, plan: Plan) -> Style:
    """The style of a tensor with blocks, and a finding where it cannot be what is asked for."""
    wanted = scope.module.options.blocks
    if wanted == "list":
        return Style("list", "--blocks list")
    refused = scope.module.premises.to_list.get(scope.module.position(plan.node), "")
    if refused and not isinstance(refused, NotInLoop):
        return Style("list", refused)
    found = uses(scope, plan.name, len(plan.blocks))
    no_loop: str = refused
    if wanted in ("auto", "loop") and not refused:
        joined = _joined(scope, plan, found)
        if isinstance(joined, Style):
            return joined
        no_loop = joined
    no_fold = _fold_refusal(scope, plan, found) if wanted in ("auto", "fold") else ""
    if wanted == "auto":
        loops, taken = ((), ()) if refused else _joined_partly(scope, plan, found)
        style = _chosen(scope, plan, found, loops, taken, no_loop, no_fold)
        return replace(style, loops=loops, joined=taken)
    if no_loop or no_fold:
        what = {"fold": "cannot be folded into its free dimensions", "loop": "cannot be declared in a loop"}[wanted]
        reason = no_loop or no_fold
        refusal = Refuse(plan.node, CODE, f"'{plan.name}' {what}: {reason}; it became a list", _HELP)
        scope.module.report(refusal, informs=True)
        return Style("list", reason)
    return Style(wanted, f"--blocks {wanted}")


def _chosen(
    scope: Scope,
    plan: Plan,
    found: Uses,
    loops: Sequence[ast.For],
    joined: Sequence[bool],
    no_loop: str,
    no_fold: str,
) -> Style:
    """``auto`` for a tensor that no loop takes whole; ``loops`` take the block dimensions that are ``joined``."""
    reason = no_fold or _not_operands(scope, found)
    rank = len(plan.blocks) - sum(joined) + len(plan.dims)
    if not reason and rank > _MOST_DIMENSIONS:
        reason = f"folded it would have {rank} dimensions"
    pinned = isinstance(plan.buffer, Allocator)
    statements = _using(loops[-1].body, found) if loops else _statements_of(scope, plan, found)
    statements = _within_loops(plan, statements, found)
    if not reason and not pinned and plan.fill is None and len(statements) < 2:
        reason = f"{no_loop}, and its blocks need not be alive at once"
    if reason:
        return Style("list", reason)
    if pinned:
        return Style("fold", "its blocks are pinned side by side")
    if plan.fill is not None:
        return Style("fold", "all its blocks are filled at once")
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
    function = scope.function
    seen = sum(isinstance(node.ctx, ast.Load) for node in uses_by_name(function).get(name, ()))
    subscripts = [s for s in of_kinds(function, ast.Subscript) if is_name(viewed(s.value) or s.value, name)]
    inner = (node for node in of_kinds(function, ast.FunctionDef, ast.Lambda) if node is not function)
    nested = any(name in uses_by_name(node) for node in inner)
    other = ""
    if scope.names.assigned[name] != 1:
        other = f"'{name}' is bound more than once"
    elif len(subscripts) != seen or any(len(_indices(s)) < rank for s in subscripts):
        other = "it is used otherwise than block by block"
    return Uses(tuple(subscripts), other, nested)


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


def _joined(scope: Scope, plan: Plan, found: Uses) -> Style | str:
    """The style of a tensor whose declaration can move into a loop, or why none can take it."""
    if found.other or found.nested or not found.subscripts:
        return found.other or ("a nested function uses it" if found.nested else "it is not used")
    if isinstance(plan.buffer, Allocator):
        if plan.buffer.kind == "object":
            return "the object that gives its address would give another one in each iteration"
        if len(plan.blocks) > 1 and scope.module.options.allocation != "address":
            return "it has several block dimensions"
    loops = _loops_of(scope, plan, found)
    change = loops if isinstance(loops, str) else _change(scope, plan, loops)
    if isinstance(loops, str) or change:
        return change
    variables = tuple(scope.source.segment(loop.target) for loop in loops)
    index = _index(plan, found.subscripts[0])
    if isinstance(plan.buffer, Allocator) and variables != index:
        return "its loops come to its blocks, which have addresses, in another order"
    reason = f"every block belongs to one iteration over {' and '.join(variables)} (line {loops[-1].lineno})"
    return Style("loop", reason, loops, index)


def _joined_partly(scope: Scope, plan: Plan, found: Uses) -> tuple[tuple[ast.For, ...], tuple[bool, ...]]:
    """The loops, one in the other, whose variables index some block dimensions in every use, and which those are.

    All uses stand in the innermost of them, so each of its iterations has blocks of its own. Of PSUM, tiles that are
    zeroed are followed from their declaration: they stay where they are.
    """
    if (
        found.other
        or found.nested
        or not found.subscripts
        or isinstance(plan.buffer, Allocator)
        or plan.space == "psum"
    ):
        return (), ()
    loops: list[ast.For] = []
    joined = [False] * len(plan.blocks)
    for loop, taken in _nest(plan, found, _statements_of(scope, plan, found)):
        if sum(taken) != 1 or passes_from_zero(scope, loop) is None:  # one that takes two has the blocks of a diagonal
            break
        loops.append(loop)
        joined = [a or b for a, b in zip(joined, taken, strict=True)]
    if not loops or all(joined) or _change(scope, plan, loops):
        return (), ()
    return tuple(loops), tuple(joined)


def _loops_of(scope: Scope, plan: Plan, found: Uses) -> tuple[ast.For, ...] | str:
    """The loops, one in the other, whose variables index the blocks in every use, outermost first; or why none do.

    All uses stand in the innermost one, so each of its iterations has a block of its own.
    """
    index = {_index(plan, subscript) for subscript in found.subscripts}
    sizes = dict(zip(min(index), plan.blocks, strict=True))
    loops: list[ast.For] = []
    statements = _statements_of(scope, plan, found) or [plan.statement]
    while len(loops) < len(plan.blocks):
        statement, *others = statements
        if others:
            return f"its blocks outlive the loop in line {statement.lineno}"
        if not isinstance(statement, ast.For) or not isinstance(statement.target, ast.Name):
            return "its blocks are not used in one loop"
        passes, size = passes_from_zero(scope, statement), sizes.pop(statement.target.id, None)
        if passes is None:
            return f"the loop in line {statement.lineno} does not count from 0"
        if len(index) > 1 or size is None:
            return f"its blocks are not used one by one over {statement.target.id}"
        if isinstance(plan.buffer, Allocator) and not scope.equal(scope.source.segment(passes), size):
            return f"the loop in line {statement.lineno} may not use all of its blocks, which have addresses"
        loops.append(statement)
        statements = _using(statement.body, found)
    return tuple(loops)


def _index(plan: Plan, subscript: ast.Subscript) -> tuple[str, ...]:
    """The block indices of a use, outermost first."""
    return tuple(ast.unparse(node) for node in _indices(subscript)[: len(plan.blocks)])


def advanced_address(scope: Scope, plan: Plan) -> ast.expr | None:
    """``base_addr`` of a tensor, where a counter is a part of it that may stand elsewhere behind the declaration."""
    if not isinstance(plan.buffer, Allocator) or plan.buffer.kind != "mod_alloc":
        return None
    base = next((k.value for k in plan.buffer.call.keywords if k.arg == "base_addr"), None)
    advanced = base is not None and any(isinstance(n, ast.Name) and scope.names.assigned[n.id] > 1 for n in walk(base))
    return base if advanced else None


def _change(scope: Scope, plan: Plan, loops: Sequence[ast.For]) -> str:
    """What of a declaration may change from one iteration to the next; nothing where it is the same in each.

    An address that is advanced is kept for the loop where a declaration in it was asked for.
    """
    kept = scope.module.options.blocks == "loop" and advanced_address(scope, plan) is not None
    read = _read_by(plan, kept)
    closure = set().union(*(names_read_by_nested(scope.outermost).get(name, ()) for name in read))
    if any(scope.names.assigned[name] > 1 for name in read | closure) or not all(
        _is_its_own(scope, loop) for loop in loops
    ):
        return "a size or an address of it changes"
    is_computed = isinstance(plan.buffer, Allocator) and plan.buffer.kind == "alloc"
    objects = closure | read if is_computed else closure
    return "an object that its address depends on changes" if objects & _changed_objects(scope) else ""


def _is_its_own(scope: Scope, loop: ast.For) -> bool:
    """Is the variable of a loop bound by nothing else in it, nor by a function inside of this one?"""
    names = [node.id for node in of_kinds(loop, ast.Name) if isinstance(node.ctx, ast.Store)]
    names += [name for node in of_kinds(scope.outermost, ast.Nonlocal) for name in node.names]
    return isinstance(loop.target, ast.Name) and names.count(loop.target.id) == 1


def _read_by(plan: Plan, kept: bool) -> set[str]:
    """The names that the declaration reads, without those of an address that is kept."""
    texts = [*plan.dims, plan.dtype, plan.fill or "0"]
    if isinstance(plan.buffer, Allocator):
        call = plan.buffer.call
        given = [*call.args, *(k.value for k in call.keywords if not (kept and k.arg == "base_addr"))]
        texts += [ast.unparse(node) for node in given]
        texts.append(plan.buffer.condition or "0")
    return set(algebra.names(" + ".join(["0", *(f"len({text})" for text in texts)])))


def _changed_objects(scope: Scope) -> set[str]:
    """The Python objects that the function changes in place."""
    found = changes(scope.module, scope.outermost, scope.function.body)
    return {c.name for c in found if not c.stored or isinstance(scope.names.env.get(c.name), Python)}


def _statements_of(scope: Scope, plan: Plan, found: Uses) -> list[ast.stmt]:
    """The statements after the declaration, in its block, that use it."""
    return _using(scope.block[scope.block.index(plan.statement) + 1 :], found)


def _within_loops(plan: Plan, statements: list[ast.stmt], found: Uses) -> list[ast.stmt]:
    """The statements that use a tensor; in a loop whose iterations each use all of its blocks, those of its body."""
    while len(statements) == 1 and isinstance(loop := statements[0], ast.For):
        inner = {f.target.id for f in of_kinds(loop, ast.For) if f is not loop and isinstance(f.target, ast.Name)}
        indices = [index for s in found.subscripts for index in _indices(s)[: len(plan.blocks)]]
        if not all(isinstance(index, ast.Name) and index.id in inner for index in indices):
            break
        statements = _using(loop.body, found)
    return statements


def _using(statements: Sequence[ast.stmt], found: Uses) -> list[ast.stmt]:
    """Those of some statements that use the tensor."""
    wanted = {id(s) for s in found.subscripts}
    return [statement for statement in statements if any(id(n) in wanted for n in walk(statement))]


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
        named = [t for t in node.targets if isinstance(t, ast.Name)]
        return child is not node.value or not named or (node.targets == named and _is_operand(scope, named))
    return isinstance(node, ast.AugAssign | ast.BinOp | ast.UnaryOp | ast.keyword)


def _is_operand(scope: Scope, named: list[ast.Name]) -> bool:
    """Is one name bound once, and only read as an operand of the language?"""
    name = named[0].id if len(named) == 1 else ""
    if not name or scope.names.assigned[name] != 1:
        return False
    calls = [
        c for c in of_kinds(scope.function, ast.Call) if (scope.qualified(c.func) or "").startswith(("nl.", "nisa."))
    ]
    given = {id(a) for call in calls for a in (*call.args, *(keyword.value for keyword in call.keywords))}
    reads = (n for n in of_kinds(scope.function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load))
    return all(id(n) in given for n in reads)


def is_scalar_index(scope: Scope, element: ast.expr) -> bool:
    """Can ``element`` index a block dimension: a Python value, not a slice or a vector?"""
    if isinstance(element, ast.Slice | ast.Starred) or index_value(scope, element) is not None:
        return False
    return not isinstance(element, ast.Constant) or isinstance(element.value, int)
