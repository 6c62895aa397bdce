"""NKV032 sbuf-size: ``tile_size.total_available_sbuf_size`` becomes ``tile_size.sbuf_fmax_bytes``.

Why: 0.4 deprecates the name, which says another thing than the number: the bytes of one partition.

Safe: both are the same number.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, rewritten
from ..facts import Facts

CODE = "NKV032"
GOLDENS = ("ladder_transposed",)
NODES = (ast.Attribute,)
HOST = True
_OLD = "total_available_sbuf_size"


def rewrite(facts: Facts, node: ast.Attribute) -> Answer:
    """Write the new name."""
    if node.attr != _OLD or facts.qualified(node) != f"nki.language.tile_size.{_OLD}":
        return None
    end = facts.rung.end(node)
    return rewritten(Edit(end - len(_OLD), end, "sbuf_fmax_bytes"))
