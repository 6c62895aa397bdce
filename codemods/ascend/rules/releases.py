"""ASC003 releases: ``T.free(buf)`` goes.

Why: TileLang-Ascend has no way to release a buffer (upstream issue 1171 asks for one). With memory planning its
lifetime ends at its last use, without it the address is never used again.

Safe: a buffer that was released is not used any more; the emulator makes a use after it an error. Left alone: a free
that is no statement of its own.

Source: ``src/transform/ascend_memory_planning.cc`` of tilelang-ascend.
"""

from __future__ import annotations

from ...syntax.drafts import Draft
from ..module import AscendModule

CODE = "ASC003"
GOLDENS = ("ascend_vector_add",)
VALID = ("free(x)",)
INVALID = (("x = 1\nT.free(x)\ny = 2\n", "x = 1\ny = 2\n"),)


def rewrite(module: AscendModule) -> None:
    """Take each call away."""
    going = {statement: call for statement, call, _ in module.statements("free")}
    for call, _ in module.calls("free"):
        statement = module.parents[call]
        edit = module.removal(statement, frozenset(going)) if statement in going else None
        if edit is None:
            module.leave(call, CODE, "T.free, which TileLang-Ascend does not have", "take it out")
        else:
            module.commit(Draft(CODE, call, [edit]))
