"""ASC006 workspaces: ``T.workspace(size)`` becomes a parameter that ``workspace_idx`` names.

Why: global scratch memory of a TileLang-Ascend kernel is a parameter that the launcher allocates:
``@tilelang.jit(workspace_idx=[...])``. A workspace whose result nothing uses is taken away.

Safe: a tensor of the same bytes, behind the other parameters; calls of the kernel stay as they are, because the
launcher fills the parameter in. Left alone: a kernel that no function under ``@tilelang.jit`` makes, a
``workspace_idx=`` or ``out_idx=`` that is not written as numbers, a kernel with ``*args``.

Source: ``tilelang/jit`` of tilelang-ascend; 46 of its examples do so.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Draft, Edit
from ..module import AscendModule

CODE = "ASC006"
GOLDENS = ("ascend_workspace",)
VALID = ("size = workspace(3)",)
INVALID = (
    ("x = 1\nT.workspace(1024)\n", "x = 1\n"),
    (
        "@tilelang.jit(out_idx=[1])\ndef make(n):\n    @T.prim_func\n"
        "    def k(A: T.Tensor((8,), 'int8'), B: T.Tensor((8,), 'int8')):\n"
        "        ws = T.workspace(8)\n        T.copy(ws, B)\n    return k\n",
        "@tilelang.jit(out_idx=[1], workspace_idx=[2])\ndef make(n):\n    @T.prim_func\n"
        "    def k(A: T.Tensor((8,), 'int8'), B: T.Tensor((8,), 'int8'), ws: T.Tensor([8], \"uint8\")):\n"
        "        T.copy(ws, B)\n    return k\n",
    ),
)
_HELP = "add a parameter T.Tensor([size], dtype), and its index to tilelang.jit(workspace_idx=[...])"


def rewrite(module: AscendModule) -> None:
    """Rewrite each call; one workspace of a kernel at a time."""
    done: set[ast.AST] = set()
    for call, _ in module.calls("workspace"):
        statement = module.parents[call]
        if isinstance(statement, ast.Expr):
            edit = module.removal(statement)
            problem: str = "" if edit else "T.workspace on a line with other statements"
            edits = [edit] if edit else []
        else:
            problem, edits = _parameter(module, call, statement, done)
        if problem:
            module.leave(call, CODE, problem, _HELP)
        elif edits:
            module.commit(Draft(CODE, call, edits))


def _parameter(module: AscendModule, call: ast.Call, statement: ast.AST, done: set[ast.AST]) -> tuple[str, list[Edit]]:
    read = module.in_kernel(call)
    factory = read.kernel.factory if read else None
    decorator = module.jit_of(factory) if factory else None
    named = isinstance(statement, ast.Assign) and len(statement.targets) == 1
    target = statement.targets[0] if named and isinstance(statement, ast.Assign) else None
    if read is None or decorator is None or not isinstance(target, ast.Name) or len(call.args) != 1:
        return "T.workspace in a kernel that no function under @tilelang.jit makes", []
    function = read.kernel.function
    if function in done:
        return "", []  # the next round has it
    arguments = function.args
    if not _plain(arguments):
        return "T.workspace in a kernel whose parameters are not all plain ones", []
    if not _outputs_from_the_front(decorator):
        return "out_idx= counts from the end, where the workspace would stand", []
    place = len(arguments.args)
    indices = _indices_edit(module, decorator, place)
    removed = module.removal(statement) if isinstance(statement, ast.stmt) else None
    if indices is None or removed is None:
        return "a workspace_idx= that is not a list of numbers", []
    done.add(function)
    last = arguments.args[-1]
    at = module.end(last)
    tensor = module.spelled_in(call, "Tensor") or "T.Tensor"
    size = module.segment(call.args[0])
    first_line = module.text.rfind("\n", 0, module.start(last)) + 1
    indent = module.text[first_line : module.start(last)]
    separator = ", " if indent.strip() else f",\n{indent}"
    return "", [Edit(at, at, f'{separator}{target.id}: {tensor}([{size}], "uint8")'), removed, indices]


def _plain(arguments: ast.arguments) -> bool:
    """Are all parameters plain ones, so that another one may stand behind them?"""
    others = arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults
    return bool(arguments.args) and not others


def _outputs_from_the_front(decorator: ast.expr) -> bool:
    """Do the places of the outputs stay what they are when a parameter is added at the end?"""
    if not isinstance(decorator, ast.Call):
        return True
    given = next((k.value for k in decorator.keywords if k.arg in ("out_idx",)), None)
    items = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [] if given is None else [given]
    return all(isinstance(item, ast.Constant) and isinstance(item.value, int) for item in items)


def _indices_edit(module: AscendModule, decorator: ast.expr, place: int) -> Edit | None:
    """``workspace_idx=`` of the decorator with one more index."""
    if not isinstance(decorator, ast.Call):
        return Edit(module.end(decorator), module.end(decorator), f"(workspace_idx=[{place}])")
    given = next((k.value for k in decorator.keywords if k.arg == "workspace_idx"), None)
    if given is None:
        at = module.end(decorator) - 1
        some = decorator.args or decorator.keywords
        return Edit(at, at, f"{', ' if some else ''}workspace_idx=[{place}]")
    if not isinstance(given, ast.List) or not all(isinstance(item, ast.Constant) for item in given.elts):
        return None
    texts = [module.segment(item) for item in given.elts]
    return module.replace(given, f"[{', '.join([*texts, str(place)])}]")
