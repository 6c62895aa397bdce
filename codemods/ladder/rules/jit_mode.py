"""NKV002 jit-mode: ``mode`` of ``nki.jit`` goes, and ``func=`` loses its name.

Why: 0.3 ignores ``mode``, 0.4 has neither name: the framework is that of the arguments.

Safe: the parameter says nothing any more.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, rewritten
from ..facts import Facts
from ..jit import is_jit, without

CODE = "NKV002"
GOLDENS = ("ladder_decorators",)
NODES = (ast.Call,)
HOST = True


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Take ``mode`` away, and the name of ``func``."""
    answer = without(facts, node, "mode")
    text = facts.text_of(node) if answer is None and is_jit(facts, node) else None
    given = text.named("func") if text is not None else None
    if text is None or given is None or text.arguments[0] is not given:
        return answer
    return rewritten(Edit(given.start, given.end, text.text(given)))
