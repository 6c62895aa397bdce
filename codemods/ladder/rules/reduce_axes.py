"""NKV007 reduce-axes: ``axis`` of ``tensor_reduce`` counts the tensor's own dimensions.

Why: in 0.2 the number 1 was the last dimension whatever the rank, and lists counted as if there were five dimensions:
``[3, 4]`` were the last two. 0.3 counts what is there, from 0.

Safe: where the rank is known the axis is written as a number, ``2`` for the last of three, else as
``len(data.shape) - 1``. What 0.2 took and 0.3 takes, too, means the same in both, so this needs no evidence of the
version. Left: an ``axis`` that is no literal, and lists for a tensor of unknown rank.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, Rewritten, Said, rewritten, unknown
from ..facts import Facts

CODE = "NKV007"
GOLDENS = ("ladder_axes",)
NODES = (ast.Call, ast.FunctionDef)
EITHER = True
CALLS = frozenset({"nki.isa.tensor_reduce"})
_HARDWARE_AXES = "[[4], [3, 4], [2, 3, 4], [1, 2, 3, 4]][rank - first - 1]"
"""What the helper of a migration to 0.2 returns."""
_HELP = "write the dimensions of the tensor that are reduced, counted from 0"


def rewrite(facts: Facts, node: ast.Call | ast.FunctionDef) -> Answer:
    """Write the axes as the tensor counts them; the helper that a migration wrote gives them so."""
    if isinstance(node, ast.FunctionDef):
        return _helper(facts, node)
    if facts.called(node) != "nki.isa.tensor_reduce":
        return None
    given, text = facts.arguments(node), facts.text_of(node)
    axis = given.get("axis")
    if text is None or axis is None or "data" not in given:
        return Left("the axes that are reduced are hidden", _HELP) if not given else None
    if _is_from_helper(facts, axis):
        return None
    count = _count(axis)
    if count is None:
        return (
            None
            if _counts_dimensions(axis)
            else Left("axis is no literal: 0.2 and 0.3 count it otherwise", _HELP, True)
        )
    data = given["data"]
    rank = facts.tensor(data).rank
    argument = next(item for item in text.arguments if item.value is axis)
    if rank is not None:
        axes = list(range(max(1, rank - count), rank))
        if not axes:
            return Left("what is reduced has no free dimension", _HELP)
        wanted = str(axes[0]) if isinstance(axis, ast.Constant) else str(axes)
        return rewritten(text.value_replaced(argument, wanted)) if wanted != ast.unparse(axis) else None
    if count > 1 or any(isinstance(item, ast.Call) for item in ast.walk(data)):
        return Left("the rank of what is reduced is not known", _HELP, True)
    last = text.value_replaced(argument, f"len({facts.rung.segment(_as_many_dimensions(data))}.shape) - 1")
    return Rewritten((last,), shows=False)


def _as_many_dimensions(data: ast.expr) -> ast.expr:
    """What a part that only slices cut has its dimensions from."""
    while isinstance(data, ast.Subscript):
        index = data.slice.elts if isinstance(data.slice, ast.Tuple) else [data.slice]
        if not all(isinstance(part, ast.Slice) for part in index):
            break
        data = data.value
    return data


def parts(facts: Facts, node: ast.Call | ast.FunctionDef) -> Answer:
    """The axes of a call as 0.3 counts them: are they what 0.2 reads?"""
    if not isinstance(node, ast.Call) or facts.called(node) != "nki.isa.tensor_reduce":
        return None
    given = facts.arguments(node)
    axis, data = given.get("axis"), given.get("data")
    if axis is None or data is None:
        return Left("the axes that are reduced are hidden", _HELP) if not given else None
    if isinstance(axis, ast.Constant) and axis.value != 1:
        return None  # 0.2 refuses it
    rank, count = facts.tensor(data).rank, _count(axis)
    if isinstance(axis, ast.Constant) and axis.value == 1 and rank is None:
        said = Said((ast.unparse(data),), "{} has two dimensions", "{} have two dimensions")
        return unknown(said, "1 is the last dimension in 0.2, whatever the rank", _HELP)
    is_same = count is not None and rank is not None and list(range(rank))[-count:] == ast.literal_eval(_listed(axis))
    return None if is_same else Left("0.2 counts these axes otherwise", _HELP, True)


def _listed(axis: ast.expr) -> str:
    return ast.unparse(axis) if isinstance(axis, (ast.List, ast.Tuple)) else f"[{ast.unparse(axis)}]"


def _count(axis: ast.expr) -> int | None:
    """How many of the last dimensions a literal of 0.2 means; ``None`` for what 0.2 does not take."""
    try:
        value = ast.literal_eval(axis)
    except ValueError:
        return None
    if isinstance(value, int):
        return 1 if value == 1 else None
    listed = list(value) if isinstance(value, (list, tuple)) else []
    return len(listed) if listed and listed == [4, 3, 2, 1][: len(listed)][::-1] else None


def _counts_dimensions(axis: ast.expr) -> bool:
    """Is it an axis that 0.2 does not take: another number, or one that is counted from the rank?"""
    try:
        ast.literal_eval(axis)
    except ValueError:
        return any(isinstance(n, ast.Call) and ast.unparse(n.func) == "len" for n in ast.walk(axis))
    return True


def _is_from_helper(facts: Facts, axis: ast.expr) -> bool:
    return isinstance(axis, ast.Call) and ast.unparse(axis.func).endswith("reduced_axes")


def _helper(facts: Facts, node: ast.FunctionDef) -> Answer:
    """The function that a migration to 0.2 wrote for axes that a parameter names."""
    last = node.body[-1]
    if node.name != "reduced_axes" or not isinstance(last, ast.Return) or last.value is None:
        return None
    if ast.unparse(last.value) != _HARDWARE_AXES:
        return None
    start = facts.rung.start(last)
    margin = facts.rung.text[facts.rung.text.rfind("\n", 0, start) + 1 : start]
    lines = ["found = []", "for d in range(first, rank):", "    found.append(d)", "return found"]
    edits = [Edit(start, facts.rung.end(last), f"\n{margin}".join(lines))]
    text = ast.get_docstring(node, clean=False)
    if text is not None and ", as Beta 2 counts them" in text:
        first = facts.rung.start(node.body[0])
        whole = facts.rung.segment(node.body[0])
        shown = whole.replace(", as Beta 2 counts them: as if there were five.", ", counted from 0.")
        edits.append(Edit(first, facts.rung.end(node.body[0]), shown))
    return Rewritten(tuple(edits))
