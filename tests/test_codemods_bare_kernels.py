"""Kernels without a decorator, which what they are given to launches: they get one, and have cases like others."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import pool
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET

KERNEL = """\
import functools

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from jax_neuronx import nki_call


def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x[0:128, 0:64]), x.shape[1]))
    return out


{more}
"""
ARGS = {"x": TensorSpec((128, 64), "float32")}
HARNESSES = [
    "def main(x):\n    return nki.baremetal(k)(x)",
    "def main(x):\n    return nki.benchmark(warmup=2)(k)(x)",
    "def main(x):\n    return nki.benchmark(warmup=2)(k[2])(x)",
    "def main(x):\n    return nki.baremetal(functools.partial(k))(x)",
    "def main(x):\n    return nki.simulate_kernel(k, x)",
    "def main(x):\n    return nki_call(k, x)",
]
KEPT = {
    "nki.jit decorates it": "launched = nki.jit(k)",
    "nki.jit decorates it, and a harness launches it": "launched = nki.jit(k)\nnki.simulate_kernel(k, 1)",
    "it is made a part of kernels": "part = nki.trace(k)\n\n\n@nki.jit\ndef other(x):\n    return part(x)",
    "a kernel calls it": "@nki.jit\ndef other(x):\n    return k(x)\n\n\nnki.simulate_kernel(k, 1)",
}


@pytest.mark.parametrize("more", HARNESSES)
def test_what_a_harness_launches_gets_a_decorator(migrate, more: str) -> None:
    migration = migrate(KERNEL.format(more=more), ARGS, Options(unsafe=True))
    assert "@nki.jit\ndef k(x):" in migration.outcome.source
    assert (migration.objection, migration.trouble) == (None, ())
    again = rewrite(migration.outcome.source, Options(unsafe=True))
    assert again.source == migration.outcome.source


@pytest.mark.parametrize("more", KEPT.values(), ids=KEPT)
def test_what_needs_no_decorator_gets_none(more: str) -> None:
    assert "@nki.jit\ndef k(x):" not in rewrite(KERNEL.format(more=more), Options(unsafe=True)).source


@pytest.mark.parametrize(
    ("name", "more"), [("launched", "launched = nki.jit(k)"), ("k", "def f(x):\n    nki.jit(k)(x)")]
)
def test_a_kernel_that_nki_jit_decorates_in_a_call_runs_in_both_versions(migrate, name: str, more: str) -> None:
    migration = migrate(KERNEL.format(more=more), ARGS, kernel=name)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_nki_call_is_named() -> None:
    (finding,) = rewrite(KERNEL.format(more=HARNESSES[-1])).findings
    assert finding.code == "NKI007" and "nki_call" in finding.message


def test_only_what_is_launched_is_a_kernel(tmp_path) -> None:
    """A function that nothing launches is a part of other kernels, as far as anyone can tell."""
    path = tmp_path / "kernels.py"
    found = []
    with pool(1) as workers:
        for more in (HARNESSES[0], "def main(x):\n    return k"):
            path.write_text(KERNEL.format(more=more), encoding="utf-8")
            reply = workers.submit(Request("kernels", str(path), None, DEFAULT_TARGET)).result()
            found.append([kernel.name for kernel in reply.kernels])
    assert found == [["k"], []]
