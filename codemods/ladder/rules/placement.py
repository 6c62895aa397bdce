"""NKV025 placement: a kernel that gives some tensors on chip an address, and others none, is reported.

Why: since 0.3 all tensors in SBUF and PSUM have an address, or none has.

Two arms of a condition exclude each other, also where the condition is asked twice.

Manual: where the others may lie is for a person to say; the emulator's ``layout`` shows what is free.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left
from ..facts import Facts
from ..tensors import ON_CHIP, buffer_name

CODE = "NKV025"
APPLICABILITY = "manual"
GOLDENS = ()
NODES = (ast.Call,)
_MAKERS = frozenset(f"nki.language.{name}" for name in ("ndarray", "zeros", "ones", "full", "rand"))


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Report each tensor without an address in code that gives some others one."""
    if _placement(facts, node) != "automatic":
        return None
    function = facts.rung.function(node)
    others = facts.rung.all_calls if function is None else [n for n in ast.walk(function) if isinstance(n, ast.Call)]
    own = _arms(facts, node)
    placed = [other for other in others if _placement(facts, other) in ("manual", "either")]
    if all(_exclude(own, _arms(facts, other)) for other in placed):
        return None
    what = "this tensor has no address, and others of the kernel have one"
    return Left(what, "give all tensors in SBUF and PSUM an address, or none")


def _arms(facts: Facts, node: ast.AST) -> dict[str, bool]:
    """The conditions that a call stands under, by their text: in the arm that runs where they hold, or in the other."""
    found: dict[str, bool] = {}
    child, above = node, facts.rung.parents.get(node)
    while above is not None and not isinstance(above, ast.FunctionDef):
        if isinstance(above, ast.If) and child is not above.test:
            test, holds = above.test, child in above.body
            while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test, holds = test.operand, not holds
            found[ast.unparse(test)] = holds
        child, above = above, facts.rung.parents.get(above)
    return found


def _exclude(first: dict[str, bool], second: dict[str, bool]) -> bool:
    """Does no run come by both places?"""
    return any(test in second and second[test] != holds for test, holds in first.items())


def _placement(facts: Facts, node: ast.Call) -> str:
    """``manual``, ``automatic`` or ``either`` (by a condition) for a tensor on chip; empty for all else."""
    if facts.called(node) not in _MAKERS:
        return ""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    buffer = facts.arguments(node).get("buffer")
    if buffer is not None and buffer_name(facts.rung, buffer) not in ON_CHIP:
        return ""
    address = given.get("address")
    if address is None or (isinstance(address, ast.Constant) and address.value is None):
        return "automatic"
    return "manual" if isinstance(address, (ast.Tuple, ast.List)) else "either"
