"""NKV014 shared-outputs: what a kernel returns is declared in ``nl.shared_hbm``.

Why: 0.2 also took outputs in ``nl.hbm``, which is private to one core; since 0.3 they do not compile.

Safe: the tensor is the kernel's output in any case.
"""

from __future__ import annotations

import ast

from ...syntax.node_index import of_kinds
from ..answers import Answer, Left, Said, Unknown, rewritten, unknown
from ..facts import Facts
from ..program import Program
from ..tensors import Items, Tensor, Tensors, Value, buffer_name

CODE = "NKV014"
GOLDENS = ("ladder_literals", "ladder_reshaped")
NODES = (ast.Call, ast.Return)
CALLS = frozenset({"nki.language.ndarray", "nki.language.zeros"})


_HELP = "declare it with buffer=nl.shared_hbm"


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
    return rewritten(text.value_replaced(argument, shared))


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
    tensor = value.each if isinstance(value, Items) else value
    return [call for _, call in tensor.calls] if isinstance(tensor, Tensor) else []
