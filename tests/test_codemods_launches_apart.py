"""Kernels that another kernel calls, and host code launches, too: a launch is one of ``nki.jit(kernel)``."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite, rewrite_together
from nki_migrate.runtime.cases import TensorSpec

KERNELS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def with_row(x, rows):
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.hbm)
    row = nl.load(rows[0:1, :])
    nl.store(out, value=nl.add(nl.load(x[0:64, 0:32]), row))
    return out


@nki.jit
def k(x, row):
    return with_row(x, row.reshape((1, 32)))
"""
HOST = "import neuronxcc.nki as nki\nfrom kernels import k, with_row\n\n\n"
LAUNCHES = {
    "in a function": ("def test(x, b):\n    return with_row(x, b)\n", "nki.jit(with_row)(x, b)"),
    "on a grid": ("def test(x, b):\n    return with_row[2](x, b)\n", "nki.jit(with_row)[2](x, b)"),
    "in a method": (
        "class Test:\n    def run(self, x, b):\n        y = with_row(x, b)\n        return y\n",
        "nki.jit(with_row)(x, b)",
    ),
    "on the simulator": (
        "def test(x, b):\n    return nki.simulate_kernel(with_row, x, b)\n",
        "nki.jit(with_row)(x, b)",
    ),
    "on the simulator, on a grid": (
        "def test(x, b):\n    return nki.simulate_kernel(with_row[2], x, b)\n",
        "nki.jit(with_row)[2](x, b)",
    ),
    "in a condition": (
        "def test(x, b):\n    if with_row(x, b).any():\n        return 1\n",
        "if nki.jit(with_row)(x, b).any():",
    ),
    "in the module": (
        "import numpy as np\n\nprint(with_row(np.ones((64, 32)), np.ones((4, 32))))\n",
        "print(nki.jit(with_row)(",
    ),
}


@pytest.mark.parametrize("how", LAUNCHES)
def test_a_launch_is_one_of_nki_jit(how: str) -> None:
    host, written = LAUNCHES[how]
    outcomes = rewrite_together({"kernels.py": KERNELS, "host.py": HOST + host}, Options(unsafe=True))
    assert [f.message for outcome in outcomes.values() for f in outcome.findings] == []
    assert written in outcomes["host.py"].source and "import nki\n" in outcomes["host.py"].source
    assert outcomes["kernels.py"].source.count("@nki.jit") == 1


def test_what_is_launched_is_written_for_more_than_a_call_tells() -> None:
    """The call passes one row, and the function loaded all of ``rows``: a launch may pass several."""
    alone = rewrite_together({"kernels.py": KERNELS}, Options(unsafe=True))["kernels.py"]
    assert "rows[0:1" not in alone.source and "src=rows)" in alone.source
    host = HOST + LAUNCHES["in a function"][0]
    launched = rewrite_together({"kernels.py": KERNELS, "host.py": host}, Options(unsafe=True))["kernels.py"]
    assert "rows[0:1, :]" in launched.source


def test_the_kernel_that_calls_it_is_the_same(migrate) -> None:  # type: ignore[no-untyped-def]
    tensors = {"x": TensorSpec((64, 32), "float32"), "row": TensorSpec((32,), "float32")}
    migration = migrate(KERNELS + "\n\ndef test(x, b):\n    return with_row(x, b)\n", tensors)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


OTHER = {
    "bound again": "def test(with_row, x, b):\n    return with_row(x, b)\n",
    "handed on": "def test(run, x, b):\n    return run(with_row, x, b)\n",
    "in a table": "TABLE = {'row': with_row}\n",
    "under a name": "def test(x, b):\n    f = with_row\n    return f(x, b)\n",
    "in a handler": "def test(x, b):\n    try:\n        pass\n    except ValueError:\n        return with_row(x, b)\n",
}


@pytest.mark.parametrize("how", OTHER)
def test_any_other_use_of_it_has_a_finding(how: str) -> None:
    outcomes = rewrite_together({"kernels.py": KERNELS, "host.py": HOST + OTHER[how]}, Options(unsafe=True))
    messages = [f.message for f in outcomes["kernels.py"].findings]
    assert "'with_row' is called by a kernel and launched by itself" in messages


def test_a_kernel_that_no_host_code_launches_has_no_decorator_and_no_launch() -> None:
    outcome = rewrite(KERNELS + "\n\ndef test(x, b):\n    return k(x, b)\n", Options(unsafe=True))
    assert outcome.findings == () and "return k(x, b)" in outcome.source
