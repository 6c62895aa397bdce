"""``tile[...] = function(..)``: Beta 1 wrote what the function returned to its place, and rounded it once.

The new function returns a tile of its own, which is copied. Where its type is narrower than that of the place, a number
was rounded twice, without a word; the kernel asserts now that it is not.
"""

from __future__ import annotations

import random

import pytest
from first_rung import Options
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


def computed(t, u):
    return {value}


@nki.jit
def k(x):
    out = nl.ndarray((64, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.ndarray((64, 16), dtype={place})
    b[...] = computed(a, a)
    nl.store(out, b)
    return out
"""
ROUNDED = ["nl.multiply(t, u)", "t * u", "nl.exp(t)", "nisa.tensor_scalar(t, np.multiply, 1.1)", "nl.sum(t, axis=1)"]
EXACT = [
    "nl.copy(t)",
    "nl.greater(t, u)",
    "nl.multiply(t, u, dtype=nl.bfloat16)",
    "nl.multiply(t, u, dtype=nl.float32)",
]
WANTED = "rewritten for a returned result of the type of its place"


def migrated(migrate, value: str, place: str, dtype: str):
    x = TensorSpec((64, 16), dtype, "normal")
    return migrate(SOURCE.format(value=value, place=place), {"x": x}, Options(unsafe=True))


@pytest.mark.parametrize("value", ROUNDED)
def test_a_result_that_would_be_rounded_twice_ends_the_kernel(migrate, value):
    migration = migrated(migrate, value, "nl.float32", "bfloat16")
    assert migration.objection is None and not migration.outcome.findings
    assert any(WANTED in trouble for trouble in migration.trouble)


@pytest.mark.parametrize(("value", "dtype"), [(v, "float32") for v in ROUNDED] + [(v, "bfloat16") for v in EXACT])
@pytest.mark.parametrize("place", ["nl.bfloat16", "nl.float32", "x.dtype"])
def test_any_other_result_has_the_same_numbers(migrate, value, dtype, place):
    migration = migrated(migrate, value, place, dtype)
    assert migration.objection is None
    assert not any("numbers" in trouble or WANTED in trouble for trouble in migration.trouble)


@pytest.mark.parametrize("seed", range(12))
def test_functions_never_give_other_numbers_without_a_word(migrate, seed):
    chosen = random.Random(seed)
    value = chosen.choice(ROUNDED + EXACT)
    place = chosen.choice(["nl.float32", "nl.bfloat16", "nl.float16", "x.dtype", "nl.int32"])
    migration = migrated(migrate, value, place, chosen.choice(["float32", "bfloat16", "float16"]))
    assert migration.outcome.findings or not any("numbers: different" in line for line in migration.trouble)
