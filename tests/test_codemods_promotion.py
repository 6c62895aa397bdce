"""The type of an operation on two tensors whose types only a launch tells: the kernel asserts that they are one."""

from pathlib import Path

import pytest
from first_rung import Options, rewrite
from nki_migrate.cli import main
from nki_migrate.runtime.cases import DtypeSpec, TensorSpec

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n"
KERNEL = HEAD + (
    "@nki.jit\ndef product(a, b):\n    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)\n"
    "    nl.store(out, nl.load(a) * nl.load(b))\n    return out\n"
)
ASSERTION = 'assert a.dtype == b.dtype, "rewritten for operands of one type"'


def written(source: str) -> str:
    return rewrite(source, Options(unsafe=True)).source


def test_the_kernel_asserts_one_type() -> None:
    text = written(KERNEL)
    assert ASSERTION in text and "promoted_dtype" not in text
    assert written(text) == text


@pytest.mark.parametrize(
    "source",
    [
        KERNEL.replace("    out =", "    if a.dtype == nl.float32:\n        pass\n    out =", 1),
        KERNEL.replace("(a, b):", "(a, b=None):"),
        KERNEL.replace("    out =", "    b = nl.load(b)\n    out =", 1).replace("* nl.load(b)", "* b"),
        KERNEL.replace("@nki.jit\ndef product", "def product")
        + "\n\n@nki.jit\ndef k(a, b):\n    return product(a, b)\n",
    ],
    ids=["it asks for the type", "there may be none", "the name is bound again", "a helper has several callers"],
)
def test_what_the_kernel_does_not_rely_on_is_not_asserted(source: str) -> None:
    assert source != KERNEL and ASSERTION not in written(source)


@pytest.mark.parametrize(("other", "code"), [("float16", 0), ("float32", 1)])
def test_a_launch_with_two_types_stops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str, code: int
) -> None:
    kernel, cases = tmp_path / "kernel.py", tmp_path / "cases.toml"
    kernel.write_text(KERNEL, encoding="utf-8")
    arguments = f'a = {{shape = [8, 16], dtype = "float16"}}\nb = {{shape = [8, 16], dtype = "{other}"}}\n'
    cases.write_text(f'[[case]]\nkernel = "product"\n\n[case.args]\n{arguments}', encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["verify", "--migrate", "--unsafe", str(kernel), "--cases", str(cases)])
    said = capsys.readouterr().out
    assert bool(ended.value.code) == bool(code)
    assert ("1 equal" in said) != ("rewritten for operands of one type" in said)


HELPER = HEAD + (
    "def negative(tile, epsilon):\n    low = nl.multiply(tile, -1)\n    return nl.add(low, epsilon)\n\n\n"
    "@nki.jit\ndef k(a, eps):\n    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)\n"
    "    nl.store(out, negative(nl.load(a), eps))\n    return out\n"
)


def joined(text: str) -> str:
    """A text on one line, with the tuples that black breaks."""
    return " ".join(text.split()).replace("( ", "(").replace(", )", ")")


KEPT = "tile.dtype in (nl.float32, nl.bfloat16, nl.float16, nl.int32)"


def test_a_type_beside_integers_and_a_number_called_epsilon_need_no_function() -> None:
    text = written(HELPER)
    assert "promoted_dtype" not in text and KEPT in joined(text)
    assert 'assert isinstance(epsilon, float), "rewritten for a float"' in text
    assert written(text) == text


@pytest.mark.parametrize(("dtype", "stops"), [("bfloat16", False), ("int32", False), ("int8", True), ("uint32", True)])
def test_a_type_that_integers_change_stops_the_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], dtype: str, stops: bool
) -> None:
    kernel, cases = tmp_path / "kernel.py", tmp_path / "cases.toml"
    kernel.write_text(HELPER.replace("    return nl.add(low, epsilon)", "    return low"), encoding="utf-8")
    filled = ', fill = "integers"' if "int" in dtype else ""
    arguments = f'a = {{shape = [8, 16], dtype = "{dtype}"{filled}}}\neps = 1.0\n'
    cases.write_text(f'[[case]]\nkernel = "k"\n\n[case.args]\n{arguments}', encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["verify", "--migrate", "--unsafe", str(kernel), "--cases", str(cases)])
    said = capsys.readouterr().out
    assert ("a type that integers do not change" in said) == stops and ("1 equal" in said) != stops


OF_LAUNCH = HEAD + (
    "@nki.jit\ndef k(a, kind):\n    out = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    t = nl.ndarray((8, 16), dtype=kind)\n    t[...] = nl.load(a)\n    low = -1 * t\n"
    "    nl.store(out, nl.add(low, nl.mean(low, axis=1)))\n    return out\n"
)


@pytest.mark.parametrize("default", ["", "=nl.bfloat16"])
def test_a_type_that_a_launch_gives_is_asserted_and_needs_no_function(migrate, default: str) -> None:
    source = OF_LAUNCH.replace("kind):", f"kind{default}):")
    for kind in ("float32", "bfloat16"):
        args = {"a": TensorSpec((8, 16), "float32", "normal"), "kind": DtypeSpec(kind)}
        migration = migrate(source, args, Options(unsafe=True))
        assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    text = joined(migration.outcome.source)
    assert "kind in (nl.float32, nl.bfloat16, nl.float16" in text and "def " not in text.replace("def k", "")


@pytest.mark.parametrize(
    "change",
    [
        ("kind):", "kind=None):"),
        ("    t = ", "    if kind == nl.int8:\n        pass\n    t = "),
        ("    t = ", "    kind = nl.float16 if len(a.shape) > 2 else kind\n    t = "),
    ],
)
def test_a_type_that_may_be_none_or_is_asked_for_is_not_asserted(change: tuple[str, str]) -> None:
    assert "kind in (nl.float32" not in joined(written(OF_LAUNCH.replace(*change)))


@pytest.mark.parametrize("number", ["1 - rate", "rate * 2 + n", "-rate", "rate // 3", "n % rate"])
def test_arithmetic_with_a_float_is_one_where_the_parameter_is(number: str) -> None:
    """One assertion about the parameter decides it, in front of the loops."""
    source = HEAD + (
        "@nki.jit\ndef k(x, rate=0.5):\n    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        f"    for n in nl.static_range(3):\n        nl.store(out, nl.load(x) * ({number}))\n    return out\n"
    )
    text = written(source)
    assert text.count("isinstance") == 1 and 'assert isinstance(rate, float), "rewritten for a float"' in text


MEAN = HEAD + (
    "@nki.jit\ndef scaled(x, count):\n    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "    tile = nl.load(x)\n    for i in nl.affine_range(count):\n        tile = nl.exp(tile)\n"
    "    nl.store(out, tile / (count * count))\n    return out\n"
)
FLOATS = "x.dtype in (nl.float32, nl.bfloat16, nl.float16)"


def test_a_division_by_what_counts_is_of_the_type_of_the_tile() -> None:
    text = written(MEAN)
    assert FLOATS in joined(text) and "promoted_dtype" not in text and "is_float" not in text


@pytest.mark.parametrize(
    "source",
    [
        MEAN.replace("affine_range(count)", "affine_range(4)"),
        MEAN.replace("    for i in", "    count = count * 0.5\n    for i in"),
        MEAN.replace("    for i", "    if x.shape[0] > 4:\n      for i").replace("        tile =", "          tile ="),
        MEAN.replace("nl.affine_range(count)", "(nl.affine_range(count) if many else (0,))").replace(
            "x, count)", "x, count, many=True)"
        ),
        MEAN.replace(
            "    for i", "    if x.shape[0] > 4:\n        nl.store(out, tile * count)\n        return out\n    for i"
        ),
    ],
    ids=[
        "it may be a float",
        "it is bound again",
        "it counts in a branch",
        "it counts in one of two expressions",
        "the kernel may return before",
    ],
)
def test_a_number_that_may_be_a_float_is_asked_whether_it_is_one(source: str) -> None:
    text = written(source)
    number = "count * count" if "count = count" in source else "count"  # what it is bound to later says nothing of it
    assert f"dtype=(nl.float32 if isinstance({number}, float) else x.dtype)" in " ".join(text.split())
    assert FLOATS in joined(text) and "promoted_dtype" not in text


TRUTHS = HEAD + (
    "@nki.jit\ndef k(x, flag=True):\n    out = nl.ndarray((4, 8, 16), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    tile = nl.load(x, dtype=nl.{dtype})\n    truth = True\n    whole = 1\n"
    "    nl.store(out[0], nl.add(tile, True))\n    nl.store(out[1], nl.{name}(tile, truth))\n"
    "    nl.store(out[2], nl.multiply(tile, not whole))\n    nl.store(out[3], tile + whole)\n    return out\n"
)


@pytest.mark.parametrize("name", ["add", "left_shift", "bitwise_or"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_a_truth_is_a_uint8_beside_a_tile(migrate, dtype: str, name: str) -> None:
    largest = 2 ** (8 * int(dtype[-2:].strip("t")) // 8 - dtype.startswith("int")) - 1 if dtype != "int32" else 9
    x = TensorSpec((8, 16), dtype, "integers", low=max(largest - 3, 1), high=largest)
    migration = migrate(TRUTHS.format(dtype=dtype, name=name), {"x": x}, Options(unsafe=True))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
