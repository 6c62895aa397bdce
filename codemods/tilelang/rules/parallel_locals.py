"""TLG006 parallel-locals: ``T.alloc_local`` that ``T.Parallel`` indexes becomes ``T.alloc_fragment``.

Why: a local buffer is a thread's own, and which thread has which iteration of ``T.Parallel`` is the compiler's choice.
Since 0.1.14 an index with a variable of such a loop is a semantic error. A fragment is one buffer of the block, spread
over its threads as its loops are.

Safe where each index of the buffer is variables of ``T.Parallel`` around it, one to an axis: iteration and element
belong together. Left alone: other indices of the same buffer, buffers that leave the function by a name, buffers of
a scope of their own.

Source: commit 79da657 (#3041); the error of 0.1.14 and 0.1.15.
"""

from __future__ import annotations

import ast

from ...syntax.call_text import by_name
from ...syntax.drafts import Draft
from ..loops import parallel_names
from ..module import Module

CODE = "TLG006"
SINCE = "0.1.14"
GOLDENS = ("tilelang_parallel_local",)
VALID = (
    'def k():\n    x = T.alloc_local((8,), "float32")\n    for i in T.serial(8):\n        x[i] = 0',
    'def k():\n    x = T.alloc_fragment((8,), "float32")\n    for i in T.Parallel(8):\n        x[i] = 0',
)
INVALID = (
    (
        'def k():\n    x = T.alloc_local((8,), "float32")\n    for i in T.Parallel(8):\n        x[i] = 0',
        'def k():\n    x = T.alloc_fragment((8,), "float32")\n    for i in T.Parallel(8):\n        x[i] = 0',
    ),
)
_WHOLE = ("clear", "fill", "copy")
_HELP = "use T.alloc_fragment and index it with the variables of T.Parallel only, or loop with T.serial"


def rewrite(module: Module) -> None:
    """Declare as fragments the local buffers that only parallel loops index."""
    for call, _ in module.calls("alloc_local"):
        statement = module.parents[call]
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name = statement.targets[0]
        uses = [use for use in module.uses(name) if isinstance(use.ctx, ast.Load)]
        indexed = [use for use in uses if _indices(module, use) is not None]
        by_loop = [use for use in indexed if _has_parallel(module, use)]
        if not by_loop:
            continue
        reason = _reason(module, call, name, uses)
        if reason:
            module.leave(by_loop[0], CODE, f"local '{name.id}' is indexed by T.Parallel, and {reason}", _HELP)
            continue
        spelled = module.spelled(call.func, "alloc_fragment")
        if spelled is None:
            module.leave(call, CODE, "the file has no name for alloc_fragment", "import alloc_fragment")
        else:
            module.commit(Draft(CODE, call, [module.replace(call.func, spelled)]))


def _reason(module: Module, call: ast.Call, name: ast.Name, uses: list[ast.Name]) -> str:
    given = by_name(call, ("shape", "dtype", "scope"))
    if given is None or "scope" in given:
        return "its scope is not that of every local buffer"
    if len([use for use in module.uses(name) if not isinstance(use.ctx, ast.Load)]) > 1:
        return "its name has another value, too"
    for use in uses:
        indices = _indices(module, use)
        if indices is None:
            if not _is_whole(module, use):
                return f"line {use.lineno} uses it as a whole"
        elif not _all_parallel(module, use, indices):
            return f"line {use.lineno} indexes it by something else"
        if module.function(use) is not module.function(name):
            return f"line {use.lineno} uses it in another function"
    return ""


def _indices(module: Module, use: ast.Name) -> list[ast.expr] | None:
    parent = module.parents[use]
    if not isinstance(parent, ast.Subscript) or parent.value is not use:
        return None
    return list(parent.slice.elts) if isinstance(parent.slice, ast.Tuple) else [parent.slice]


def _has_parallel(module: Module, use: ast.Name) -> bool:
    around = parallel_names(module, use)
    return any(
        isinstance(node, ast.Name) and node.id in around
        for index in _indices(module, use) or ()
        for node in ast.walk(index)
    )


def _all_parallel(module: Module, use: ast.Name, indices: list[ast.expr]) -> bool:
    around = parallel_names(module, use)
    names = [index.id for index in indices if isinstance(index, ast.Name) and index.id in around]
    return len(names) == len(indices) == len(set(names))


def _is_whole(module: Module, use: ast.Name) -> bool:
    parent = module.parents[use]
    return isinstance(parent, ast.Call) and module.member(parent.func) in _WHOLE
