"""NKV032 tile-sizes: sizes of ``nl.tile_size`` are named as the next version names them.

Why: ``total_available_sbuf_size`` is ``sbuf_fmax_bytes`` from 0.4 on, which deprecates a name that says another thing
than the number: the bytes of one partition. ``psum_fmax_bytes``, which 0.4 alone has, is ``psum_bank_fmax_bytes``.

Safe: both names are of the same number.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.versions import V04, V05

from ...syntax.drafts import Edit
from ..answers import Answer, rewritten
from ..facts import Facts

CODE = "NKV032"
GOLDENS = ("ladder_transposed",)
NODES = (ast.Attribute,)
HOST = True
_RENAMED = {
    V04: ("total_available_sbuf_size", "sbuf_fmax_bytes"),
    V05: ("psum_fmax_bytes", "psum_bank_fmax_bytes"),
}


def rewrite(facts: Facts, node: ast.Attribute) -> Answer:
    """Write the new name."""
    old, new = _RENAMED[facts.new]
    if node.attr != old or facts.qualified(node) != f"nki.language.tile_size.{old}":
        return None
    end = facts.rung.end(node)
    return rewritten(Edit(end - len(old), end, new))
