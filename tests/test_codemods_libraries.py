"""Python's library in kernels: a deque that is used as a list becomes one, all else is under a finding."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.guard import complete
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import collections
import itertools
import operator
from collections import Counter, OrderedDict, defaultdict, deque
from functools import reduce

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


{helpers}
@nki.jit
def k(x, n=2):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    {body}
    nl.store(out, nl.load(x))
    return out
"""
RUNS = """\
def runs(order):
    found = []
    run = deque([order[0]])
    for i in range(1, len(order)):
        if order[i] != run[-1] + 1:
            found.append(tuple(run))
            run.clear()
        run.append(order[i])
    found.append(tuple(run))
    return found


"""


def kernel(body: str, helpers: str = "") -> str:
    return KERNEL.format(body=body.replace("\n", "\n    "), helpers=helpers)


def found(source: str) -> list[tuple[int, str]]:
    outcome = complete(source, rewrite(source), Options())
    return [(finding.line, finding.code) for finding in outcome.findings]


def test_a_deque_in_a_helper_is_a_list(migrate):
    body = "for part in runs((0, 1, 3)):\n    if len(part) > n:\n        out = out"
    migration = migrate(kernel(body, RUNS), {"x": TensorSpec((64, 16), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "    run = [order[0]]\n" in migration.outcome.source


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("q = deque()\nq.append(n)", "q = []"),
        ("q = collections.deque([1, n])\nm = q.pop() + len(q)", "q = [1, n]"),
        ("q = deque([n])\nfor m in q:\n    assert m > 0", "q = [n]"),
        ("q = deque([n])\nm = list(q)\nq.clear()", "q = [n]"),
    ],
)
def test_such_a_deque_is_a_list(body, text):
    assert f"    {text}\n" in rewrite(kernel(body)).source
    assert found(kernel(body)) == []


@pytest.mark.parametrize(
    "body",
    [
        "q = deque([1], 1)\nq.append(2)",
        "q = deque(maxlen=1)\nq.append(2)",
        "q = deque(x.shape)",
        "q = deque([*x.shape])",
        "q = deque([1])\nq.appendleft(2)",
        "q = deque([1, 2])\nm = q.popleft()",
        "q = deque([1, 2])\nq.rotate(1)",
        "q = deque([1])\nother = q",
        "q = deque([1])\nassert q == [1]",
        "q = deque([1])\nif not q:\n    n = 3",
        "q = deque([1])\nm = [q]",
        "q = deque([1])\nq[0] = 2",
        "q = [deque([1])]",
        "q = deque([1])\nq += [2]",
        "q = defaultdict(list)\nq['a'].append(1)",
        "q = Counter([1, 1])",
        "q = OrderedDict()",
        "q = collections.ChainMap()",
        "q = reduce(max, (1, 2))",
        "q = [operator.mul]",
        "for i in itertools.count():\n    break",
        "if isinstance(n, deque):\n    n = 3",
    ],
)
def test_what_no_list_does_is_a_finding(body):
    source = kernel(body)
    outcome = rewrite(source)
    assert [(f.line, f.code) for f in outcome.findings][:1] == [(15, "NKI091")]
    assert "of Python's library" in outcome.findings[0].message
    assert body.partition("\n")[0] in outcome.source


def test_a_deque_that_an_inner_function_reads_stays():
    body = "q = deque([1])\ndef last():\n    return q[-1]\nm = last() + last()"
    assert (15, "NKI091") in found(kernel(body))


def test_a_container_in_an_object_is_a_finding():
    helpers = """\
class Store:
    def __init__(self, n):
        self.n = n
        self.tiles = defaultdict(dict)


"""
    assert (14, "NKI091") in found(kernel("store = Store(n)", helpers))


def test_a_container_that_a_loop_fills_is_state_of_the_loop():
    body = "d = defaultdict(list)\nfor i in nl.affine_range(2):\n    d['a'].append(i)"
    assert found(kernel(body)) == [(15, "NKI091"), (17, "NKI004")]


def test_host_code_keeps_its_library():
    helpers = (
        "SIZES = defaultdict(int)\n\n\ndef host(n):\n    return deque([n]), list(itertools.product([1], [2]))\n\n\n"
    )
    source = kernel("pass", helpers)
    assert found(source) == []
    assert helpers in rewrite(source).source


PRODUCT = """\
import operator
from functools import reduce
from operator import mul

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def count(shape):
    return {product}


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(out, nl.multiply(tile, count(x.shape), dtype=x.dtype))
    return out
"""


@pytest.mark.parametrize("product", ["reduce(mul, shape, 1)", "reduce(operator.mul, shape)", "reduce(mul, [2, 3], 1)"])
def test_a_reduction_with_mul_is_a_product(migrate, product):
    migration = migrate(PRODUCT.format(product=product), {"x": TensorSpec((8, 4), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "functools" not in migration.outcome.source and "product(" in migration.outcome.source


@pytest.mark.parametrize("other", ["reduce(mul, shape, 2)", "reduce(operator.add, shape)", "reduce(max, shape, 1)"])
def test_another_reduction_is_a_finding(other):
    assert any("functools.reduce" in f.message for f in rewrite(PRODUCT.format(product=other)).findings)
