"""Tiles that are filled: before the loops or in them, block by block or as one tensor, it is the same program."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime import isa
from nki_migrate.runtime.compare import Verdict, compare_operands
from nki_migrate.runtime.memory import View
from test_compare_operands import Bench, _view, record

Program = Callable[[Bench], None]
STYLES = ("list", "fold", "loop")
ADDED = st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1, max_size=4)
"""For each block the planes of x that are added to it."""


def program(style: str, added: list[list[int]], value: float = 1.0, late: int = -1, missing: int = -1) -> Program:
    """Fills a tile for each block, adds planes to it, stores it. Block ``late`` is filled after the first of them."""

    def run(b: Bench) -> None:
        n = len(added)
        part = b.tile("part")
        whole = b.tile("acc", shape=(128, n, 64)) if style == "fold" else None
        tiles = [b.tile("acc", block=(i,)) for i in range(n)] if style == "list" else []
        if whole is not None and late < 0 and missing < 0:
            isa.commit(b.machine, isa.memset(whole.shape, value, whole.dtype), _view(whole))
        views = []
        for i in range(n):
            tile = tiles[i] if tiles else whole
            views.append(_view(tile, np.s_[:, i] if whole is not None else ...) if tile is not None else None)
            if style == "list" and i not in (late, missing):
                fill(b, views[i])
        for i, planes in enumerate(added):
            if style == "loop":
                views[i] = _view(b.tile("acc"))
            if (style == "loop" or (whole is not None and max(late, missing) >= 0)) and i not in (late, missing):
                fill(b, views[i])
            for at, plane in enumerate(planes):
                b.copy(part, b.x, of=plane)
                isa.commit(b.machine, isa.tensor_tensor(views[i], _view(part), "add"), views[i])
                if i == late and at == 0:
                    fill(b, views[i])
            isa.commit(b.machine, isa.copy("dma_copy", views[i]), _view(b.out, i))

    def fill(b: Bench, view: View) -> None:
        isa.commit(b.machine, isa.memset(view.array.shape, value, view.array.dtype), view)

    return run


def verdict(old: Program, new: Program) -> Verdict:
    return compare_operands(record(old), record(new)).verdict


@settings(max_examples=40, deadline=None)
@given(added=ADDED, old=st.sampled_from(("list", "loop")), new=st.sampled_from(STYLES))
def test_a_tile_is_filled_before_it_is_used_wherever_that_is(added, old, new):
    assert verdict(program(old, added), program(new, added)) is Verdict.EQUAL


@settings(max_examples=40, deadline=None)
@given(added=ADDED, old=st.sampled_from(("list", "loop")), new=st.sampled_from(STYLES), data=st.data())
def test_another_value_or_a_fill_too_late_or_none_is_seen(added, old, new, data):
    damages: list[dict[str, float | int]] = [{"value": 2.0}, {"missing": data.draw(st.integers(0, len(added) - 1))}]
    used = [i for i, planes in enumerate(added) if planes]
    if used:
        damages.append({"late": data.draw(st.sampled_from(used))})
    damage = data.draw(st.sampled_from(damages))
    assert verdict(program(old, added), program(new, added, **damage)) is Verdict.DIFFERENT  # type: ignore[arg-type]


@pytest.mark.parametrize("blocks", [1, 3])
def test_how_many_fills_are_one_is_said(blocks):
    added = [[0]] * blocks
    notes = compare_operands(record(program("list", added)), record(program("fold", added))).notes
    assert [note for note in notes if "NKI010" in note] == (
        [f"{blocks - 1} memset fewer after: one fills all blocks of a folded tensor, declared by NKI010"] * (blocks > 1)
    )


def test_pinned_tiles_are_filled_where_they_were():
    def kernel(first: bool) -> Program:
        def run(b: Bench) -> None:
            a, c = b.tile("a", 0), b.tile("c", 0)  # one address: the order decides what is there
            for tile in (a, c) if first else (c, a):
                b.clear(tile, 1.0 if tile is a else 2.0)
            b.copy(b.out, a, at=0)

        return run

    assert verdict(kernel(True), kernel(False)) is Verdict.DIFFERENT


@pytest.mark.parametrize("shapes", [((128, 64), (128, 32)), ((128, 64), (128, 64))], ids=["two sizes", "one size"])
def test_two_tiles_may_be_filled_in_either_order_before_they_are_used(shapes):
    def kernel(first: bool, value: float = 0.0) -> Program:
        def run(b: Bench) -> None:
            tiles = [b.tile(name, shape=shape) for name, shape in zip(("a", "c"), shapes, strict=True)]
            for tile in tiles if first else tiles[::-1]:
                view = _view(tile)
                isa.commit(b.machine, isa.memset(view.array.shape, value, view.array.dtype), view)
            for tile in tiles:
                isa.commit(b.machine, isa.tensor_scalar(_view(tile), "add", 1.0), _view(tile))

        return run

    assert verdict(kernel(True), kernel(False)) is Verdict.EQUAL
    assert verdict(kernel(True), kernel(False, 1.0)) is Verdict.DIFFERENT
