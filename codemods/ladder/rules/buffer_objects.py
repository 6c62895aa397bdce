"""NKV016 buffer-objects: the names of buffers as strings become the buffers of ``nki.language``.

Why: 0.2 took ``buffer="psum"``, 0.3 wants ``buffer=nl.psum``.

Safe: the string is the buffer's name.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec import beta2

from ...syntax.drafts import Edit
from ..answers import Answer, Left, Unknown, rewritten
from ..choices import choices
from ..facts import Facts
from ..tensors import BUFFERS

CODE = "NKV016"
GOLDENS = ("ladder_literals",)
NODES = (ast.Call,)
CALLS = frozenset(
    name
    for name, entry in beta2.SYMBOLS.items()
    if name.startswith("nki.language.") and "buffer" in {p.name for p in entry.parameters or ()}
)
_HELP = "write nl.sbuf, nl.psum, nl.shared_hbm or nl.private_hbm"


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Write the buffer."""
    given = facts.arguments(node) if facts.called(node).startswith("nki.language.") else {}
    buffer = given.get("buffer")
    if buffer is None or not isinstance(buffer, ast.Constant):
        return None if buffer is None else _chosen(facts, buffer)
    if not isinstance(buffer.value, str):
        return None
    name = facts.spelled(node, f"nki.language.{buffer.value}") if buffer.value in BUFFERS else None
    if name is None:
        return Left(f"'{buffer.value}' stands for a buffer", _HELP)
    return rewritten(Edit(facts.rung.start(buffer), facts.rung.end(buffer), name))


def _chosen(facts: Facts, buffer: ast.expr) -> Answer:
    """What is known of a buffer that is no literal."""
    found = choices(facts, buffer)
    for path, each in found or ():
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            return Left(f"'{ast.unparse(buffer)}' is '{each.value}', which stands for a buffer", _HELP)
        is_bare = isinstance(each, ast.Name) and each.id in BUFFERS  # NKV029 writes it
        if not isinstance(each, ast.Constant) and not facts.program.rungs[path].qualified(each) and not is_bare:
            found = None
    if found is not None:
        return None
    return Unknown(f"'{ast.unparse(buffer)}' is no string", f"NKI {facts.new} takes buffers, not their names", _HELP)
