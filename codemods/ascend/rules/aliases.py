"""ASC005 aliases: ``T.buffer_alias(buf, shape)`` becomes ``T.view(buf, shape)``.

Why: the project has ``T.view(src, shape, dtype)`` and ``T.reshape(src, shape)``, and no ``buffer_alias``.

Safe: both are another shape (and type) on the same bytes. Left alone: other arguments than buffer, shape and type.

Source: ``tilelang/language/customize.py`` of tilelang-ascend.
"""

from __future__ import annotations

from ...syntax.call_text import by_name
from ...syntax.drafts import Draft
from ..module import AscendModule

CODE = "ASC005"
GOLDENS = ("ascend_views",)
VALID = ("v = T.view(x, (8,))",)
INVALID = (
    ("v = T.buffer_alias(x, shape=(64, 64))", "v = T.view(x, (64, 64))"),
    ("v = T.buffer_alias(x, (8,), dtype='int32')", "v = T.view(x, (8,), 'int32')"),
)
_PARAMETERS = ("buffer", "shape", "dtype")


def rewrite(module: AscendModule) -> None:
    """Rename each call, its arguments by position."""
    for call, _ in module.calls("buffer_alias"):
        given = by_name(call, _PARAMETERS)
        name = module.spelled(call.func, "view")
        if given is None or name is None or set(given) - set(_PARAMETERS) or not {"buffer", "shape"} <= set(given):
            module.leave(call, CODE, "T.buffer_alias in a form that T.view does not have", "T.view(src, shape, dtype)")
            continue
        texts = ", ".join(module.segment(given[each]) for each in _PARAMETERS if each in given)
        module.commit(Draft(CODE, call, [module.replace(call, f"{name}({texts})")]))
