"""NKV012 register-loads: ``register_alloc`` of a tensor becomes ``register_alloc`` and ``register_load``.

Why: since 0.3 ``register_alloc`` takes a number; 0.2 read a tensor, too.

Safe: the register holds the tensor's element before anything can read it.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ...syntax.nodes import is_none
from ..answers import Answer, Left, Rewritten, Unknown
from ..facts import Facts
from ..tensors import Tensor

CODE = "NKV012"
GOLDENS = ("ladder_registers",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.register_alloc"})


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Load the register in a statement of its own."""
    if facts.called(node) != "nki.isa.register_alloc" or len(node.args) != 1 or node.keywords:
        return None
    tensor = node.args[0]
    if not isinstance(facts.tensors.of(facts.path, tensor), Tensor) or _is_parameter_alone(facts, tensor):
        is_number = facts.tensors.index_kind(facts.path, facts.rung, tensor) == "integer" or is_none(tensor)
        why = f"register_alloc of NKI {facts.new} reads no tensor"
        help = "load a tensor: nisa.register_load(r, tensor)"
        return None if is_number else Unknown(f"'{ast.unparse(tensor)}' is a number", why, help)
    statement, load = facts.rung.parents.get(node), facts.spelled(node, "nki.isa.register_load")
    plain = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and facts.rung.stands_alone(statement)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not plain or load is None or not isinstance(target, ast.Name) or not isinstance(statement, ast.Assign):
        return Left(
            "register_alloc takes a number", "allocate the register, and load it: nisa.register_load(r, tensor)"
        )
    start, end = facts.rung.start(tensor), facts.rung.end(tensor)
    line = facts.rung.line_after(statement, f"{load}({target.id}, {facts.rung.segment(tensor)})")
    return Rewritten((Edit(start, end, "0"), line))


def _is_parameter_alone(facts: Facts, node: ast.expr) -> bool:
    """Is it a parameter, which may as well be a number?"""
    tensor = facts.tensor(node)
    return isinstance(node, ast.Name) and not tensor.calls
