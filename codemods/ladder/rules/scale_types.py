"""NKV035 scale-types: scales of ``nc_matmul_mx`` and ``quantize_mx`` are declared as ``nl.float8_e8m0fnu``.

Why: 0.5 has the type of MX scales, which were ``uint8`` before.

Review: the bits are the same; what the host gives for scales, and what else reads them, must have the type as well.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, rewritten
from ..facts import Facts

CODE = "NKV035"
APPLICABILITY = "review"
GOLDENS = ("ladder_scales",)
NODES = (ast.Call,)
_SCALES = ("stationary_scale", "moving_scale", "dst_scale")


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Write the type where the scales of a call are declared."""
    if facts.called(node) not in ("nki.isa.nc_matmul_mx", "nki.isa.quantize_mx"):
        return None
    given = facts.arguments(node)
    edits = []
    for name in _SCALES:
        tensor = facts.tensor(given[name]) if name in given else None
        for path, call in tensor.calls if tensor is not None and tensor.dtype == "uint8" else ():
            dtype = facts.arguments(call).get("dtype") if path == facts.path else None
            wanted = facts.spelled(call, "nki.language.float8_e8m0fnu") if dtype is not None else None
            if dtype is None or wanted is None:
                return Left("the scales are uint8", "declare them as nl.float8_e8m0fnu")
            edits.append(facts.rung.replace(dtype, wanted))
    unique = tuple(dict.fromkeys(edits))
    return rewritten(*unique, assumption="whatever else reads or gives these scales has their type") if unique else None
