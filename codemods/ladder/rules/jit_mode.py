"""NKV002 jit-mode: ``mode`` of ``nki.jit`` goes.

Why: 0.3 ignores it, 0.4 does not have it: the framework is that of the arguments.

Safe: the parameter says nothing any more.
"""

from __future__ import annotations

import ast

from ..answers import Answer
from ..facts import Facts
from ..jit import without

CODE = "NKV002"
GOLDENS = ("ladder_decorators",)
NODES = (ast.Call,)
HOST = True


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Take ``mode`` away."""
    return without(facts, node, "mode")
