"""``--allocation sbuf-manager`` on every golden with pinned tiles in SBUF: all of them from the manager, none moved."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.runtime.cases import read_cases
from nki_migrate.runtime.compare import LEVELS
from nki_migrate.runtime.legality import check_source
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.verify import judged

PINNED = {
    "alloc_alias": 3,
    "alloc_dict": 3,
    "alloc_factory": 2,
    "alloc_object": 3,
    "block_grid_modulo": 2,
    "declared_in_loop": 2,
    "dtype_by_generation": 3,
    "fused_rmsnorm": 9,
    "launch_grid": 2,
    "modulo_table": 1,
    "overlapping_tiles": 2,
    "psum_banks": 3,
    "running_counter": 5,
    "section_counter": 3,
    "softmax_attention": 11,
}
"""Golden -> how many tensors the manager places."""

KEPT = {
    "alloc_function": "its function is not seen to put one tile behind the other",
    "partition_tiles": "its blocks lie in different partitions",
}
"""Golden -> why its tensors keep their addresses."""


def migrated(name: str, blocks: str):
    golden = GOLDENS[name]
    options = Options(**{**golden.options, "allocation": "sbuf-manager", "blocks": blocks})
    return rewrite(golden.before, options, str(golden.before_path))


@pytest.mark.parametrize("blocks", ["auto", "list"])
@pytest.mark.parametrize("name", PINNED)
def test_no_tile_moves(tmp_path, workers, name, blocks):
    golden, outcome = GOLDENS[name], migrated(name, blocks)
    assert [f.message for f in outcome.findings if f.code == "NKI014"] == []
    assert len({d.name for d in outcome.decisions if d.choice == "SbufManager"}) == PINNED[name]
    after = tmp_path / "after.py"
    after.write_text(outcome.source)
    assert list(check_source(outcome.source, str(after), target="0.2")) == []
    for case in read_cases(golden.cases_path).cases:
        target = case.hardware or DEFAULT_TARGET
        kinds = (("run", golden.before_path), ("run", after), ("reference", golden.before_path))
        replies = [workers.submit(Request(kind, str(path), case, target)).result() for kind, path in kinds]
        result = judged(case, LEVELS, *replies)
        assert [(p.side, p.message) for p in result.problems] == []
        differences = [d.message for level in (*result.levels, *result.reference) for d in level.differences]
        assert {level.verdict.value for level in result.levels} == {"equal"}, differences


@pytest.mark.parametrize("name", KEPT)
def test_what_keeps_its_address_says_why(name):
    messages = [f.message for f in migrated(name, "auto").findings if f.code == "NKI014"]
    assert messages and all(KEPT[name] in message for message in messages)
