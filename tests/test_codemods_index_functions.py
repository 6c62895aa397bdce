"""Functions of indices: what they compute stands where they are called, or they are left under a finding."""

from __future__ import annotations

import ast

import pytest
from first_rung import Options, rewrite
from nki_migrate.guard import complete, objection
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

{top}

@nki.jit
def k(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    f = nl.arange(columns)[None, :]
    {bound}
    for t in nl.affine_range(rows // 16):
        tile = nl.load(x[{index}, f])
        nl.store(out[{index}, f], value=tile)
    return out
"""


def source(bound, index="row(t)", top=""):
    return SOURCE.format(bound=bound, index=index, top=top)


WRITTEN = {
    "a lambda": source("row = lambda t: t * 16 + nl.arange(16)[:, None]"),
    "a name of the kernel": source("size = 16\n    row = lambda t: t * size + nl.arange(size)[:, None]"),
    "a name that changes before the call": source(
        "size = 4\n    row = lambda t: t * size + nl.arange(size)[:, None]\n    size = 16"
    ),
    "one with a default": source("row = lambda t, n=16: t * n + nl.arange(16)[:, None]"),
    "one by keyword": source("row = lambda t, n=8: t * n + nl.arange(16)[:, None]", "row(n=16, t=t)"),
    "an argument of several parts": source("row = lambda t: t * 8 + nl.arange(16)[:, None]", "row(t + t)"),
    "of another one": source("base = lambda t: t * 16\n    row = lambda t: base(t) + nl.arange(16)[:, None]"),
    "in itself": source("row = lambda t: t * 4", "row(row(t)) + nl.arange(16)[:, None]"),
    "a dictionary": source("rows_of = {'all': lambda t: t * 16 + nl.arange(16)[:, None]}", "rows_of['all'](t)"),
    "a nested function": source("def row(t):\n        return t * 16 + nl.arange(16)[:, None]"),
    "of a vector of the kernel": source("i = nl.arange(16)[:, None]\n    def row(t):\n        return t * 16 + i"),
    "of a vector that it gets": source(
        "i = nl.arange(16)[:, None]\n    def row(v, t):\n        return t * 16 + v", "row(i, t)"
    ),
    "of a vector made of another one": source(
        "j = nl.arange(16)\n    i = j[:, None]\n    def row(t):\n        return t * 16 + i"
    ),
    "with names for parts of it": source(
        "i = nl.arange(16)[:, None]\n    def row(t):\n        n = t * 4\n        m = n * 4\n        return m + i"
    ),
    "of the module": source("pass", top="row = lambda t: t * 16 + nl.arange(16)[:, None]\n"),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_what_a_function_of_indices_computes_stands_where_it_is_called(migrate, what):
    migration = migrate(WRITTEN[what], {"x": TensorSpec((32, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "lambda" not in migration.outcome.source and "row(" not in migration.outcome.source


BOUNDS = ("i < rows - t * 16", "t * 16 + i < rows", "(i < rows - t * 16) & (f < columns - 3)")


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("steps", ["", "n = rows - t * 16\n        "])
@pytest.mark.parametrize("rows", [32, 40])
def test_a_function_of_a_mask_is_the_mask_that_it_computes(migrate, bound, steps, rows):
    text = source("i = nl.arange(16)[:, None]\n    pass", "t * 16 + i").replace("rows // 16", "(rows + 15) // 16")
    named = bound.replace("rows - t * 16", "n") if steps else bound
    function = f"def valid(t):\n        {steps}return {named}"
    called, by_hand = (
        text.replace("    pass", f"    {first}")
        .replace("f])", f"f], mask={mask})")
        .replace("=tile", f"=tile, mask={mask}")
        for first, mask in ((function, "valid(t)"), ("pass", f"({bound})"))
    )
    migration = migrate(called, {"x": TensorSpec((rows, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    written = rewrite(by_hand.replace("    pass\n", "")).source
    assert ast.dump(ast.parse(migration.outcome.source)) == ast.dump(ast.parse(written))


VECTOR = "row = lambda t: t * 16 + nl.arange(16)[:, None]"
LEFT = {
    "bound twice": source(f"{VECTOR}\n    {VECTOR}"),
    "bound in a condition": source(f"if rows > 3:\n        {VECTOR}"),
    "a dictionary that changes": source(
        "rows_of = {'all': lambda t: t * 16 + nl.arange(16)[:, None]}\n    rows_of['all'] = None", "rows_of['all'](t)"
    ),
    "handed on": source(f"{VECTOR}\n    apply = lambda g, t: g(t)", "apply(row, t)"),
    "with variable arguments": source("row = lambda *t: t[0] * 16 + nl.arange(16)[:, None]"),
    "called in a comprehension": source(f"{VECTOR}\n    found = [row(t) for t in range(3)]"),
    "an argument that does something": source(VECTOR, "row(print(t))"),
}
VECTORS = "i = nl.arange(16)[:, None]"
LEFT_FUNCTIONS = {
    "a name bound twice": source(f"{VECTORS}\n    def row(t):\n        t = t * 16\n        return t + i"),
    "a step that does something": source(f"{VECTORS}\n    def row(t):\n        print(t)\n        return t * 16 + i"),
    "a call in a step": source(
        f"{VECTORS}\n    def row(t):\n        n = g(t)\n        return n + i", top="from g import g"
    ),
}


@pytest.mark.parametrize("what", LEFT_FUNCTIONS)
def test_a_function_that_does_more_than_name_what_it_computes_is_not_written_out(what):
    outcome = complete(LEFT_FUNCTIONS[what], rewrite(LEFT_FUNCTIONS[what]), Options())
    assert objection(LEFT_FUNCTIONS[what], outcome, Options(), "old.py", rewrite) is None or outcome.findings
    assert outcome.findings


@pytest.mark.parametrize("what", LEFT)
def test_one_whose_text_might_mean_something_else_is_left_under_a_finding(what):
    outcome = complete(LEFT[what], rewrite(LEFT[what]), Options())
    assert objection(LEFT[what], outcome, Options(), "old.py", rewrite) is None or outcome.findings
    assert outcome.findings and "lambda" in outcome.source


def test_a_name_that_is_another_one_where_it_is_called_is_not_written_there():
    nested = "def part(t, n):\n        return nl.load(x[row(t), f])"
    text = source(f"n = 16\n    row = lambda t: t * n + nl.arange(16)[:, None]\n    {nested}", "nl.arange(16)[:, None]")
    text = text.replace("nl.load(x[nl.arange(16)[:, None], f])", "part(t, 3)")
    outcome = complete(text, rewrite(text), Options())
    assert outcome.findings and "lambda" in outcome.source


def test_findings_have_their_place_in_the_source():
    text = source(f"{VECTOR}\n    other = nl.shared_constant(x)")
    line = 1 + next(n for n, each in enumerate(text.split("\n")) if "shared_constant" in each)
    assert [finding.line for finding in rewrite(text).findings] == [line]


def test_host_code_keeps_its_lambdas():
    text = source(
        "pass", "t * 16 + nl.arange(16)[:, None]", top="size = lambda n: n * 16\n\n\ndef f(n):\n    return size(n)\n"
    )
    assert "size = lambda n: n * 16\n\n\ndef f(n):\n    return size(n)\n" in rewrite(text).source
