"""Comprehensions and loops over several sequences: what is written instead runs the same, and what is left is said."""

from __future__ import annotations

import ast
import math

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.guard import complete

KERNEL = """\
import math

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


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
    names: dict[str, object] = {"math": math}
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
        "r = tuple(range(3)) + (min(range(2, 5)),)",
        "r = [n for n in sizes]\nr[0], r[-1] = r[-1], r[0]",
        "r = [n for n in sizes]\nm, r[m - 1] = r[1], 7\nr = r + [m]",
        "r = math.prod(sizes) + math.prod([]) + math.ceil(2.5)",
        "r = []\nfor i, n in enumerate(sizes):\n    r.append(i * n)",
        "r = []\nfor n, name in zip(sizes, names):\n    r.append((n, name))",
        "r = []\nfor n, m, name in zip(sizes, sizes, names):\n    r.append((n, m, name))",
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
        ("n = 1\nr = [n for n in sizes]\nr = r + [n]", "the variable 'n' of a comprehension"),
        ("for n in range(2):\n    r = [n for n in sizes]\n    x = n", "the variable 'n' of a comprehension"),
        ("r = [n for n in doubled(sizes)]", "a comprehension over the result of a call"),
        ("r = [n for n in nl.affine_range(4)]", "a comprehension over the result of a call"),
        ("r = [nl.load(x) for n in sizes]", "a list comprehension of tensors"),
        ("r = [x for n in sizes]", "a list comprehension of tensors"),
        ("r = {n: 1 for n in sizes}", "a dict comprehension whose keys are not known to be strings"),
        ("r = sizes or [n for n in sizes]", "a list comprehension"),
        ("r = []\nt = nl.load(x)\nr.append(t)\ns = sum(r)", "the sum of tensors"),
        ("t = nl.load(x)\nr = sum([t, t])", "the sum of tensors"),
        ("r = sizes and any([n > 0 for n in sizes])", "a list comprehension"),
        ("r = sizes and all(n > 0 for n in sizes)", "a generator expression"),
        ("assert sorted([n for n in sizes])", "a list comprehension"),
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


def test_what_beta2_refuses_in_a_helper_that_no_rule_touched_is_a_finding():
    before = (
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n"
        "def counted(tile, seen=[]):\n    seen.append(tile)\n    return len(seen)\n\n\n"
        "@nki.jit\ndef k(x):\n    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    tile = nl.load(x)\n"
        "    nl.store(out, nl.multiply(tile, float(counted(tile))))\n    return out\n"
    )
    outcome = complete(before, rewrite(before), Options(), "kernel.py")
    assert [(finding.line, finding.code) for finding in outcome.findings] == [(5, "NKL028")]
