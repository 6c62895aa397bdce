"""The versions of NKI are positions, and what each changed is told by rows that agree with the tables of names."""

from __future__ import annotations

import itertools

import pytest
from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.change import Change
from nki_migrate.runtime.spec.changes import CHANGES, changes
from nki_migrate.runtime.spec.versions import (
    ANNOUNCED,
    EVER,
    NAMES,
    NEWEST,
    OLDEST,
    V03,
    V04,
    V05,
    VERSIONS,
    Span,
    Version,
    version,
)


def test_versions_compare_by_position() -> None:
    assert list(VERSIONS) == sorted(VERSIONS) and OLDEST < V03 < NEWEST
    assert [version(name) for name in NAMES] == list(VERSIONS)
    with pytest.raises(ValueError, match=r"there is no NKI version 0\.9: choose from 0\.2, 0\.3"):
        version("0.9")


def test_a_version_that_is_only_announced_says_what_to_write_for_it() -> None:
    assert not set(ANNOUNCED) & set(NAMES)
    with pytest.raises(ValueError, match=r"NKI 0\.7 \(SDK 2\.33\) is not known here yet: it takes what .* for 0\.6"):
        version("0.7")


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


def has(at: Version, name: str) -> bool:
    """Does version ``at`` have the name, or the parameter after its colon?"""
    function, _, parameter = name.partition(":")
    entry = beta2.symbol(function, at)
    return entry is not None and (not parameter or parameter in entry.accepted())


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: row.name)
def test_what_a_change_takes_and_gives_is_so_in_the_tables(row: Change) -> None:
    before = VERSIONS[row.since.position - 1]
    for name in row.lost:
        assert has(before, name) and not has(row.since, name), name
    for name in row.gained:
        assert has(row.since, name) and not has(before, name), name


@pytest.mark.parametrize(("old", "new"), [*itertools.pairwise(VERSIONS)], ids=str)
def test_every_argument_that_goes_or_moves_is_a_change(old: Version, new: Version) -> None:
    """What a call of the older version says, by keyword or by position, binds alike or stands in a row."""
    rows = changes(old, new)
    gone, moved = {name for row in rows for name in row.lost}, {name for row in rows for name in row.moved}
    unbound = {name for name, entry in beta2.table(old).items() if beta2.symbol(name, new) is None and entry.documented}
    assert unbound <= gone, unbound - gone
    for name, entry in beta2.table(old).items():
        later = beta2.symbol(name, new)
        if later is None or later.parameters is None or entry.parameters is None:
            continue
        lost = set(entry.accepted()) - set(later.accepted()) - SPELLED_OTHERWISE
        assert {f"{name}:{parameter}" for parameter in lost} <= gone, name
        order, after = [p.name for p in entry.parameters], [p.name for p in later.parameters]
        if later.keywords or any(p.refused for p in entry.parameters) or name in moved:
            continue  # the row "positions" is of all functions that had a mask
        for place, parameter in enumerate(order):
            assert parameter not in after or parameter == "name" or after.index(parameter) == place, (name, parameter)


SPELLED_OTHERWISE = {"t", "priority", "engine", "address_rotation", "output_buffer", "reduce_cmd", "reduce_init"}
"""Parameters of 0.2 that no page documents or that have another name there; later versions document some again."""


def test_tables_grow_by_what_the_documents_list() -> None:
    """Names of the stubs of each tag, counted by a script that parsed them (v2.28.0 to v2.32.0)."""
    kinds = {"function", "token", "dtype", "buffer", "enum", "member", "class"}
    counted = [sum(e.documented and e.kind in kinds for e in beta2.table(at).values()) for at in VERSIONS]
    assert counted == sorted(counted) and len(beta2.table(NEWEST)) == 276
    for at in VERSIONS[1:]:
        assert beta2.table(at)["nki.language.add"].is_callable and beta2.table(at)["nki.isa.nc_matmul"].is_callable


@pytest.mark.parametrize(
    ("member", "since", "until"),
    [
        ("address", 0, 1),
        ("pattern", 0, 1),
        ("get_pattern", 1, 5),
        ("is_identity", 2, 3),
        ("permute", 3, 5),
        ("ap", 0, 5),
    ],
)
def test_members_of_tensors_by_version(member: str, since: int, until: int) -> None:
    assert [at for at in VERSIONS if member in beta2.tensor(at)] == list(VERSIONS[since:until])
