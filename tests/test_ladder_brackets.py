"""An index in brackets of its own, ``t[(i)]``: the slice in its place has none, ``t[(i : i + 1)]`` is no Python."""

from __future__ import annotations

import ast

import pytest
from nki_migrate.codemods import Options, rewrite

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((1, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    for n in range(4):
        part = t[{index}]
        nisa.dma_copy(dst=out, src=part)
    return out
"""


@pytest.mark.parametrize(
    ("index", "slice_"),
    [
        ("(n)", "n : n + 1"),
        ("(( n ) )", "n : n + 1"),
        ("(n % 2)", "n % 2 : (n % 2) + 1"),
        ("(n), 0:64", "n : n + 1, 0:64"),
        ("(3)", "3:4"),
        ("(n) + (1)", "(n) + (1) : ((n) + (1)) + 1"),
    ],
)
def test_the_slice_has_no_brackets(index, slice_):
    text = rewrite(KERNEL.format(index=index), Options(source="0.2", target="0.6", unsafe=True)).source
    ast.parse(text)
    assert f"t[{slice_}]" in text
