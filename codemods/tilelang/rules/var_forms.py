"""TLG001 var-forms: ``T.alloc_var`` names its initial value and its scope.

Why: ``T.alloc_var(dtype, "local.var", init=1)`` stands in the documents and in the docstring, and every version raises
``TypeError: Initializer specified multiple times`` for it. The other positional forms depend on whether an argument is
text: with keywords each form means what it says.

Safe: the buffer, its scope and its first value stay. Left alone: ``*args``, a second argument that may be a scope or a
value, two initial values.

Source: ``tilelang/language/allocate.py``, commits c770a58 and bddb125; measured on 0.1.7 to 0.1.15.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Draft, Edit
from ..arguments import is_surely_no_text, start_of
from ..module import Module

CODE = "TLG001"
SINCE = "0.1.6"
GOLDENS = ("tilelang_var",)
VALID = ('v = T.alloc_var("int32", init=1)', 'v = T.alloc_var("int32", scope="local.var")', "v = T.alloc_var(d, x)")
INVALID = (
    ('v = T.alloc_var("int32", "local.var", init=1)', 'v = T.alloc_var("int32", scope="local.var", init=1)'),
    ('v = T.alloc_var("int32", 1)', 'v = T.alloc_var("int32", init=1)'),
    ('v = T.alloc_var("int32", (1), "local.var")', 'v = T.alloc_var("int32", init=(1), scope="local.var")'),
    ('v = T.alloc_var("int32", "local.var")', 'v = T.alloc_var("int32", scope="local.var")'),
)


def rewrite(module: Module) -> None:
    """Name the arguments behind the type in each ``alloc_var``."""
    for call, _ in module.calls("alloc_var"):
        keywords = {each.arg for each in call.keywords}
        if any(isinstance(each, ast.Starred) for each in call.args) or None in keywords:
            module.leave(call, CODE, "the arguments of alloc_var are not all written here", "write them one by one")
            continue
        given = call.args[1:] if "dtype" not in keywords else []
        if not given:
            continue
        names = _names(module, given, keywords)
        if isinstance(names, str):
            module.leave(call, CODE, names, "write T.alloc_var(dtype, init=.., scope=..)")
        elif names:
            edits = [
                Edit(start, start, f"{name}=")
                for number, name in enumerate(names, start=1)
                for start in (start_of(module, call, number),)
            ]
            module.commit(Draft(CODE, call, edits))


def _names(module: Module, given: list[ast.expr], keywords: set[str | None]) -> list[str] | str:
    """The keywords of positional arguments; none where either may be meant; a reason where no version takes them."""
    first = module.constant(given[0])
    if len(given) > 2:
        return "alloc_var takes a type, an initial value and a scope, and gets more"
    if len(given) == 2:
        return "alloc_var gets two initial values" if "init" in keywords else ["init", "scope"]
    if isinstance(first, str):
        return "alloc_var gets two scopes" if "scope" in keywords else ["scope"]
    if is_surely_no_text(module, given[0]):
        return "alloc_var gets two initial values" if "init" in keywords else ["init"]
    return (
        "alloc_var gets an initial value, and one more that every version takes for one" if "init" in keywords else []
    )
