"""What the help of a finding says is done: the kernel computes what it did, and has no finding more."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    n, rows, columns = x.shape
    out = nl.ndarray((n, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
{made}
    for i in {loop}(n):
        a[...] = nl.load(x[i])
        b[...] = nl.add(a, b)
        nl.store(out[i], value=b)
{left}
    return out
"""
MADE = "nl.zeros((rows, columns), dtype=x.dtype, buffer=nl.sbuf)"
TWO = f"a = {MADE}\nb = {MADE}"
X = {"x": TensorSpec((3, 32, 16), "float32", "normal")}

HEEDED = {
    "several targets": ((f"a = b = {MADE}", "pass"), (f"b = {MADE}\na = b", "pass")),
    "swaps": ((TWO, "a, b = b, a"), (TWO, "before = a\na = b\nb = before")),
}


def kernel(made, left, loop="nl.sequential_range"):
    def indented(text, by):
        return "\n".join(" " * by + line for line in text.split("\n"))

    return KERNEL.replace("{made}", indented(made, 4)).replace("{left}", indented(left, 8)).replace("{loop}", loop)


@pytest.mark.parametrize("name", HEEDED)
def test_it_says_what_to_write(name):
    first, *_ = (f for f in rewrite(kernel(*HEEDED[name][0])).findings if f.code == "NKI021")
    assert name in first.message and "one assignment" not in first.help


@pytest.mark.parametrize("loop", ["nl.sequential_range", "nl.static_range"])
@pytest.mark.parametrize("name", HEEDED)
def test_which_is_rewritten_and_is_what_the_kernel_did(migrate, name, loop):
    asked, heeded = (kernel(*form, loop) for form in HEEDED[name])
    before, after = migrate(asked, X).before, migrate(heeded, X)
    assert (after.outcome.findings, after.objection, after.trouble) == ((), None, ())
    assert before.outputs == after.before.outputs
