"""Do two statements say the same? How calls pass their arguments is no difference.

Keywords may stand in any order. What declares a tensor takes its arguments by position, too, and its tensor is in SBUF
where nothing says otherwise.
"""

from __future__ import annotations

import ast

_NO_MEANING = ("ctx", "kind", "type_comment")
_DECLARES = ("ndarray", "zeros")
_PARAMETERS = ("shape", "dtype", "buffer", "name")
"""Of ``nl.ndarray`` and ``nl.zeros``, in every version."""


def form(node: object) -> object:
    """A value that is equal for trees which say the same."""
    if isinstance(node, list):
        return tuple(form(each) for each in node)
    if isinstance(node, ast.Call) and not _has_stars(node):
        return ast.Call, form(node.func), _arguments(node)
    if isinstance(node, ast.AST):
        return type(node), tuple(form(getattr(node, name, None)) for name in node._fields if name not in _NO_MEANING)
    return type(node), node


def _has_stars(node: ast.Call) -> bool:
    return any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)


def _arguments(node: ast.Call) -> frozenset[tuple[str | int, object]]:
    """The forms of the arguments, by parameter, or by place where the parameters are not known."""
    declares = isinstance(node.func, ast.Attribute) and node.func.attr in _DECLARES
    names = _PARAMETERS if declares else ()
    given: dict[str | int, ast.expr] = {
        names[place] if place < len(names) else place: value for place, value in enumerate(node.args)
    }
    given |= {keyword.arg or "": keyword.value for keyword in node.keywords}
    buffer = given.get("buffer") if declares else None
    if isinstance(buffer, ast.Attribute) and buffer.attr == "sbuf":
        del given["buffer"]
    return frozenset((name, form(value)) for name, value in given.items())
