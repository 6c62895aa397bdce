"""Files of cases: what they may say, what each mistake is told, and the data they stand for."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.case_text import case_toml
from nki_migrate.runtime.arguments import argument
from nki_migrate.runtime.cases import CaseError, DtypeSpec, NoneSpec, TensorSpec, read_cases
from nki_migrate.runtime.filling import FILLS, exact_integers, fill_problem, filled, generator
from nki_migrate.runtime.numerics import DTYPES, NAMED_TYPES, is_integer

FULL = """\
# how to run the kernel
[[case]]
kernel = "scale"
name = "one tile"
grid = [2, 1]
hardware = "gen2"
seed = 7
reference = "reference:scale"
rtol = 1e-2

[case.args]
x = {shape = [128, 512], dtype = "bfloat16", fill = "normal"}
norm_dtype = {dtype = "float32"}
eps = 1e-6
axes = [1, 2]
causal = true
mode = "fast"

[[case]]
kernel = "scale"
"""


@pytest.fixture
def cases(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Write a file of cases and read it."""

    def read(text: str | bytes):  # type: ignore[no-untyped-def]
        path = tmp_path / "cases.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_cases(path)

    return read


def test_everything_a_case_may_say(cases, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    first, second = cases(FULL).of("scale")
    assert (first.name, first.line, first.grid, first.hardware, first.seed) == ("one tile", 2, (2, 1), "gen2", 7)
    assert (first.reference, first.rtol, first.atol) == ("reference:scale", 1e-2, 1e-8)
    assert first.args == {
        "x": TensorSpec((128, 512), "bfloat16", "normal"),
        "norm_dtype": DtypeSpec("float32"),
        "eps": 1e-6,
        "axes": [1, 2],
        "causal": True,
        "mode": "fast",
    }
    assert (second.name, second.grid, second.hardware, second.seed, second.args) == ("case 2", (), None, 0, {})
    assert first.place == f"{tmp_path}/cases.toml:2"


def test_a_grid_may_be_one_integer(cases) -> None:  # type: ignore[no-untyped-def]
    assert cases('[[case]]\nkernel = "k"\ngrid = 2').cases[0].grid == (2,)


def test_names_that_are_given_by_counting_avoid_names_that_were_given(cases) -> None:  # type: ignore[no-untyped-def]
    text = '[[case]]\nkernel = "k"\nname = "case 2"\n[[case]]\nkernel = "k"\n[[case]]\nkernel = "other"\n'
    assert [(case.kernel, case.name) for case in cases(text).cases] == [
        ("k", "case 2"),
        ("k", "case 3"),
        ("other", "case 1"),
    ]


def test_byte_order_mark_and_windows_line_ends_are_read(cases) -> None:  # type: ignore[no-untyped-def]
    file = cases(b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    assert [case.line for case in file.cases] == [2, 19]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = ", "not valid TOML"),
        (b"\xff\xfe", "is TOML, encoded as UTF-8"),
        ('[case]\nkernel = "k"', "'case' is one table: write [[case]], with double brackets"),
        ('[[cases]]\nkernel = "k"', "unknown table 'cases': a file of cases has [[case]] tables and nothing else"),
        ("case = 3", "'case' is one table"),
    ],
)
def test_an_unusable_file_is_one_error(cases, text, problem: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CaseError) as error:
        cases(text)
    assert problem in str(error.value) and "cases.toml: " in str(error.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"none\.toml: cannot read the cases: No such file"):
        read_cases(tmp_path / "none.toml")


def x(table: str) -> str:
    return f'kernel = "k"\nargs = {{x = {table}}}'


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('name = "a"', "'kernel' is missing: name the function to run"),
        ("kernel = 3", "'kernel' is missing"),
        ('kernel = "k"\nseeds = 3', "unknown key 'seeds': did you mean 'seed'?"),
        ('kernel = "k"\nzzz = 3', "unknown key 'zzz': it is one of kernel, file, name, grid"),
        ('kernel = "k"\nname = ""', "'name' is text that is not empty"),
        ('kernel = "k"\nname = 3', "'name' is text that is not empty"),
        ('kernel = "k"\ngrid = 0', "grid is 0: it must be an integer, 1 or more"),
        ('kernel = "k"\ngrid = [2, "a"]', "grid is 'a': it must be an integer, 1 or more"),
        ('kernel = "k"\ngrid = true', "grid is True: it must be an integer, 1 or more"),
        ('kernel = "k"\nseed = -1', "seed is -1: it must be an integer, 0 or more"),
        ('kernel = "k"\nhardware = "trn9"', "unknown hardware 'trn9': one of gen2, gen3, gen4"),
        ('kernel = "k"\nhardware = ["gen2"]', "unknown hardware ['gen2']: one of gen2, gen3, gen4"),
        ('kernel = "k"\nreference = "numpy"', "reference 'numpy' is not \"module:function\""),
        ('kernel = "k"\nrtol = 0.1', "'rtol' and 'atol' belong to a reference"),
        ('kernel = "k"\nreference = "a:b"\nrtol = nan', "rtol is nan: it must be a finite number, 0 or more"),
        ('kernel = "k"\nreference = "a:b"\natol = inf', "atol is inf: it must be a finite number, 0 or more"),
        ('kernel = "k"\nreference = "a:b"\natol = 1' + "0" * 400, "it must be a finite number, 0 or more"),
        ('kernel = "k"\nreference = "a:b"\nrtol = -1e-3', "rtol is -0.001: it must be a finite number, 0 or more"),
        ('kernel = "k"\nreference = "a:b"\natol = "1"', "atol is '1': it must be a finite number, 0 or more"),
        ('kernel = "k"\nargs = 3', "'args' is a table: [case.args]"),
        (x('{shape = [2, -1], dtype = "int8"}'), "a size in the shape [2, -1] of 'x' is -1: it must be an integer, 1"),
        (x('{shape = [2.0], dtype = "int8"}'), "a size in the shape [2.0] of 'x' is 2.0"),
        (x('{shape = 2, dtype = "int8"}'), "shape of 'x' is 2: it is a list of integers"),
        (x('{shape = [2000, 2000, 2000], dtype = "int8"}'), "has more than 2147483648 elements: make it smaller"),
        (x('{shape = [2], dtype = "bflat16"}'), "unknown dtype 'bflat16' of 'x': did you mean 'bfloat16'?"),
        (x('{shape = [2], dtype = "q"}'), "unknown dtype 'q' of 'x': one of bool_, int8"),
        (x("{shape = [2], dtype = 3}"), "unknown dtype 3 of 'x'"),
        (x('{dtype = "float99"}'), "unknown dtype 'float99' of 'x'"),
        (x("{shape = [2]}"), "tensor 'x' has no 'dtype'"),
        (x('{dtype = "int8", fill = "zeros"}'), "tensor 'x' has no 'shape'"),
        (x('{fill = "zeros"}'), "argument 'x' is a table without 'shape'"),
        (x("{}"), "argument 'x' is a table without 'shape'"),
        (x('{shape = [2], dtype = "int8", fil = "zeros"}'), "unknown key of tensor 'x': 'fil': did you mean 'fill'?"),
        (x('{shape = [2], dtype = "int8", fill = "norml"}'), "unknown fill 'norml' of 'x': did you mean 'normal'?"),
        (x('{shape = [2], dtype = "int8", fill = 1}'), "unknown fill 1 of 'x': one of normal, uniform"),
        (
            x('{shape = [2], dtype = "int8", fill = "normal"}'),
            "needs a floating point dtype, not int8: use fill",
        ),
        (x('{shape = [2], dtype = "int8", fill = "zeros", low = 1}'), "'low' has no meaning for fill 'zeros'"),
        (x('{shape = [2], dtype = "int8", fill = "integers", high = 300}'), "integers from -8 to 299 do not fit int8"),
        (x('{shape = [2], dtype = "int8", fill = "integers", high = 1.5}'), "high = 1.5: it is an integer for fill"),
        (x('{shape = [2], dtype = "bool_", fill = "integers", high = 3}'), "booleans are integers from 0 to 1"),
        (x('{shape = [2], dtype = "float32", fill = "uniform", low = 2}'), "low = 2 is not below high = 1.0"),
        (x('{shape = [2], dtype = "float32", fill = "uniform", low = "a"}'), "low = 'a': it is a number"),
        (x('{shape = [2], dtype = "float32", fill = "integers", low = 9}'), "low = 9 is not below high = 8"),
        (x('{shape = [2], dtype = "float32", output = 1}'), "'output' of 'x' is true or false"),
        (x('{shape = [2], dtype = "float32", fill = "none.npy"}'), "none.npy"),
        (x("[{shape = [2]}]"), "tensor 'x_0' has no 'dtype'"),
        (x("2024-01-01"), "argument 'x' is a date: use a number, text, a boolean or a list of them"),
    ],
)
def test_each_bad_case_is_one_error_and_costs_only_itself(cases, body: str, problem: str) -> None:  # type: ignore[no-untyped-def]
    file = cases(f'[[case]]\nkernel = "good"\n\n[[case]]\n{body}\n')
    assert [case.kernel for case in file.cases] == ["good"]
    (bad,) = file.bad
    assert problem in bad.message
    assert "cases.toml:4: " in bad.message


def test_two_cases_of_one_kernel_have_different_names(cases) -> None:  # type: ignore[no-untyped-def]
    file = cases('[[case]]\nkernel = "k"\nname = "a"\n[[case]]\nkernel = "k"\nname = "a"\n')
    assert len(file.cases) == 1
    assert "another case of this kernel has the same name" in file.bad[0].message


def test_inline_cases_have_no_line(cases) -> None:  # type: ignore[no-untyped-def]
    file = cases('case = [{kernel = "k"}, {kernel = "k", seed = -1}]')
    assert file.cases[0].place.endswith("cases.toml")
    assert file.bad[0].message.split(": ")[0].endswith("cases.toml")


# --- .npy files ------------------------------------------------------------------------------------------------------


def stored(shape: str, dtype: str) -> str:
    return f'[[case]]\nkernel = "k"\nargs = {{x = {{shape = {shape}, dtype = "{dtype}", fill = "data.npy"}}}}'


@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
def test_a_stored_array_is_read_with_its_bits(cases, tmp_path: Path, dtype: str) -> None:  # type: ignore[no-untyped-def]
    array = np.arange(6).reshape(2, 3).astype(DTYPES[dtype])
    np.save(tmp_path / "data.npy", array)
    spec = cases(stored("[2, 3]", dtype)).cases[0].args["x"]
    read = filled(spec.fill, spec.shape, DTYPES[dtype], seed=0, name="x")
    assert read.dtype == DTYPES[dtype] and read.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("shape", "dtype", "problem"),
    [
        ("[3, 2]", "float32", "has shape [2, 3], the case says [3, 2]"),
        ("[2, 3]", "float16", "has dtype float32, the case says float16"),
        ("[2, 3]", "bfloat16", "has dtype float32, the case says bfloat16"),
    ],
)
def test_a_stored_array_must_be_what_the_case_says(cases, tmp_path: Path, shape: str, dtype: str, problem: str) -> None:  # type: ignore[no-untyped-def]
    np.save(tmp_path / "data.npy", np.zeros((2, 3), np.float32))
    assert problem in cases(stored(shape, dtype)).bad[0].message


def test_a_file_that_is_no_array_is_an_error(cases, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "data.npy").write_bytes(b"nonsense")
    assert "is not a .npy file that can be read" in cases(stored("[2]", "float32")).bad[0].message
    np.save(tmp_path / "data.npy", np.array([object()]), allow_pickle=True)
    assert "is not a .npy file that can be read" in cases(stored("[1]", "float32")).bad[0].message
    (tmp_path / "data.npy").unlink()
    assert "there is no file" in cases(stored("[2]", "float32")).bad[0].message


# --- data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fill", FILLS)
def test_every_fill_in_every_type_is_finite_and_depends_on_seed_and_name_only(fill: str, dtype: str) -> None:
    kind = DTYPES[dtype]
    if fill_problem(fill, kind, None, None):
        assert is_integer(kind) and fill in ("normal", "uniform")
        return
    array = filled(fill, (64, 8), kind, seed=1, name="x")
    assert (array.shape, array.dtype) == ((64, 8), kind)
    assert np.isfinite(array.astype(np.float64)).all()
    assert array.tobytes() == filled(fill, (64, 8), kind, seed=1, name="x").tobytes()
    others = {filled(fill, (64, 8), kind, seed=s, name=n).tobytes() for s, n in ((1, "y"), (2, "x"), (0, "x1"))}
    assert (array.tobytes() in others) == (fill in ("zeros", "arange"))


def test_the_random_stream_of_a_seed_and_a_name_never_changes() -> None:
    assert generator(0, "x").bit_generator.random_raw(2).tolist() == RAW


RAW = [7124927331876868219, 2922226275060414602]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arange_counts_modulo_what_the_type_holds_exactly(dtype: str) -> None:
    kind = DTYPES[dtype]
    limit = min(exact_integers(kind), 5000)
    values = filled("arange", (limit + 1,), kind, seed=0, name="x").astype(np.float64)
    expected = np.arange(limit + 1) % exact_integers(kind)
    assert (values == expected).all()


def test_exact_integers_are_exact_and_the_next_is_not() -> None:
    assert exact_integers(np.dtype(ml_dtypes.bfloat16)) == 256
    assert exact_integers(np.dtype(np.float32)) == 2**24
    assert exact_integers(np.dtype(np.int8)) == 128
    assert np.float32(2**24 + 1) == np.float32(2**24)


@given(st.integers(-100, 100), st.integers(1, 50), st.sampled_from(["int8", "int32", "float32", "bfloat16"]))
def test_integers_stay_within_their_bounds(low: int, width: int, dtype: str) -> None:
    kind = DTYPES[dtype]
    high = low + width
    if fill_problem("integers", kind, low, high):
        assert dtype == "int8" and high > 127
        return
    values = filled("integers", (200,), kind, seed=3, name="i", low=low, high=high).astype(np.int64)
    assert low <= values.min() and values.max() < high


def test_uniform_stays_within_its_bounds() -> None:
    values = filled("uniform", (1000,), np.dtype(np.float32), seed=3, name="u", low=-2, high=-1)
    assert values.min() >= -2 and values.max() <= -1


@pytest.mark.parametrize("name", NAMED_TYPES)
def test_every_type_of_the_language_can_be_an_argument(name: str, tmp_path: Path) -> None:
    """Also packed types and the type of scales, which no array of the host has: a tensor cannot be of these."""
    path = tmp_path / "cases.toml"
    path.write_text(f'[[case]]\nkernel = "k"\n[case.args]\nkind = {{dtype = "{name}"}}\n')
    (case,) = read_cases(path).cases
    assert case.args["kind"] == DtypeSpec(name)
    assert argument(case, "kind", case.args["kind"], "", None) == NAMED_TYPES[name]
    path.write_text(f'[[case]]\nkernel = "k"\n[case.args]\nx = {{shape = [2], dtype = "{name}", fill = "zeros"}}\n')
    assert bool(read_cases(path).bad) is (name not in DTYPES)


def test_a_type_that_the_older_language_lacks_is_an_error_of_the_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "neuronxcc.nki.language", ModuleType("neuronxcc.nki.language"))
    path = tmp_path / "cases.toml"
    path.write_text('[[case]]\nkernel = "k"\n[case.args]\nkind = {dtype = "float8_e5m2_x4"}\n')
    (case,) = read_cases(path).cases
    with pytest.raises(CaseError, match=r"'kind' is float8_e5m2_x4, which .*nki.language does not have"):
        argument(case, "kind", case.args["kind"], "beta1", None)


MADE = """\
[[case]]
kernel = "make_kernel"
name = "one"

[case.make]
rows = 16
bias = {none = true}

[case.args]
x = {shape = [16, 8], dtype = "float32"}
"""


def test_a_case_of_a_function_that_makes_a_kernel_is_read_and_written(tmp_path):
    (tmp_path / "cases.toml").write_text(MADE)
    (case,) = read_cases(tmp_path / "cases.toml").cases
    assert case.make == {"rows": 16, "bias": NoneSpec()}
    (tmp_path / "again.toml").write_text(case_toml(case, tmp_path))
    (again,) = read_cases(tmp_path / "again.toml").cases
    assert (again.make, again.args) == (case.make, case.args)


def test_what_a_function_gets_that_makes_a_kernel_is_a_table(tmp_path):
    (tmp_path / "cases.toml").write_text('[[case]]\nkernel = "k"\nmake = 3\n')
    assert "'make' is a table: [case.make]" in read_cases(tmp_path / "cases.toml").bad[0].message
