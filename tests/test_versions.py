"""The versions of NKI are positions, and what each changed is told by rows that agree with the tables of names."""

from __future__ import annotations

import itertools

import pytest
from nki_migrate.runtime.spec.change import Change
from nki_migrate.runtime.spec.changes import CHANGES, changes
from nki_migrate.runtime.spec.versions import EVER, NAMES, NEWEST, OLDEST, V03, V04, V05, VERSIONS, Span, version


def test_versions_compare_by_position() -> None:
    assert list(VERSIONS) == sorted(VERSIONS) and OLDEST < V03 < NEWEST
    assert [version(name) for name in NAMES] == list(VERSIONS)
    with pytest.raises(ValueError, match=r"there is no NKI version 0\.9: choose from 0\.2, 0\.3"):
        version("0.9")


def test_a_span_ends_before_until() -> None:
    assert [item for item in VERSIONS if item in Span(V03, V05)] == [V03, V04]
    assert all(item in EVER for item in VERSIONS)


def test_changes_are_in_order_and_have_names_of_their_own() -> None:
    assert [row.since for row in CHANGES] == sorted(row.since for row in CHANGES)
    assert len({row.name for row in CHANGES}) == len(CHANGES) >= 30
    assert sum(len(changes(old, new)) for old, new in itertools.pairwise(VERSIONS)) == len(CHANGES)
    assert changes(V04, V04) == ()


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: row.name)
def test_a_change_has_a_source_and_a_rule_or_a_reason(row: Change) -> None:
    assert row.source and row.what and row.since > OLDEST
    assert bool(row.rule) != bool(row.reason)
