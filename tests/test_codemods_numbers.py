"""Numbers and their types: arrays that a kernel computes when it is traced, limits, whole numbers, choices, casts."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from first_rung import Options, rewrite
from nki_migrate.codemods.render.support_texts import DEFINITIONS
from nki_migrate.runtime.cases import DtypeSpec, TensorSpec
from nki_migrate.runtime.spec.dtypes import LIMITS

HEAD = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k({parameters}):
    {body}
"""


def kernel(body: str, parameters: str = "x, n") -> str:
    return HEAD.format(parameters=parameters, body=body.replace("\n", "\n    "))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a = np.arange(0, n, 2)", "np.arange with a step"),
        ("a = np.arange(n, dtype=np.float32)", "np.arange with a step, or of numbers that are not integers"),
        ("a = np.arange(n) / 2", "an operation on numpy arrays that is not of integers"),
        ("a = np.arange(n)\nb = np.arange(2 * n) - a", "numpy arrays whose sizes are not known to be equal"),
        ("a = np.arange(n)\nb = a[1:]", "the numpy array 'a' as a whole"),
        ("a = np.arange(n)\nfor i in a:\n    b = i", "the numpy array 'a' as a whole"),
        ("a = np.arange(n)\nb = a.max(axis=0)", "max of a numpy array with arguments"),
        ("a = np.arange(n)\nb = abs(a)", "the numpy array 'a' as a whole"),
    ],
)
def test_an_array_that_no_list_can_replace_is_left_and_said(body, message):
    outcome = rewrite(kernel(body))
    assert any(message in finding.message and finding.code == "NKI005" for finding in outcome.findings)


def test_a_name_that_is_an_array_in_one_branch_only_is_no_list():
    source = kernel("if n > 4:\n    a = np.arange(n)\nelse:\n    a = 3\nb = a[0]\nreturn b")
    messages = [finding.message for finding in rewrite(source).findings]
    assert any("'a' is an array of numpy in one branch" in message for message in messages)


def test_an_array_made_of_itself_is_read_before_it_is_written():
    source = kernel("a = np.arange(n)\na = 2 * a + 1\nb = a[n - 1]\nreturn x")
    text = rewrite(source).source
    body = text[text.index("    a = []") : text.index("    return")]
    names = {"n": 5}
    exec("\n".join(line[4:] for line in body.splitlines()), names)
    assert names["b"] == 9


@pytest.mark.parametrize("name", ["sum", "any", "all"])
def test_a_function_of_the_user_with_the_name_of_a_builtin_stays(name):
    source = kernel(f"size = {name}((n, 2))\nreturn size").replace(
        "@nki.jit", f"def {name}(a):\n    return a[0]\n\n\n@nki.jit"
    )
    assert f"size = {name}((n, 2))" in rewrite(source).source


@pytest.mark.parametrize("dtype", LIMITS)
def test_the_limits_of_a_type_are_those_of_ml_dtypes(dtype):
    known = ml_dtypes.finfo(getattr(ml_dtypes, dtype, dtype))
    assert LIMITS[dtype] == {limit: float(getattr(known, limit)) for limit in ("min", "max", "eps")}
    source = rewrite(kernel(f"size = nl.finfo(nl.{dtype}).min\nreturn size")).source
    assert float(source.partition("size = ")[2].split()[0]) == LIMITS[dtype]["min"]


def test_the_limit_of_an_unknown_type_is_looked_up():
    source = rewrite(kernel("size = nl.finfo(x.dtype).max\nreturn size")).source
    assert DEFINITIONS["largest_of"].text() in source and "size = largest_of(x.dtype)" in source


WHOLE = """x_tile = nl.load(x)
out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
rest = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
y = nl.ndarray((64, 32), dtype=nl.int32, buffer=nl.sbuf)
y[...] = nl.copy(x_tile, dtype=nl.int32)
nl.store(out, value=nl.floor(y / n, dtype=nl.int32))
nl.store(rest, value=nl.mod(y, n, dtype=nl.int32))
return out, rest"""


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10, 641, 4095, 65537, 2**20 + 7, 2**24 - 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_quotients_and_moduli_are_exact(run_source, divisor, sign):
    source = rewrite(kernel(WHOLE), Options(unsafe=True)).source.replace("def k(", "def kernel(")
    rng = np.random.default_rng(divisor)
    numbers = rng.integers(0, 2**24, (64, 32))
    multiples = np.minimum(rng.integers(0, 2**24 // divisor, (64, 32)) * divisor, 2**24 - 2)
    numbers[::2] = (multiples + rng.integers(-1, 2, (64, 32)))[::2].clip(0)  # where a rounded quotient goes wrong
    x = (sign * numbers).astype(np.int32)
    quotient, rest = run_source(source, {"x": x, "n": divisor})
    assert np.array_equal(quotient, x // divisor) and np.array_equal(rest, x % divisor)


def test_whole_numbers_are_left_for_review():
    outcome = rewrite(kernel(WHOLE))
    assert {(finding.code, finding.applicability) for finding in outcome.findings} == {("NKI030", "review")}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("t = nl.floor(nl.load(x))", "nl.floor into a type that is not known to be of integers"),
        ("t = nl.floor(nl.load(x), dtype=nl.uint32)", "nl.floor into a type that is not known to be of integers"),
        ("t = nl.mod(nl.load(x), n)", "nl.mod of what is not known to be a tile of integers"),
        ("t = nl.mod(nl.copy(nl.load(x), dtype=nl.int32), 2.5)", "nl.mod of what is not known to be a tile"),
    ],
)
def test_what_is_not_certainly_whole_is_left_and_said(body, message):
    assert any(message in finding.message for finding in rewrite(kernel(body), Options(unsafe=True)).findings)


@pytest.mark.parametrize(
    "choice", ["nl.where(c, a, 0.0)", "nl.where(c, 1.0, a)", "nl.where(c, a, b)", "nl.where(a, b, a)"]
)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
def test_a_choice_takes_conditions_and_tiles_of_any_type(migrate, choice, dtype):
    body = f"""rows, columns = x.shape
a = nl.copy(nl.load(x), dtype=nl.bfloat16)
b = nl.load(x, dtype=nl.float32)
c = nl.greater(b, 0.0, dtype=nl.{dtype})
out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
nl.store(out, value={choice})
return out"""
    migration = migrate(kernel(body, "x"), {"x": TensorSpec((128, 8), "float32", "normal")})
    assert migration.outcome.findings == () and migration.trouble == ()


@pytest.mark.parametrize("dtype", ["bfloat16", "int32", "float32"])
def test_a_static_cast_of_a_tile_is_a_copy_into_the_type(migrate, dtype):
    body = f"""out = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.shared_hbm)
a = nl.load(x[0:128, 0:8])
t = nl.static_cast(nl.exp(a), nl.{dtype})
nl.store(out, value=t)
return out"""
    migration = migrate(kernel(body, "x"), {"x": TensorSpec((128, 8), "float32", "normal")})
    assert migration.outcome.findings == () and migration.trouble == ()


@pytest.mark.parametrize(
    ("choice", "type"),
    [("nl.where(c, a, b)", ""), *((e, ", dtype=nl.float32") for e in ("nl.where(c, 0.0, a)", "nl.where(c, a, 1.0)"))],
)
def test_a_choice_copies_no_tile_that_it_can_read(migrate, choice, type):
    body = f"""out = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.shared_hbm)
a = nl.load(x[0:128, 0:8]{type})
b = nl.load(y[0:128, 0:8])
c = nl.greater(b, 0.0)
t = {choice}
nl.store(out, value=t)
return out"""
    sizes = TensorSpec((128, 8), "float32", "normal")
    migration = migrate(kernel(body, "x, y"), {"x": sizes, "y": sizes})
    assert migration.outcome.findings == () and migration.trouble == ()
    written = migration.outcome.source
    assert written.count("nisa.tensor_copy(") + written.count("nisa.memset(") == 1, written


@pytest.mark.parametrize("target", ["t", "s[...]", "p[...]"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_transpose_into_another_type_is_a_transpose_and_a_copy(migrate, target, dtype):
    body = f"""out = nl.ndarray((8, 128), dtype=nl.float32, buffer=nl.shared_hbm)
s = nl.ndarray((8, 128), dtype=nl.float32, buffer=nl.sbuf)
p = nl.ndarray((8, 128), dtype=nl.bfloat16, buffer=nl.psum)
a = nl.load(x[0:128, 0:8], dtype=nl.float32)
{target} = nisa.nc_transpose(a, dtype=nl.{dtype})
nl.store(out, value={target.removesuffix("[...]")})
return out"""
    migration = migrate(kernel(body, "x"), {"x": TensorSpec((128, 8), "float32", "normal")})
    assert migration.outcome.findings == ()
    # what a transpose converts as it writes takes a tile more
    assert migration.trouble == () or (target, dtype) == ("p[...]", "float32")
    assert migration.before.outputs == migration.after.outputs


@pytest.mark.parametrize(
    "choice", ["if True:", "if columns > 300:\n    p = nl.ndarray((8, columns), nl.float32, buffer=nl.sbuf)\nelse:"]
)
@pytest.mark.parametrize("engine", ["", ", engine=nisa.tensor_engine"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_transpose_into_psum_of_a_type_that_only_a_call_tells_converts_where_it_must(migrate, dtype, choice, engine):
    body = f"""out = nl.ndarray((8, 128), dtype=nl.float32, buffer=nl.shared_hbm)
{choice}
    p = nl.ndarray((8, columns), dtype=nl.float32, buffer=nl.psum)
a = nl.load(x, dtype=kind)
p[0:8, 128:256] = nisa.nc_transpose(a{engine})
nl.store(out, value=p[0:8, 128:256])
return out"""
    given = {"x": TensorSpec((128, 8), "float32", "normal"), "kind": DtypeSpec(dtype), "columns": 256}
    migration = migrate(kernel(body, "x, kind, columns"), given)
    assert migration.outcome.findings == ()
    assert migration.trouble == () or dtype == "bfloat16"  # Beta 2 transposes, then converts
    assert migration.before.outputs == migration.after.outputs


@pytest.mark.parametrize("source", ["x[n, number, i_f]", "named"])
def test_rows_of_a_part_that_may_be_out_of_bounds_are_left_and_said(source):
    body = f"""parts, rows, columns = x.shape
i_p = nl.arange(64)[:, None]
i_f = nl.arange(columns)[None, :]
number = nisa.iota(i_p, dtype=nl.int32)
t = nl.ndarray((64, columns), dtype=x.dtype, buffer=nl.sbuf)
named = x[n, number, i_f]
t[i_p, i_f] = nl.load({source}, mode=nisa.oob_mode.skip)"""
    messages = [finding.message for finding in rewrite(kernel(body)).findings]
    assert any("rows of a part of a tensor, some of which may be skipped" in message for message in messages)


@pytest.mark.parametrize(("value", "named"), [("np.inf", "math.inf"), ("-np.inf", "-math.inf"), ("np.pi", "math.pi")])
def test_a_constant_of_numpy_is_that_of_math(migrate, value, named):
    body = f"""out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
t = nl.full((nl.par_dim(64), 1), fill_value={value}, dtype=nl.float32)
t[...] = nl.minimum(nl.maximum(t, {value}, dtype=nl.float32), 7.5)
nl.store(out, value=nl.add(nl.load(x), t, dtype=nl.float32))
return out"""
    migration = migrate(kernel(body, "x"), {"x": TensorSpec((64, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert f"value={named}" in migration.outcome.source and "import math" in migration.outcome.source


@pytest.mark.parametrize(
    ("s", "n", "dtype"), [(2, 3, "float32"), (0.5, 3, "int32"), (2, 3, "float16"), (2, 0.25, "bfloat16")]
)
def test_the_type_of_a_number_under_a_name_is_that_of_its_definition(migrate, s, n, dtype):
    body = """out = nl.ndarray((2, x.shape[0], x.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
tile = nl.load(x)
product = s * n
less = -(product + s) - 1
nl.store(out[0], value=nl.multiply(tile, product))
nl.store(out[1], value=nl.add(nl.multiply(tile, less), product - less))
return out"""
    given = {"x": TensorSpec((64, 8), dtype, "integers"), "s": s, "n": n}
    migration = migrate(kernel(body, "x, s, n"), given)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("place", ["", "def make():\n    return "])
def test_a_buffer_under_a_name_that_is_one_of_two_is_a_finding(place):
    body = f"""space = nl.psum if n else nl.sbuf
{place}tile = nl.ndarray((64, 8), dtype=nl.float32, buffer=space)
"""
    body = body.replace("return tile = ", "return ") if place else body
    messages = [finding.message for finding in rewrite(kernel(body)).findings]
    assert "a buffer that the source does not show" in messages


BITS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((2, 64, 8), dtype=nl.{kind}, buffer=nl.shared_hbm)
    tile = nl.load(x[0:64, 0:8], dtype=nl.{kind})
    low = nl.bitwise_and(tile, {number})
    nl.store(out[0], low)
    nl.store(out[1], nl.bitwise_xor(low, tile))
    return out
"""


@pytest.mark.parametrize("kind", ["uint32", "int32", "uint16", "int8"])
@pytest.mark.parametrize("number", [15, 1])
def test_bitwise_functions_of_a_tile_and_an_integer_give_integers(migrate, kind, number):
    """A uint32 and an int are a float32 for an addition, which is no type for bits."""
    source = BITS.format(kind=kind, number=number)
    migration = migrate(source, {"x": TensorSpec((64, 8), kind, "integers", low=0, high=100)})
    assert migration.objection is None
    assert not migration.outcome.findings
    assert migration.trouble == ()
