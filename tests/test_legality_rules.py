"""Every legality rule on its own examples, and on code that looks like what it refuses and is legal."""

from __future__ import annotations

import sys
import textwrap

import pytest
from nki_migrate.runtime.legality import CODES, RULE_MODULES, check_source
from nki_migrate.runtime.spec.versions import EVER, VERSIONS

IMPORTS = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"
LINES = IMPORTS.count("\n")
CASES = [(code, target) for code, doc in sorted(CODES.items()) for target in VERSIONS if target in doc.span]


def codes(source, target="0.2"):
    return [violation.code for violation in check_source(IMPORTS + source, target=target)]


def kernel(*lines):
    return "@nki.jit\ndef kernel(x, y):\n" + "".join(f"    {line}\n" for line in lines)


def block(text):
    """A kernel with the lines of ``text``."""
    return kernel(*textwrap.dedent(text).strip().splitlines())


def needs_newer_python(doc):
    return doc.name == "type-statement" and sys.version_info < (3, 12)


@pytest.mark.parametrize(("code", "target"), CASES)
def test_the_bad_example_gives_exactly_this_code(code, target):
    if needs_newer_python(CODES[code]):
        pytest.skip("the example is no Python before 3.12")
    assert set(codes(CODES[code].bad, target)) == {code}


@pytest.mark.parametrize(("code", "target"), CASES)
def test_the_good_example_is_legal(code, target):
    assert codes(CODES[code].good, target) == []


@pytest.mark.parametrize("code", sorted(code for code, doc in CODES.items() if doc.span != EVER))
def test_a_rule_is_silent_in_the_versions_outside_of_its_span(code):
    for target in VERSIONS:
        assert (code in codes(CODES[code].bad, target)) == (target in CODES[code].span)


def test_every_violation_has_a_place_a_text_and_a_fix():
    for code, doc in CODES.items():
        if needs_newer_python(doc):
            continue
        for violation in check_source(IMPORTS + doc.bad, target=doc.span.since):
            assert violation.line > LINES and violation.column >= 1, code
            assert violation.message and "{}" not in violation.message, code
            assert violation.help and violation.help == " ".join(violation.help.split()), code


def test_every_rule_is_documented_for_people():
    for code, doc in CODES.items():
        text = str(doc)
        assert text.startswith(f"{doc.name}: ") and "What to do: " in text, code
        assert doc.stage in ("gather", "simplify", "trace", "ours"), code
        assert code.startswith("NKL") and code[3:].isdigit()


def test_names_of_rules_are_unique():
    names = [doc.name for doc in CODES.values()]
    assert len(set(names)) == len(names)


LEGAL = {
    "definitions": {
        "a dataclass": "from dataclasses import dataclass\n\n\n@dataclass\nclass Shape(nl.NKIObject):\n"
        "    rows: int = 1\n\n\n" + kernel("return Shape(rows=2)"),
        "a static method": "class Shape(nl.NKIObject):\n    @staticmethod\n    def rows():\n        return 1\n\n\n"
        + kernel("return Shape.rows()"),
        "host code with inner functions": "def host():\n    def inner(*rows):\n        return rows\n\n    return inner"
        "\n\n\n" + kernel("return x"),
        "a class that no kernel reads": "class Host:\n    def run(self):\n        raise ValueError\n\n\n"
        + kernel("return x"),
    },
    "statements": {
        "a loop that breaks": kernel("for i in range(4):", "    if i == 2:", "        break"),
        "elements assigned one by one": kernel("rows = [1, 2]", "rows[0] = 3", "rows[1] = 4"),
        "a tuple of names": kernel("a, b = x.shape", "return a * b"),
        "leaving a static loop": kernel("for i in nl.affine_range(4):", "    return x"),
        "raise in host code": "def host(x):\n    raise ValueError\n\n\n" + kernel("return x"),
        "break in a static loop under a dynamic one": kernel(
            "for i in nl.dynamic_range(0, 4, 1):", "    for j in range(4):", "        break"
        ),
    },
    "expressions": {
        "a loop instead of a comprehension": kernel("rows = []", "for i in range(4):", "    rows.append(i)"),
        "membership in a tuple": kernel("return y in (1, 2)"),
        "an f-string with conversions": kernel('assert y == 1, f"{y!r} {y!s} {y!a}"'),
        "an ellipsis in a subscript": kernel("t = x[...]", "return t"),
        "the largest integer": kernel("return 2147483647"),
        "comparing with None": kernel("return x == None"),
        "a comprehension in host code": "ROWS = [i for i in range(4)]\n\n\n" + kernel("return ROWS"),
    },
    "names": {
        "numpy's constants": "import numpy as np\n\n\n" + kernel("return np.pi + np.inf"),
        "math that the front end has": "import math\n\n\n" + kernel("return math.ceil(1.5) + math.gcd(4, 6)"),
        "Python's few functions": kernel("return max(len(x.shape), min(1, 2)) + abs(-1) + int(1.5)"),
        "a local that hides a builtin": kernel("sum = 1", "return sum"),
        "a name of the module level": "ROWS = 128\n\n\n" + kernel("return ROWS"),
        "Beta 1 in host code": "import neuronxcc.nki.language as old\n\n\ndef host(x):\n    return old.load(x)\n\n\n"
        + kernel("return x"),
        "an annotation of any kind": "import numpy as np\n\n\n@nki.jit\ndef kernel(x: np.ndarray):\n    return x\n",
    },
    "library": {
        "a dictionary that the host makes": "from collections import defaultdict\n\nSIZES = defaultdict(int)\n\n\n"
        + kernel("return SIZES"),
        "host code with iterators": "import itertools\n\n\ndef host():\n    return itertools.count()\n\n\n"
        + kernel("return x"),
        "an annotation": "from collections import deque\n\n\n@nki.jit\ndef kernel(x: deque):\n    rows: deque = [1]\n"
        "    return rows[0]\n",
        "a local of such a name": kernel("deque = [1]", "return deque[0]"),
        "a function in C that is only passed on": "from functools import reduce\n\n\n"
        + kernel("return [reduce, x][1]"),
    },
    "calls": {
        "positional operands": kernel("nisa.tensor_tensor(x, x, y, nl.add)"),
        "a mask of None": kernel("nisa.memset(dst=x, value=0.0, mask=None)"),
        "an operator passed on": "def apply(op, x, y):\n    nisa.tensor_tensor(dst=x, data1=x, data2=y, op=op)\n\n\n"
        + kernel("apply(nl.add, x, y)"),
        "own functions with keywords": "def f(a, b=1):\n    return a + b\n\n\n" + kernel("return f(a=1) + f(1, 2)"),
        "a register": kernel("r = nisa.register_alloc(0)", "return x"),
        "a register that is loaded": kernel("r = nisa.register_alloc(0)", "nisa.register_load(r, x)"),
    },
    "operands": {
        "the reduction of the last two axes": kernel("nisa.tensor_reduce(dst=x, op=nl.add, data=y, axis=[3, 4])"),
        "an accumulating copy": kernel("nisa.dma_copy(dst=x, src=y, dst_rmw_op=nl.add)"),
        "an axis that is computed": kernel("axis = 1", "nisa.tensor_reduce(dst=x, op=nl.add, data=y, axis=axis)"),
        "a scalar operand": kernel("nisa.tensor_scalar(dst=x, data=y, op0=nl.add, operand0=1.0)"),
    },
    "tensors": {
        "a step of one": kernel("nisa.dma_copy(dst=x, src=y[0:128:1, 0:512])"),
        "a stepped list": kernel("rows = [1, 2, 3]", "return rows[::2]"),
        "arithmetic on shapes": kernel("rows = x.shape[0] * 2 - 1", "return rows"),
        "a list of tensors": kernel(
            "tiles = []",
            "tiles.append(nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf))",
            "for tile in tiles:",
            "    nisa.memset(dst=tile[0:128, 0:512], value=0.0)",
        ),
        "a name that is a tensor and then a number": kernel(
            "t = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)",
            "nisa.memset(dst=t, value=0.0)",
            "t = 1",
            "t = t + 1",
        ),
        "comparing identities": kernel(
            "t = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)", "return t == x or t != None"
        ),
        "two indices in a row": kernel("nisa.dma_copy(dst=x, src=y[0:64, 0:64][0:32, 0:32])"),
    },
    "containers": {
        "the last element": kernel("rows = [1, 2]", "return rows.pop()"),
        "a default for a missing key": kernel('sizes = {"a": 1}', 'return sizes.get("b", 0) + sizes.pop("a")'),
        "one type at a time": kernel("return isinstance(y, int)"),
        "a list and then something else": kernel("rows = [1, 2]", "rows = y", "return rows.pop(0)"),
        "a dictionary's values": kernel('sizes = {"a": 1}', "for size in sizes.values():", "    pass"),
        "joined strings": kernel('name = "a" + "b"', 'return name == f"{y}"'),
        "the least of a list": kernel("return min([1, 2, 3]) + max((1, 2, 3)) + min(1, 2)"),
        "a part of a string that a list has": kernel('return "a" in "abc"'),
    },
    "loops": {
        "one level of unpacking": kernel("a, b = (1, 2)"),
        "a default that nobody changes": "def f(rows=[1, 2]):\n    return rows[0]\n\n\n" + kernel("return f()"),
        "a static loop that may not be reordered": kernel(
            "with nl.no_reorder():", "    for i in range(4):", "        pass"
        ),
        "division by a positive number": kernel("return -y // 2 + y % 3"),
        "a float to a negative power": kernel("return 10.0 ** -5"),
    },
    "dynamic": {
        "a variable of one iteration": kernel("for i in nl.dynamic_range(0, 4, 1):", "    n = 1", "    n = n + 1"),
        "a list of one iteration": kernel(
            "for i in nl.dynamic_range(0, 4, 1):", "    rows = []", "    rows.append(i)", "    rows[0] = 1"
        ),
        "a variable of one side": kernel("r = nisa.register_alloc(1)", "if r:", "    n = 1", "    f = n + 1"),
        "a loop on a register that counts": kernel(
            "r = nisa.register_alloc(y)", "while r:", "    nisa.register_load(r, x)", "return x"
        ),
    },
    "values": {
        "numbers of one type": kernel("return 1 == 1 and 1.0 <= 1.0 and True == True"),
        "numbers that differ": kernel("return 1 < 2.0 or 1 == 2.5"),
        "a bool and an int": kernel("return True + 1"),
        "a slice up to the end": kernel("return [1, 2, 3][-3:3]"),
        "bits": kernel("return 1 << 8 | 3 & 6 ^ 5"),
        "the length of a list": kernel('return len(["ab"]) + len({"a": 1})'),
        "an element from the end": kernel("rows = [1]", "rows[len(rows) - 1] = rows[-1]"),
        "a dictionary with something in it": kernel('return 1 if {"a": 1} else 2'),
    },
    "shapes": {
        "up to the end": kernel(
            "t = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)",
            "nisa.dma_copy(dst=x, src=t[0:128, -512:512])",
            "nisa.dma_copy(dst=x, src=t[:, nl.ds(256, 256)])",
            "nisa.dma_copy(dst=x, src=t[..., 511])",
        ),
        "a shape that is not in the source": kernel(
            "t = nl.ndarray((128, y), nl.float32, buffer=nl.sbuf)", "nisa.dma_copy(dst=x, src=t[0:128, 0:100000])"
        ),
        "a name with two shapes": kernel(
            "t = nl.ndarray((128, 8), nl.float32, buffer=nl.sbuf)",
            "t = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)",
            "nisa.dma_copy(dst=x, src=t[0:128, 0:512])",
        ),
        "a list": kernel("rows = [1, 2]", "return rows[-1]"),
    },
    "ladder": {
        "a body inside of the kernel, which reads its names": "def half(tile):\n"
        "    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=0.5)\n\n\n"
        + block(
            """
            reg = nisa.register_alloc(4)
            tile = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)

            def body(i):
                half(tile)
                nisa.dma_copy(dst=y.ap([[1, 1]], scalar_offset=i), src=tile)

            nl.fori_loop(0, reg, body)
            """
        ),
        "a body that gives the next condition": block("""
            def body(r):
                nisa.register_load(r, y)
                return r

            nl.while_loop(nisa.register_alloc(1), body)
            """),
        "a float for a tensor of floats": block(
            "t = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)\nnisa.memset(dst=t, value=2.0)"
        ),
        "a list that stays in the kernel": block("tiles = [x, y]\nnisa.tensor_copy(dst=tiles[0], src=tiles[1])"),
        "views of views": block(
            "t = nl.ndarray((128, 4, 8), nl.float32, buffer=nl.sbuf)\n"
            "nisa.tensor_copy(dst=y, src=t.permute((0, 2, 1))[:, 0:4].reshape((128, 16)))"
        ),
        "an instruction with a name": block("first = nisa.tensor_copy(dst=x, src=y)\nreturn x"),
        "the last axis, from the end": block(
            "t = nl.ndarray((128, 4, 8), nl.float32, buffer=nl.sbuf)\n"
            "nisa.tensor_reduce(dst=y, op=nl.add, data=t, axis=-1)"
        ),
    },
    "next": {
        "an output of a helper": kernel(
            "out = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)", "nisa.memset(dst=out, value=0.0)", "return out"
        ),
        "an axis that is a number": kernel("nisa.iota(dst=x, pattern=[[1, 4]], offset=0)"),
        "a copy of SBUF": kernel(
            "t = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)", "nisa.dma_copy(dst=x, src=t)"
        ),
    },
}


@pytest.mark.parametrize(("family", "name"), [(family, name) for family in LEGAL for name in LEGAL[family]])
def test_what_only_looks_refused_is_legal(family, name):
    assert codes(LEGAL[family][name], {"next": "0.3", "ladder": "0.6"}.get(family, "0.2")) == []


def test_python_state_of_a_loop_body_is_found():
    body = "rows = []\n\ndef body(i):\n    rows.append(i)\n\nnl.fori_loop(0, 4, body)\nreturn x"
    assert codes(block(body), "0.6") == ["NKL108"]
    assert codes(block(body), "0.5") == ["NKL001", "NKL051"]


def test_tracing_does_not_get_beyond_a_return():
    assert codes(kernel("return x", "nisa.tensor_copy(dst=x, src=z)"), "0.6") == []
    assert codes(kernel("return x", "import z"), "0.6") == ["NKL016"]


def test_every_family_of_rules_has_at_least_three_legal_look_alikes():
    families = {module.__name__.rpartition("rules_")[2] for module in RULE_MODULES}
    assert families == LEGAL.keys()
    assert all(len(sources) >= 3 for sources in LEGAL.values())


@pytest.mark.parametrize(
    ("binding", "found"),
    [
        ("def prod(sizes):\n    return sizes[0]\n", []),
        ("def made(sizes):\n    return sizes[0]\n\n\nprod = made\n", []),
        ("if nl is None:\n\n    def prod(sizes):\n        return sizes[0]\n", ["NKL055"]),
        ("", ["NKL055"]),
        ("def prod(sizes):\n    return sizes[0]\n\n\nfrom math import prod\n", ["NKL055"]),
    ],
)
def test_an_imported_name_means_what_binds_it_last(binding, found):
    imports = "from math import prod\n\nimport nki\nimport nki.language as nl\n\n\n"
    source = f"{imports}{binding}\n\n@nki.jit\ndef k(x):\n    n = prod(x.shape)\n    return x\n"
    assert [code for code in codes(source) if code == "NKL055"] == found
