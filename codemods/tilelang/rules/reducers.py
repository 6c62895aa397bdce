"""TLG008 reducers: reducers that are fragments become handles with an epoch of their own.

Why: 0.1.14 replaced the reducers. What was ``T.fill``, ``acc[i] += x`` and ``T.finalize_reducer(acc)`` on a fragment is
``T.reducer_init``, ``T.reducer_update(acc[i], x)`` and ``T.finalize_reducer(acc, result)`` on a handle whose result is
another fragment. ``replication=`` keeps the old ones, under a warning, and they can give wrong sums (#2408).

Safe where the uses are whole epochs: filled with the identity of the operation (a minimum or a maximum with any value),
then nothing but updates by that operation in ``T.Parallel``, then finalized, and read only after that. A minimum of
integers that is filled with ``T.max_value``, or of floating-point numbers with ``T.infinity``, begins so without being
told. Left alone: anything else, each with its line.

Source: commit 024fc72 (#2940), RFC #2897; the generated source of 0.1.15 is the same but for the name of the result.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace

from nki_migrate.runtime.spec.tilelang import position

from ...syntax.call_text import by_name
from ...syntax.drafts import Draft, Edit
from ..epochs import Epochs, Use, Wrong
from ..module import Module

CODE = "TLG008"
SINCE = "0.1.14"
GOLDENS = ("tilelang_reducer",)
VALID = (
    'def k():\n    acc = T.alloc_reducer((8,), "float32", op="sum")\n    T.reducer_init(acc)\n'
    "    T.finalize_reducer(acc, out)",
)
INVALID = (
    (
        'def k():\n    acc = T.alloc_reducer((8,), "float32", op="sum", replication="all")\n    T.clear(acc)\n'
        "    for i, j in T.Parallel(8, 8):\n        acc[i] += a[i, j]\n    T.finalize_reducer(acc)\n    T.copy(acc, b)",
        'def k():\n    acc = T.alloc_reducer((8,), "float32", op="sum")\n'
        '    acc_result = T.alloc_fragment((8,), "float32")\n    T.reducer_init(acc)\n'
        "    for i, j in T.Parallel(8, 8):\n        T.reducer_update(acc[i], a[i, j])\n"
        "    T.finalize_reducer(acc, acc_result)\n    T.copy(acc_result, b)",
    ),
)
PARAMETERS = ("shape", "dtype", "op", "replication")
_HELP = "write T.reducer_init(acc), T.reducer_update(acc[i], x), T.finalize_reducer(acc, result) and read the result"


@dataclass
class Reducer:
    """One reducer of the old kind: the call that makes it, its name, its operation."""

    call: ast.Call
    statement: ast.Assign
    name: ast.Name
    op: str
    given: dict[str, ast.expr] = field(default_factory=dict)


def rewrite(module: Module) -> None:
    """Rewrite each reducer all of whose uses are whole epochs."""
    for call, _ in module.calls("alloc_reducer"):
        given = by_name(call, PARAMETERS)
        if given is None:
            module.leave(call, CODE, "the arguments of alloc_reducer are not all written here", _HELP)
            continue
        if module.source >= position(SINCE) and "replication" not in given and not _is_finalized_in_place(module, call):
            continue  # it is one of the new kind
        if _is_new(module, call):
            if "replication" in given:
                module.leave(call, CODE, "a reducer of the new kind with replication=", "remove replication=")
            continue
        try:
            module.commit(_draft(module, call, given))
        except Wrong as wrong:
            module.leave(wrong.node, CODE, str(wrong), _HELP)


def _target(module: Module, call: ast.Call) -> ast.Name | None:
    statement = module.parents[call]
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target if isinstance(target, ast.Name) else None
    return None


def _calls_with(module: Module, call: ast.Call, *names: str) -> list[ast.Call]:
    """The calls of these members whose first argument is the reducer."""
    target = _target(module, call)
    if target is None:
        return []
    parents = [module.parents[use] for use in module.uses(target)]
    return [each for each in parents if isinstance(each, ast.Call) and each.args and module.member(each.func) in names]


def _is_finalized_in_place(module: Module, call: ast.Call) -> bool:
    finals = _calls_with(module, call, "finalize_reducer")
    return any(
        by_name(each, ("reducer", "dst", "batch", "annotations")) == {"reducer": each.args[0]} for each in finals
    )


def _is_new(module: Module, call: ast.Call) -> bool:
    return bool(_calls_with(module, call, "reducer_init", "reducer_update"))


def _draft(module: Module, call: ast.Call, given: dict[str, ast.expr]) -> Draft:
    reducer = _reducer(module, call, given)
    name, code = reducer.name.id, CODE
    uses = Epochs(module, reducer.name, reducer.op).uses()
    result = next(each for each in (f"{name}_result", f"{name}_reduced", f"{name}_final") if module.is_free(each))
    fragment = module.spelled(call.func, "alloc_fragment")
    init, update = module.spelled(call.func, "reducer_init"), module.spelled(call.func, "reducer_update")
    if fragment is None or init is None or update is None:
        raise Wrong(call, "the file has no name for alloc_fragment, reducer_init or reducer_update")
    draft = Draft(code, call)
    if "replication" in given:
        draft.edits.append(_without(module, call, given["replication"]))
    shape, dtype = module.segment(given["shape"]), module.segment(given["dtype"])
    draft.edits.append(module.line_after(reducer.statement, f"{result} = {fragment}({shape}, {dtype})"))
    for use in uses:
        plain = use.kind == "init" and _is_identity(module, reducer, use.value)
        draft.edits += _edits(module, replace(use, value=None) if plain else use, name, result, init, update)
    return draft


def _is_identity(module: Module, reducer: Reducer, value: ast.expr | None) -> bool:
    """Whether the new kind begins with this value when nothing is said: the code of a second one is not generated."""
    negated = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub)
    call = value.operand if isinstance(value, ast.UnaryOp) and negated else value
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
        return False
    dtype = _type_name(module, reducer.given["dtype"])
    if dtype is None or dtype != _type_name(module, call.args[0]):
        return False
    extreme = ("-" if negated else "") + (module.member(call.func) or "")
    if re.fullmatch(r"u?int(8|16|32|64)", dtype):
        return extreme == {"min": "max_value", "max": "min_value"}.get(reducer.op)
    return dtype in ("float16", "bfloat16", "float32") and extreme == {"min": "infinity", "max": "-infinity"}.get(
        reducer.op
    )


def _type_name(module: Module, node: ast.expr) -> str | None:
    """``"int32"`` for ``T.int32`` and for the string itself."""
    literal = module.constant(node)
    return literal if isinstance(literal, str) else module.member(node)


def _reducer(module: Module, call: ast.Call, given: dict[str, ast.expr]) -> Reducer:
    name, statement = _target(module, call), module.parents[call]
    if name is None or not isinstance(statement, ast.Assign):
        raise Wrong(call, "a reducer that has no name of its own")
    if not module.stands_alone(statement):
        raise Wrong(call, "a reducer whose line has other statements")
    stores = [use for use in module.uses(name) if not isinstance(use.ctx, ast.Load)]
    if len(stores) > 1:
        raise Wrong(stores[1], f"'{name.id}' has another value, too")
    op = module.constant(given["op"]) if "op" in given else "sum"
    if op not in ("sum", "max", "min"):
        raise Wrong(call, "a reducer whose operation is not known to be sum, max or min")
    if not {"shape", "dtype"} <= set(given):
        raise Wrong(call, "a reducer without its shape and type")
    return Reducer(call, statement, name, str(op), given)


def _without(module: Module, call: ast.Call, value: ast.expr) -> Edit:
    """The argument taken out, with the comma before it."""
    keyword = next((each for each in call.keywords if each.value is value), None)
    others = [each for each in (*call.args, *call.keywords) if each is not (keyword or value)]
    node: ast.AST = keyword or value
    before = [each for each in others if module.end(each) <= module.start(node)]
    if before and "#" not in module.text[module.end(before[-1]) : module.start(node)]:
        end = module.end(before[-1])
        between = module.text[end : module.start(node)]
        closing = end + len(between) - len(between.lstrip(" )\n\t")) if ")" in between else end
        return Edit(closing, module.end(node), "")
    raise Wrong(call, "replication= is not behind another argument, or has a comment before it")


def _edits(module: Module, use: Use, name: str, result: str, init: str, update: str) -> list[Edit]:
    if use.kind == "init":
        value = "" if use.value is None else f", {module.segment(use.value)}"
        return [module.replace(use.node, f"{init}({name}{value})")]
    if use.kind == "update":
        assert use.value is not None and use.target is not None
        text = f"{update}({module.segment(use.target)}, {use.sign}{_grouped(module, use)})"
        return [module.replace(use.node, text)]
    if use.kind == "finalize":
        return [Edit(module.end(use.node), module.end(use.node), f", {result}")]
    return [module.replace(use.node, result)]


def _grouped(module: Module, use: Use) -> str:
    assert use.value is not None
    text = module.segment(use.value)
    needs = bool(use.sign) and not isinstance(
        use.value, (ast.Name, ast.Subscript, ast.Call, ast.Constant, ast.Attribute)
    )
    return f"({text})" if needs else text
