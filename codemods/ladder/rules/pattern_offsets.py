"""NKV038 pattern-offsets: an access pattern on a part of a tensor, without ``offset``, is reported.

Why: up to 0.4 it began at the tensor's first element, since 0.5 it begins where the part does.

Manual: of the whole tensor, ``t.ap(pattern, offset=...)`` says it in every version.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, Unknown
from ..facts import Facts
from ..objects import is_other
from ..tensors import Items, Tensor

CODE = "NKV038"
APPLICABILITY = "manual"
GOLDENS = ("ladder_left",)
NODES = (ast.Call,)
_HELP = "write the pattern of the whole tensor, with offset="


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Look for a pattern on what is known to be a part of a tensor."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "ap" or facts.called(node):
        return None
    if len(node.args) > 1 or any(keyword.arg == "offset" for keyword in node.keywords):
        return None
    part = node.func.value
    base = facts.tensors.of(facts.path, part.value if isinstance(part, ast.Subscript) else part)
    if (
        facts.is_migrated or isinstance(base, Items) or is_other(facts, part)
    ):  # the rules from Beta 1 write patterns of whole tensors
        return None
    known = isinstance(base, Tensor) and (isinstance(part, ast.Subscript) or bool(base.calls) or base.whole)
    if not known and not isinstance(part, ast.Constant):
        text = f"'{ast.unparse(part)}' is a whole tensor"
        why = f"a pattern without an offset begins where the part does from NKI {facts.new} on"
        return Unknown(text, why, _HELP)
    if not isinstance(part, ast.Subscript) and (not isinstance(base, Tensor) or base.whole):
        return None
    what = "without an offset this pattern begins at the tensor's first element up to 0.4, and at the part's since 0.5"
    return Left(what, _HELP, True)
