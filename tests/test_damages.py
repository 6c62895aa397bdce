"""Attributes of instructions and outputs, damaged in rewritten goldens: what moves no byte is compared all the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.runtime.spec.operators import COMMUTATIVE
from test_golden_mutations import MIGRATED, Mutant, calls, keyword, verdicts

PER_KIND = 2
"""Goldens in which an attribute is damaged, at its first place each."""
ATTRIBUTES = (
    ("nisa.dma_copy", "engine", "nisa.engine.gpsimd"),
    ("nisa.memset", "engine", "nisa.engine.gpsimd"),
    ("nisa.tensor_copy", "engine", "nisa.engine.scalar"),
    ("nisa.tensor_tensor", "engine", "nisa.engine.gpsimd"),
    ("nisa.tensor_scalar", "engine", "nisa.engine.vector"),
    ("nisa.nc_transpose", "engine", "nisa.engine.vector"),
    ("nl.ndarray", "buffer", "nl.private_hbm"),
    ("nisa.dma_copy", "dge_mode", "nisa.dge_mode.swdge"),
    ("nisa.dma_copy", "dge_mode", "nisa.dge_mode.none"),
    ("nisa.dma_copy", "oob_mode", "nisa.oob_mode.skip"),
    ("nisa.dma_copy", "unique_indices", "False"),
    ("nisa.dma_copy", "dst_rmw_op", "nl.add"),
    ("nisa.nc_matmul", "is_stationary_onezero", "True"),
    ("nisa.nc_matmul", "is_moving_onezero", "True"),
    ("nisa.nc_matmul", "is_transpose", "True"),
    ("nisa.nc_matmul", "perf_mode", "nisa.matmul_perf_mode.double_row"),
    ("nisa.tensor_reduce", "negate", "True"),
    ("nisa.tensor_scalar", "reverse0", "True"),
    ("nisa.activation", "scale", "2.0"),
    ("nisa.tensor_copy_predicated", "reverse_pred", "True"),
    ("nisa.iota", "offset", "1"),
)
"""Function, keyword, and what the damaged call says; of ``nl.ndarray`` those in ``nl.shared_hbm``."""


def _may_be_commutative(operator: ast.keyword | None) -> bool:
    text = ast.unparse(operator.value) if operator is not None else ""
    return not text.startswith("nl.") or text.removeprefix("nl.") in COMMUTATIVE


def damaged(golden: str, function: str, name: str, value: str) -> Iterator[Mutant]:
    """The golden's rewritten kernels whose first call that says something else, or nothing, says ``name=value``."""
    tree = ast.parse(GOLDENS[golden].first_after)
    for call in calls(tree, function):
        found = keyword(call, name)
        said = None if found is None else ast.unparse(found.value)
        if ast.unparse(call.func) != function or said == value or (name == "buffer" and said != "nl.shared_hbm"):
            continue
        if name == "reverse0" and _may_be_commutative(keyword(call, "op0")):
            continue  # it means the same
        before = ast.unparse(call)
        call.keywords = [k for k in call.keywords if k is not found]
        call.keywords.append(ast.keyword(name, ast.parse(value, mode="eval").body))
        yield Mutant(golden, f"{function} {name}={value}", "layout operands", call.lineno, ast.unparse(tree), before)
        return


WHOLLY_RUN = [name for name in MIGRATED if name != "kernel_factory"]
"""Goldens of which the cases run every kernel: damage in one that never runs shows in nothing."""


def sample() -> list[Mutant]:
    """Of each attribute one call in each of :data:`PER_KIND` goldens; each attribute begins at another golden."""
    chosen: list[Mutant] = []
    for number, attribute in enumerate(ATTRIBUTES):
        start = number * len(WHOLLY_RUN) // len(ATTRIBUTES)
        goldens = WHOLLY_RUN[start:] + WHOLLY_RUN[:start]
        chosen += islice((mutant for golden in goldens for mutant in damaged(golden, *attribute)), PER_KIND)
    return chosen


def test_every_damaged_attribute_is_different_or_refused() -> None:
    mutants = sample()
    found = verdicts(mutants)
    told = [(str(mutant), verdict) for mutant, verdict in zip(mutants, found, strict=True)]
    missed = [(m, v) for m, v in told if v != "refused" and not {"layout", "operands"} & set(v.split(","))]
    assert missed == []
    assert sum(verdict != "refused" for verdict in found) >= 29
    assert {mutant.kind for mutant in mutants} == {f"{function} {name}={value}" for function, name, value in ATTRIBUTES}
