"""TLG003 tensor-types: ``T.Buffer`` of a parameter becomes ``T.Tensor``, or the type of its scope.

Why: since 0.1.4 ``T.Buffer(...)`` as the type of a parameter warns that it is deprecated: ``T.Tensor`` is an argument
in global memory, ``T.SharedBuffer``, ``T.FragmentBuffer`` and ``T.LocalBuffer`` are those of a macro.

Safe: the generated source is the same. Left alone: ``T.Buffer`` without a call, with ``data=`` (a second view of
memory) or other arguments, and any outside of an annotation.

Source: commit bf8a6fc (#281); the generated source of 0.1.15.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Draft
from ..module import Module

CODE = "TLG003"
SINCE = "0.1.4"
GOLDENS = ("tilelang_tensor",)
VALID = ('def k(a: T.Tensor((8,), "int8")): ...', "def k(a: T.Buffer): ...")
INVALID = (
    ('def k(a: T.Buffer((8,), "int8")): ...', 'def k(a: T.Tensor((8,), "int8")): ...'),
    ('def m(a: T.Buffer((8,), "int8", scope="local")): ...', 'def m(a: T.LocalBuffer((8,), "int8")): ...'),
)
_BY_SCOPE = {
    "global": "Tensor",
    "shared.dyn": "SharedBuffer",
    "local.fragment": "FragmentBuffer",
    "local": "LocalBuffer",
}


def rewrite(module: Module) -> None:
    """Write the newer type of each parameter."""
    for call, _ in module.calls("Buffer"):
        parent = module.parents[call]
        others = {each.arg: each for each in call.keywords if each.arg not in ("shape", "dtype")}
        scope = others.pop("scope", None)
        value = "global" if scope is None else module.constant(scope.value)
        wanted = _BY_SCOPE.get(value) if isinstance(value, str) else None
        if not isinstance(parent, ast.arg) or others or len(call.args) > 2 or wanted is None:
            module.leave(call, CODE, "T.Buffer is deprecated, and this is not just the type of a parameter",
                         "write T.Tensor for an argument, T.match_buffer or T.decl_buffer for a view")  # fmt: skip
            continue
        name = module.spelled(call.func, wanted)
        if name is None:
            module.leave(call, CODE, f"the file has no name for {wanted}", f"import {wanted} from tilelang.language")
            continue
        draft = Draft(CODE, call, [module.replace(call.func, name)])
        if scope is not None:
            if call.keywords[-1] is not scope or not (call.args or len(call.keywords) > 1):
                module.leave(call, CODE, "the scope of T.Buffer is not its last argument", "write it last")
                continue
            before = call.keywords[-2] if len(call.keywords) > 1 else call.args[-1]
            end = module.end(before)
            draft.edits.append(type(draft.edits[0])(end, module.end(scope), ""))
            if "#" in module.text[end : module.end(scope)] or module.text[end : module.start(scope)].count(")"):
                module.leave(call, CODE, "there is a comment or a parenthesis before the scope of T.Buffer", "move it")
                continue
        module.commit(draft)
