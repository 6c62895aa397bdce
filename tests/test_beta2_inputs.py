"""The caller's arrays: read where they are, and given back as they were whatever a kernel writes to them."""

import numpy as np
import pytest
from nki_migrate.runtime.beta2.launch import execute
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.errors import KernelError

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]
X = np.arange(32, dtype=np.float32).reshape(4, 8)


def loaded(x):
    tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    return tile


def stored(tile):
    out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


def in_place(x):
    """Doubles the input where it is, in two parts, and reads it again."""
    tile = loaded(x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=x[0:2, 0:8], src=tile[0:2, 0:8])
    nisa.dma_copy(dst=x[2:4, 0:8], src=tile[2:4, 0:8])
    return stored(loaded(x)), x


def ends_behind_a_write(x):
    zeros = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=zeros, value=0.0)
    nisa.dma_copy(dst=x, src=zeros)
    nisa.dma_copy(dst=x[0:3, 0:8], src=zeros)


def moved(x, y):
    """Writes the first input, and gives the second back."""
    nisa.dma_copy(dst=x, src=loaded(y))
    nisa.tensor_scalar(dst=(tile := loaded(y)), data=tile, op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=x, src=tile)
    return stored(loaded(y))


def scattered(x, rows, indices):
    chosen, values = loaded(indices), loaded(rows)
    nisa.dma_copy(dst=x.ap(pattern=[[8, 2], [1, 8]], offset=0, vector_offset=chosen, indirect_dim=0), src=values)
    return stored(loaded(x))


def test_a_kernel_sees_what_it_wrote_and_the_caller_does_not():
    x = X.copy()
    found = execute(in_place, {"x": x}).outputs
    np.testing.assert_array_equal(found, [2 * X, 2 * X])
    np.testing.assert_array_equal(x, X)
    assert x.flags.writeable


def test_rows_that_a_tensor_of_indices_chooses_are_written_for_the_kernel_alone():
    x, rows = X.copy(), -np.ones((2, 8), np.float32)
    found = execute(scattered, {"x": x, "rows": rows, "indices": np.array([[3], [1]], np.int32)}).outputs[0]
    expected = X.copy()
    expected[[3, 1]] = -1
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(x, X)


def test_the_caller_has_its_array_back_when_the_kernel_fails_behind_a_write():
    x = X.copy()
    with pytest.raises(KernelError):
        execute(ends_behind_a_write, {"x": x})
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("again", [lambda x: x, lambda x: x[:], lambda x: x.reshape(-1).reshape(4, 8)])
def test_two_tensors_never_lie_in_one_array(again):
    x = X.copy()
    found = execute(moved, {"x": x, "y": again(x)}).outputs[0]
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("as_it_is", ["read-only", "transposed"])
def test_an_array_that_cannot_be_lent_is_copied(as_it_is):
    x = {"read-only": X.copy(), "transposed": X.T.copy().T}[as_it_is]
    x.flags.writeable = as_it_is != "read-only"
    np.testing.assert_array_equal(execute(in_place, {"x": x}).outputs[0], 2 * X)
    np.testing.assert_array_equal(x, X)


def test_a_kernel_may_have_parameters_by_position_alone():
    def added(x, /, y, *, factor=2.0):
        tile = loaded(x)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
        nisa.tensor_tensor(dst=tile, data1=tile, data2=loaded(y), op=nl.add)
        return stored(tile)

    assert np.array_equal(execute(added, {"x": X, "y": X}).outputs[0], 3 * X)
