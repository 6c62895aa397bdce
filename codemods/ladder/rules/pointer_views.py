"""NKV023 pointer-views: ``t.view(dtype, shape)`` becomes ``t.view(dtype)``, and ``.reshape(shape)`` where it differs.

Why: in 0.2 a view stood for the memory at a tensor's address, with any type and shape; since 0.3 it reads the bytes of
the last dimension as another type.

Safe where the shape is what ``view`` gives by itself. Review otherwise: it takes it that the shape has as many bytes as
the tensor. ``sbuf.view(dtype, shape)`` is ``nl.ndarray(shape, dtype, buffer=nl.sbuf)``; ``sbuf.ptr`` is left.
"""

from __future__ import annotations

import ast
import re

from nki_migrate.runtime.spec.dtypes import ITEMSIZE

from ...syntax.call_text import Argument, CallText
from ...syntax.drafts import Edit
from ..answers import Answer, Left, Unknown, rewritten
from ..facts import Facts
from ..tensors import Tensor

CODE = "NKV023"
APPLICABILITY = "review"
GOLDENS = ("ladder_views",)
_HELP = "view the type, t.view(dtype), and reshape"
NODES = (ast.Call,)


def parts(facts: Facts, node: ast.Call) -> Answer:
    """Is it a view of the type alone, which 0.2 ends with an error?"""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "view" or facts.called(node):
        return None
    text = facts.text_of(node)
    if text is None or len(text.arguments) != 1 or text.named("shape"):
        return None
    return Left("0.2 wants the shape of a view, too", "there is no view that both read: write for one side alone")


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Write the view of the type, and the shape apart."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("view", "ptr") or facts.called(node):
        return None
    text = facts.text_of(node)
    memory = _memory(facts, node.func.value)
    base = ast.unparse(node.func.value)
    if memory and node.func.attr == "ptr":
        return Left(f"'{memory}.ptr' is gone", "declare the tensor with nl.ndarray and address=")
    if text is None or node.func.attr == "ptr":
        if facts.qualified(node.func.value):
            return Left(f"'{base}.{node.func.attr}' is gone", "declare the tensor with nl.ndarray and address=")
        return Unknown(f"'{base}' is no memory and no tensor", f"NKI {facts.new} does not view them so", _HELP)
    dtype, shape = _given(text)
    if dtype is None or shape is None:
        return None
    if memory:
        names = facts.spelled(node, "nki.language.ndarray"), facts.spelled(node, f"nki.language.{memory}")
        if None in names:
            return Left(f"'{memory}.view' is gone", "declare the tensor with nl.ndarray")
        call = f"{names[0]}({text.text(shape)}, dtype={text.text(dtype)}, buffer={names[1]})"
        return rewritten(Edit(facts.rung.start(node), facts.rung.end(node), call))
    value = facts.tensors.of(facts.path, node.func.value)
    if not isinstance(value, Tensor) and not facts.qualified(dtype.value).startswith("nki.language."):
        return Unknown(f"'{base}' is no tensor", f"view of NKI {facts.new} takes no shape", _HELP)
    tensor = value if isinstance(value, Tensor) else Tensor()
    cut = text.removed(shape)
    if _is_its_own(facts, text, tensor, dtype.value, shape.value):
        return rewritten(cut)
    end = facts.rung.end(node)
    reshaped = Edit(end, end, f".reshape({text.text(shape)})")
    if facts.is_migrated:  # the rules from Beta 1 view whole tiles only (NKI024)
        return rewritten(cut, reshaped)
    return rewritten(cut, reshaped, assumption=f"{' '.join(text.text(shape).split())} has as many bytes as the tensor")


def _given(text: CallText) -> tuple[Argument | None, Argument | None]:
    """The type and the shape of a view."""
    by_position = [argument for argument in text.arguments if not argument.keyword]
    dtype = text.named("dtype") or (by_position[0] if by_position else None)
    shape = text.named("shape") or (by_position[1] if len(by_position) > 1 else None)
    return (dtype, shape) if len(text.arguments) == 2 else (None, None)


def _memory(facts: Facts, node: ast.expr) -> str:
    """``sbuf``, ``psum`` or ``hbm`` for the bare names that 0.2 has."""
    name = node.id if isinstance(node, ast.Name) and node.id in ("sbuf", "psum", "hbm") else ""
    return name if name and facts.rung.names[node].of(name) == {"?"} and not _is_bound(facts, node, name) else ""


def _is_bound(facts: Facts, node: ast.expr, name: str) -> bool:
    scope = facts.rung.names[node]
    while scope is not None and name not in scope.bound:
        scope = scope.outer  # type: ignore[assignment]  # the outermost has none
    return scope is not None


def _is_its_own(facts: Facts, text: CallText, tensor: Tensor, dtype: ast.expr, shape: ast.expr) -> bool:
    """Is a shape what reading the last dimension as another type gives anyway?"""
    name = facts.qualified(dtype).removeprefix("nki.language.")
    old, new = ITEMSIZE.get(tensor.dtype), ITEMSIZE.get(name)
    if tensor.shape is None or not isinstance(shape, ast.Tuple) or not old or not new:
        return False
    sizes = [ast.unparse(item) for item in shape.elts]
    had = [ast.unparse(ast.parse(size, mode="eval").body) for size in tensor.shape]
    if len(sizes) != len(had) or sizes[:-1] != had[:-1] or len(sizes) < 2:
        return False
    if old == new:
        return sizes[-1] == had[-1]
    if sizes[-1].isdecimal() and had[-1].isdecimal():
        return int(sizes[-1]) * new == int(had[-1]) * old
    times, over = (old // new, 0) if old > new else (0, new // old)
    last, size = re.sub(r"[()\s]", "", sizes[-1]), re.sub(r"[()\s]", "", had[-1])
    return last in ((f"{size}*{times}", f"{times}*{size}") if times else (f"{size}//{over}",))
