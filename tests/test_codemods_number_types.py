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


@pytest.mark.parametrize("number", ["np.float32(0.1)", "np.int32(3)", "np.float16(2)"])
def test_a_number_of_numpy_that_the_module_defines_is_left(number: str) -> None:
    source = f"import numpy as np\nTHREE = {number}\n" + KERNEL.format(result="nl.multiply(tile, THREE)")
    outcome = rewrite(source, Options(unsafe=True))
    assert [(f.code, f.line) for f in outcome.findings if "a number of NumPy's" in f.message] == [("NKI005", 11)]
    assert f"THREE = {number}\n" in outcome.source and "nl.multiply(tile, THREE)" in outcome.source
