"""What a version of NKI changes itself is named where two versions of a kernel differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from nki_migrate.runtime.beta2.launch import execute
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.compare import Run, Verdict, compare_numbers, compare_operands
from nki_migrate.runtime.compare.trace import run_of
from nki_migrate.runtime.spec.hardware import TARGETS

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]


def stored(tile):
    out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


def scales(x):
    source, data = nl.ndarray((32, 32), nl.bfloat16, nl.sbuf), nl.ndarray((32, 8), nl.float8_e5m2_x4, nl.sbuf)
    scale = nl.ndarray((4, 8), nl.uint8, nl.sbuf)
    nisa.memset(source, 1.0)
    nisa.quantize_mx(dst=data, src=source, dst_scale=scale)
    return stored(scale)


def copied(x):
    ints = nl.ndarray((4, 1), nl.int32, nl.sbuf)
    nisa.iota(ints, [[1, 1]], offset=2**24 + 1)
    return stored(nl.copy(ints))


def plain(x):
    tile = nl.ndarray((4, 1), nl.float32, nl.sbuf)
    nisa.memset(tile, 1.0)
    return stored(tile)


def ran(kernel, version) -> Run:
    launched = execute(
        kernel, {"x": np.zeros((1, 1), np.float32)}, version=version, target=TARGETS["gen4"], record=True
    )
    return replace(run_of(launched.outputs, launched.machines), version=version)


@pytest.mark.parametrize(
    ("kernel", "old", "new", "note"),
    [
        (
            scales,
            "0.4",
            "0.5",
            "NKI 0.5 itself changed this (block-scale): quantize_mx uses a block scale twice as large",
        ),
        (scales, "0.2", "0.6", "NKI 0.5 itself changed this (block-scale)"),
        (copied, "0.5", "0.6", "NKI 0.6 itself changed this (exact-copy)"),
    ],
)
def test_a_difference_that_a_version_makes_is_named(kernel, old, new, note):
    found = compare_numbers(ran(kernel, old), ran(kernel, new))
    assert found.verdict is Verdict.DIFFERENT
    assert [text for text in found.notes if text.startswith(note)]


def test_nothing_is_named_where_nothing_differs_or_no_version_changed_it():
    for old, new in (("0.2", "0.4"), ("0.5", "0.6")):
        assert compare_numbers(ran(scales, old), ran(scales, new)).verdict is Verdict.EQUAL
    other = replace(ran(plain, "0.6"), outputs=ran(scales, "0.6").outputs)
    assert compare_numbers(ran(plain, "0.2"), other).notes == ()
    assert not any("itself" in text for text in compare_operands(ran(plain, "0.3"), ran(copied, "0.3")).notes)
