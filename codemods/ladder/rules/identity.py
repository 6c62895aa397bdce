"""NKV019 identity: ``is`` and ``is not`` become ``==`` and ``!=``.

Why: values have no identity while a kernel is traced; 0.2 compared for equality and warned, 0.3 refuses. ``is None`` is
read as ``== None`` by both, and stays.

Safe: 0.2 compared for equality.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, rewritten
from ..facts import Facts

CODE = "NKV019"
GOLDENS = ("ladder_language",)
NODES = (ast.Compare,)


def rewrite(facts: Facts, node: ast.Compare) -> Answer:
    """Write the equality."""
    edits: list[Edit | None] = []
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        is_none = len(node.ops) == 1 and isinstance(right, ast.Constant) and right.value is None
        if isinstance(operator, (ast.Is, ast.IsNot)) and not is_none:
            edits.append(_equality(facts, left, right, "==" if isinstance(operator, ast.Is) else "!="))
        left = right
    return rewritten(*edits) if edits else None


def _equality(facts: Facts, left: ast.expr, right: ast.expr, sign: str) -> Edit | None:
    start, end = facts.rung.end(left), facts.rung.start(right)
    text = facts.rung.text[start:end]
    at = text.find("is")
    words = text[at:].split()
    if "#" in text or not words or words[0] != "is":
        return None
    stop = text.index("not", at) + 3 if sign == "!=" else at + 2
    return Edit(start + at, start + stop, sign)
