"""NKV009 sendrecv-engine: ``use_gpsimd_dma`` of ``sendrecv`` becomes ``dma_engine``.

Why: 0.3 has an enumeration in the place of the boolean.

Safe: ``True`` is ``dma_engine.gpsimd_dma``, ``False`` is ``dma_engine.dma``, and any other condition chooses.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, rewritten
from ..facts import Facts

CODE = "NKV009"
GOLDENS = ("ladder_cores",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.sendrecv"})


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Write the member, or the choice between the two."""
    text = facts.text_of(node) if facts.called(node) == "nki.isa.sendrecv" else None
    given = text.named("use_gpsimd_dma") if text is not None else None
    if text is None or given is None:
        return None
    engines = facts.spelled(node, "nki.isa.dma_engine")
    if engines is None:
        return Left("use_gpsimd_dma is dma_engine", "write dma_engine=nisa.dma_engine.gpsimd_dma or .dma")
    gpsimd, shared = f"{engines}.gpsimd_dma", f"{engines}.dma"
    wanted = f"{gpsimd} if {text.text(given)} else {shared}"
    if isinstance(given.value, ast.Constant) and isinstance(given.value.value, bool):
        wanted = gpsimd if given.value.value else shared
    return rewritten(Edit(given.start, given.end, f"dma_engine={wanted}"))
