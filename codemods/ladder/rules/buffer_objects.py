"""NKV016 buffer-objects: the names of buffers as strings become the buffers of ``nki.language``.

Why: 0.2 took ``buffer="psum"``, 0.3 wants ``buffer=nl.psum``.

Safe: the string is the buffer's name.
"""

from __future__ import annotations

import ast

from ...drafts import Edit
from ..answers import Answer, Left, rewritten
from ..facts import Facts
from ..tensors import BUFFERS

CODE = "NKV016"
GOLDENS = ("ladder_literals",)
NODES = (ast.Call,)


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Write the buffer."""
    given = facts.arguments(node) if facts.called(node).startswith("nki.language.") else {}
    buffer = given.get("buffer")
    if not isinstance(buffer, ast.Constant) or not isinstance(buffer.value, str):
        return None
    name = facts.spelled(node, f"nki.language.{buffer.value}") if buffer.value in BUFFERS else None
    if name is None:
        return Left(f"'{buffer.value}' stands for a buffer", "write nl.sbuf, nl.psum, nl.shared_hbm or nl.private_hbm")
    return rewritten(Edit(facts.rung.start(buffer), facts.rung.end(buffer), name))
