"""``*args`` that all calls fill alike become parameters; all other functions keep them, under a finding."""

from __future__ import annotations

import pytest
from first_rung import rewrite, rewrite_together
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

"""
KERNEL = """
@nki.jit
def k(x, n=3):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    {body}
    nl.store(out, tile)
    return out
"""
TOTAL = "def total(first, *more):\n    for one in more:\n        first = first + one\n    return first\n\n"
VARIABLE = "variable arguments of a function"


def source(helpers: str, body: str) -> str:
    return f"{HEAD}\n{helpers}{KERNEL.format(body=body)}"


def messages(text: str) -> list[str]:
    return [finding.message for finding in rewrite(text).findings]


def test_arguments_of_every_call_are_named(migrate):
    helpers = """\
def checked(rows, *sizes, exact=False):
    assert len(sizes) == 2 and sizes[0] > 0, "sizes"
    found = []
    for size in sizes:
        found.append(size if exact else 2 * size)
    if rows > 1:
        found = list(sizes)
    return found, sizes[-1]


"""
    body = (
        "m, last = checked(1, 2, n, exact=True)\n    checked(n, 2, 3)\n"
        "    tile = nl.multiply(tile, m[1] + last, dtype=nl.float32)"
    )
    migration = migrate(source(helpers, body), {"x": TensorSpec((64, 16), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "def checked(rows, sizes_0, sizes_1, *, exact=False):" in migration.outcome.source
    assert "for size in (sizes_0, sizes_1):" in migration.outcome.source
    assert "sizes_0 > 0" in migration.outcome.source


def test_tiles_among_them_are_tiles(migrate):
    helpers = "def added(*tiles):\n    return nl.add(tiles[0], nl.multiply(tiles[1], 2.0, dtype=nl.float32))\n\n"
    text = source(helpers, "tile = added(tile, nl.exp(tile))")
    migration = migrate(text, {"x": TensorSpec((64, 16), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "def added(tiles_0, tiles_1):" in migration.outcome.source


@pytest.mark.parametrize(("call", "text"), [("total(n)", "()"), ("total(n, 1)", "(more_0,)")])
def test_a_tuple_of_any_length(migrate, call, text):
    migration = migrate(
        source(TOTAL, f"tile = nl.multiply(tile, {call}, dtype=nl.float32)"),
        {"x": TensorSpec((64, 16), "float32", "normal")},
    )
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert f"for one in {text}:" in migration.outcome.source


def test_a_second_run_changes_nothing():
    first = rewrite(source(TOTAL, "m = total(n, 1, 2)")).source
    assert "def total(first, more_0, more_1):" in first
    assert rewrite(first).source == first


@pytest.mark.parametrize(
    ("helpers", "body"),
    [
        (TOTAL, "m = total(n, 1) + total(n)"),
        (TOTAL, "m = total(n, *[1, 2])"),
        (TOTAL, "m = total(**{'first': n})"),
        (TOTAL, "m = [total][0](n, 1)"),
        (TOTAL, "m = total(n, 1)\n    other = total"),
        (TOTAL + "alias = total\n\n", "m = total(n, 1)"),
        (TOTAL + "def host():\n    return total(1, 2, 3)\n\n", "m = total(n, 1)"),
        (TOTAL + "class Rows:\n    def sum(self):\n        return total(1)\n\n", "m = total(n, 1)"),
        (TOTAL.replace("first,", "first=0,"), "m = total(n, 1)"),
        (TOTAL.replace("first = first + one", "first = first + one\n        more = ()"), "m = total(n, 1)"),
        (TOTAL.replace("first + one", "max(first, *more)"), "m = total(n, 1)"),
        (TOTAL.replace("return first", "return f'{more}'"), "m = total(n, 1)"),
        (TOTAL.replace("first = first + one", "first = first + more_0"), "more_0 = 1\n    m = total(n, 1)"),
        ("more = 1\n\n\n" + TOTAL.replace("*more", "*more, n=more"), "m = total(n, 1)"),
        ("def plain(f):\n    return f\n\n\n@plain\n" + TOTAL, "m = total(n, 1)"),
    ],
)
def test_other_functions_keep_their_tuple(helpers, body):
    text = source(helpers, body)
    assert VARIABLE in messages(text)
    assert "*more" in rewrite(text).source


def test_a_method_keeps_its_tuple():
    helpers = "class Rows:\n    def __init__(self, *sizes):\n        self.sizes = sizes\n\n"
    assert VARIABLE in messages(source(helpers, "rows = Rows(1, 2)"))


USER = HEAD + "{head}\n" + KERNEL


@pytest.mark.parametrize(
    ("head", "body", "named"),
    [
        ("from helpers import total", "m = total(n, 1)", True),
        ("from helpers import total as summed", "m = summed(n, 1)", True),
        ("import helpers", "m = helpers.total(n, 1)", True),
        ("from helpers import total as summed", "m = summed(n)", False),
        ("import helpers", "m = helpers.total(n)", False),
        ("import helpers", "m = getattr(helpers, 'total')(n)\n    helpers.total(n, 1)\n    f = helpers.total", False),
        ("from helpers import *", "m = total(n)", False),
    ],
)
def test_calls_in_other_files_count(head, body, named):
    files = {
        "helpers.py": source(TOTAL, "m = total(n, 2)").replace("def k(", "def other("),
        "user.py": USER.format(head=head, body=body),
    }
    found = rewrite_together(files)
    assert ("def total(first, more_0):" in found["helpers.py"].source) == named
    assert (VARIABLE in [f.message for f in found["helpers.py"].findings]) != named
