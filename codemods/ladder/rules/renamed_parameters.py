"""NKV045 renamed-parameters: arguments are given by the names that their parameters have at the target.

Why: the later version does not know the old name. The table of changes has the names; a new one is a row there.

Safe: the parameter is the same under both names.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.changes import CHANGES, renamed_parameters

from ..answers import Answer, rewritten
from ..facts import Facts

CODE = "NKV045"
GOLDENS = ("ladder_decorators",)
NODES = (ast.Call,)
HOST = True
CALLS = frozenset(name.partition(":")[0] for row in CHANGES for name, _ in row.renamed)


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Write the new keywords."""
    names = renamed_parameters(facts.called(node), facts.old, facts.new)
    text = facts.text_of(node) if names else None
    given = [each for each in text.arguments if each.keyword in names] if text is not None else []
    if text is None or not given:
        return None
    return rewritten(*(text.renamed(each, names[each.keyword]) for each in given))
