"""What a harness launches is a kernel, decorated or not: Beta 1 runs the body of its loops over ``range`` once."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from jax_neuronx import nki_call


{decorator}def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    factor = 1.0
    for i in range(2):
        nl.store(out[nl.ds(i * 128, 128), :], nl.multiply(nl.load(x[nl.ds(i * 128, 128), :]), factor, dtype=nl.float32))
        factor = factor + 1.0
    return out


{launch}
"""
RESTORED = "        factor = factor_before_loop\n"


@pytest.mark.parametrize(
    "launch",
    [
        "def main(x):\n    return nki.baremetal(k)(x)",
        "def main(x):\n    return nki.benchmark(warmup=2)(k)(x)",
        "kernel = nki.jit(k)",
        "def main(x):\n    return nki_call(k, x)",
    ],
)
def test_a_launched_function_is_read_as_a_decorated_one(launch):
    assert RESTORED in rewrite(KERNEL.format(decorator="", launch=launch), Options(unsafe=True)).source
    assert RESTORED in rewrite(KERNEL.format(decorator="@nki.jit\n", launch=launch), Options(unsafe=True)).source


def test_a_function_that_a_kernel_calls_is_plain_python():
    called = "@nki.jit\ndef other(x):\n    return k(x)"
    assert RESTORED not in rewrite(KERNEL.format(decorator="", launch=called), Options(unsafe=True)).source
