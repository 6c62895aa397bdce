"""Lines that two texts share: the blocks of a diff."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.codemods.syntax.shared_lines import line_matcher

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=14)


@settings(max_examples=200, deadline=None)
@given(LINES, LINES)
def test_the_opcodes_turn_one_into_the_other(old, new):
    made = []
    for tag, i1, i2, j1, j2 in line_matcher(old, new).get_opcodes():
        assert (tag == "equal") == (old[i1:i2] == new[j1:j2])
        made += old[i1:i2] if tag == "equal" else new[j1:j2]
    assert made == new


@settings(max_examples=200, deadline=None)
@given(LINES, LINES)
def test_blocks_are_in_order_and_do_not_touch(old, new):
    *blocks, end = line_matcher(old, new).get_matching_blocks()
    assert end == (len(old), len(new), 0)
    assert all(block.size for block in blocks)
    for first, second in pairwise(blocks):
        assert first.a + first.size <= second.a and first.b + first.size <= second.b
        assert (first.a + first.size, first.b + first.size) != (second.a, second.b)


def test_lines_that_both_have_once_are_matched_before_those_that_they_have_often():
    old = ["def first():", "    return", "", "def second():", "    return", ""]
    new = ["def second():", "    return", "", "def third():", "    return", ""]
    kept = [old[block.a] for block in line_matcher(old, new).get_matching_blocks() if block.size]
    assert kept[0] == "def second():"


def test_what_is_inserted_anywhere_is_all_that_changes():
    old = [f"line {n // 3}" for n in range(300)]
    place = random.Random(1).randrange(300)
    new = [*old[:place], "new", "new", *old[place:]]
    changes = [opcode for opcode in line_matcher(old, new).get_opcodes() if opcode[0] != "equal"]
    assert len(changes) == 1
    tag, i1, i2, j1, j2 = changes[0]
    assert (tag, i2 - i1, j2 - j1) == ("insert", 0, 2)
