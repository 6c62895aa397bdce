"""ASC008 streams: ``with T.stream(name):`` becomes the body of the block and ``T.barrier_all()``.

Why: kernels of TileLang-Ascend have no streams. Copies run on engines of their own; flags and barriers order them.

Safe: the copies of the block have ended behind the barrier, as they had behind the block. Left alone: a stream with a
name for its value, a body with texts over several lines.

Source: ``tilelang/language/ascend.py`` of tilelang-ascend.
"""

from __future__ import annotations

from ...syntax.drafts import Draft
from ..module import AscendModule

CODE = "ASC008"
GOLDENS = ("ascend_workspace",)
VALID = ("with stream('x'):\n    pass",)
INVALID = (("with T.stream('compute'):\n    T.copy(a, b)\nx = 1\n", "T.copy(a, b)\nT.barrier_all()\nx = 1\n"),)


def rewrite(module: AscendModule) -> None:
    """Rewrite each block of one stream."""
    for call, _ in module.calls("stream"):
        found = next((w for w in module.withs("stream") if w[2] is call), None)
        edits = None
        if found is not None and len(found[0].items) == 1 and found[1].optional_vars is None:
            edits = module.unwrapped(found[0], "")
        name = module.spelled(call.func, "barrier_all")
        if edits is None or found is None or name is None:
            module.leave(call, CODE, "T.stream in a form that is not followed", "order copies by T.barrier_all()")
            continue
        line = f"{module.indent(found[0])}{name}()"
        end = module.text.find("\n", module.end(found[0]))
        at = end if end >= 0 else len(module.text)
        module.commit(Draft(CODE, call, [*edits, module.inserted(at, f"\n{line}")]))
