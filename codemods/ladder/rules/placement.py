"""NKV025 placement: a kernel that gives some tensors on chip an address, and others none, is reported.

Why: since 0.3 all tensors in SBUF and PSUM have an address, or none has.

Two arms of a condition exclude each other, also where the condition is asked twice.

Manual: where the others may lie is for a person to say; the emulator's ``layout`` shows what is free.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..allocators import is_placed_by_manager
from ..answers import Answer, Left, Said, Unknown, unknown
from ..choices import choices
from ..facts import Facts
from ..rung import MAKERS
from ..tensors import ON_CHIP, buffer_name

CODE = "NKV025"
APPLICABILITY = "manual"
GOLDENS = ("ladder_left",)
NODES = (ast.Call,)
_HELP = "give all tensors in SBUF and PSUM an address, or none"
CALLS = MAKERS


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Report each tensor without an address in code that gives some others one."""
    placement = _placement(facts, node)
    if placement == "either" and _may_be_none(facts, node):
        address = next(k.value for k in node.keywords if k.arg == "address")
        said = Said((f"'{ast.unparse(address)}'",), "{} is an address", "{} are addresses")
        return unknown(said, _why(facts), _HELP)
    if placement not in ("automatic", "unknown"):
        return None
    function = facts.rung.function(node)
    own = _arms(facts, node)
    if all(_exclude(own, arms) for arms in facts.once(_placed, function or facts.rung.tree)):
        return _beside(facts, node, function)
    if placement == "unknown":
        buffer = ast.unparse(facts.arguments(node)["buffer"])
        return Unknown(f"'{buffer}' is in HBM", _why(facts), _HELP)
    return Left("this tensor has no address, and others of the kernel have one", _HELP)


def _placed(facts: Facts, around: ast.AST) -> list[dict[str, bool]]:
    """The conditions of each tensor of a function, or of a file, that has an address, or may have one."""
    calls = facts.rung.all_calls if isinstance(around, ast.Module) else facts.rung.makers_in(around)
    placed = [call for call in calls if _placement(facts, call) in ("manual", "either")]
    managed = [call for call in facts.rung.all_calls if is_placed_by_manager(facts.program, facts.path, call)]
    placed += [call for call in managed if isinstance(around, ast.Module) or facts.rung.function(call) is around]
    return [_arms(facts, call) for call in placed]


def _is_placed(facts: Facts, function: ast.FunctionDef) -> bool:
    """Does a function give a tensor an address?"""
    return any(_placement(facts, call) == "manual" for call in facts.rung.makers_in(function))


def _why(facts: Facts) -> str:
    return f"NKI {facts.new} places all tensors on chip by their addresses, or none"


def _may_be_none(facts: Facts, node: ast.Call) -> bool:
    """May the address of a tensor be ``None``, as far as its expression tells?"""
    address = next(keyword.value for keyword in node.keywords if keyword.arg == "address")
    found = choices(facts, address)
    return found is None or any(isinstance(each, ast.Constant) and each.value is None for _, each in found)


def _beside(facts: Facts, node: ast.Call, function: ast.AST | None) -> Answer:
    """Whether functions that run in the same kernels place tensors that this one leaves to the compiler."""
    program = facts.program
    others = program.together(function) if isinstance(function, ast.FunctionDef) else ()
    for path, other in others:
        beside = replace(facts, path=path)
        if beside.once(_is_placed, other):
            text = f"'{other.name}', which places its tensors, runs in no kernel with this one"
            return Unknown(text, _why(facts), _HELP)
    return None


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
    """``manual``, ``automatic``, ``either`` (by an expression) or ``unknown`` (if it is on chip); empty in HBM."""
    if facts.called(node) not in CALLS:
        return ""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    buffer = facts.arguments(node).get("buffer")
    name = buffer_name(facts.rung, buffer) if buffer is not None else "sbuf"
    if name and name not in ON_CHIP:
        return ""
    address = given.get("address")
    if address is None or (isinstance(address, ast.Constant) and address.value is None):
        return "automatic" if name else "unknown"
    return "manual" if isinstance(address, (ast.Tuple, ast.List)) else "either"
