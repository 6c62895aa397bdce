"""Comprehensions and loops over several sequences: what is written instead runs the same, and what is left is said."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
from first_rung import Options, rewrite
from nki_migrate.guard import complete
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import math

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import numpy as np


def doubled(n):
    return 2 * n


@nki.jit
def k(x, sizes=(3, 1, 2), names=("a", "b")):
    {body}
    return x
"""


def kernel(body: str) -> str:
    return KERNEL.format(body=body.replace("\n", "\n    "))


def value_of(source: str, name: str) -> object:
    """What the local ``name`` of the kernel's function is at its end, run by Python."""
    tree = ast.parse(source)
    tree.body = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    function = tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    function.decorator_list = []
    function.body[-1] = ast.parse(f"def f():\n    return {name}").body[0].body[0]  # type: ignore[attr-defined]
    names: dict[str, object] = {"math": math, "np": np}
    exec(compile(ast.fix_missing_locations(tree), "kernel", "exec"), names)
    return names["k"](None)  # type: ignore[operator]


@pytest.mark.parametrize(
    "body",
    [
        "r = [2 * n for n in sizes]",
        "r = [n for n in sizes if n > 1 if n < 3]",
        "r = [[i * j for j in range(i)] for i in range(4)]",
        "r = [a + b for a in sizes for b in range(a)]",
        "r = sizes\nr = [n + 1 for n in r]",
        "r = tuple(doubled(n) for n in sizes if n not in [1])",
        "r = max([n for n in sizes]) + min(n for n in sizes)",
        "r = [p[0] for p in [(1, 2), (3, 4)]]\nr = r + [7]",
        "r = [(n, m) for n, m in [(1, 2), (3, 4)]]",
        "r = {str(n): 2 * n for n in sizes if n > 1}",
        "r = ({f'{a}{b}': a for a in names for b in sizes}, [1])",
        "r = sum(sizes) + sum((1, 2)) + sum(n * n for n in sizes)",
        "both = (4, 5)\nr = 10 * sum(both)",
        "r = any([n > 2 for n in sizes]), any([]), all([n > 2 for n in sizes]), all(sizes)",
        "r = all(n > 0 for n in sizes)",
        "r = any(n > 2 for n in sizes) and 1 in sizes",
        "r = any(sizes[n] > 2 for n in range(9))",
        "r = all(m < 2 for n in [0, 3, 9] for m in range(n, sizes[n]))",
        "r = [any([n > 1 for n in sizes]), sum(n * 2 for n in sizes) + sum([])]",
        "assert all(n > 0 for n in sizes), 'sizes'\nr = 1",
        "r = list(range(4))\nr = r + list(range(len(sizes) + 1))",
        "r = []\nfor n, m in [(1, 2), (3, 4)]:\n    for [a, b] in [(n, m)]:\n        r.append(n * m + a - b)",
        "r = [int(np.prod([sizes[n] for n in ns])) for ns in [(0, 1), (), (2,)]] + [int(np.prod(sizes))]",
        "r = int(np.prod((2.5, 3))), int(np.prod([]))",
        "table = {8: 2, 3: 5}\nr = [table[n] for n in sizes if n == 3] + [table[8 - n] for n in (0, 5)]",
        "table = {n: 2 * n for n in [1, 2, 3]}\nr = [table[n] for n in sizes], table[sizes[0]] if sizes else 1",
        "n = 4\ntable = {n: [n] for n in range(n)}\nr = table[3][0], n",
        "if len(sizes) > 2:\n    table = {0: {7: 1}, 1: 2}\nr = table[0][7] + table[1]",
        "n = 1\nr = [n for n in sizes]\nr = r + [n]",
        "for n in range(2):\n    r = [n for n in sizes]\n    r = r + [n]",
        "n = 5\nr = [(n, m, [n for n in range(m)], n) for n, m in [(7, 2), (8, 3)]], n",
        "n = 5\nr = [[n for n in range(n)] for n in range(n)]\nr = r + [n]",
        "n = 5\nr = [[m + n for m in [n for n in sizes if n > 1]] for n in [n, 2]], n",
        "r = [math.prod([sizes[n] for n in ns]) for ns in [(0, 1), (), (2,)]]",
        "r = [sum([a * b for b in range(a)]) for a in sizes if len([c for c in range(a) if c > 1]) > 0]",
        "r = all([n > 1 for n in range(2, m)] == [] for m in [0, 1, 9])",
        "r = {str(len([n for n in range(m)])): [n for n in range(m)] for m in sizes}",
        "r = [n for n in sorted(sizes)] + [n for n in list(range(2))]",
        "r = sorted(sizes), sorted([]), sorted(n * n for n in sizes), sorted([(2, 1), (1, 9), (1, 3)])",
        "r = sorted(sizes, key=lambda n: -n)",
        "r = sorted([(1, 7), (0, 7), (1, 2), (0, 2)], key=lambda p: p[0])",
        "r = sorted([(1, 7), (0, 7), (1, 2), (0, 2)], key=lambda p: (p[1], -p[0]))",
        "r = sorted(range(len(sizes)), key=sizes.__getitem__)",
        "n = 2\nr = min(sizes, key=lambda n: abs(n - 2)), max([4, -4, 3], key=abs), n",
        "n = 2\nr = max([(1, 5), (2, 5)], key=lambda p: sum([p[1] for n in range(n)])), n",
        "n = 7\nr = [min(sizes, key=lambda n: abs(n - m)) for m in range(4)], n",
        "assert len(sizes) == 3 and all([n > 0 for n in sizes]), f'{sizes}'\nr = 1",
        "r = []\nassert len(r) == 0 and not any([n > 5 for n in sizes]) and (r or sizes)\nr = 2",
        "r = tuple(range(3)) + (min(range(2, 5)),)",
        "r = [n for n in sizes]\nr[0], r[-1] = r[-1], r[0]",
        "r = [n for n in sizes]\nm, r[m - 1] = r[1], 7\nr = r + [m]",
        "r = math.prod(sizes) + math.prod([]) + math.ceil(2.5)",
        "r = []\nfor i, n in enumerate(sizes):\n    r.append(i * n)",
        "r = []\nfor n, name in zip(sizes, names):\n    r.append((n, name))",
        "r = []\nfor n, m, name in zip(sizes, sizes, names):\n    r.append((n, m, name))",
        "r = [n * m for n, m in zip(sizes, [5, 6])]",
        "r = [(n, p) for n in (1, 2) for p in zip(sizes, names, (n, 4, 5)) if p[0] != n]",
        "n = 1\nr = list(map(lambda n: n, sizes))\nr = r + [n]",
        "m = 1\nr = [m + n for n, m in zip(sizes, sizes)]\nr = r + [m]",
        "r = list(map(lambda n: n * n, sizes))",
        "r = list(filter(lambda n: n > 2, sizes)) + list(map(lambda m: m, names))",
        "m = 2\nr = list(map(lambda n: m * n, filter(lambda n: n > 1, filter(lambda n: n < m + 2, sizes))))",
        "r = list(map(lambda p: f'{p[0]}-{p[1]}', filter(lambda p: p[1] > 1, zip([('a', 1), ('b', 2)], sizes))))",
        "r = [list(map(lambda n: n + 1, sizes)), len(list(map(lambda n: [n], ())))]",
        "t = f'{sizes}'\nt = t\nr = 1",
        "r = 0\nfor n, i in zip(sizes, sizes):\n    for j, m in enumerate(sizes):\n        r = r + n * i * j * m",
    ],
)
def test_python_gives_the_same(body):
    outcome = rewrite(kernel(body))
    assert outcome.findings == ()
    kinds = (ast.ListComp, ast.GeneratorExp, ast.DictComp)
    assert not any(isinstance(n, kinds) for n in ast.walk(ast.parse(outcome.source)))
    assert "zip(" not in outcome.source and "enumerate(" not in outcome.source
    assert value_of(outcome.source, "r") == value_of(kernel(body), "r")
    assert rewrite(outcome.source).source == outcome.source


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("n = 1\nr = [n for n in [sizes] for n in n]\nr = r + [n]", "the variable 'n' of a comprehension"),
        ("r = np.prod([n for n in sizes])", "np.prod inside a kernel"),
        ("r = int(np.prod(x))", "np.prod inside a kernel"),
        ("r = int(np.prod(sizes, dtype=np.int32))", "np.prod inside a kernel"),
        ("r = sorted(sizes, key=doubled)", "a key that is no lambda of one parameter"),
        ("r = min(sizes, key=lambda n, m=2: n * m)", "a key that is no lambda of one parameter"),
        ("r = sorted(sizes, key=lambda n: x)", "a list comprehension of tensors"),
        ("r = sorted([x, x])", "the sorted of tensors"),
        ("assert x.shape[0] > 1 or all([n > 0 for n in sizes])", "a list comprehension"),
        ("r = [n for n in doubled(sizes)]", "a comprehension over the result of a call"),
        ("r = [n for n in nl.affine_range(4)]", "a comprehension over the result of a call"),
        ("r = [nl.load(x) for n in sizes]", "a list of tiles of unknown shape"),
        ("r = [x for n in sizes]", "a list comprehension of tensors"),
        ("r = {n: 1 for n in sizes}", "a dict comprehension whose keys are not known to be strings"),
        ("r = sizes or [n for n in sizes]", "a list comprehension"),
        ("r = []\nt = nl.load(x)\nr.append(t)\ns = sum(r)", "the sum of tensors"),
        ("t = nl.load(x)\nr = sum([t, t])", "the sum of tensors"),
        ("r = sizes and any([n > 0 for n in sizes])", "a list comprehension"),
        ("r = sizes and all(n > 0 for n in sizes)", "a generator expression"),
        ("r = sorted(sizes, reverse=True, key=lambda n: n)", "a lambda"),
        ("r = list(map(lambda n: 1, filter(lambda m: m, sizes)))", "a lambda"),
        ("r = list(map(lambda n, m=2: m, sizes))", "a lambda"),
        ("r = list(filter(lambda n: n, map(lambda n: -n, sizes)))", "a lambda"),
        ("r = list(map(lambda n: nl.load(x), sizes))", "a list comprehension of tensors"),
        ("r = list(map(lambda n, m: n, sizes, sizes))", "a lambda"),
        ("r = sizes or list(map(lambda n: n, sizes))", "a lambda"),
        ("r = [n for n, m in zip(sizes, doubled(sizes))]", "a sequence that is no list with a name"),
        ("r = [n for n, m in zip(sizes, [y, y])]", "a sequence that is no list with a name"),
        ("r = [n for (n, m) in zip(sizes)]", "another number of sequences"),
        ("r = any(nl.load(x) for n in sizes)", "a list comprehension of tensors"),
        ("r = list(sizes)\nfor i, n in enumerate(r):\n    r.append(n)", "'r' changes while a loop runs over it"),
        ("r = math.exp(1.0)", "math.exp(...) inside a kernel"),
        ("r = math.prod(sizes, start=2)", "math.prod(...) inside a kernel"),
        ("for i, n in enumerate(sizes, 1):\n    pass", "a loop over"),
        ("for n in zip(sizes, sizes):\n    pass", "a loop over zip"),
        ("for n, i in zip(sizes, doubled(sizes)):\n    pass", "a loop over a sequence that is no list with a name"),
    ],
)
def test_what_is_not_certain_is_left_and_said(body, message):
    outcome = rewrite(kernel("y = nl.load(x)\n" + body))
    assert any(message in finding.message for finding in outcome.findings), outcome.findings


@pytest.mark.parametrize(
    "use",
    [
        "r = table.get(1)",
        "r = 1 in table",
        "table[2] = 3",
        "table = table",
        "r = doubled(table)",
        "for n in table:\n    r = n",
        "def inner():\n    return table.keys()",
    ],
)
def test_a_dictionary_that_is_not_only_read_keeps_its_keys(use):
    assert "table = {1: 2}" in rewrite(kernel(f"table = {{1: 2}}\n{use}\nr = table[1]")).source
    assert "table = {1: 2, None: 3}" in rewrite(kernel("table = {1: 2, None: 3}\nr = table[1]")).source


def test_a_function_inside_reads_the_same_dictionary(migrate):
    body = """\
rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    table = {2: 0.5, 4: 0.25}

    def scaled(tile, n):
        return nl.multiply(tile, table[n], dtype=nl.float32)

    nl.store(out, value=scaled(nl.load(x), 2 * len(names)))
    return out"""
    migration = migrate(KERNEL.format(body=body), {"x": TensorSpec((64, 16), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "table[str(n)]" in migration.outcome.source


@pytest.mark.parametrize("sizes", [(1, 2), (1, 0), ()])
def test_an_assertion_in_parts_holds_when_it_did(sizes):
    body = f"sizes = {sizes}\nassert len(sizes) == 2 and all([n > 0 for n in sizes]), 'two sizes'\nr = 1"
    ends = []
    for source in (kernel(body), rewrite(kernel(body)).source):
        try:
            ends.append(value_of(source, "r"))
        except AssertionError as error:
            ends.append(str(error))
    assert ends[0] == ends[1] == (1 if sizes == (1, 2) else "two sizes")


def test_what_takes_the_place_of_a_sort_runs_in_a_kernel(migrate):
    body = """\
tiles, rows, columns = x.shape
    order = (5, 1, 3)
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    ranks = sorted(range(len(order)), key=order.__getitem__)
    pairs = [(n, max(order, key=lambda m: (m - n) * (m - n))) for n in sorted(order)]
    assert len(ranks) == 3 and all([r < 3 for r in ranks]), "ranks"
    for n, far in pairs:
        for i in sorted(ranks):
            tile = nl.load(x[ranks[i]])
            nl.store(out[i], value=nl.multiply(tile, far * n))
    return out"""
    migration = migrate(KERNEL.format(body=body), {"x": TensorSpec((3, 64, 16), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_a_function_that_is_named_in_any_expression_is_read():
    source = kernel("r = 1 + doubled(2)").replace("return 2 * n", "return [2 for i in range(n)][0]")
    assert "values.append(2)" in rewrite(source).source


def test_a_psum_tile_that_matmuls_accumulate_into_is_no_state_of_the_loop():
    source = KERNEL.format(body="""acc = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
    for i in nl.affine_range(2):
        acc += nl.matmul(nl.load(x[i, 0:128, 0:128]), nl.load(x[i]), transpose_x=True)
    n = 0
    for i in nl.affine_range(2):
        n += 1""")
    outcome = rewrite(source).source
    assert "acc_before_loop" not in outcome
    assert outcome.count("n_before_loop") == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(n > 2) & (n < 9)", "n > 2 and n < 9"),
        ("(n > 2) | one & two", "n > 2 or (one and two)"),
        ("one & (n > 2 or two)", "one and (n > 2 or two)"),
        ("one & maybe", "one and maybe"),
        ("one & flag", None),
        ("one & (3 if flag else None)", None),
        ("n & 3", None),
        ("(n & 3) & one", None),
    ],
)
def test_an_operator_of_truth_values_becomes_a_word(before, after):
    source = f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n, flag):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    one = n >= 4
    if n == 7:
        one = True
    two = not one
    maybe = n > 2 if flag else None
    if {before}:
        nl.store(out, nl.load(x))
    return out
"""
    assert f"    if {after or before}:\n" in rewrite(source).source


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rate > 0", "float(rate) > 0.0"),
        ("-1 <= low and n > 2", "-1.0 <= float(low) and n > 2"),
        ("limits.top == 1", "float(limits.top) == 1.0"),
        ("rate > 0.0", "float(rate) > 0.0"),
        ("float(rate) > 0.0", None),
        ("limits.many > 1", None),
        ("n > 0", None),
        ("bound > 0", "float(bound) > 0.0"),
    ],
)
def test_a_float_is_compared_with_a_float(before, after):
    source = f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np
from dataclasses import dataclass


@dataclass
class Limits:
    top: float
    many: int = 3


@nki.jit
def k(x, n, bound, limits: Limits, rate: float, low=0.0):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    if {before}:
        nl.store(out, nisa.tensor_scalar(nl.load(x), np.maximum, operand0=-bound))
    return out
"""
    assert f"    if {after or before}:\n" in rewrite(source).source


def test_what_beta2_refuses_in_a_helper_that_no_rule_touched_is_a_finding():
    before = (
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n"
        "def counted(tile, seen=[]):\n    seen.append(tile)\n    return len(seen)\n\n\n"
        "@nki.jit\ndef k(x):\n    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    tile = nl.load(x)\n"
        "    nl.store(out, nl.multiply(tile, float(counted(tile))))\n    return out\n"
    )
    outcome = complete(before, rewrite(before), Options())
    assert [(finding.line, finding.code) for finding in outcome.findings] == [(5, "NKL028")]


TRUTHS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, causal=True, window=0):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    for i in nl.static_range(4):
{body}
            nl.store(out[:, nl.ds(i * 16, 16)], value=nl.add(nl.load(x[:, nl.ds(i * 16, 16)]), 1.0))
    return out
"""
CARRIED = """\
        if causal:
            inside = i > 0
            if window > 0:
                last = i + window
                inside = inside & (last < 6)
        else:
            inside = True
        if (i < 3) & inside:
"""


@pytest.mark.parametrize("arguments", [{}, {"window": 3}, {"causal": False}])
def test_a_truth_value_that_is_made_of_itself_is_one(migrate, arguments):
    given = {"x": TensorSpec((32, 64), "float32", "normal"), **arguments}
    migration = migrate(TRUTHS.format(body=CARRIED.rstrip("\n")), given)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "inside = inside and last < 6" in migration.outcome.source
    assert "if i < 3 and inside:" in migration.outcome.source


@pytest.mark.parametrize(
    "body",
    [
        "        count = i + 1\n        if count & (rows > 2):",
        "        if (i > 1) | i:",
        "        inside = i > 0\n        inside += 1\n        if inside & (rows > 2):",
        "        inside = i > 0\n        inside &= rows > 2\n        if inside:",
    ],
)
def test_a_truth_value_and_a_number_are_left_under_a_finding(body):
    source = TRUTHS.format(body=body)
    outcome = rewrite(source)
    assert [f.code for f in outcome.findings] == ["NKI091"]
    line = source.split("\n")[outcome.findings[0].line - 1]
    assert any(sign in line for sign in "&|") and line in outcome.source


INSTANCES = """\
        inside = {}
        if inside:
"""


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("isinstance(rows, (int, float))", "inside = isinstance(rows, int) or isinstance(rows, float)"),
        ("isinstance(rows, (float, (str, int)))", "isinstance(rows, float) or isinstance(rows, str)"),
        ("isinstance(rows, int | float)", "isinstance(rows, int) or isinstance(rows, float)"),
        ("not isinstance(rows, (str, float))", "inside = not (isinstance(rows, str) or isinstance(rows, float))"),
        ("isinstance(rows, (str, int)) and rows > 2", "inside = (isinstance(rows, str) or isinstance(rows, int)) and"),
        ("isinstance(rows, (int,))", "inside = isinstance(rows, int)"),
    ],
)
def test_isinstance_asks_for_one_type_after_the_other(migrate, asked, written):
    given = {"x": TensorSpec((32, 64), "float32", "normal")}
    migration = migrate(TRUTHS.format(body=INSTANCES.format(asked).rstrip("\n")), given)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert written in migration.outcome.source


def test_isinstance_of_an_expression_with_several_types_is_left_under_a_finding():
    found = rewrite(TRUTHS.format(body=INSTANCES.format("isinstance(rows + 1, (int, float))").rstrip("\n"))).findings
    assert [finding.code for finding in found] == ["NKI091"]
