"""Dictionaries of keywords: whose keys become parameters, and which stay under a finding."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.codemods.driver.module import rewrite_together
from nki_migrate.guard import objection
from nki_migrate.runtime.cases import TensorSpec

HEADER = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


"""
KERNEL = """\


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    {call}
    return out
"""
ARGS = {"x": TensorSpec((64, 8), "float32")}


def module(helper: str, call: str) -> str:
    return HEADER + helper + KERNEL.format(call=call)


STORED = "def f(src, dst, **opts):\n    {body}\n    nl.store(dst, value=nl.multiply(nl.load(src), {factor}))\n"


@pytest.mark.parametrize(
    ("body", "factor", "call", "header"),
    [
        ("a = opts['a']", "a", "f(x, out, a=3.0)", "def f(src, dst, a):"),
        ("a = opts.get('a', 2.0)", "a", "f(x, out)", "def f(src, dst, a=2.0):"),
        ("b = opts['a'] + 1.0", "b", "f(x, out, a=3.0, other=1)", "def f(src, dst, a, other=None):"),
        ("opts['a'] = 4.0", "opts['a']", "f(x, out)", "def f(src, dst, a=None):"),
        ("a = opts.get('a', [2.0, 3.0])\n    b = len(a)", "b", "f(x, out)", "def f(src, dst, a=[2.0, 3.0]):"),
        ("a = opts['a']\n    a = a + 1.0", "a", "f(x, out, a=1.0)", "def f(src, dst, a):"),
    ],
)
def test_keys_that_are_known_become_parameters(migrate, body, factor, call, header):
    migration = migrate(module(STORED.format(body=body, factor=factor), call), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert header in migration.outcome.source


@pytest.mark.parametrize(
    ("body", "factor", "call"),
    [
        ("n = len(opts)", "n", "f(x, out, a=3.0)"),
        ("name = 'a'", "opts[name]", "f(x, out, a=3.0)"),
        ("a = opts.get('a', 2.0) + opts.get('a', 3.0)", "a", "f(x, out)"),
        ("a = 1.0\n    b = opts['a'] + a", "b", "f(x, out, a=3.0)"),
        ("a = opts['a']\n    a = a + 1.0\n    b = opts['a'] + a", "b", "f(x, out, a=3.0)"),
        ("a = opts.get('a', [1.0])\n    a.append(2.0)", "a[0]", "f(x, out)"),
        ("if dst is None:\n        a = opts['a']", "2.0", "f(x, out)"),
        ("opts.update(a=1.0)", "opts['a']", "f(x, out)"),
        ("unknown(**opts)", "2.0", "f(x, out, a=1.0)"),
    ],
)
def test_what_does_not_show_its_keys_is_a_finding(body, factor, call):
    source = module(STORED.format(body=body, factor=factor), call)
    outcome = rewrite(source)
    assert any(f.message == "variable arguments of a function" for f in outcome.findings)
    assert "**opts" in outcome.source


def test_a_required_key_behind_an_optional_parameter_is_a_finding():
    source = module(
        "def f(src, dst=None, **opts):\n    nl.store(dst, value=nl.load(src) * opts['a'])\n", "f(x, out, a=2.0)"
    )
    assert any(f.message == "variable arguments of a function" for f in rewrite(source).findings)


PASSED = """\
def inner(src, dst, factor, **opts):
    nl.store(dst, value=nl.add(nl.multiply(nl.load(src), factor), opts.get('shift', 1.0)))


def f(src, dst, **opts):
    inner(src, dst, **opts)
"""


def test_what_is_passed_on_is_a_parameter_of_the_caller(migrate):
    migration = migrate(module(PASSED, "f(x, out, factor=2.0, shift=3.0)"), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "def f(src, dst, factor, shift=1.0):" in migration.outcome.source


def test_a_key_that_changes_in_a_loop_is_restored_like_any_name(migrate):
    helper = (
        "def f(src, dst, **opts):\n"
        "    for i in nl.affine_range(2):\n"
        "        nl.store(dst[i, :, :], value=nl.multiply(nl.load(src[i, :, :]), opts['a']))\n"
        "        opts['a'] = opts['a'] + 1.0\n"
    )
    migration = migrate(module(helper, "f(x, out, a=3.0)"), {"x": TensorSpec((2, 64, 8), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "a = a_before_loop" in migration.outcome.source


def test_a_statement_that_is_left_alone_reads_the_parameter():
    helper = "def f(src, dst, **opts):\n    nl.unknown(opts['a'], nl.load(src))\n"
    outcome = rewrite(module(helper, "f(x, out, a=3.0)"))
    assert "nl.unknown(a, nl.load(src))" in outcome.source
    assert outcome.findings


def test_keys_are_followed_across_files():
    helpers = HEADER + PASSED
    kernel = HEADER + "from helpers import f\n" + KERNEL.format(call="f(x, out, factor=2.0)")
    outcomes = rewrite_together({"helpers.py": helpers, "kernel.py": kernel})
    assert [o.findings for o in outcomes.values()] == [(), ()]
    assert "def f(src, dst, factor, shift=1.0):" in outcomes["helpers.py"].source


def test_a_function_of_the_host_that_passes_its_dictionary_on_keeps_every_byte():
    """Nothing shows that it is kernel code; it was half rewritten, and its file then left for its names."""
    host = "\n\ndef either(src, dst, **opts):\n    a = opts['a']\n    if a == 1:\n        f(src, dst, **opts)\n"
    source = module(STORED.format(body="a = opts['a']", factor="a"), "f(x, out, a=3.0)") + host
    outcome = rewrite(source)
    assert outcome.findings == ()
    assert "def f(src, dst, a):" in outcome.source
    assert outcome.source.endswith(host)


def test_the_rule_can_be_deselected():
    source = module(STORED.format(body="a = opts['a']", factor="a"), "f(x, out, a=3.0)")
    options = Options(ignore=frozenset({"NKI091"}))
    assert "**opts" in rewrite(source, options).source


def test_a_long_list_of_parameters_takes_a_line_each():
    names = [f"a_parameter_with_a_long_name_{n}" for n in range(6)]
    reads = "\n    ".join(f"{n} = opts['{n}']" for n in names)
    source = module(STORED.format(body=reads, factor=names[0]), f"f(x, out, {', '.join(f'{n}=1.0' for n in names)})")
    outcome = rewrite(source)
    assert "def f(\n    src,\n    dst,\n    a_parameter_with_a_long_name_0,\n" in outcome.source
    assert objection(source, outcome, Options(), "old.py", rewrite) is None


STEPS = """\
@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.static_range(3):
        if i == 0:
            opts = {"a": 1.0 + i, "row": i}
        f(x, out, i, **opts)
    return out
"""


def test_a_dictionary_keeps_what_a_loop_variable_was(migrate):
    helper = (
        "def f(src, dst, i, **opts):\n"
        "    value = nl.multiply(nl.load(src[opts['row'], :, :]), opts['a'])\n"
        "    nl.store(dst[i, :, :], value=value)\n\n\n"
    )
    migration = migrate(HEADER + helper + STEPS, {"x": TensorSpec((3, 64, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "row=opts['row']" in migration.outcome.source
