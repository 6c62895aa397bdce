"""What an indirect access reads row by row is what it reads element by element."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from nki_migrate.runtime import shims
from nki_migrate.runtime.beta1 import indirect
from nki_migrate.runtime.beta1.launch import launch

with shims.installed():
    import neuronxcc.nki.isa as nisa
    import neuronxcc.nki.language as nl


def rows_of_a_batch(x: Any, first: int, width: int, bound: int) -> Any:
    """Rows ``3 p % height`` of the second image, ``width`` columns from ``first``; of ``bound`` partitions."""
    _, height, _ = x.shape
    out = nl.ndarray((64, width), dtype=x.dtype, buffer=nl.shared_hbm)
    p, f = nl.arange(64)[:, None], nl.arange(width)[None, :]
    chosen = nl.mod(nl.multiply(nisa.iota(p, dtype=nl.int32), 3, dtype=nl.int32), height, dtype=nl.int32)
    tile = nl.load(x[1, chosen, first + f], mask=(p < bound))
    nl.store(out[p, f], nl.zeros((64, width), dtype=x.dtype))
    nl.store(out[p, f], tile, mask=(p < bound))
    return out


def every_second_column(x: Any) -> Any:
    out = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    p, f = nl.arange(64)[:, None], nl.arange(8)[None, :]
    chosen = nl.mod(nisa.iota(p, dtype=nl.int32), 7, dtype=nl.int32)
    nl.store(out[p, f], nl.load(x[1, chosen, 2 * f]))
    return out


def elements(monkeypatch: pytest.MonkeyPatch, kernel: Any, arguments: dict[str, Any]) -> Any:
    monkeypatch.setattr(indirect, "_rows", lambda tile, where: None)
    return launch(kernel, arguments).outputs[0]


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int8, np.int32])
@pytest.mark.parametrize(("first", "width", "bound"), [(0, 20, 64), (5, 15, 64), (3, 1, 64), (0, 20, 37), (19, 1, 1)])
def test_rows_are_read_as_their_elements_are(
    dtype: Any, first: int, width: int, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).integers(-100, 100, (2, 7, 20)).astype(dtype)
    arguments = {"x": x, "first": first, "width": width, "bound": bound}
    found = launch(rows_of_a_batch, arguments).outputs[0]
    expected = x[1, np.arange(64) * 3 % 7, first : first + width]
    expected[bound:] = 0
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))
    np.testing.assert_array_equal(found, elements(monkeypatch, rows_of_a_batch, arguments))


def test_columns_that_do_not_follow_each_other_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(2 * 7 * 20, dtype=np.float32).reshape(2, 7, 20)
    found = launch(every_second_column, {"x": x}).outputs[0]
    np.testing.assert_array_equal(found, x[1, np.arange(64) % 7, :16:2])
    np.testing.assert_array_equal(found, elements(monkeypatch, every_second_column, {"x": x}))


def test_an_index_out_of_bounds_is_the_same_error_in_rows() -> None:
    x = np.zeros((2, 7, 20), np.float32)
    with pytest.raises(Exception, match=r"[Oo]ut.of.bound|out of bounds"):
        launch(rows_of_a_batch, {"x": x, "first": 5, "width": 20, "bound": 64})
