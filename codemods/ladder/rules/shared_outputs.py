"""NKV014 shared-outputs: what a kernel returns is declared in ``nl.shared_hbm``.

Why: 0.2 also took outputs in ``nl.hbm``, which is private to one core; since 0.3 they do not compile.

Safe where each tensor that the call declares is an output. Review where it serves others, too: on two cores they would
be one tensor then, where each core had its own.
"""

from __future__ import annotations

import ast

from ...syntax.node_index import of_kinds
from ..answers import Answer, Left, Said, Unknown, rewritten, unknown
from ..facts import Facts
from ..program import Program
from ..rung import Rung
from ..tensors import Items, Tensors, Value, buffer_name

CODE = "NKV014"
GOLDENS = ("ladder_literals", "ladder_reshaped")
NODES = (ast.Call, ast.Return)
CALLS = frozenset({"nki.language.ndarray", "nki.language.zeros"})


_HELP = "declare it with buffer=nl.shared_hbm"
_DEEPEST = 6


def rewrite(facts: Facts, node: ast.Call | ast.Return) -> Answer:
    """Declare the output in shared memory."""
    if isinstance(node, ast.Return):
        return _returned(facts, node)
    given = facts.arguments(node) if facts.called(node) in CALLS else {}
    buffer = given.get("buffer")
    name = buffer_name(facts.rung, buffer) if buffer is not None else "sbuf"
    if buffer is None or name not in ("hbm", "private_hbm", "") or node not in outputs(facts.program, facts.tensors):
        return None
    if not name:
        why = f"NKI {facts.new} takes outputs in shared_hbm only"
        return Unknown(f"'{ast.unparse(buffer)}' is shared_hbm", why, _HELP)
    shared, text = facts.spelled(node, "nki.language.shared_hbm"), facts.text_of(node)
    if shared is None or text is None or any(isinstance(part, ast.Call) for part in ast.walk(buffer)):
        return Left("the output is not in shared_hbm", _HELP)
    argument = next(item for item in text.arguments if item.value is buffer)
    assumption = (
        "" if _serves_outputs(facts.program, facts.path, node) else "all tensors that this declares are outputs"
    )
    return rewritten(text.value_replaced(argument, shared), assumption=assumption)


def _serves_outputs(program: Program, path: str, call: ast.Call) -> bool:
    """Is everything that a declaration makes returned by a kernel, whatever function it stands in?"""
    function = program.rungs[path].function(call)
    return function is None or program.is_kernel(function) or _is_all_returned(program, path, call)


def _is_all_returned(program: Program, path: str, node: ast.Call, depth: int = 0) -> bool:
    """Does the function around ``node`` return it, and each caller what it gets, up to the kernels?"""
    rung = program.rungs[path]
    function = rung.function(node)
    if not isinstance(function, ast.FunctionDef) or function in program.referenced or depth > _DEEPEST:
        return False
    above = rung.parents.get(node)
    target = above.targets[0] if isinstance(above, ast.Assign) else None
    held = (
        [use for use in rung.uses(target) if isinstance(use.ctx, ast.Load)] if isinstance(target, ast.Name) else [node]
    )
    if not any(_is_returned(rung, use) for use in held):
        return False
    calls = program.calls.get(function, ())
    is_seen = program.is_kernel(function) or bool(calls)
    return is_seen and (
        program.is_kernel(function) or all(_is_all_returned(program, *call, depth + 1) for call in calls)
    )


def _is_returned(rung: Rung, node: ast.expr) -> bool:
    above = rung.parents.get(node)
    above = rung.parents.get(above) if isinstance(above, ast.Tuple | ast.List) else above
    return isinstance(above, ast.Return)


def _returned(facts: Facts, node: ast.Return) -> Unknown | None:
    """Whether the declaration of each output of a kernel is seen."""
    function = facts.rung.function(node)
    if node.value is None or function is None or not facts.program.is_kernel(function):
        return None
    values = node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else [node.value]
    for value in values:
        if not isinstance(value, ast.Constant) and facts.tensors.of(facts.path, value) is None:
            why = f"NKI {facts.new} takes outputs in shared_hbm only"
            said = Said((f"'{ast.unparse(value)}'",), "{} is in shared_hbm", "{} are in shared_hbm")
            return unknown(said, why, _HELP)
    return None


def outputs(program: Program, tensors: Tensors) -> frozenset[ast.Call]:
    """The declarations of what the kernels of these files return."""
    found: set[ast.Call] = set()
    for path, rung in program.rungs.items():
        for node in of_kinds(rung.tree, ast.Return):
            if node.value is not None and program.is_kernel(rung.function(node) or rung.tree):
                values = node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else [node.value]
                for value in values:
                    found.update(_calls(tensors.of(path, value)))
    return frozenset(found)


def _calls(value: Value) -> list[ast.Call]:
    while isinstance(value, Items):
        value = value.each
    return [call for _, call in value.calls] if value is not None else []
