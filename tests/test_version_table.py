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
