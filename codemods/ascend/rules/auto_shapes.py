"""ASC010 auto-shapes: ``T.alloc_buffer("auto", dtype)`` gets the shape of the other side of its first copy.

Why: no call of TileLang-Ascend finds out a shape.

Safe: ``T.copy`` takes two whole buffers of one shape only. Left alone: a buffer that is not copied as a whole to or
from a tensor or a buffer whose shape is written in the file.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Draft
from ..module import AscendModule

CODE = "ASC010"
GOLDENS = ("ascend_views",)
VALID = ('x = T.alloc_buffer(auto, "float32")',)
INVALID = (
    (
        "@T.prim_func\ndef k(A: T.Tensor((8, 4), 'float32')):\n"
        "    x = T.alloc_buffer('auto', 'float32', scope='shared')\n    T.copy(A, x)\n",
        "@T.prim_func\ndef k(A: T.Tensor((8, 4), 'float32')):\n"
        "    x = T.alloc_ub((8, 4), 'float32')\n    T.copy(A, x)\n",
    ),
)


def rewrite(module: AscendModule) -> None:
    """Write the shape that the plan's reader finds."""
    for call, _ in module.calls("alloc_buffer"):
        shape = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "shape"), None)
        if not (isinstance(shape, ast.Constant) and shape.value == "auto"):
            continue
        read = module.in_kernel(call)
        found = [b for b in read.program.buffers if b.line == call.lineno] if read and read.program else []
        if len(found) == 1 and found[0].shape:
            module.commit(Draft(CODE, call, [module.replace(shape, _text(found[0].shape))]))
        else:
            why = read.problem.text if read and read.problem else "no copy with a buffer of known shape uses it first"
            module.leave(call, CODE, f'T.alloc_buffer("auto"): {why}', "write the shape")


def _text(shape: tuple[int, ...]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"
