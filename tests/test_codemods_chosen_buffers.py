"""A buffer under a name that branches or loops bind to different addresses: the tile is where it was, or it is said."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


@nki.jit
def k(x, high):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    base = 512
    place = ncc.sbuf.mod_alloc(base_addr=0)
{binding}
    tile = nl.ndarray((nl.par_dim(rows), columns), dtype=nl.float32, buffer=place)
    tile[...] = nl.load(x)
    nl.store(out, value=tile)
    return out
"""
X = TensorSpec((32, 16), "float32", "normal")
AT = "place = ncc.sbuf.mod_alloc(base_addr="

DIFFER = {
    "branches": f"if high:\n    {AT}1024)\nelse:\n    {AT}2048)",
    "one branch": f"if high:\n    {AT}1024)",
    "a choice": f"{AT}1024) if high else ncc.sbuf.mod_alloc(base_addr=2048)",
    "a loop": f"for i in nl.static_range(3):\n    {AT}1024 + i * 64)",
    "a loop that is traced once": f"for i in nl.affine_range(3):\n    {AT}1024)",
    "a size that changes": f"{AT}base)\nbase = 2048",
}
AGREE = {
    "one binding": f"{AT}1024)",
    "two bindings": f"{AT}1024)\n{AT}2048)",
    "an address or none": "place = ncc.sbuf.mod_alloc(base_addr=1024) if high else nl.sbuf",
}


def kernel(binding):
    return KERNEL.replace("{binding}", "\n".join(f"    {line}" for line in binding.split("\n")))


@pytest.mark.parametrize("name", DIFFER)
def test_addresses_that_differ_are_said(name):
    messages = [finding.message for finding in rewrite(kernel(DIFFER[name])).findings]
    assert "a buffer that the source does not show" in messages


@pytest.mark.parametrize("high", [True, False])
@pytest.mark.parametrize("name", AGREE)
def test_one_address_is_written(migrate, name, high):
    migration = migrate(kernel(AGREE[name]), {"x": X, "high": high})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
