"""Parts of what may be a part of a tensor itself: of a copy, under review."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def tile_of(buffer, i, fresh):
    if fresh:
        tile = nl.copy(buffer[:, i], dtype=nl.float32)
    else:
        tile = buffer[:, i]
    return tile


def use(v, out):
{use}


@nki.jit
def k(x, fresh):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    buffer = nl.ndarray((nl.par_dim(128), 4, 64), dtype=x.dtype, buffer=nl.sbuf)
    buffer[...] = nl.load(x)
    v = tile_of(buffer, 1, fresh)
    use(v, out)
    return out
"""
USES = {
    "in a loop": "for j in nl.affine_range(2):\n    nl.store(out[:, nl.ds(j * 32, 32)], v[:, nl.ds(j * 32, 32)])",
    "at once": "nl.store(out, nl.add(v[:, 0:64], v[:, 0:1]))",
    "in loops": (
        "for i in range(2):\n    for j in range(2):\n"
        "        nl.store(out[:, nl.ds(j * 32, 32)], nl.multiply(v[:, nl.ds(j * 32, 32)], 2.0))"
    ),
}
ARGS = {"x": TensorSpec((128, 4, 64), "float32")}
UNSAFE = Options(unsafe=True)


def kernel(use: str) -> str:
    return KERNEL.format(use="\n".join(f"    {line}" for line in use.split("\n")))


@pytest.mark.parametrize("fresh", [0, 1])
@pytest.mark.parametrize("use", USES)
def test_a_copy_is_read_in_place_of_what_may_be_a_part(migrate, use, fresh):
    migration = migrate(kernel(USES[use]), {**ARGS, "fresh": fresh}, UNSAFE)
    assert (migration.outcome.findings, migration.objection) == ((), None)
    assert not any(line.startswith("numbers") for line in migration.trouble)
    assert rewrite(migration.outcome.source, UNSAFE).source == migration.outcome.source


def test_the_copy_stands_before_the_outermost_loop():
    source = rewrite(kernel(USES["in loops"]), UNSAFE).source
    assert "    nisa.tensor_copy(dst=v_copy, src=v)\n    for i in range(2):\n" in source
    assert source.count("src=v)") == 1


def test_without_unsafe_it_is_a_finding_under_review():
    outcome = rewrite(kernel(USES["in a loop"]))
    [finding] = outcome.findings
    assert finding.applicability == "review" and "which may be a part of a tensor itself" in finding.message


WRITES = ["v[:, 0:32] = nl.multiply(v, 2.0)", "v[:, 0:32] += 1.0", "nisa.dma_copy(dst=v[:, 0:32], src=out[:, 0:32])"]


@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_what_may_be_a_part_is_left_alone(write):
    source = kernel(f"{write}\nnl.store(out, v)")
    findings = [f for f in rewrite(source, UNSAFE).findings if f.applicability == "manual"]
    assert findings and "v_copy" not in rewrite(source, UNSAFE).source
