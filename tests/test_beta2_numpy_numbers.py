"""Numbers of NumPy's types in a Beta 2 kernel: the front end takes them for ``None``.

Source: KLR, ``interop/klr/gather.c``, ``value``, which knows Python's numbers; ``np.float64`` is one of them.
"""

import numpy as np
import pytest
from nki_migrate.runtime.errors import KernelError

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

NUMBER = {number}


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    {statement}
    nl.store(out, tile)
    return out
"""
AS_OPERAND = "nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=NUMBER)"
AS_SIZE = "other = nl.ndarray((NUMBER, 4), dtype=nl.float32, buffer=nl.sbuf)"


@pytest.mark.parametrize("number", ["np.float32(0.5)", "np.float16(2)", "np.int32(3)", "np.prod((2, 2))"])
@pytest.mark.parametrize("statement", [AS_OPERAND, AS_SIZE])
def test_a_number_of_numpy_stops_the_kernel(run_source, number, statement):
    with pytest.raises(KernelError, match="got None: the front end takes"):
        run_source(KERNEL.format(number=number, statement=statement), {"x": np.zeros((8, 4), np.float32)})


@pytest.mark.parametrize(
    "number", ["np.float64(0.5)", "np.sqrt(0.25)", "float(np.float32(0.5))", "np.float32(0.5).item()"]
)
def test_a_number_of_pythons_does_not(run_source, number):
    (out,) = run_source(KERNEL.format(number=number, statement=AS_OPERAND), {"x": np.zeros((8, 4), np.float32)})
    assert (out == 0.5).all()
