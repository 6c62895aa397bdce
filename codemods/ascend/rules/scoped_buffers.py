"""ASC001 scoped-buffers: ``T.alloc_buffer`` with a scope becomes the allocation call of that memory.

Why: the seed's document allocates by ``T.alloc_buffer(shape, dtype, scope="shared")``; kernels of TileLang-Ascend
name the memory: ``T.alloc_ub``, ``T.alloc_L1``, ``T.alloc_L0A``, ``T.alloc_L0B``, ``T.alloc_L0C``. An ``alignment=``
that the planner keeps anyway is dropped; a larger one needs addresses, which ASC004 writes.

Safe: the same memory, shape and type, and by the same planner the same address. Left alone: ``scope="local"`` (there
is no memory inside of UB: a scalar is ``T.alloc_var``), ``scope="global"`` (a parameter, or a workspace), a scope
that nothing tells, a buffer whose address nothing tells although its alignment needs one.

Source: ``tilelang/language/allocate.py`` of tilelang-ascend.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.ascend import CALL_OF_SPACE, SPACE_OF_SCOPE

from ...syntax.call_text import by_name
from ...syntax.drafts import Draft
from ..module import AscendModule

CODE = "ASC001"
GOLDENS = ("ascend_vector_add",)
VALID = ("x = T.alloc_ub((64,), 'float32')", "def alloc_buffer(shape):\n    return shape")
INVALID = (
    ('x = T.alloc_buffer((64, 8), "float16", scope="shared")', 'x = T.alloc_ub((64, 8), "float16")'),
    ('x = T.alloc_buffer((16, 16), dtype, "wmma.accumulator")', "x = T.alloc_L0C((16, 16), dtype)"),
    ('x = T.alloc_buffer((64,), "int32", scope="shared", alignment=16)', 'x = T.alloc_ub((64,), "int32")'),
)
_PARAMETERS = ("shape", "dtype", "scope")
_LOCAL = "there is no memory inside of UB"


def rewrite(module: AscendModule) -> None:
    """Rewrite each call whose scope is written in it."""
    for call, _ in module.calls("alloc_buffer"):
        given = by_name(call, _PARAMETERS)
        if given is None or set(given) - {*_PARAMETERS, "alignment"} or not {"shape", "dtype"} <= set(given):
            module.leave(call, CODE, "T.alloc_buffer with arguments that the seed does not have", "name the memory")
            continue
        if isinstance(given["shape"], ast.Constant) and given["shape"].value == "auto":
            continue  # ASC010 says what is missing, or writes the shape first
        scope = module.constant(given["scope"]) if "scope" in given else "global"
        if "alignment" in given and module.is_moving(module.in_kernel(call)):
            continue  # ASC002 moves its lines first: the next round has it
        problem, advice = _problem(module, call, scope, given.get("alignment"))
        if problem:
            module.leave(call, CODE, problem, advice)
            continue
        name = module.spelled(call.func, CALL_OF_SPACE[SPACE_OF_SCOPE[str(scope)]])
        if name is None:
            module.leave(
                call, CODE, "the file has no name for the calls that it needs", "import tilelang.language as T"
            )
            continue
        text = f"{name}({module.segment(given['shape'])}, {module.segment(given['dtype'])})"
        module.commit(Draft(CODE, call, [module.replace(call, text)]))


def _problem(module: AscendModule, call: ast.Call, scope: object, alignment: ast.expr | None) -> tuple[str, str]:
    """Why the call stays, and what to do; empty where nothing is in the way."""
    if scope == "local":
        return (
            f'T.alloc_buffer with scope="local": {_LOCAL}',
            "a scalar is T.alloc_var(dtype), an accumulator T.alloc_L0C",
        )
    if scope == "global":
        advice = "pass the tensor as a parameter (T.Tensor), or as a workspace (tilelang.jit(workspace_idx=[...]))"
        return "T.alloc_buffer in global memory: a kernel of TileLang-Ascend cannot allocate there", advice
    if not isinstance(scope, str) or scope not in SPACE_OF_SCOPE:
        return f"T.alloc_buffer with a scope that is not known here: {scope!r}", f"one of {', '.join(SPACE_OF_SCOPE)}"
    if alignment is not None and not module.keeps_alignment(call, SPACE_OF_SCOPE[scope], module.constant(alignment)):
        advice = "give the values that sizes are made of (--set NAME=VALUE), or write T.annotate_address"
        return "an alignment that only an address can give, and the address is not known", advice
    return "", ""
