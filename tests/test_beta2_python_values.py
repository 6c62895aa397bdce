"""What only the values tell: Python that the checker passes, and that the front end refuses or computes otherwise.

Values come through helpers, so that the source does not tell their types.
"""

from __future__ import annotations

import builtins
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime import shims
from nki_migrate.runtime.beta2.launch import launch
from nki_migrate.runtime.beta2.python_values import binary
from nki_migrate.runtime.errors import KernelError
from nki_migrate.runtime.legality import check_source
from nki_migrate.runtime.legality.rules_values import bits_as_the_front_end_has_them

HEAD = """\
import math
from dataclasses import dataclass
from enum import Enum

import nki
import nki.isa as nisa
import nki.language as nl


SIZES = {nl.float32: 4, nl.bfloat16: 2}


class Level(Enum):
    low = 1


@dataclass
class Base(nl.NKIObject):
    rows: int = 1


def divided(a, b):
    return a // b


def same(value):
    return value


def chosen(register):
    n = 0
    if register:
        n = 1
    return n


def left(register, x):
    if register:
        return x
    return x


def counted(register):
    n = 0
    while register:
        n += 1
        nisa.register_move(register, 0)
    return n


@nki.jit
def kernel(x):
    out = nl.ndarray((1, 4), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    n = same(3)
    rows = same([1, 2])
    sizes = same({"a": 1})
    text = same("pf")
    yes = same(True)
"""
REFUSED = (
    ("NKL047", "text.upper()"),
    ("NKL047", "same((1, 2)).index(1)"),
    ("NKL048", "7 // same(-2)"),
    ("NKL048", "m = same(-2)\nn // m"),
    ("NKL048", "m = same(-2)\n7 % m"),
    ("NKL048", "n %= same(-2)"),
    ("NKL048", "divmod(7, same(-2))"),
    ("NKL049", "2 ** same(-1)"),
    ("NKL039", "same(1.5) % 2"),
    ("NKL069", "rows.pop(0)"),
    ("NKL069", "rows.count(1)"),
    ("NKL090", "rows.insert(0, 1)"),
    ("NKL090", "rows.sort()"),
    ("NKL090", "sizes.update(sizes)"),
    ("NKL091", "for name in sizes:\n    pass"),
    ("NKL091", "for name in text:\n    pass"),
    ("NKL091", "list(text)"),
    ("NKL091", "a, b = text"),
    ("NKL091", "rows.extend(sizes)"),
    ("NKL092", "'a' in sizes"),
    ("NKL093", "sizes[n]"),
    ("NKL093", "sizes[n] = 1"),
    ("NKL093", "sizes.get(n)"),
    ("NKL094", "text[0]"),
    ("NKL094", "text[n]"),
    ("NKL095", "text * 2"),
    ("NKL095", "text * n"),
    ("NKL095", "text % 2"),
    ("NKL095", "sizes | sizes"),
    ("NKL096", "min(yes, 2)"),
    ("NKL096", "max(text, text)"),
    ("NKL097", "isinstance(n, same((int, float)))"),
    ("NKL100", "n == same(3.0)"),
    ("NKL100", "same(1) == yes"),
    ("NKL100", "1 < n > same(3.0)"),
    ("NKL100", "same(2.0) in rows"),
    ("NKL100", "same((1, 2.0)) == (1, 2)"),
    ("NKL101", "not same({})"),
    ("NKL101", "if same({}):\n    pass"),
    ("NKL101", "same({}) or n"),
    ("NKL102", "yes + yes"),
    ("NKL102", "m = 1.5\nyes * m"),
    ("NKL102", "yes * same(1.5)"),
    ("NKL102", "-yes"),
    ("NKL103", "rows[0:4]"),
    ("NKL103", "rows[::-1]"),
    ("NKL104", "same(-8) >> 1"),
    ("NKL104", "1 << same(64)"),
    ("NKL104", "same(-1) | 1"),
    ("NKL105", "isinstance(yes, int)"),
    ("NKL105", "isinstance(same(Base()), nl.NKIObject)"),
    ("NKL106", "len(text)"),
    ("NKL107", "rows[-1] = 3"),
    ("NKL108", "counted(nisa.register_alloc(1))"),
    ("NKL109", "chosen(nisa.register_alloc(1))"),
    ("NKL109", "left(nisa.register_alloc(1), x)"),
    ("NKL110", "not same(nisa.register_alloc(1))"),
    ("NKL110", "bool(same(nisa.register_alloc(1)))"),
)
LEGAL = (
    "assert text + 'x' == 'pfx' and 'p' in text and text < 'q'",
    "assert n == 3 and n <= 3 and not n > 3 and n != same(2.5) and 1 < n < 5",
    "assert -n // 2 == -2 and -n % 2 == 1 and n ** 2 == 9 and n / 2 == 1.5 and same(2.0) ** -1 == 0.5",
    "assert yes + 1 == 2 and abs(yes) == 1 and int(yes) + int(yes) == 2",
    "assert rows + [3] == [1, 2, 3] and rows * 2 == [1, 2, 1, 2] and same((1,)) * yes == (1,)",
    "m = 2.5\nassert n * m == 7.5 and m - n == -0.5 and n // 2 == 1 and n % 2 == 1 and rows * 2 == rows + rows",
    "m = 1\nassert rows[m] == 2 and rows[0] == 1 and same((4, 5))[m] == 5 and rows[yes] == 2 and sizes['a'] == m",
    "rows += [3]\nassert rows == [1, 2, 3] and rows.pop() == 3 and rows.index(2) == 1",
    "rows.append(n)\nrows.reverse()\nrows.extend((1, 2))\nassert rows[0:2] == [3, 2] and rows[-1] == 2",
    "sizes['b'] = 2\nsizes['a'] += 4\nassert sizes.get('c', 7) == 7 and len(sizes) == 2 and sizes['a'] == 5",
    "assert sizes.get(x.dtype, 3) == 3 and SIZES.get(x.dtype) == 4 and SIZES[nl.bfloat16] == 2",
    "for name in sizes.keys():\n    assert name == 'a'",
    "for pair in sizes.items():\n    key, value = pair\n    assert key == 'a' and value == 1",
    "assert sizes and rows and text and not same([]) and not same('') and not same(())",
    "assert min(n, 4) == 3 and max(rows) == 2 and max((1.5, n)) == 3.0 and min(same([2.5, 1.0])) == 1.0",
    "assert isinstance(n, int) and isinstance(yes, bool) and not isinstance(yes, float)",
    "assert isinstance(same(Base()), Base) and not isinstance(text, Base) and isinstance(rows, list)",
    "assert 6 >> 1 == 3 and same(6) & 3 == 2 and same(6) | 1 == 7 and 1 << same(5) == 32 and same(-1) & 3 == 3",
    "assert same(None) is None and n is not None and same(Level.low) == Level.low",
    "a, b = rows\nassert a + b == n",
    "shape = same(Base(rows=2))\nshape.rows += 1\nassert shape.rows == 3",
    "tiles = []\nfor i in nl.affine_range(2):\n    tiles.append(nl.ndarray((1, 4), nl.float32, buffer=nl.sbuf))\n"
    "for tile in tiles:\n    nisa.memset(dst=tile[0:1, 0:4], value=0.0)",
    "m = 0\nwhile m < n:\n    m += 1\nassert m == 3",
    "r = nisa.register_alloc(1)\nif same(r):\n    t = nl.ndarray((1, 4), nl.float32, buffer=nl.sbuf)\n"
    "    nisa.memset(dst=t, value=0.0)",
)


def source(body):
    return HEAD + textwrap.indent(body, "    ") + "\n    return out\n"


def ran(load, body):
    text = source(body)
    assert check_source(text, target="0.2") == ()
    return load(text)


@pytest.fixture(scope="module")
def load(run_source):
    return lambda text: run_source(text, {"x": np.ones((1, 4), np.float32)})


@pytest.mark.parametrize(("code", "body"), REFUSED)
def test_what_the_values_tell_is_refused_where_it_runs(load, code, body):
    with pytest.raises(KernelError) as refused:
        ran(load, body)
    assert refused.value.code == code
    assert refused.value.file.endswith("kernel.py")


@pytest.mark.parametrize("body", LEGAL)
def test_what_both_compute_alike_runs(load, body):
    (output,) = ran(load, body)
    assert output.tolist() == [[1.0] * 4]


def test_the_error_names_the_line_of_the_operator(load):
    with pytest.raises(KernelError) as refused:
        ran(load, "a = 1\nb = (\n    7\n    // same(-2)\n)")
    lines = source("a = 1\nb = (\n    7\n    // same(-2)\n)").splitlines()
    assert "7" in lines[refused.value.line - 1] or "same(-2)" in lines[refused.value.line - 1]


def test_objects_of_packages_are_no_kernel_code(load):
    """A logger holds streams of who knows what class; the front end's own names are what counts."""
    with_stream = source("pass").replace("import math\n", "import math\nimport sys\n", 1)
    with_stream = with_stream.replace(
        "def same(value):\n", "out_stream = [sys.stdout, sys.stderr]\n\n\ndef same(value):\n"
    )
    text = with_stream.replace("    return out\n", "    used = out_stream\n    return out\n")
    (output,) = load(text)
    assert output.shape == (1, 4)


def test_kernel_code_is_pythons_again_after_the_launch(load):
    with pytest.raises(KernelError, match="NKL048"):
        ran(load, "divided(7, same(-2))")
    assert sys.modules["kernels"].divided(7, -2) == -4


INTEGERS = st.integers(-40, 40)


@settings(max_examples=300)
@given(symbol=st.sampled_from(["//", "%", "**", "<<", ">>", "|", "&", "^", "+", "-", "*"]), a=INTEGERS, b=INTEGERS)
def test_integers_compute_as_in_the_front_end_or_not_at_all(symbol, a, b):
    """The front end's integer division is Euclid's, its bits have no sign, and its exponents are not negative."""
    if symbol in ("//", "%"):
        quotient = 0 if b == 0 else (a // b if b > 0 else -(a // -b))
        expected = None if b == 0 else quotient if symbol == "//" else a - b * quotient
    elif symbol == "**":
        expected = a ** max(b, 0)
    elif symbol in ("<<", ">>", "|", "&", "^"):
        expected = bits_as_the_front_end_has_them(symbol, a, b)
    else:
        expected = {"+": a + b, "-": a - b, "*": a * b}[symbol]
    try:
        result = binary(symbol, a, b)
    except (KernelError, ZeroDivisionError):
        return
    assert result == expected and type(result) is int


UNIMPORTED = """
import nki
import nki.language as nl


def rows(x):
    return int(math.sqrt(x.shape[0] * x.shape[0]))


@nki.jit
def kernel(x):
    tile = nl.ndarray((rows(x), 4), x.dtype, sbuf)
    return nl.ndarray(tile.shape, x.dtype, nl.shared_hbm)


@nki.jit
def plain(x):
    return nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
"""


def test_names_that_the_front_end_knows_are_there_where_a_kernel_reads_them(tmp_path):
    file = tmp_path / "unimported.py"
    file.write_text(UNIMPORTED)
    names = {"__name__": "unimported", "__file__": str(file)}
    with shims.installed():
        exec(compile(UNIMPORTED, str(file), "exec"), names)
    x = np.zeros((8, 4), np.float32)
    for kernel in (names["plain"], names["kernel"], names["plain"]):
        assert launch(kernel, {"x": x}, version="0.2").outputs[0].shape == (8, 4)
        assert not {"math", "sbuf", "psum", "hbm"} & vars(builtins).keys()
    names["math"] = None  # what the module has itself is another thing
    with pytest.raises(AttributeError):
        launch(names["kernel"], {"x": x}, version="0.2")
