"""TLG005 barriers: lists of barriers with numbers become buffers from ``T.alloc_barrier``.

Why: 0.1.8 took ``T.create_list_of_mbarrier`` and ``T.get_mbarrier`` away, and its barrier operations take a barrier, no
number. ``T.alloc_barrier`` takes the list of arrival counts, and ``mbars[i]`` is barrier ``i``.

Safe: barrier ``i`` has the same arrival count, and each operation has the same barrier. Left alone: a function with
more than one list, numbers in a function that has no list of its own (a macro), names that may be either.

Source: commit fe5bf35 (#1733), which changes upstream's own examples in this way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...syntax.drafts import Draft
from ..module import Module

CODE = "TLG005"
SINCE = "0.1.8"
GOLDENS = ("tilelang_barrier",)
VALID = ("bars = T.alloc_barrier([128, 128])\nT.mbarrier_arrive(bars[0])",)
INVALID = (
    (
        "def k():\n    T.create_list_of_mbarrier(128, 64)\n    T.mbarrier_arrive(T.get_mbarrier(0))\n"
        "    T.mbarrier_wait_parity(mbarrier=1, parity=0)",
        "def k():\n    mbars = T.alloc_barrier([128, 64])\n    T.mbarrier_arrive(mbars[0])\n"
        "    T.mbarrier_wait_parity(mbarrier=mbars[1], parity=0)",
    ),
)
_OPERATIONS = {
    "mbarrier_arrive": "mbarrier",
    "mbarrier_wait_parity": "mbarrier",
    "mbarrier_expect_tx": "mbarrier",
    "barrier_arrive": "barrier_id",
    "barrier_wait": "barrier_id",
    "ptx_arrive_barrier": "",
}
_HELP = "declare the barriers with T.alloc_barrier([..]) and give each operation its barrier"


def rewrite(module: Module) -> None:
    """Rewrite each function that creates a list of barriers; say what is left in others."""
    created = [call for call, _ in module.calls("create_list_of_mbarrier")]
    functions = list(dict.fromkeys(module.function(call) for call in created))
    done = set()
    for function in functions:
        own = [call for call in created if module.function(call) is function]
        refusal = _rewrite_in(module, function, own)
        done.add(function)
        if refusal:
            for call in own:
                module.leave(call, CODE, refusal, _HELP)
    for call, _ in module.calls("get_mbarrier"):
        if module.function(call) not in done:
            module.leave(call, CODE, "a barrier by its number, whose list this function does not create", _HELP)
    for call, name in module.calls(*_OPERATIONS):
        barrier = _operand(call, name)
        if barrier is not None and module.function(call) not in done and isinstance(module.constant(barrier), int):
            module.leave(call, CODE, f"{name} gets the number of a barrier: {module.segment(barrier)}", _HELP)


def _rewrite_in(module: Module, function: ast.AST | None, created: list[ast.Call]) -> str:
    """Add the edits for one function; the reason if it is left."""
    if len(created) != 1:
        return "a function with more than one list of barriers"
    call = created[0]
    statement = module.parents[call]
    if function is None or not isinstance(statement, ast.Expr):
        return "a list of barriers that is not a statement of a kernel"
    if call.keywords or not call.args:
        return "a list of barriers whose counts are not written here"
    allocate = module.spelled(call.func, "alloc_barrier")
    if allocate is None:
        return "the file has no name for alloc_barrier"
    name = next(each for each in ("mbars", "mbarriers", "barriers_of_kernel") if module.is_free(each))
    counts = ", ".join(module.segment(each) for each in call.args)
    listed = len(call.args) == 1 and _is_list(module, call.args[0])
    if len(call.args) == 1 and not listed and not _is_count(module, call.args[0]):
        return "a list of barriers that may be a number or a list of numbers"
    text = counts if listed else f"[{counts}]"
    draft = Draft(CODE, call, [module.replace(call, f"{name} = {allocate}({text})")])
    reason = _number_uses(module, function, name, draft)
    if reason:
        return reason
    if not all(_is_behind(module, statement, edit.start) for edit in draft.edits[1:]):
        return "a barrier that is used before its list is created, or outside of the block that creates it"
    module.commit(draft)
    return ""


def _number_uses(module: Module, function: ast.AST, name: str, draft: Draft) -> str:
    """Add the edits for barriers by numbers, which become elements of the list ``name``; the reason if one is left."""
    block = set(ast.walk(function))
    for got, _ in module.calls("get_mbarrier"):
        if got in block:
            if module.function(got) is not function or len(got.args) != 1 or got.keywords:
                return "a barrier by its number in an inner function, or by more than its number"
            draft.edits.append(module.replace(got, f"{name}[{module.segment(got.args[0])}]"))
    for use, operation in module.calls(*_OPERATIONS):
        barrier = _operand(use, operation)
        if use not in block or barrier is None or _is_barrier(module, barrier):
            continue
        if module.function(use) is not function or not _is_number(module, barrier):
            return f"{operation} of {module.segment(barrier)}, which may be a number or a barrier"
        draft.edits.append(module.replace(barrier, f"{name}[{module.segment(barrier)}]"))
    return ""


def _is_list(module: Module, node: ast.expr) -> bool:
    """Is it a list for sure: one that is written, repeated, or all that a name stands for?"""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Add)):
        return _is_list(module, node.left) or _is_list(module, node.right)
    if isinstance(node, ast.Name):
        values = list(_values(module, node))
        stores = [use for use in module.uses(node) if not isinstance(use.ctx, ast.Load)]
        return len(values) == len(stores) > 0 and all(_is_list(module, value) for value in values)
    return isinstance(node, ast.List)


def _is_count(module: Module, node: ast.expr) -> bool:
    """Is it a number, or a list unpacked, for sure?"""
    return isinstance(node, ast.Starred) or isinstance(module.constant(node), int)


def _operand(call: ast.Call, name: str) -> ast.expr | None:
    if call.args:
        return call.args[0]
    keywords = (_OPERATIONS[name], "mbarrier", "barrier_id")
    return next((each.value for each in call.keywords if each.arg in keywords), None)


def _is_barrier(module: Module, node: ast.expr) -> bool:
    """Is it one for sure: what ``get_mbarrier`` gave, or of a buffer of barriers?"""
    if isinstance(node, ast.Call):
        return module.member(node.func) == "get_mbarrier"
    base = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(base, ast.Name) and any(
        isinstance(value, ast.Call)
        and module.member(value.func) in ("alloc_barrier", "alloc_cluster_barrier", "get_mbarrier")
        for value in _values(module, base)
    )


def _values(module: Module, name: ast.Name) -> Iterator[ast.expr]:
    for use in module.uses(name):
        parent = module.parents[use]
        if isinstance(use.ctx, ast.Store) and isinstance(parent, ast.Assign):
            yield parent.value


def _is_number(module: Module, node: ast.expr) -> bool:
    """Is it a number for sure: a literal, a variable of a loop, arithmetic on such?"""
    if isinstance(module.constant(node), int):
        return True
    if isinstance(node, ast.BinOp):
        sides = (_is_number(module, side) for side in (node.left, node.right))
        return any(sides)
    if isinstance(node, ast.Name):
        stores = [use for use in module.uses(node) if isinstance(use.ctx, ast.Store)]
        return bool(stores) and all(isinstance(module.parents[use], ast.For) for use in stores)
    return False


def _is_behind(module: Module, statement: ast.stmt, place: int) -> bool:
    """Is a place of the text behind the statement, in the block that the statement stands in?"""
    return module.end(statement) <= place <= module.end(module.parents[statement])
