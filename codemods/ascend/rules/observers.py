"""ASC009 observers: ``T.memory_stats()`` whose result is unused, and ``with T.memory_trace(...)``, go.

Why: a kernel cannot ask what is allocated. ``nki-migrate layout FILE::KERNEL --target 910b`` prints the figures and the
trace of its plan.

Safe: neither computes anything. Left alone: statistics that something uses, a trace with a name for its lines.
"""

from __future__ import annotations

from ...syntax.drafts import Draft
from ..module import AscendModule

CODE = "ASC009"
GOLDENS = ("ascend_views",)
VALID = ("memory_stats()",)
INVALID = (
    ("T.memory_stats()\nx = 1\n", "x = 1\n"),
    ("with T.memory_trace(enabled=True):\n    x = 1\n", "x = 1\n"),
)
_HELP = "nki-migrate layout FILE::KERNEL --target 910b prints the figures of the plan"


def rewrite(module: AscendModule) -> None:
    """Take both away."""
    plain = {call: statement for statement, call, _ in module.statements("memory_stats")}
    for call, name in module.calls("memory_stats"):
        edit = module.removal(plain[call]) if call in plain else None
        if edit is None:
            module.leave(call, CODE, f"the result of T.{name} is used, and a kernel cannot have it", _HELP)
        else:
            module.commit(Draft(CODE, call, [edit]))
    for call, name in module.calls("memory_trace"):
        found = next((w for w in module.withs(name) if w[2] is call), None)
        edits = None
        if found is not None and len(found[0].items) == 1 and found[1].optional_vars is None:
            edits = module.unwrapped(found[0], "")
        if edits is None:
            module.leave(call, CODE, "T.memory_trace in a form that is not followed", _HELP)
        else:
            module.commit(Draft(CODE, call, edits))
