"""A name that stands for what Beta 2 has no value for (a slice, a vector, a function) may be bound again in a loop.

The rewrite writes such a value where it is used. In the first pass that is what the name had before the loop, and in
the next what the pass before gave it: both kernels give the same numbers, or a finding says why one was left.
"""

import textwrap

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def k(x):
    R, C = x.shape
    out = nl.ndarray((3, 8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x)
    zeros = nl.zeros((8, 8), dtype=nl.float32)
    for j in nl.static_range(3):
        nl.store(out[j], zeros)
{body}
    return out
"""
GRID = "nl.store(out[i, s.p, s.x], nl.load(x[s.p, s.x]))"
ROWS = "nl.store(out[i, s, :], nl.load(x[s, :]))"
TEST = "if {}:\n    nl.store(out[i], t)\nelse:\n    nl.store(out[i], nl.exp(t))"
COLUMNS = "nl.arange(8)[None, :]"
VALUES = {
    "slice of the language": ("nl.ds(0, 4)", "nl.ds(4, 4)", ROWS),
    "slice": ("slice(0, 4)", "slice(4, 8)", ROWS),
    "vector": (
        "nl.arange(4)[:, None]",
        "4 + nl.arange(4)[:, None]",
        f"nl.store(out[i, s, {COLUMNS}], nl.load(x[s, {COLUMNS}]))",
    ),
    "grid": ("nl.mgrid[0:4, 0:8]", "nl.mgrid[0:8, 0:8]", GRID),
    "mask": (
        "nl.arange(8)[:, None] < 4",
        "nl.arange(8)[:, None] < 6",
        "a, b = nl.mgrid[0:8, 0:8]\nnl.store(out[i, a, b], t[a, b], mask=s)",
    ),
    "type": ("nl.float32", "nl.bfloat16", "nl.store(out[i], nl.copy(t, dtype=s))"),
    "type of NumPy": ("np.float32", "np.int32", "nl.store(out[i], nl.copy(t, dtype=s))"),
    "operator": ("nl.add", "nl.multiply", "nl.store(out[i], nisa.tensor_tensor(t, t, op=s))"),
    "function": ("nl.exp", "nl.tanh", "nl.store(out[i], s(t))"),
    "functions": ("(nl.exp, nl.relu)", "(nl.tanh, nl.exp)", "nl.store(out[i], s[0](t))"),
    "lambda": ("lambda a: nl.add(a, 1.0)", "lambda a: nl.multiply(a, 3.0)", "nl.store(out[i], s(t))"),
    "number": ("2.0", "3", "nl.store(out[i], nl.multiply(t, s))"),
    "truth": ("True", "False", TEST.format("s")),
    "none": ("None", "1", TEST.format("s is None")),
    "text": ("'a'", "'b'", TEST.format("s == 'a'")),
    "tile": ("t", "nl.exp(t)", "nl.store(out[i], s)"),
    "view": ("t[:, 0:4]", "t[:, 4:8]", "nl.store(out[i, :, 0:4], s)"),
    "part": ("x[0:4]", "x[4:8]", "nl.store(out[i, 0:4], nl.load(s))"),
    "pair": ("(8, 4)", "(8, 8)", "nl.store(out[i, 0:s[0], 0:s[1]], nl.load(x[0:s[0], 0:s[1]]))"),
    "list": ("[1.0, 2.0]", "[3.0, 4.0]", "nl.store(out[i], nl.multiply(t, s[0]))"),
    "tiles": ("[t, zeros]", "[zeros, t]", "nl.store(out[i], s[0])"),
    "memory": (
        "nl.sbuf",
        "nl.psum",
        "u = nl.ndarray((8, 8), nl.float32, buffer=s)\nu[...] = nl.copy(t)\nnl.store(out[i], u)",
    ),
}
PLACES = {
    "a loop": "s = {a}\nfor i in nl.static_range(3):\n    {use}\n    s = {b}",
    "a branch of a loop": "s = {a}\nfor i in nl.static_range(3):\n    {use}\n    if i == 0:\n        s = {b}",
    "a loop in a loop": (
        "s = {a}\nfor i in nl.static_range(3):\n    {use}\n    for j in nl.static_range(2):\n        s = {b}"
    ),
    "a loop that NKI traces once": "s = {a}\nfor i in nl.affine_range(3):\n    {use}\n    s = {b}",
    "while": "i = 0\ns = {a}\nwhile i < 3:\n    {use}\n    s = {b}\n    i = i + 1",
    "an exchange": "s, r = {a}, {b}\nfor i in nl.static_range(3):\n    {use}\n    s, r = r, s",
    "behind a loop": "s = {a}\nfor j in nl.static_range(2):\n    s = {b}\nfor i in nl.static_range(1):\n    {use}",
    "a branch": "s = {a}\nif C > 4:\n    s = {b}\nfor i in nl.static_range(1):\n    {use}",
}


def kernel(value, place):
    a, b, use = VALUES[value]
    body = PLACES[place].format(a=a, b=b, use=use.replace("\n", "\n    "))
    return KERNEL.format(body=textwrap.indent(body, "    "))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", VALUES)
def test_a_value_that_is_bound_again_is_never_that_of_another_pass(migrate, value, place):
    source = kernel(value, place)
    if rewrite(source, Options(unsafe=True)).findings:
        return
    migration = migrate(source, {"x": TensorSpec((8, 8), "float32", "normal")})
    assert migration.objection is None
    assert isinstance(migration.before, Failure) or migration.trouble == ()


def test_half_of_the_values_are_rewritten():
    kernels = [kernel(value, place) for value in VALUES for place in PLACES]
    assert sum(not rewrite(source, Options(unsafe=True)).findings for source in kernels) > len(kernels) / 2
