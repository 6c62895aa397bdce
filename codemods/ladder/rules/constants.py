"""NKV028 constants: ``dtype`` of ``nl.shared_constant`` goes: the constant has a type.

Why: 0.3 takes the constant alone.

Review: it takes it that the constant has that type.
"""

from __future__ import annotations

import ast

from ..answers import Answer, rewritten
from ..facts import Facts

CODE = "NKV028"
APPLICABILITY = "review"
GOLDENS = ()
NODES = (ast.Call,)
CALLS = frozenset({"nki.language.shared_constant"})


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Take the parameter away."""
    text = facts.text_of(node) if facts.called(node) == "nki.language.shared_constant" else None
    if text is None or not 1 < len(text.arguments) < 3:
        return None
    given = text.named("dtype") or text.arguments[1]
    if given.keyword not in ("", "dtype"):
        return None
    return rewritten(text.removed(given), assumption=f"the constant has the type {text.text(given)}")
