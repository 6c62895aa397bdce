"""Functions of ``alloc`` that give another address when they are called again: Beta 1 called them once for each block.

What is written calls them where a tile is declared, in the order and as often as its loop does: with state, the tiles
would lie elsewhere. Each of these kernels was rewritten without a word once.
"""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import functools

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl

"""
KERNEL = """

@nki.jit
def k(x):
    out = nl.ndarray((4, 128, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    {before}
    a = nl.ndarray((4, nl.par_dim(128), 8), dtype=nl.float32, buffer=ncc.sbuf.alloc({function}))
    {after}
    for j in nl.affine_range(4):
        a[j] = nl.load(x[:, nl.ds(j * 8, 8)])
        nl.store(out[j], a[j])
    return out
"""
ARGS = {"x": TensorSpec((128, 32), "float32", "normal")}
PLAIN = "def fn(idx, pdim_size, fdim_size):\n    return (0, {address})\n"
PUSHED = "def fn(addresses, idx, pdim_size, fdim_size):\n    return (0, addresses.pop())\n"
STATES = {
    "a list of the module": (f"SEEN = [0, 64, 256, 128]\n\n\n{PLAIN.format(address='SEEN.pop()')}", "fn"),
    "a dictionary of the module, in another function": (
        "STATE = {'n': 0}\n\n\ndef moved():\n    STATE['n'] += 64\n    return STATE['n']\n\n\n"
        + PLAIN.format(address="moved()"),
        "fn",
    ),
    "a list that a partial function holds": (PUSHED, "functools.partial(fn, addresses=[0, 64, 256, 128])"),
    "a list that a factory is given": (
        "def made(seen):\n    def fn(idx, pdim_size, fdim_size):\n        return (0, seen.pop())\n\n    return fn\n",
        "made([0, 64, 256, 128])",
    ),
    "a list that a factory makes": (
        "def made():\n    seen = []\n\n    def fn(idx, pdim_size, fdim_size):\n        seen.append(idx)\n"
        "        return (0, 64 * len(seen))\n\n    return fn\n",
        "made()",
    ),
    "a factory that moves the next address": (
        "NEXT = [0]\n\n\ndef made(size):\n    base = NEXT[0]\n    NEXT[0] += size\n\n"
        "    def fn(idx, pdim_size, fdim_size):\n        return (0, base + idx[0] * fdim_size)\n\n    return fn\n",
        "made(1024)",
    ),
    "a class": (
        "class A:\n    n = 0\n\n\ndef moved():\n    A.n += 64\n    return A.n\n\n\n" + PLAIN.format(address="moved()"),
        "fn",
    ),
}


def source(definitions: str, function: str, before: str = "pass", after: str = "pass") -> str:
    return HEAD + "\n" + definitions + KERNEL.format(function=function, before=before, after=after)


@pytest.mark.parametrize(("definitions", "function"), STATES.values(), ids=STATES)
def test_a_function_with_state_is_left(definitions, function):
    outcome = rewrite(source(definitions, function), Options(unsafe=True))
    said = [finding.message for finding in outcome.findings if finding.code == "NKI013"]
    assert said and all("changes from call to call" in message for message in said)


def test_a_function_that_reads_what_the_kernel_changes_is_left():
    definitions = "PLACE = {'base': 64}\n\n\n" + PLAIN.format(address="PLACE['base'] + idx[0] * fdim_size")
    text = source(definitions, "fn", "PLACE['base'] = 128", "PLACE['base'] = 4096")
    assert "NKI013" in {finding.code for finding in rewrite(text, Options(unsafe=True)).findings}


PURE = {
    "a constant list": ("PLACES = [0, 64, 256, 128]\n\n\n" + PLAIN.format(address="PLACES[idx[0]]"), "fn"),
    "a list of its own": (
        "def fn(idx, pdim_size, fdim_size):\n    sizes = []\n    sizes.append(fdim_size)\n"
        "    return (0, sizes[0] * idx[0])\n",
        "fn",
    ),
}


@pytest.mark.parametrize(("definitions", "function"), PURE.values(), ids=PURE)
def test_a_function_without_state_is_called(migrate, definitions, function):
    migration = migrate(source(definitions, function), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_a_list_that_a_partial_function_holds_counts_as_it_was_at_the_declaration(migrate):
    definitions = "def fn(places, idx, pdim_size, fdim_size):\n    return (0, places[idx[0]])\n"
    text = source(definitions, "functools.partial(fn, places=places)", "places = [0, 64, 128, 256]", "places[1] = 512")
    migration = migrate(text, ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


NESTED = (
    "base = 0\n    def fn(idx, pdim_size, fdim_size):\n        return (0, base + idx[0] * fdim_size)\n    base = 256"
)


@pytest.mark.parametrize("after", ["base = 512", "base += 512", "for base in nl.static_range(2):\n        pass"])
def test_what_a_nested_function_reads_and_changes_later_has_a_note(migrate, after):
    migration = migrate(source("", "fn", NESTED, after), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    (note,) = (each for each in migration.outcome.asserted if "where the tile is declared" in each.text)
    assert (note.text, note.why) == (
        "Beta 1 called 'fn' where the tile is declared",
        "it reads 'base', which changes behind it",
    )


def test_what_it_reads_and_nothing_changes_has_none(migrate):
    outcome = migrate(source("", "fn", NESTED), ARGS).outcome
    assert outcome.findings == () and not [a for a in outcome.asserted if "where the tile" in a.text]
