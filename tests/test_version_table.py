"""``nki-migrate versions``: every version, every change, and rules that there are."""

from __future__ import annotations

import json

from nki_migrate.codemods.ladder.registry import RULES
from nki_migrate.runtime.spec.changes import CHANGES
from nki_migrate.runtime.spec.versions import NAMES
from nki_migrate.version_table import versions_json, versions_text


def test_every_version_and_every_change_is_listed() -> None:
    rows = json.loads(versions_json())
    assert [row["version"] for row in rows] == list(NAMES)
    assert [change["name"] for row in rows for change in row["changes"]] == [change.name for change in CHANGES]
    lines = versions_text().split("\n")
    assert len(lines) == len(NAMES) + len(CHANGES) + 1


def test_the_rules_of_the_table_are_those_of_the_ladder() -> None:
    assert {change.rule for change in CHANGES if change.rule is not None} == set(RULES)


GUIDE = {
    "0.3": """platform-target jit-mode dma-of-psum hardware-dge-types dma-accumulation memset-literal reduce-axes
        dma-compute-order sendrecv-engine affine-select-offset register-move channels shared-outputs enum-members
        buffer-objects dma-engine-alias keyword-only identity list-arguments memset-packed range-select defaults
        accumulate""".split(),
    "0.4": """transposed-ranks namespace dynamic-copies sbuf-size simulator-precision induction-variable
        transpose-engine bool-outputs mixed-fp8""".split(),
    "0.5": "rsqrt-of-psum reshape-count launch-grids scale-types block-scale".split(),
    "0.6": "counted-loops conditional-loops exact-copy partition-limit simulator-fixes".split(),
}
"""What headings of ``nki/migration/index.rst`` and the release notes at v2.32.0 name, by the rows that stand for it:
breaking changes, removed and deprecated names, changed defaults, and fixes that change what a kernel means."""


def test_what_the_vendor_names_has_a_row() -> None:
    rows = {(change.since.name, change.name) for change in CHANGES}
    assert {(version, name) for version, names in GUIDE.items() for name in names} <= rows


def test_each_change_names_a_rule_or_the_reason_for_none() -> None:
    for change in CHANGES:
        assert (change.rule is None) == bool(change.reason), change.name
        if change.kind == "differs" and change.rule is None:
            assert change.name == "stepped-slices", "what means something else has a rule: check refuses this at 0.2"
