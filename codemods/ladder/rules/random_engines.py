"""NKV036 random-engines: the engine of random numbers that a call left open is written down.

Why: 0.5 has other defaults: ``rng`` runs on ``vector``, ``rand_get_state`` and ``rand_set_state`` on ``gpsimd``.

Safe: ``engine.unknown`` is what these calls meant.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, rewritten
from ..facts import Facts

CODE = "NKV036"
GOLDENS = ("ladder_names",)
NODES = (ast.Call,)
CALLS = frozenset(f"nki.isa.{name}" for name in ("rng", "rand_get_state", "rand_set_state"))


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Name the engine."""
    text = facts.text_of(node) if facts.called(node) in CALLS else None
    if text is None or text.named("engine") is not None or len(node.args) > 1:
        return None
    engine = facts.spelled(node, "nki.isa.engine.unknown")
    if engine is None:
        return Left("the default engine is another one since 0.5", "write engine=nisa.engine.unknown", True)
    return rewritten(text.keyword_added(f"engine={engine}"))
