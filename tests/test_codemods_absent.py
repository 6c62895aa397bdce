"""Names that are None at first: what they are where something reads them, and what is said where that is not known."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    n, rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    total = None
    for i in nl.static_range(n):
        tile = nl.load(x[i], dtype=nl.float32)
        {body}
    nl.store(out, value=total)
    return out
"""


def kernel(body: str) -> str:
    return KERNEL.format(body=body.replace("\n", "\n        "))


@pytest.mark.parametrize(
    "body",
    [
        "if total is None:\n    total = nl.copy(tile)\nelse:\n    total = nl.add(total, tile)",
        "if total is not None:\n    total = nl.add(total, tile)\nelse:\n    total = nl.copy(tile)",
        "if total == None:\n    total = nl.copy(tile)\nelse:\n    total[...] = nl.maximum(total, tile)",
    ],
)
@pytest.mark.parametrize("shape", [(3, 64, 20), (1, 128, 1), (2, 64, 1)])
def test_what_the_first_iteration_makes_is_a_tile_in_the_others(migrate, body, shape):
    migration = migrate(kernel(body), {"x": TensorSpec(shape, "float32", "normal")})
    assert migration.outcome.findings == () and migration.trouble == ()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "if i == 0:\n    total = nl.zeros((rows, columns), dtype=nl.float32)\ntotal[...] = nl.copy(tile)",
            "the destination is not known to be a tensor",
        ),
        ("total = nl.add(tile, total)", "it is not known whether 'total' is a tensor"),
        (
            "if total is None:\n    total = nl.copy(tile)\nelse:\n    total = nl.sum(tile, axis=1)\n    total = 3",
            "'total' is None at first, and not known to be one kind of tile",
        ),
    ],
)
def test_a_name_that_may_still_be_none_is_left_and_said(body, message):
    assert any(message in finding.message for finding in rewrite(kernel(body)).findings)
