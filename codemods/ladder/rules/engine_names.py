"""NKV047 engine-names: ``nisa.vector_engine`` and its like become members of ``nisa.engine``.

Why: the names are deprecated since 0.5.

Safe: both are the same member, in every version.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.beta2_isa import ENGINE_ALIASES

from ...syntax.drafts import Edit
from ..answers import Answer, rewritten
from ..facts import Facts

CODE = "NKV047"
GOLDENS = ("ladder_engines",)
NODES = (ast.Attribute, ast.Name)
_MEMBERS = {
    f"nki.isa.{alias}": f"nki.isa.engine.{member}" for alias, member in ENGINE_ALIASES.items() if alias != "dma_engine"
}
"""``nisa.dma_engine`` is another enumeration since 0.3 (NKV017)."""


def rewrite(facts: Facts, node: ast.Attribute | ast.Name) -> Answer:
    """Write the member."""
    member = _MEMBERS.get(facts.qualified(node))
    if member is None or not isinstance(node.ctx, ast.Load):
        return None
    if isinstance(node, ast.Attribute) and facts.qualified(node.value) == "nki.isa":
        end = facts.rung.end(node)
        return rewritten(Edit(end - len(node.attr), end, member.removeprefix("nki.isa.")))
    spelled = facts.spelled(node, member)
    return rewritten(facts.rung.replace(node, spelled)) if spelled is not None else None
