"""``(2, *x.shape)`` is a sum of tuples: Beta 2 has no starred expressions, and a shape is a tuple."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest
from first_rung import rewrite
from nki_migrate.codemods.model import Options
from nki_migrate.codemods.plan.starred_shapes import added
from nki_migrate.codemods.syntax.source import Source

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    made = nl.ndarray({shape}, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(made[0, 0:128, 0:64], value=nl.load(x[0:128, 0:64]))
    return made
"""
SHAPES = {
    "(2, *x.shape)": "(2,) + x.shape",
    "(*x.shape, 2)": "x.shape + (2,)",
    "(*x.shape[:-1], 2, x.shape[-1])": "x.shape[:-1] + (2, x.shape[-1])",
    "(1, 2, *x.shape[1:], *x.shape,)": "(1, 2) + x.shape[1:] + x.shape",
    "(*x.shape,)": "x.shape",
}
TOGETHER = {
    "(1, (2, *x.shape), 3)": "(1, ((2,) + x.shape), 3)",
    "(*x.shape, *(1, *x.shape))": "(*x.shape, *((1,) + x.shape))",
    "f'{(2, *x.shape)}'": None,
    "len((2, *x.shape))": "len((2,) + x.shape)",
    "(2, *x.shape)[0]": None,
    "3 * (2, *x.shape)": "3 * ((2,) + x.shape)",
    "(2, *x.shape) + (1,)": "((2,) + x.shape) + (1,)",
    "(2, *others)": None,
    "[2, *x.shape]": None,
}


@pytest.mark.parametrize(("shape", "summed"), SHAPES.items())
def test_a_shape_in_a_tuple_is_added(shape: str, summed: str) -> None:
    outcome = rewrite(KERNEL.format(shape=shape))
    assert f"nl.ndarray({summed}, dtype" in outcome.source
    assert not [found for found in outcome.findings if found.code == "NKI091"]


@pytest.mark.parametrize(("value", "summed"), TOGETHER.items())
def test_a_sum_is_what_the_tuple_was(value: str, summed: str | None) -> None:
    before = KERNEL.format(shape="x.shape").replace("    made =", f"    wide = {value}\n    made =")
    after = added({"k.py": Source(before, "k.py")}, Options())["k.py"].text
    assert after == (before if summed is None else before.replace(f"wide = {value}", f"wide = {summed}"))
    given = {"x": SimpleNamespace(shape=(4, 5)), "others": (6, 7)}
    (old,), (new,) = ([s for s in ast.walk(ast.parse(t)) if isinstance(s, ast.Assign)][:1] for t in (before, after))
    assert eval(ast.unparse(new.value), dict(given)) == eval(ast.unparse(old.value), dict(given))


def test_where_targets_take_the_tuple_apart_it_is_not_added() -> None:
    before = KERNEL.format(shape="x.shape").replace("    made =", "    a, *b = (2, *x.shape)\n    made =")
    assert added({"k.py": Source(before, "k.py")}, Options())["k.py"].text == before


def test_what_is_left_has_help_that_fits() -> None:
    outcome = rewrite(KERNEL.format(shape="[2, *x.shape]"))
    assert [f.help for f in outcome.findings if f.code == "NKI091"] == [
        "write its elements, or add tuples: (n,) + x.shape"
    ]
