"""Python that Beta 2's front end does not have, or reads as something else, is rewritten or has a finding."""

import builtins
import textwrap

import pytest
from first_rung import Options, rewrite, rewrite_together
from nki_migrate.codemods.render.python_subset import ABSENT, OF_LISTS, OF_TEXT
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.legality.rules_containers import FUNCTIONS, METHODS

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n=3):
    out = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x)
    rows = [3, 1, 2]
    sizes = {{"a": 1, "b": 2}}
    name = "abc"
    half = 0.5
{body}
    nl.store(out, nl.multiply(t, 1.0 * r))
    return out
"""


def kernel(body):
    return KERNEL.format(body=textwrap.indent(body, "    "))


@pytest.mark.parametrize(
    "body",
    [
        "other = rows\nother += [9]\nr = len(rows)",
        "other = rows\nother += (9,)\nr = len(rows)",
        "other = rows\nmore = [4]\nother += more\nr = len(rows)",
        "other = rows\nother += rows[0:1]\nr = len(rows)",
        "rows += [4]\nr = rows[3]",
        "rows[-1] = 9\nr = rows[2]",
        "r = max(1, n, 2)",
        "r = min(n, rows[0], rows[1], 5)",
        "r = 2\nif n == 3.0:\n    r = 5",
        "r = 2\nif half * 2 == 1.0 and n != 3.5:\n    r = 5",
        "r = 2\nif -1.0 < n:\n    r = 5",
        "r = n ** -0.5",
        "r = 1 / n ** -2.0",
    ],
)
def test_python_that_beta_2_reads_as_something_else_is_rewritten(migrate, body):
    migration = migrate(kernel(body), {"x": TensorSpec((8, 8), "float32", "normal")}, Options(unsafe=True))
    assert not migration.outcome.findings and migration.trouble == ()


@pytest.mark.parametrize(
    "body",
    [
        "r = rows.pop(0)",
        "r = rows.count(1)",
        "rows.insert(0, 5)\nr = rows[0]",
        "rows *= 2\nr = len(rows)",
        "rows.sort()\nr = rows[0]",
        "sizes.update(c=5)\nr = sizes['c']",
        "r = rows[::-1][0]",
        "r = 2 ** -1",
        "r = n ** -n",
        "r = round(half)",
        "r = getattr(n, 'real')",
        "r = next(iter(rows))",
        "r = list(zip(rows, rows))[0][0]",
        "r = sorted(rows, reverse=True)[0]",
        "r = 1 if name.startswith('a') else 2",
        "r = 1 if '-'.join(['a', 'b']) == 'a-b' else 2",
        "match n:\n    case 3:\n        r = 1\n    case _:\n        r = 2",
        "r = 0\nwhile r < 3:\n    r += 1\nelse:\n    r = 5",
    ],
)
def test_python_that_beta_2_does_not_have_has_a_finding(body):
    findings = rewrite(kernel(body), Options(unsafe=True)).findings
    assert "NKI091" in {finding.code for finding in findings}


def test_a_list_that_a_function_grows_is_that_of_its_caller(migrate):
    grow = "def grow(values, more):\n    values += more\n    return len(values)\n\n\n@nki.jit"
    source = kernel("s = grow(rows, [4, 5])\nr = len(rows)").replace("@nki.jit", grow)
    migration = migrate(source, {"x": TensorSpec((8, 8), "float32", "normal")}, Options(unsafe=True))
    assert not migration.outcome.findings and migration.trouble == ()
    assert "values.extend(list(more))" in migration.outcome.source


def test_a_list_that_a_function_of_another_module_grows_is_that_of_its_caller():
    helpers = (
        "import neuronxcc.nki.language as nl\n\n\ndef grow(values, more):\n    values += more\n    return len(values)\n"
    )
    source = kernel("s = grow(rows, [4, 5])\nr = len(rows)").replace(
        "\n\n\n@nki.jit", "\nfrom helpers import grow\n\n\n@nki.jit"
    )
    outcomes = rewrite_together({"helpers.py": helpers, "kernel.py": source}, Options(unsafe=True))
    assert "values.extend(list(more))" in outcomes["helpers.py"].source


def test_a_number_that_a_function_adds_to_stays_one():
    source = kernel("r = plus(n, 4)").replace("@nki.jit", "def plus(n, m):\n    n += m\n    return n\n\n\n@nki.jit")
    assert "    n += m\n" in rewrite(source, Options(unsafe=True)).source


def test_what_is_left_is_what_the_front_end_does_not_have():
    """The tables are those of the legality check: what it knows is not left, and what it does not know is."""
    known = {*FUNCTIONS["builtins"], "min", "max", "print", "slice", "range"}
    assert not ABSENT & known and set(dir(builtins)) >= ABSENT
    has = {method for methods in METHODS.values() for method in methods}
    assert not OF_TEXT & has and set(dir(str)) >= OF_TEXT
    assert {method for method in OF_LISTS if method in has} <= {"count", "sort"}  # one drops its argument, one stops
    assert set(dir(list)) | set(dir(dict)) >= OF_LISTS


def test_a_function_of_the_module_is_not_python_s():
    source = kernel("r = round(n)").replace("@nki.jit", "def round(n):\n    return n + 1\n\n\n@nki.jit")
    assert not rewrite(source, Options(unsafe=True)).findings
