"""NKV038 pattern-offsets: an access pattern on a part of a tensor is reported.

Why: up to 0.4 it began at the tensor's first element, or ``offset`` elements behind that. Since 0.5 it begins where the
part does, and ``offset`` is added to that (says the API page), or stands for it (says the language guide).

Manual: of the whole tensor, ``t.ap(pattern, offset=...)`` says it in every version.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, Unknown
from ..facts import Facts
from ..objects import is_other
from ..tensors import Items, Tensor, Value

CODE = "NKV038"
APPLICABILITY = "manual"
GOLDENS = ("ladder_left",)
NODES = (ast.Call,)
_HELP = "write the pattern of the whole tensor, with offset="


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Look for a pattern on what is known to be a part of a tensor."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "ap" or facts.called(node):
        return None
    part = node.func.value
    base = facts.tensors.of(facts.path, part.value if isinstance(part, ast.Subscript) else part)
    if facts.is_migrated or isinstance(base, Items) or is_other(facts, part):
        return None  # the rules from Beta 1 write patterns of whole tensors
    is_told = len(node.args) > 1 or any(keyword.arg == "offset" for keyword in node.keywords)
    is_part = _is_part(part, base)
    if is_part is None:
        return _unknown(facts, part, is_told)
    what = "without an offset this pattern begins at the tensor's first element up to 0.4, and at the part's since 0.5"
    added = (
        "the offset of this pattern counts from the tensor's first element up to 0.4, maybe from the part's since 0.5"
    )
    return Left(added if is_told else what, _HELP, True) if is_part else None


def _is_part(part: ast.expr, base: Value) -> bool | None:
    """Is this a part of a tensor (``base``), not a whole one? ``None`` if nothing tells it."""
    is_cut = isinstance(part, ast.Subscript)
    known = isinstance(base, Tensor) and (is_cut or bool(base.calls) or base.whole)
    if isinstance(part, ast.Subscript) and isinstance(base, Tensor) and not base.calls and _is_one_item(part.slice):
        return None  # a parameter may be a list of tensors
    if not known and not isinstance(part, ast.Constant):
        return None
    return is_cut or (isinstance(base, Tensor) and not base.whole)


def _is_one_item(index: ast.expr) -> bool:
    return not any(isinstance(node, ast.Slice | ast.Tuple | ast.Call) for node in ast.walk(index))


def _unknown(facts: Facts, part: ast.expr, is_told: bool) -> Unknown:
    """What is taken for true of what may be a part; ``is_told``: the call says an offset."""
    without = f"a pattern without an offset begins where the part does from NKI {facts.new} on"
    why = f"an offset may be added to that of a part from NKI {facts.new} on" if is_told else without
    return Unknown(f"'{ast.unparse(part)}' is a whole tensor", why, _HELP, is_note=is_told)
