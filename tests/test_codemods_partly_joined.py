"""Blocks of which loops take some dimensions: declared in these loops, folded or in a list over the others."""

from __future__ import annotations

import itertools
import textwrap

import pytest
from examples import examples
from first_rung import Options, rewrite
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((2, 3, 2, 32, 8), dtype=x.dtype, buffer=nl.shared_hbm)
"""
ARGS = {"x": TensorSpec((2, 3, 2, 32, 8), "float32", "normal")}
SIZES = {"b": "2", "i": "3", "j": "2"}


def kernel(order: tuple[str, ...], made: str, body: str) -> str:
    """A kernel with a tensor ``t`` of blocks in this order."""
    blocks = ", ".join(SIZES[name] for name in order)
    fill = ", 1.5" if made == "full" else ""
    declared = f"    t = nl.{made}(({blocks}, nl.par_dim(32), 8){fill}, dtype=nl.float32, buffer=nl.sbuf)\n"
    body = body.replace("T[", "t[").replace("@", ", ".join(order))
    return HEAD + declared + "".join(f"    {line}\n" for line in body.split("\n")) + "    return out\n"


LOOPS = """\
for b in nl.affine_range(2):
    for i in nl.affine_range(3):
        for j in nl.affine_range(2):
            T[@] = nl.load(x[b, i, j])
    for i in nl.affine_range(3):
        for j in nl.affine_range(2):
            nl.store(out[b, i, j], nl.add(T[@], 1.0))"""


@pytest.mark.parametrize("order", itertools.permutations("bij"))
@pytest.mark.parametrize("made", ["ndarray", "zeros", "full"])
def test_the_loop_that_all_uses_share_declares_the_rest(migrate, order, made):
    found = migrate(kernel(order, made, LOOPS), ARGS)
    assert found.outcome.findings == () and found.objection is None and found.trouble == ()
    rest = ", ".join(SIZES[name] for name in order if name != "b")
    assert f"        t = nl.{'zeros' if made == 'zeros' else 'ndarray'}((32, {rest}, 8)" in found.outcome.source


def test_two_loops_are_taken_where_all_uses_share_them(migrate):
    body = """\
for b in nl.affine_range(2):
    for j in nl.affine_range(2):
        for i in nl.affine_range(3):
            T[@] = nl.load(x[b, i, j])
        for i in nl.affine_range(3):
            nl.store(out[b, i, j], nl.exp(T[@]))"""
    found = migrate(kernel(("i", "j", "b"), "ndarray", body), ARGS)
    assert found.outcome.findings == () and found.trouble == ()
    assert "            t = nl.ndarray((32, 3, 8)" in found.outcome.source


def test_a_list_is_made_in_the_loop_where_blocks_are_passed_on(migrate):
    body = LOOPS.replace("nl.add(T[@], 1.0)", "next_to(T[@])")
    source = kernel(("i", "b", "j"), "zeros", body) + "\n\ndef next_to(tile):\n    return nl.add(tile, 1.0)\n"
    found = migrate(source, ARGS)
    assert found.outcome.findings == () and found.trouble == ()
    assert "        t = []\n        for i in range(3):\n            t.append([])\n" in found.outcome.source


@pytest.mark.parametrize(
    "body",
    [
        "for turn in nl.sequential_range(2):\n" + textwrap.indent(LOOPS, "    "),
        LOOPS + "\nfor i in nl.affine_range(3):\n    nl.store(out[0, i, 0], T[@])".replace("@", "*"),
        LOOPS.replace("for b in nl.affine_range(2)", "for b in nl.affine_range(1, 2)"),
        LOOPS.replace("nl.add(T[@], 1.0)", "nl.add(T[@], nl.copy(T[*]))"),
    ],
    ids=["a loop around", "a use behind the loop", "not from zero", "a block of another iteration"],
)
def test_where_a_block_may_be_of_two_iterations_the_declaration_stays(migrate, body):
    source = kernel(("b", "i", "j"), "zeros", body.replace("*", "0, 0, 0"))
    found = migrate(source, ARGS)
    assert found.trouble == ()
    assert "\n    t = " in found.outcome.source


@pytest.mark.parametrize("blocks", ["list", "fold", "loop"])
def test_what_is_asked_for_is_not_joined(blocks):
    outcome = rewrite(kernel(("i", "b", "j"), "ndarray", LOOPS), Options(blocks=blocks))
    assert "\n    t = " in outcome.source


def test_the_list_of_an_iteration_binds_no_variable_of_the_loops_around_it(migrate):
    body = """\
for b in nl.affine_range(2):
    u = T[b, b]
    u[...] = nl.load(x[b, 0, 0])
    for i in nl.affine_range(3):
        T[i, b] = nl.load(x[b, i, 1])
    for i in nl.affine_range(3):
        nl.store(out[b, i, 0], nl.add(T[b, b], T[i, b]))"""
    found = migrate(kernel(("i", "b"), "ndarray", body), ARGS)
    assert found.outcome.findings == () and found.trouble == ()
    assert "        t = []\n        for i in range(3):\n" in found.outcome.source


def test_a_loop_whose_variable_is_two_indices_takes_neither(migrate):
    """It uses the blocks of a diagonal, and the tensor has more, which are filled, too."""
    body = """\
for b in nl.sequential_range(2):
    for i in nl.sequential_range(3):
        nl.store(out[b, i, 0], nl.copy(T[b, i, b]))"""
    found = migrate(kernel(("b", "i", "j"), "zeros", body), ARGS)
    assert found.outcome.findings == () and found.objection is None and found.trouble == ()
    assert "\n    t = " in found.outcome.source


STATEMENTS = st.sampled_from(
    (
        "T[@] = nl.load(x[b, i, j])",
        "T[@] = nl.add(T[@], 1.0)",
        "T[@] += nl.exp(T[@])",
        "nl.store(out[b, i, j], T[@])",
        "nl.store(out[b, i, j], nl.multiply(T[@], T[#]))",
        "u = nl.copy(T[#])\nnl.store(out[b, i, j], u)",
        "u = T[#]\nnl.store(out[b, i, j], nl.subtract(u, T[@]))",
    )
)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[tuple[str, ...], str]:
    """Blocks of two or three dimensions, and loops around statements that use them."""
    order = tuple(draw(st.permutations(draw(st.sampled_from((["b", "i"], ["b", "j"], ["b", "i", "j"]))))))
    names = draw(st.permutations(["b", "i", "j"]))
    shared = draw(st.integers(0, 2))
    lines = [f"{'    ' * n}for {name} in nl.sequential_range({SIZES[name]}):" for n, name in enumerate(names[:shared])]
    for _ in range(draw(st.integers(1, 3))):
        depth = shared
        for name in names[shared:]:
            lines.append(f"{'    ' * depth}for {name} in nl.sequential_range({SIZES[name]}):")
            depth += 1
        first = ", ".join(draw(st.sampled_from((name, name, "0", "b", "j"))) for name in order)
        for line in draw(STATEMENTS).replace("#", first).split("\n"):
            lines.append("    " * depth + line)
    body = "\n".join(lines)
    if draw(st.booleans()):
        body = "for turn in nl.sequential_range(2):\n" + textwrap.indent(body, "    ")
    ends = (
        "for b in nl.sequential_range(2):\n    nl.store(out[b, 0, 0], nl.load(x[b, 1, 1]))\n"
        if "out[" not in body
        else ""
    )
    return order, ends + body


@pytest.mark.random
@settings(max_examples=examples(60), deadline=None)
@given(bodies(), st.sampled_from(("zeros", "full")))
def test_random_uses_compute_the_same(migrate, program, made):
    order, body = program
    found = migrate(kernel(order, made, body), ARGS)
    assert found.outcome.findings == () and found.objection is None and found.trouble == (), found.outcome.source
