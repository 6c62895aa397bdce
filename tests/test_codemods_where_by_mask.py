"""``nl.where(mask, x, y)``: ``y``, then ``x`` in the part that the mask leaves, in both versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from first_rung import rewrite
from nki_migrate.runtime.beta1.launch import launch
from nki_migrate.runtime.beta1.modules import MODULES
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.errors import KernelError, NotModelled

nl = MODULES["neuronxcc.nki.language"]
ROWS, COLUMNS = 16, 24
HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y, n, m):
    out = nl.ndarray((16, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    p = nl.arange(16)[:, None]
    f = nl.arange(24)[None, :]
    a, b = nl.load(x), nl.load(y)
"""
TAIL = "    nl.store(out, c)\n    return out\n"
MASKS = [
    "(p < n) & (f < m)",
    "p < n",
    "f < m",
    "(f >= m) & (p < n)",
    "(p < n) & (p < 9)",
    "nl.broadcast_to(f < m, shape=(16, 24))",
]
SIDES = ["a, b", "a, 0.5", "a, -1", "2.0, b", "nl.exp(a), nl.add(a, b)", "n, a", "a, a"]


def arguments(n: int, m: int, dtype: str = "float32") -> dict[str, Any]:
    tensors = {name: TensorSpec((ROWS, COLUMNS), dtype, "normal") for name in "xy"}
    return tensors | {"n": n, "m": m}


@pytest.mark.parametrize(("n", "m"), [(7, 10), (16, 24), (20, 1), (0, 5), (3, -2)])
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("mask", MASKS)
def test_the_rewrite_chooses_the_same(migrate, mask, sides, n, m):
    migration = migrate(f"{HEAD}    mask = {mask}\n    c = nl.where(mask, {sides})\n{TAIL}", arguments(n, m))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    "condition",
    [
        "a > 0.0",
        "a >= b",
        "0.5 < b",
        "(a > 0.0) & (b < 1.0)",
        "(a > b) & c0",
        "a[:, 0:24] > b",
        "a[:, 0:1] > b[:, 3:4]",
    ],
)
@pytest.mark.parametrize("sides", SIDES[:4])
def test_a_comparison_of_tiles_is_a_tile(migrate, condition, sides):
    statements = f"    c0 = nl.less(b, 0.9)\n    c = nl.where({condition}, {sides})\n"
    head = HEAD.replace("nl.load(x), nl.load(y)", "nl.load(x[0:16, 0:24]), nl.load(y[0:16, 0:24])")
    migration = migrate(f"{head}{statements}{TAIL}", arguments(16, 24))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "statement",
    [
        "c = nl.where((p < n) & (f < m), a, b, dtype=nl.bfloat16)",
        "c = nl.ndarray((16, 24), dtype=nl.float32)\n    c[...] = nl.where(p < n, a, b)",
        "c = nl.where(p < n, nl.where(f < m, a, b), nl.where(f < m, b, a))",
        "c = nl.exp(nl.where(p < n, a, 0.0))",
        "a = nl.where(p < n, b, a)\n    c = nl.add(a, b)",
        "v = min(24, m)\n    c = nl.where(f < v, a, b)",
        "c = nl.where((p < n) & (m > 3), a, b)",
        "t = nl.load(x[p, f], mask=(p < n) & (f < m))\n    c = nl.where((p < n) & (f < m), t, 0.0)",
    ],
)
def test_wherever_it_stands(migrate, statement, dtype):
    for n, m in ((7, 10), (16, 24)):
        migration = migrate(f"{HEAD}    {statement}\n{TAIL}", arguments(n, m, dtype))
        assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    "choice",
    [
        "nl.where(p >= f, a, b)",
        "nl.where(p + f < n, a, b)",
        "nl.where(p < n, a, b, mask=f < m)",
        "nl.where(p < n, 1.0, 2.0)",
        "nl.where(nl.arange(16)[:, None] < n, a[:, 0:1], b)",
    ],
)
def test_any_other_choice_by_a_mask_is_left(choice):
    outcome = rewrite(f"{HEAD}    c = {choice}\n{TAIL}")
    assert outcome.findings


@pytest.mark.parametrize(
    ("limit", "said"),
    [("min(24, m)", "v"), ("min(m, 24)", "v"), ("min(m, 24, n)", "v"), ("min(m, 25)", "f_size"), ("m + 1", "f_size")],
)
def test_a_limit_that_is_the_smaller_of_two_is_the_size(limit, said):
    source = HEAD.replace("a, b = ", f"v = {limit}\n    a, b = ") + f"    c = nl.copy(a)\n{TAIL}"
    source = source.replace("nl.load(y)", "nl.load(y[p, f], mask=f < v)")
    after = rewrite(source).source
    assert f"dst=b[:, 0:{said}]" in after
    assert ("f_size = min(24, v)" in after) == (said == "f_size")


X = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
INSIDE = (np.arange(ROWS)[:, None] < 5) & (np.arange(COLUMNS)[None, :] < 7)


def chosen(x: Any, y: Any) -> Any:
    """What Beta 1 gives by a mask of 5 rows and 7 columns."""

    def kernel(data: Any) -> Any:
        tile, out = nl.load(data), nl.ndarray(data.shape, dtype=np.float32, buffer=nl.shared_hbm)
        mask = (nl.arange(ROWS)[:, None] < 5) & (nl.arange(COLUMNS)[None, :] < 7)
        nl.store(out, nl.where(mask, x(tile), y(tile)))
        return out

    return launch(kernel, {"data": X}).outputs[0]


def test_beta_1_chooses_by_a_mask_as_numpy_does():
    np.testing.assert_array_equal(chosen(lambda t: t, nl.negative), np.where(INSIDE, X, -X))
    np.testing.assert_array_equal(chosen(lambda t: t, lambda t: 2.0), np.where(INSIDE, X, 2))
    np.testing.assert_array_equal(chosen(lambda t: 3.0, lambda t: t), np.where(INSIDE, 3, X))


@pytest.mark.parametrize("what", ["tied vectors", "other sizes", "no broadcast"])
def test_what_beta_1_s_emulator_does_not_choose_by(what):
    def kernel(x: Any) -> Any:
        tile, p, f = nl.load(x), nl.arange(ROWS)[:, None], nl.arange(COLUMNS)[None, :]
        if what == "no broadcast":
            return nl.broadcast_to(p < 3, shape=(ROWS + 1, COLUMNS))
        return nl.where(p >= f if what == "tied vectors" else nl.arange(4)[:, None] < 3, tile, 0.0)

    with pytest.raises((NotModelled, KernelError)):
        launch(kernel, {"x": X})
