"""Checker and emulator agree, both ways: what passes runs, and what the checker finds the emulator's front end refuses
with the same code at the same line; what is illegal is found exactly.

Hypothesis puts small kernels together from pieces that are legal or break one known rule.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.errors import KernelError
from nki_migrate.runtime.legality import CODES, check_source

HEAD = """\
import collections
import math
from collections import Counter, deque
from dataclasses import dataclass
from enum import Enum

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl

ROWS = 128


class Mode(Enum):
    fast = 1
    slow = 2


@dataclass
class Shape(nl.NKIObject):
    rows: int = 1
    mode: Mode = Mode.fast

    def doubled(self):
        return self.rows * 2


def copied(src):
    dst = nl.ndarray(src.shape, src.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=dst, src=src)
    return dst


def total(values, start=0):
    for value in values:
        start = start + value
    return start


@nki.jit
def kernel(x, y):
    a = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
    b = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    nisa.dma_copy(dst=b, src=y)
    n = 3
    rows = [1, 2]
    sizes = {"p": 1}
    shape = Shape(rows=4)
"""
TAIL = """\
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=a)
    return out
"""
LEGAL = (
    "nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)",
    "nisa.tensor_tensor(a, a, b, nl.multiply)",
    "nisa.tensor_scalar(dst=a, data=b, op0=nl.multiply, operand0=2.0, op1=nl.add, operand1=1)",
    "nisa.activation(dst=a, op=nl.tanh, data=b, scale=0.5)",
    "nisa.memset(dst=a[0:32, 0:8], value=0.0)",
    "nisa.memset(dst=a, value=0.0, mask=None)",
    "nisa.tensor_copy(dst=a[0:128, nl.ds(8, 8)], src=b[0:128, 16:24])",
    "nisa.tensor_copy(dst=a.ap([[64, 128], [1, 32]]), src=b.ap([[64, 128], [2, 32]]))",
    "nisa.tensor_copy(dst=a.reshape((128, 8, 8))[0:128, 1, 0:8], src=b[:, 0:8])",
    "nisa.tensor_copy(dst=a, src=b, engine=nisa.engine.vector)",
    "s{k} = nl.ndarray((128, 1), nl.float32, buffer=nl.sbuf)\n"
    "nisa.tensor_reduce(dst=s{k}, op=nl.maximum, data=b, axis=1)\n"
    "nisa.tensor_scalar(dst=a, data=a, op0=nl.add, operand0=s{k})",
    "p{k} = nl.ndarray((64, 64), nl.float32, buffer=nl.psum)\n"
    "nisa.nc_matmul(dst=p{k}, stationary=a, moving=b)\nnisa.tensor_copy(dst=a[0:64, 0:64], src=p{k})",
    "t{k} = copied(a)\nnisa.tensor_copy(dst=b, src=t{k})",
    "tiles{k} = []\nfor j in range(2):\n    tiles{k}.append(nl.ndarray((128, 4), nl.float32, buffer=nl.sbuf))\n"
    "for tile in tiles{k}:\n    nisa.memset(dst=tile, value=1.0)",
    "assert a.shape == b.shape, f'{a.shape} is not {b.shape!r}'",
    "assert total(rows) == 3 and total([1, 2], start=1) == 4",
    "assert shape.doubled() == 8 and shape.mode == Mode.fast and isinstance(shape, Shape)",
    "shape.rows = 4",
    "sizes['q'] = sizes.get('q', 0) + 1",
    "assert 1 in rows and 3 not in (1, 2) and 'a' in 'abc'",
    "c{k}, d{k} = a.shape\nassert c{k} == ROWS and d{k} == 64",
    "assert math.ceil(1.5) + math.gcd(4, 6) == 4 and math.pi > 3",
    "assert min(1, 2) + max(rows) + abs(-1) + len(rows) + int(1.5) == 1 + 2 + 1 + 2 + 1",
    "assert n // 2 == 1 and n % 2 == 1 and -n < 0 and not n == 4",
    "m{k} = n if n > 2 else 0\nm{k} += 1\nassert m{k} == 4",
    "for v in sizes.values():\n    assert v >= 1",
    "while n < 3:\n    n += 1",
    "for i in range(4):\n    if i == 2:\n        break\n    continue",
    "for i in nl.static_range(2, 8, 3):\n    nisa.memset(dst=a[0:32, i : i + 1], value=0.0)",
    "assert np.pi > 3",
    "assert nl.program_id(0) == 0 and nl.num_programs(0) == 1 and nl.tile_size.pmax == ROWS",
    "r{k} = nisa.register_alloc(2)\nnisa.register_move(r{k}, 3)",
    "nisa.iota(dst=nl.ndarray((128, 8), nl.int32, buffer=nl.sbuf), pattern=[[1, 8]], offset=0, channel_multiplier=1)",
    "pass",
    "assert (n == 3) == True and (a is not None)",
)


@dataclass(frozen=True)
class Illegal:
    """Breaks the rule ``code``."""

    code: str
    text: str


ILLEGAL = (
    Illegal("NKL001", "def f{k}(i):\n    return i"),
    Illegal("NKL002", "class C{k}(nl.NKIObject):\n    pass"),
    Illegal("NKL004", "z{k} = Counter()"),
    Illegal("NKL010", "z{k} = 1\ndel z{k}"),
    Illegal("NKL012", "async def f{k}():\n    pass"),
    Illegal("NKL013", "match n:\n    case 0:\n        pass"),
    Illegal("NKL014", "if n > 100:\n    raise ValueError"),
    Illegal("NKL015", "try:\n    pass\nfinally:\n    pass"),
    Illegal("NKL016", "import os"),
    Illegal("NKL020", "for i in range(2):\n    pass\nelse:\n    pass"),
    Illegal("NKL021", "for i, j in [(1, 2)]:\n    pass"),
    Illegal("NKL023", "rows[0], rows[1] = 1, 2"),
    Illegal("NKL026", "for i in nl.affine_range():\n    pass"),
    Illegal("NKL027", "u{k}, (v{k}, w{k}) = (1, (2, 3))"),
    Illegal("NKL030", "total([1], start=(lambda: 1)())"),
    Illegal("NKL031", "q{k} = [i for i in range(2)]"),
    Illegal("NKL031", "assert list(i for i in rows) == rows"),
    Illegal("NKL032", "if (w{k} := n) > 1:\n    pass"),
    Illegal("NKL033", "assert n in {3, 4}"),
    Illegal("NKL036", "total(*[rows])"),
    Illegal("NKL037", "total(**{'values': rows})"),
    Illegal("NKL038", "assert n == 3, f'{n:>3}'"),
    Illegal("NKL039", "assert n % 1.5 == 0.0"),
    Illegal("NKL040", "z{k} = {1: 2}"),
    Illegal("NKL041", "a @ b"),
    Illegal("NKL043", "assert 0 < n in (3, 4)"),
    Illegal("NKL044", "z{k} = ..."),
    Illegal("NKL045", "z{k} = 4294967296"),
    Illegal("NKL046", "z{k} = b'x'"),
    Illegal("NKL047", "z{k} = 'ab'.upper()"),
    Illegal("NKL048", "assert n // -2 == -2"),
    Illegal("NKL049", "z{k} = 2 ** -1"),
    Illegal("NKL051", "nisa.tensor_add(dst=a, data1=a, data2=b)"),
    Illegal("NKL052", "nl.load(x)"),
    Illegal("NKL053", "nl.ndarray((128, 8), np.float32, buffer=nl.sbuf)"),
    Illegal("NKL053", "z{k} = np.zeros((2, 2))"),
    Illegal("NKL054", "for i in enumerate(rows):\n    pass"),
    Illegal("NKL054", "z{k} = sum(rows)"),
    Illegal("NKL055", "z{k} = math.prod(rows)"),
    Illegal("NKL056", "z{k} = list(range(2))"),
    Illegal("NKL057", "z{k} = missing"),
    Illegal("NKL060", "nisa.memset(dst=a, value=0.0, dtype=nl.float32)"),
    Illegal("NKL060", "total(rows, end=1)"),
    Illegal("NKL061", "nisa.activation(op=nl.exp, data=a)"),
    Illegal("NKL061", "total()"),
    Illegal("NKL062", "total(rows, 0, 0)"),
    Illegal("NKL063", "nisa.memset(dst=a, value=0.0, mask=1)"),
    Illegal("NKL064", "nl.exp(a)"),
    Illegal("NKL065", "nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.divide)"),
    Illegal("NKL066", "nisa.activation(dst=a, op=nl.add, data=b)"),
    Illegal("NKL067", "nisa.memset(a, dst=b, value=0.0)"),
    Illegal("NKL069", "nl.ds(0, 4, 2)"),
    Illegal("NKL070", "nisa.tensor_copy(dst=a[:, 0:32], src=b[:, 0:64:2])"),
    Illegal("NKL071", "a[0:128, 0:64] = b"),
    Illegal("NKL071", "a[...] += 1.0"),
    Illegal("NKL072", "z{k} = a + b"),
    Illegal("NKL072", "z{k} = -a"),
    Illegal("NKL072", "assert a < b"),
    Illegal("NKL074", "for row in a:\n    pass"),
    Illegal("NKL074", "z{k} = len(a)"),
    Illegal("NKL075", "z{k} = a.broadcast_to((128, 64))"),
    Illegal("NKL077", "z{k} = a[0:64, 0:64].ap([[64, 64], [1, 8]])"),
    Illegal("NKL077", "z{k} = a[0:64, 0:64].reshape((64, 8, 8))"),
    Illegal("NKL078", "z{k} = a[0:64, 0:64].view(nl.int32, (64, 64))"),
    Illegal("NKL080", "z{k} = nl.program_id(1)"),
    Illegal("NKL081", "nisa.tensor_reduce(dst=a, op=nl.add, data=b, axis=3)"),
    Illegal("NKL082", "nisa.dma_copy(dst=a, src=x, dst_rmw_op=nl.multiply)"),
    Illegal("NKL083", "nisa.activation(dst=a, op=nl.exp, data=b, bias=1.0)"),
    Illegal("NKL088", "a[...] = nisa.tensor_copy(src=b)"),
    Illegal("NKL088", "a = nisa.tensor_copy(src=b)"),
    Illegal("NKL090", "z{k} = [2, 1]\nz{k}.insert(0, 1)"),
    Illegal("NKL090", "z{k} = [2, 1]\nz{k}.sort()"),
    Illegal("NKL069", "z{k} = [2, 1]\nz{k}.pop(0)"),
    Illegal("NKL091", "z{k} = {'a': 1}\nfor w in z{k}:\n    pass"),
    Illegal("NKL092", "z{k} = {'a': 1}\nassert 'a' in z{k}"),
    Illegal("NKL093", "z{k} = {'a': 1}\nz{k}[1] = 1"),
    Illegal("NKL094", "z{k} = 'abc'\nassert z{k}[0] == 'a'"),
    Illegal("NKL095", "assert n == 3, '%d' % n"),
    Illegal("NKL096", "z{k} = min(1, 2, 3)"),
    # Another piece rebinds a: then the source does not tell its shape.
    Illegal("NKL098", "nisa.memset(dst=b[0:128, 32:128], value=0.0)"),
    Illegal("NKL098", "nisa.memset(dst=b[0:128, 64:64], value=0.0)"),
    Illegal("NKL098", "nisa.memset(dst=b[0:128, -1], value=0.0)"),
    Illegal("NKL098", "nisa.memset(dst=b[:, nl.ds(60, 8)], value=0.0)"),
    Illegal("NKL099", "nisa.memset(dst=b[0:128, 0:64, 0], value=0.0)"),
    Illegal("NKL097", "assert isinstance(n, (int, float))"),
    Illegal("NKL100", "assert 2 > 2.0 or 1 == n"),
    Illegal("NKL101", "assert n and not {}"),
    Illegal("NKL102", "z{k} = True + False"),
    Illegal("NKL103", "z{k} = (1, 2)[0:3]"),
    Illegal("NKL104", "z{k} = -8 >> 1"),
    Illegal("NKL105", "z{k} = isinstance(True, int)"),
    Illegal("NKL106", "z{k} = len('pf')"),
    Illegal("NKL107", "z{k} = [2, 1]\nz{k}[-1] = 3"),
    Illegal("NKL108", "z{k} = 0\nfor i in nl.dynamic_range(2):\n    z{k} += 1"),
    Illegal("NKL109", "z{k} = 0\nr{k} = nisa.register_alloc(1)\nif r{k}:\n    z{k} = 1\nassert z{k} == 1"),
    Illegal("NKL110", "r{k} = nisa.register_alloc(1)\nz{k} = 1 if r{k} else 2"),
    Illegal("NKL111", "z{k} = deque([1])"),
    Illegal("NKL111", "z{k} = collections.Counter()"),
)
BLOCKS = (
    "if n > 2:\n{}",
    "for o{k} in range(2):\n{}",
    "for o{k} in nl.affine_range(2):\n{}",
    "with nl.no_reorder():\n{}",
)
INPUTS = {"x": np.linspace(-1, 1, 128 * 64, dtype=np.float32).reshape(128, 64), "y": np.ones((128, 64), np.float32)}


@dataclass(frozen=True)
class Body:
    text: str
    codes: frozenset[str] = frozenset()


def spelled(text, k):
    """``text`` with variables of its own."""
    return text.replace("{k}", str(k))


@st.composite
def bodies(draw, illegal: int = 0):
    """A body of some legal pieces and up to ``illegal`` others, in nested blocks."""
    pieces = [Body(spelled(text, k)) for k, text in enumerate(draw(st.lists(st.sampled_from(LEGAL), max_size=5)))]
    broken = draw(st.lists(st.sampled_from(ILLEGAL), min_size=min(illegal, 1), max_size=illegal)) if illegal else []
    for k, piece in enumerate(broken, start=100):
        body = Body(spelled(piece.text, k), frozenset({piece.code}))
        for level in range(draw(st.integers(0, 2))):
            block = draw(st.sampled_from(BLOCKS)).replace("{k}", f"{k}_{level}")
            cut = block.startswith("with") and "nl.dynamic_range" in body.text
            more = frozenset({"NKL029"} if cut else ())
            body = Body(block.replace("{}", textwrap.indent(body.text, "    ")), body.codes | more)
        pieces.insert(draw(st.integers(0, len(pieces))), body)
    return Body(
        "\n".join(piece.text for piece in pieces) or "pass",
        frozenset().union(*(piece.codes for piece in pieces)),
    )


def source(body):
    return HEAD + textwrap.indent(body.text, "    ") + "\n" + TAIL


def codes(text):
    return {violation.code for violation in check_source(text, target="0.2")}


@pytest.fixture(scope="module")
def run(run_source):
    return lambda text: run_source(text, INPUTS, version="0.2")


def outcome(run, text):
    """What the front end says: nothing, or the code and the line of its error."""
    try:
        (output,) = run(text)
    except KernelError as error:
        return {(error.line, error.code)}
    assert output.shape == (128, 64) and output.dtype == np.float32
    return set()


@pytest.mark.random
@settings(max_examples=examples(50))
@given(body=st.one_of(bodies(), bodies(illegal=3)))
def test_a_kernel_runs_if_and_only_if_the_checker_passes_it(run, body):
    text = source(body)
    found = check_source(text, target="0.2")
    assert {violation.code for violation in found} == body.codes
    # What is refused before anything is traced comes first, whatever stands above it.
    first = sorted(found, key=lambda violation: (CODES[violation.code].stage not in ("gather", "simplify"), violation))
    assert outcome(run, text) == {(violation.line, violation.code) for violation in first[:1]}


@pytest.mark.parametrize("text", ["z = [1].pop(0)", "z = deque()", "nisa.memset(dst=a)", "z = a + b", "z = undefined"])
def test_what_tracing_refuses_matters_only_where_it_runs(run, text):
    """Real kernels have such branches; what the stages before it refuse is refused wherever it stands."""
    assert len(codes(source(Body(f"if n > 100:\n    {text}")))) == 1
    assert outcome(run, source(Body(f"if n > 100:\n    {text}"))) == set()
    assert outcome(run, source(Body(f"z = 1 if n else 2\nif n > 100:\n    pass\nelif n:\n    {text}"))) != set()
    assert outcome(run, source(Body("if n > 100:\n    del n"))) != set()


@pytest.mark.parametrize("text", LEGAL)
def test_each_legal_piece_passes_and_runs(run, text):
    body = source(Body(spelled(text, 0)))
    assert codes(body) == set()
    assert outcome(run, body) == set()


@pytest.mark.parametrize("piece", ILLEGAL, ids=lambda piece: f"{piece.code} {piece.text}")
def test_each_illegal_piece_is_found_and_refused(run, piece):
    body = source(Body(spelled(piece.text, 0)))
    assert codes(body) == {piece.code}
    (refused,) = outcome(run, body)
    assert refused in {(violation.line, violation.code) for violation in check_source(body, target="0.2")}
