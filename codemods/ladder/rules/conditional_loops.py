"""NKV041 conditional-loops: ``while`` with a register becomes a function and ``nl.while_loop``.

Why: 0.6 deprecates the loop; a later release removes it.

Review: the body is a function now: it takes it that the file is compiled by a front end that takes functions in
kernels. The body gets the register, and returns it. Left: a body that gives names to what runs after it, that ends
early, or that stands where instructions keep their order; and a register that is read behind the loop.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, Rewritten, Unknown
from ..choices import choices
from ..facts import Facts
from ..loops import ASSUMPTION, head_end, obstacle, reads_behind
from ..statements import free_name

CODE = "NKV041"
APPLICABILITY = "review"
GOLDENS = ("ladder_loops",)
NODES = (ast.While,)


def rewrite(facts: Facts, node: ast.While) -> Answer:
    """Make the body a function that returns the register."""
    if not isinstance(node.test, ast.Name) or not _is_register(facts, node.test):
        return _unknown(facts, node.test)
    loop, problem = facts.spelled(node, "nki.language.while_loop"), obstacle(facts.rung, node)
    register = node.test.id
    if not problem and reads_behind(facts.rung, node, register):
        problem = f"'{register}' is read behind the loop"
    if problem or loop is None:
        what = problem or "while with a register is deprecated"
        return Left(what, "write a function for the body, and call nl.while_loop")
    name = free_name(facts.rung, f"{register}_body")
    last = node.body[-1]
    margin, inner = " " * node.col_offset, " " * last.col_offset
    head = Edit(facts.rung.start(node), head_end(facts.rung, node), f"def {name}({register}):")
    end = facts.rung.text.find("\n", facts.rung.end(last))
    end = len(facts.rung.text) if end < 0 else end
    call = f"\n{inner}return {register}\n\n{margin}{loop}({register}, {name})"
    return Rewritten((head, Edit(end, end, call)), ASSUMPTION)


def _unknown(facts: Facts, test: ast.expr) -> Unknown | None:
    """What is taken for true of a condition that may be a register."""
    if not isinstance(test, (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    found = choices(facts, test) if isinstance(test, ast.Name) else None
    names = [facts.program.rungs[p].qualified(e.func) if isinstance(e, ast.Call) else "" for p, e in found or ()]
    if found and "nki.isa.register_alloc" not in names:
        return None
    help = "write a function for the body, and call nl.while_loop"
    return Unknown(f"'{ast.unparse(test)}' is no register", f"NKI {facts.new} deprecates while with one", help)


def _is_register(facts: Facts, name: ast.Name) -> bool:
    """Is a name bound by ``nisa.register_alloc`` only?"""
    uses = [use for use in facts.rung.uses(name) if not isinstance(use.ctx, ast.Load)]
    statements = [facts.rung.parents.get(use) for use in uses]
    return bool(uses) and all(
        isinstance(s, ast.Assign) and facts.called(s.value) == "nki.isa.register_alloc" for s in statements
    )
