"""Lists that a loop changes which Beta 1 traced once, under whatever names: they change once, or have a finding.

A body is some statements that give lists other names, put them into others, and change them. Both kernels give the same
numbers, or the rewritten one has a finding.
"""

from __future__ import annotations

import random

import pytest
from examples import examples
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def grow(numbers):
    numbers += [2]


def same(numbers):
    return numbers


FUNCTIONS = [grow]


class Box:
    def __init__(self, items):
        self.items = items


@nki.jit
def k(x, n=1):
    out = nl.ndarray((5, 8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    u = nl.load(x)
    v = [1, 2]
    w = [3]
    rows = [v, w]
    a = v
    b = w
    nl.store(out[4], u)
    for i in {loop}(2):
{body}
    nl.store(out[0], nl.multiply(u, 1.0 * sum(v)))
    nl.store(out[1], nl.multiply(u, 1.0 * sum(a)))
    nl.store(out[2], nl.multiply(u, 1.0 * sum(w)))
    nl.store(out[3], nl.multiply(u, 1.0 * sum(b)))
    return out
"""
STATEMENTS = (
    *(
        "v = [4]",
        "w = v",
        "v = w",
        "v, w = w, v",
        "w = v if n == 1 else [5]",
        "v = v + [6]",
        "w = same(v)",
        "w = rows[0]",
    ),
    *("rows = [w, v]", "rows[0] = w", "rows.append(v)", "v = Box(w).items", "w = list(v)", "v, w = rows[0], [7]"),
    *("v.append(8)", "w += [9]", "w.extend(v)", "v[0] += 1", "rows[0].append(10)", "grow(w)", "grow(rows[1])"),
    *("if n == 2:\n    v = [11]", "if n == 1:\n    w = [12]\n    w.append(13)", "for row in rows:\n    row.append(14)"),
    *("for j in nl.static_range(2):\n    v.append(j)\n    v = [15]", "same(v).append(16)", "same(same(w))[0] += 1"),
    *("(v if n == 1 else w).append(17)", "change = grow\nchange(v)", "FUNCTIONS[0](w)", "grow(Box(v).items)"),
    *("change = v.append\nchange(18)",),
)


def kernel(statements: tuple[str, ...], loop: str) -> str:
    body = "".join(f"        {line}\n" for statement in statements for line in statement.split("\n"))
    return KERNEL.format(body=body.rstrip("\n"), loop=loop)


def check(migrate, statements: tuple[str, ...], loop: str) -> bool:
    """Is a kernel rewritten without a finding? Then it gives the numbers that it gave."""
    source = kernel(statements, loop)
    outcome = rewrite(source, Options(unsafe=True))
    if outcome.findings:
        return False
    migration = migrate(source, {"x": TensorSpec((8, 8), "float32", "normal")}, Options(unsafe=True))
    assert not isinstance(migration.before, Failure), migration.before
    assert not isinstance(migration.after, Failure), migration.after
    assert not migration.trouble, (statements, migration.trouble)
    return True


@pytest.mark.parametrize("statement", STATEMENTS)
def test_one_statement_in_a_traced_loop(migrate, statement):
    check(migrate, (statement,), "nl.sequential_range")


@pytest.mark.parametrize(
    ("statements", "is_rewritten"),
    [
        (("if n == 2:\n    v = [11]", "v.append(8)"), False),
        (("v = [4]", "v.append(8)"), True),
        (("w = v", "v = [4]", "w += [9]"), False),
        (("rows = [w, v]", "v = [4]", "grow(rows[1])"), False),
        (("v = [4]", "rows = [[1], v]", "grow(rows[1])"), True),
        (("w += [9]",), False),
    ],
)
def test_a_list_that_is_made_in_the_loop_may_change_there(migrate, statements, is_rewritten):
    assert check(migrate, statements, "nl.affine_range") == is_rewritten


@pytest.mark.random
def test_lists_under_several_names(migrate):
    choose = random.Random(25)
    rewritten = 0
    for _ in range(examples(60)):
        statements = tuple(choose.choices(STATEMENTS, k=choose.randint(2, 4)))
        loop = choose.choice(("nl.sequential_range", "nl.affine_range", "range", "nl.static_range"))
        rewritten += check(migrate, statements, loop)
    assert rewritten > examples(60) / 8


IN_A_BRANCH = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def scale(tile, by):
    by[...] = nl.add(by, 1.0)
    tile[...] = nisa.tensor_scalar(tile, nl.multiply, by)


@nki.jit
def k(x, scaled=True):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // 64):
        if scaled:
            by = nl.full((64, 1), 2.0, dtype=nl.float32)
        t = nl.load(x[i * 64 : (i + 1) * 64, 0:8])
        if scaled:
            scale(t, by)
        nl.store(out[i * 64 : (i + 1) * 64, 0:8], t)
    return out
"""


@pytest.mark.parametrize("scaled", [True, False])
def test_a_tile_that_a_branch_declares_is_no_object_of_python(migrate, scaled):
    """Its elements are stored to by a function, and not each way through the body has declared it."""
    found = migrate(IN_A_BRANCH, {"x": TensorSpec((128, 8), "float32", "normal"), "scaled": scaled})
    assert found.outcome.findings == () and found.trouble == ()
