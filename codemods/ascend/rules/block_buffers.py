"""ASC002 block-buffers: ``with T.allocate(...) as buf:`` becomes an allocation and the body of the block.

Why: ``T.allocate`` of TVM is no context manager, and no buffer of TileLang-Ascend is released: the planner ends its
lifetime at its last use.

Safe: the buffer is declared where it was, and used where it was. Left alone: a block without a shape (the document's
own examples have none: nothing tells the size), several ``with`` items, a body with texts over several lines.

Source: ``tilelang/language/allocate.py`` of tilelang-ascend.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.ascend import CALL_OF_SPACE, SPACE_OF_SCOPE

from ...syntax.call_text import by_name
from ...syntax.drafts import Draft
from ..module import AscendModule

CODE = "ASC002"
GOLDENS = ("ascend_vector_add",)
VALID = ("with T.Scope('V'):\n    x = 1",)
INVALID = (
    (
        'with T.allocate((8, 8), dtype="float32", scope="shared") as buf:\n    T.tile.fill(buf, 0.0)  # zeros\n',
        'buf = T.alloc_ub((8, 8), "float32")\nT.tile.fill(buf, 0.0)  # zeros\n',
    ),
)
_PARAMETERS = ("shape", "dtype", "scope")


def rewrite(module: AscendModule) -> None:
    """Rewrite each block of one buffer."""
    for call, _ in module.calls("allocate"):
        item = module.parents[call]
        statement = module.parents[item] if isinstance(item, ast.withitem) else None
        if not isinstance(item, ast.withitem) or not isinstance(statement, ast.With):
            module.leave(call, CODE, "T.allocate outside of a with", "T.alloc_ub(shape, dtype) allocates in UB")
            continue
        problem, advice, text = _allocation(module, statement, item, call)
        edits = module.unwrapped(statement, text) if not problem else None
        if edits is None:
            module.leave(call, CODE, problem or "the body of the block cannot be moved", advice or "move it by hand")
        else:
            module.commit(Draft(CODE, call, edits))


def _allocation(module: AscendModule, statement: ast.With, item: ast.withitem, call: ast.Call) -> tuple[str, str, str]:
    """Why the block stays and what to do, or the statement that declares its buffer."""
    given = by_name(call, _PARAMETERS)
    if given is None or not isinstance(item.optional_vars, ast.Name) or len(statement.items) > 1:
        return "T.allocate in a form that the seed does not have", "one buffer and one name in a with", ""
    shape = given.get("shape", given.get("extents"))
    if shape is None:
        return "T.allocate has no shape: nothing tells the size of the buffer", "write T.allocate(shape, ...)", ""
    scope = module.constant(given["scope"]) if "scope" in given else "shared"
    space = SPACE_OF_SCOPE.get(str(scope), "GM")
    name = module.spelled(call.func, CALL_OF_SPACE[space]) if space != "GM" else None
    if name is None:
        return f"T.allocate in scope {scope!r}", 'on-chip memory is scope="shared" (UB)', ""
    dtype = module.segment(given["dtype"]) if "dtype" in given else '"float32"'
    return "", "", f"{item.optional_vars.id} = {name}({module.segment(shape)}, {dtype})"
