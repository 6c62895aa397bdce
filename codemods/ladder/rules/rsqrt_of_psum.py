"""NKV033 rsqrt-of-psum: ``nl.rsqrt`` of a tile in PSUM becomes ``nisa.activation(op=nl.rsqrt)``.

Why: since 0.5 ``nl.rsqrt`` runs on GpSimd, which does not reach PSUM.

Review: the Scalar Engine's result is not that of GpSimd to the last bit (0.4 did run there).
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, Unknown, rewritten
from ..facts import Facts

CODE = "NKV033"
APPLICABILITY = "review"
GOLDENS = ("ladder_tiles",)
NODES = (ast.Call,)


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Declare the result, and compute it by the instruction."""
    if facts.called(node) != "nki.language.rsqrt":
        return None
    buffer = facts.tensor(node.args[0]).buffer if node.args else ""
    if not buffer:
        name = ast.unparse(node.args[0]) if node.args else "x"
        why, help = f"nl.rsqrt of NKI {facts.new} does not read PSUM", "write nisa.activation(dst=, op=nl.rsqrt, data=)"
        return Unknown(f"'{name}' is not in PSUM", why, help)
    if buffer != "psum":
        return None
    statement = facts.rung.parents.get(node)
    names = [facts.spelled(node, f"nki.{name}") for name in ("language.ndarray", "language.sbuf", "isa.activation")]
    left = Left("nl.rsqrt does not read PSUM", "write nisa.activation(dst=, op=nl.rsqrt, data=)")
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or None in names:
        return left
    target, tile = statement.targets[0], node.args[0]
    if not isinstance(target, ast.Name) or not facts.rung.stands_alone(statement) or "\n" in facts.rung.segment(node):
        return left
    what = facts.rung.segment(tile)
    types = [k.value for k in node.keywords if k.arg == "dtype"] + node.args[1:2]
    dtype = facts.rung.segment(types[0]) if types else f"{what}.dtype"
    made = f"{names[0]}({what}.shape, dtype={dtype}, buffer={names[1]})"
    operator = facts.rung.segment(node.func)
    line = facts.rung.line_after(statement, f"{names[2]}(dst={target.id}, op={operator}, data={what})")
    start, end = facts.rung.start(node), facts.rung.end(node)
    return rewritten(Edit(start, end, made), line, assumption="the Scalar Engine is to compute rsqrt, as up to NKI 0.4")
