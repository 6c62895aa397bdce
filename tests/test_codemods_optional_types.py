"""``dtype=dt`` where ``dt`` may be ``None``: the type of the operands, or of the destination."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import DtypeSpec, TensorSpec

KERNEL = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


{helpers}@nki.jit
def k(x, dt=None):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x[0:6, 0:8])
    wide = nl.zeros((nl.par_dim(6), 8), dtype=nl.float32)
    {body}
    nl.store(out, wide)
    return out
"""


HELPERS = {
    "scaled": "def scaled(tile, dtype=None):\n    return nl.multiply(tile, 0.3, dtype=dtype)\n\n\n",
    "optioned": "def optioned(tile, options):\n    return nl.multiply(tile, 0.3, dtype=options['dtype'])\n\n\n",
    "keyworded": "def keyworded(tile, **kw):\n    return nl.multiply(tile, 0.3, dtype=kw.get('dtype'))\n\n\n",
    "offset": "def offset(tile, dtype):\n    return nl.add(tile, 0.7, dtype=dtype)\n\n\n",
}


def kernel(*lines: str) -> str:
    body = "\n    ".join(lines)
    return KERNEL.format(body=body, helpers="".join(text for name, text in HELPERS.items() if name in body))


@pytest.mark.parametrize("dt", [None, DtypeSpec("bfloat16"), DtypeSpec("float32")])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "line",
    [
        "wide = nl.exp(tile, dtype=dt)",
        "wide = nl.load(x[0:6, 0:8], dtype=dt)",
        "wide = nl.add(tile, tile * 0.5, dtype=dt)",
        "wide = nisa.tensor_scalar(tile, np.multiply, 0.3, dtype=dt)",
        "wide = nl.transpose(nl.transpose(tile, dtype=dt), dtype=dt)",
        "wide[0:6, 0:8] = nl.exp(tile, dtype=dt)",
        "wide[0:6, 0:8] = nl.load(x[0:6, 0:8], dtype=dt)",
        "wide += nl.exp(tile, dtype=dt)",
        "wide += nl.sum(tile, axis=1, dtype=dt, keepdims=True)",
        "wide = nl.add(nl.zeros_like(tile, dtype=dt), 0.3)",
        "wide = scaled(tile)",
        "wide = scaled(scaled(tile, nl.bfloat16), None)",
        "wide = scaled(tile, dtype=dt)",
        "wide = offset(tile, dt)",
        "wide = nl.add(offset(tile, None), offset(tile, nl.bfloat16))",
        "wide = nl.exp(tile, dtype=None if dt is None else nl.bfloat16)",
        "low = nl.bfloat16 if dt is not None else None\n    wide[...] = nl.exp(tile, dtype=low)",
        "if dt is None:\n        dt = nl.bfloat16\n    wide = nl.exp(tile, dtype=dt)",
        "options = {'dtype': dt, 'n': 3}\n    wide = nl.exp(tile, dtype=options['dtype'])",
        "options = {'dtype': dt}\n    wide[0:6, 0:8] = nl.add(tile, nl.exp(tile, dtype=options.get('dtype')))",
        "options = {}\n    options['low'] = dt\n    low = options['low']\n    wide = nl.exp(tile, dtype=low)",
        "wide = optioned(tile, {'dtype': dt})",
        "wide = keyworded(tile, dtype=dt)",
    ],
)
def test_a_type_that_may_be_none(migrate, line, dtype, dt):
    args = {"x": TensorSpec((6, 8), dtype, "normal"), **({} if dt is None else {"dt": dt})}
    migration = migrate(kernel(line), args)
    assert (migration.outcome.findings, migration.objection) == ((), None)
    assert [found for found in migration.trouble if not found.startswith((" ", "operands: different"))] == []


def test_a_type_that_a_dictionary_certainly_has_is_no_choice():
    source = kernel("options = {'dtype': nl.bfloat16}", "wide = nl.exp(tile, dtype=options['dtype'])")
    assert "is not None" not in rewrite(source).source
    changed = kernel(
        "options = {'dtype': nl.bfloat16}", "options.update(dt)", "wide = nl.exp(tile, dtype=options['dtype'])"
    )
    assert "is not None" in rewrite(changed).source


def test_a_type_that_every_call_gives_is_no_choice():
    source = kernel("wide = scaled(scaled(tile, nl.bfloat16), dtype=nl.float32)", "wide = nl.exp(wide, dtype=x.dtype)")
    assert "is not None" not in rewrite(source).source


@pytest.mark.parametrize(
    "line",
    ["wide = nl.where(tile, tile, 0.0, dtype=dt)", "wide = nl.divide(nl.copy(tile, dtype=nl.int32), 3, dtype=dt)"],
)
def test_what_depends_on_the_type_is_left_under_a_finding(line):
    outcome = rewrite(kernel(line), Options(unsafe=True))
    assert [f.line for f in outcome.findings] == [12] and line in outcome.source
