"""NKV040 counted-loops: ``for i in nl.dynamic_range(...)`` becomes a function and ``nl.fori_loop``.

Why: 0.6 deprecates the loop; a later release removes it.

Review: the body is a function now, which a body of the device's loop was in effect: it takes it that the file is
compiled by a front end that takes functions in kernels. Left: a body that gives names to what runs after it, that ends
early, or that stands where instructions keep their order.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, Rewritten
from ..facts import Facts
from ..loops import ASSUMPTION, head_end, obstacle
from ..statements import free_name

CODE = "NKV040"
APPLICABILITY = "review"
GOLDENS = ("ladder_loops",)
NODES = (ast.For,)


def rewrite(facts: Facts, node: ast.For) -> Answer:
    """Make the body a function."""
    if facts.called(node.iter) != "nki.language.dynamic_range" or not isinstance(node.iter, ast.Call):
        return None
    text, loop = facts.text_of(node.iter), facts.spelled(node, "nki.language.fori_loop")
    problem = obstacle(facts.rung, node)
    target = node.target.id if isinstance(node.target, ast.Name) else ""
    if problem or text is None or loop is None or not target:
        return Left(problem or "nl.dynamic_range is deprecated", "write a function for the body, and call nl.fori_loop")
    order = ("start", "stop", "step")
    given = {item.keyword or order[n]: text.text(item) for n, item in enumerate(text.arguments)}
    lower, upper = (given["start"], given["stop"]) if "stop" in given else ("0", given["start"])
    step = f", step={given['step']}" if given.get("step", "1") != "1" else ""
    name = free_name(facts.rung, f"{target}_body")
    start, last = facts.rung.start(node), node.body[-1]
    head = Edit(start, head_end(facts.rung, node), f"def {name}({target}):")
    margin = " " * node.col_offset
    call = f"\n\n{margin}{loop}({lower}, {upper}, {name}{step})"
    end = facts.rung.text.find("\n", facts.rung.end(last))
    end = len(facts.rung.text) if end < 0 else end
    return Rewritten((head, Edit(end, end, call)), ASSUMPTION)
