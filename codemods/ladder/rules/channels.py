"""NKV013 channels: ``num_channels`` goes from the rank of an implicit permutation.

Why: 0.3 takes the channels themselves, as ``channel_ids`` of ``collective_permute_implicit``.

Review: the permutation must be given its channels there.
"""

from __future__ import annotations

import ast

from ..answers import Answer, rewritten
from ..facts import Facts

CODE = "NKV013"
APPLICABILITY = "review"
GOLDENS = ("ladder_left",)
NODES = (ast.Call,)
_NAME = "nki.collectives.collective_permute_implicit_current_processing_rank_id"
CALLS = frozenset({_NAME})


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Take the parameter away."""
    text = facts.text_of(node) if facts.called(node) == _NAME else None
    given = text.named("num_channels") if text is not None else None
    if text is None or given is None:
        return None
    assumption = "collective_permute_implicit is given channel_ids for these channels"
    return rewritten(text.removed(given), assumption=assumption)
