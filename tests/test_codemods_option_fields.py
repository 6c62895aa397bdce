"""Numbers in the fields of option objects are operands like any others."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import ObjectSpec, TensorSpec

SOURCE = """\
from dataclasses import dataclass

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@dataclass(frozen=True)
class Options:
    scale: {kind}


@nki.jit
def k(x, options: Options):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(out, value=nl.{operation})
    return out
"""


@pytest.mark.parametrize("operation", ["multiply(tile, options.scale)", "add(options.scale, tile)"])
@pytest.mark.parametrize(("kind", "value"), [("float", 1.5), ("int", 3)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_number_of_an_object_is_an_operand(migrate, operation, kind, value, dtype):
    args = {"x": TensorSpec((16, 8), dtype, "normal"), "options": ObjectSpec("Options", {"scale": value})}
    migration = migrate(SOURCE.format(kind=kind, operation=operation), args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
