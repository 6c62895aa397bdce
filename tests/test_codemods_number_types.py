"""The type of a tile and a number of which only a launch tells whether it is a float: chosen by that, or refused."""

from typing import Any

import numpy as np
import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.messages import Failure

KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def k(x, s):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    result = {result}
    nl.store(out, result)
    return out
"""
RESULTS = ["nl.multiply(tile, s)", "tile * (s*2)", "s - tile", "nl.maximum(nl.add(tile, s), s)"]
NUMBERS: list[Any] = [0.5, 3, True, np.float64(0.5), np.float32(0.5), np.float16(0.5), np.int32(3)]
STOPS = "rewritten for a", "bool is no int"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "int8"])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{type(number).__name__} {number}")
@pytest.mark.parametrize("result", RESULTS)
def test_the_type_is_what_it_was_or_the_kernel_stops(migrate: Any, result: str, number: Any, dtype: str) -> None:
    fill = {"fill": "integers"} if dtype.startswith("int") else {}
    arguments = {"x": TensorSpec((8, 16), dtype, **fill), "s": number}
    migration = migrate(KERNEL.format(result=result), arguments, Options(unsafe=True))
    assert migration.objection is None and not isinstance(migration.before, Failure)
    if isinstance(migration.after, Failure):
        assert any(why in migration.after.message for why in STOPS)
        assert dtype == "int8" or type(number) not in (int, float)
    else:
        assert not migration.trouble and isinstance(number, int | float)  # np.float64 is a float


def test_a_type_that_nothing_is_made_of_needs_no_assertion() -> None:
    into = KERNEL.format(result="nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)\n    result[...] = tile * s")
    text = rewrite(into, Options(unsafe=True)).source
    assert "isinstance" not in text and "x.dtype ==" not in text and "promoted_dtype" not in text


def test_the_index_of_a_loop_is_an_integer() -> None:
    looped = KERNEL.format(result="tile\n    for i in nl.affine_range(4):\n        result = nl.multiply(tile, i)")
    text = rewrite(looped, Options(unsafe=True)).source
    assert "dtype=x.dtype" in text and "promoted_dtype" not in text and "isinstance" not in text


@pytest.mark.parametrize("text", ["np.float32(0.1)", "np.float32(1.0 / x.shape[1])", "np.dtype(np.float32).type(0.5)"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_a_float_of_numpy_that_tiles_are_computed_with_is_one_of_pythons(migrate: Any, text: str, dtype: str) -> None:
    body = f"nl.add(tile, s)\n    part = {text}\n    result = nl.multiply(nl.maximum(result, part), {text})"
    source = "import numpy as np" + KERNEL.format(result=body)
    fill = {"fill": "integers"} if dtype == "int32" else {}
    migration = migrate(source, {"x": TensorSpec((8, 16), dtype, **fill), "s": 1}, Options(unsafe=True))
    assert not migration.trouble and not migration.outcome.findings
    assert "np." not in migration.outcome.source


MODULE = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

NUMBER = {number}


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(out, {result})
    return out
"""


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        ("np.float32(0.1)", "float"),
        ("np.float32(2.0 * np.sqrt(2.0 / np.pi))", "float"),
        ("np.float16(0.1)", "float"),
        ("np.int32(3)", "int"),
        ("np.dtype(np.float32).type(0.3)", "float"),
        ("np.finfo(np.float32).min", "float"),
        ("-np.float32(0.1) * 3 + 1", "float"),
        ("np.sqrt(np.float32(0.1))", "float"),
        ("np.maximum(np.float32(3), np.float32(4))", "float"),
        ("np.sqrt(0.1)", ""),
    ],
)
@pytest.mark.parametrize(
    "result",
    [
        "nisa.tensor_scalar(tile, nl.multiply, NUMBER)",
        "nisa.tensor_scalar(tile, nl.add, -NUMBER, op1=nl.multiply, operand1=NUMBER)",
        "nisa.activation(nl.exp, tile, scale=NUMBER)",
    ],
)
def test_a_number_of_numpy_that_the_module_defines_is_one_of_pythons_there(
    migrate: Any, number: str, kind: str, result: str
) -> None:
    """It is rounded as it was: each bit of the result is the same."""
    migration = migrate(MODULE.format(number=number, result=result), {"x": TensorSpec((8, 16), "float32", "normal")})
    is_signed = kind == "int" and "-NUMBER" in result  # an unsigned one would change its sign elsewhere
    assert bool(migration.outcome.findings) == is_signed
    if is_signed:
        assert f"NUMBER = {number}\n" in migration.outcome.source
        return
    assert migration.objection is None and not migration.trouble
    plain = f"{kind}({number})" if kind else number
    assert f"NUMBER = {plain}\n" in migration.outcome.source


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_float_of_numpy_that_the_module_defines_has_its_type(migrate: Any, dtype: str) -> None:
    source = MODULE.format(number="np.float32(0.1)", result="nl.multiply(nl.add(tile, NUMBER), NUMBER)")
    migration = migrate(source, {"x": TensorSpec((8, 16), dtype, "normal")})
    assert migration.objection is None and not migration.trouble and not migration.outcome.findings
    assert "isinstance" not in migration.outcome.source


@pytest.mark.parametrize(
    "source",
    [
        MODULE.format(number="np.float32(0.1)", result="nisa.tensor_scalar(tile, nl.add, NUMBER)") + "print(NUMBER)\n",
        MODULE.format(number="np.float32(0.1)", result="nisa.tensor_scalar(tile, nl.add, 2 * NUMBER)"),
        MODULE.format(number="np.float16(2)", result="nl.multiply(tile, NUMBER)"),
        MODULE.format(number="np.int32(3)", result="nl.multiply(tile, NUMBER)"),
        MODULE.format(number="np.uint8(3)", result="nisa.tensor_scalar(tile, nl.add, -NUMBER)"),
    ],
    ids=["host code reads it", "arithmetic", "another type", "an integer", "the negative of one without a sign"],
)
def test_a_number_of_numpy_that_something_else_reads_is_left(source: str) -> None:
    outcome = rewrite(source, Options(unsafe=True))
    assert [f.code for f in outcome.findings if "a number of NumPy's" in f.message] == ["NKI005"]
    assert "NUMBER = np." in outcome.source and rewrite(outcome.source, Options(unsafe=True)).source == outcome.source


@pytest.mark.parametrize("text", ["np.float32(np.inf)", "-np.float32(np.inf)", "np.float32(-np.inf)"])
def test_an_infinity_of_numpy_fills_a_tile(migrate: Any, text: str) -> None:
    body = f"nl.maximum(tile, nl.full((8, 16), fill_value={text}, dtype=np.float32, buffer=nl.sbuf))"
    migration = migrate(MODULE.format(number="1", result=body), {"x": TensorSpec((8, 16), "float32", "normal")})
    assert migration.objection is None and not migration.trouble and not migration.outcome.findings
    assert "math.inf" in migration.outcome.source
