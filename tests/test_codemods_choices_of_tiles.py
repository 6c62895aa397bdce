"""``tile if flag else other`` as an operand: two tiles of one kind, or a column and a number."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(a, b, flag=True):
    out = nl.ndarray((4, 128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    last = nl.zeros((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    narrow = nl.load(b[0:128, 0:8])
    blocks = nl.zeros((2, nl.par_dim(128), 2), dtype=nl.float32, buffer=nl.sbuf)
    rows = nl.arange(128)[:, None]
    for i in nl.static_range(4):
        x = nl.load(a[0:128, nl.ds(i * 64, 64)])
        y = nl.load(b[0:128, nl.ds(i * 64, 64)])
        {body}
        last[...] = nl.copy(s[:, 63:64])
        nl.store(out[i], s)
    return out
"""
SCAN = "s = nisa.tensor_tensor_scan(x, y, initial={}, op0=nl.multiply, op1=nl.add)"
CHOSEN = {
    "the first value of a scan": SCAN.format("last if i > 0 else 0"),
    "a number first": SCAN.format("0.0 if i == 0 else last"),
    "the first value, under a name": "first = last if i > 0 else 0\n" + SCAN.format("first"),
    "the first value, whose tile is another one behind it": "first = last if i > 0 else 2.0\n"
    "last = nl.add(last, 1.0, dtype=nl.float32)\ns = nisa.tensor_scalar(x, nl.multiply, first)",
    "a part": SCAN.format("narrow[0:128, 3] if flag else 1.0"),
    "a part, under a name": "first = narrow[0:128, i] if i > 0 else 1.0\n" + SCAN.format("first"),
    "a part of what is written behind it": "first = -1.0 if i == 0 else narrow[0:128, i : i + 1]\n"
    "narrow[0:128, i] = nl.copy(x[0:128, 3])\n" + SCAN.format("first"),
    "a part of a block": "blocks[i % 2, 0:128, 1] = nl.copy(x[0:128, i])\n"
    "first = (blocks[i % 2, 0:128, 1] if flag else 2)\n" + SCAN.format("first"),
    "one of two parts": "first = narrow[0:128, i] if flag else narrow[0:128, 4]\n" + SCAN.format("first"),
    "a factor": "s = nisa.tensor_scalar(x, nl.multiply, last if flag else 2.0)",
    "the second operand": "s = nisa.tensor_scalar(x, nl.add, 1.0, op1=nl.multiply, operand1=0.5 if flag else last)",
    "a scale": "s = nisa.activation(op=nl.exp, data=x, scale=last if i > 1 else 0.25)",
    "one of two tiles": "s = nl.add(x if flag else y, 1.0)",
    "one of two tiles of an instruction": "s = nisa.tensor_tensor(x if i % 2 == 0 else y, y, op=nl.subtract)",
    "one of two tiles of an operator": "s = y + (x if flag else y)",
}
PARTED = {
    "under a mask": "s = nisa.tensor_scalar(x, nl.multiply, last if flag else 2.0, mask=rows < 100)",
    "a number whose type counts": "s = nl.add(x, last if flag else 2)",
    "a tile that is no column": "s = nisa.tensor_scalar(x, nl.multiply, 2.0 if not flag or flag else narrow)",
}


def kernel(body: str) -> str:
    return KERNEL.format(body=body.replace("\n", "\n        "))


@pytest.mark.parametrize("version", ["0.2", "0.6"])
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("body", CHOSEN.values(), ids=CHOSEN)
def test_what_a_condition_chooses_is_an_operand(migrate, body: str, flag: bool, version: str) -> None:
    args = {"a": TensorSpec((128, 256), "float32"), "b": TensorSpec((128, 256), "float32"), "flag": flag}
    migration = migrate(kernel(body), args, Options(target=version))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("body", PARTED.values(), ids=PARTED)
def test_what_may_be_of_two_kinds_has_a_statement_for_each(migrate, body: str, flag: bool) -> None:
    args = {"a": TensorSpec((128, 256), "float32"), "b": TensorSpec((128, 256), "float32"), "flag": flag}
    migration = migrate(kernel(body), args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "        if " in migration.outcome.source and "        else:\n" in migration.outcome.source
