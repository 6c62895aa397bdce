"""What may be a tensor is not written as a number: values that come out of lists, dictionaries and loops."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, given):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    {made}
    nl.store(out, value={used})
    return out
"""
TENSORS = {
    "in a list": "pack = [tile, 1.0]\n    v = pack[0]",
    "in a list of lists": "pack = [[tile]]\n    v = pack[0][0]",
    "in a tuple": "pack = (nl.exp(tile), 1)\n    v = pack[rows % 2]",
    "in a dictionary": "pack = {'a': tile}\n    v = pack['a']",
    "by get": "pack = {'a': tile}\n    v = pack.get('a')",
    "appended": "pack = []\n    pack.append(tile)\n    v = pack[-1]",
    "appended to a list of numbers": "pack = [1.0]\n    pack.append(tile)\n    v = pack[-1]",
    "appended under another name": "pack = [1.0]\n    other = pack\n    pack.append(tile)\n    v = other[-1]",
    "put into a list of numbers": "pack = [1.0]\n    pack[0] = tile\n    v = pack[0]",
    "added to a list of numbers": "pack = [1.0]\n    pack += [tile]\n    v = pack[1]",
    "put in by a later iteration": "pack = [1.0]\n    for i in range(2):\n        v = pack[0]\n        pack[0] = tile",
    "of a sum of lists": "pack = [1.0] + [tile]\n    v = pack[1]",
    "of a copy": "pack = list([tile])\n    v = pack[0]",
    "of a slice": "pack = [tile, tile][0:1]\n    v = pack[0]",
    "of a loop": "v = 0.0\n    for v in [tile]:\n        pass",
    "or a number": "v = nl.exp(tile) if rows > 3 else 1.0",
    "or none": "v = None or tile",
    "that is none at first": "pack = [None]\n    v = pack[0]\n    if v is None:\n        v = nl.exp(tile)",
}
USES = ("v", "v.reshape((rows, columns))", "v[0:rows, 0:columns]", "nl.add(tile, v)", "tile * v", "nl.exp(v)")


@pytest.mark.parametrize("used", USES)
@pytest.mark.parametrize("made", TENSORS)
def test_what_may_be_a_tensor_is_left_and_said(made, used):
    outcome = rewrite(KERNEL.format(made=TENSORS[made], used=used))
    line = outcome.source[: outcome.source.index("    return out")].rstrip().rpartition("\n")[2]
    assert f"value={used})" in line or "src=v" in line, outcome.source
    assert outcome.findings or "src=v" in line


NUMBERS = {
    "in a list": "pack = [2.0, 1.0]\n    v = pack[0]",
    "appended": "pack = []\n    pack.append(float(rows))\n    v = pack[-1]",
    "beside a tensor": "pack = (tile.shape[0], 1)\n    v = pack[0]",
    "a length": "pack = [tile]\n    v = len(pack)",
    "of a loop": "v = 0.0\n    for v in [1.0, 2.0]:\n        pass",
    "of an argument": "v = given[0]",
}


@pytest.mark.parametrize("made", NUMBERS)
def test_a_number_is_still_a_number(made):
    outcome = rewrite(KERNEL.format(made=NUMBERS[made], used="nl.add(tile, v, dtype=x.dtype)"))
    assert outcome.findings == () and "operand0=v" in outcome.source


ROWS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def rows_of(i):
    return nl.ds(i * 128, 128)


@nki.jit
def k(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(rows // 128):
        {made}
        tile = nl.load(x[{place}, 0:columns])
        nl.store(out[{place}, 0:columns], value=tile)
    return out
"""
SLICES = {
    "in a list": ("p = [nl.ds(i * 128, 128)]", "p[0]"),
    "in a list, named": ("p = [nl.ds(i * 128, 128)]\n        b = p[0]", "b"),
    "in a tuple": ("p = (nl.ds(i * 128, 128), 1)\n        b, _ = p", "b"),
    "of a comprehension": ("p = [nl.ds(j * 128, 128) for j in range(3)]", "p[i]"),
    "of a loop": ("for b in [nl.ds(i * 128, 128)]:\n            pass", "b"),
    "an ellipsis": ("b = ...", "b"),
    "none": ("b = None", "b"),
}


@pytest.mark.parametrize("made", SLICES)
def test_a_slice_is_no_index(made):
    source = ROWS.format(made=SLICES[made][0], place=SLICES[made][1])
    assert "it is not known what the index" in rewrite(source).findings[0].message


@pytest.mark.parametrize(
    ("made", "place"),
    [("a = nl.ds(i * 128, 128)\n        b = a", "b"), ("pass", "rows_of(i)"), ("b = rows_of(i)", "b")],
    ids=["under a second name", "of a function", "of a function, named"],
)
def test_a_slice_that_is_told_is_written_out(migrate, made, place):
    source = ROWS.format(made=made, place=place)
    migration = migrate(source, {"x": TensorSpec((256, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.trouble) == ((), ())


PLACES = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(table, start):
    rows, columns = table.shape
    out = nl.ndarray((32, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    first = nl.load(start)
    i_p = nl.arange(32)[:, None]
    i_f = nl.arange(columns)[None, :]
    {body}
    return out
"""


def test_an_index_vector_with_a_place_that_a_tile_tells_has_no_name():
    named = "held = first[0, 0] + i_p\n    nisa.dma_copy(dst=out[i_p, i_f], src=table[held, i_f])"
    findings = rewrite(PLACES.format(body=named)).findings
    assert any("from a place that a tile tells" in finding.message for finding in findings)
    inline = named.replace("table[held, ", "table[first[0, 0] + i_p, ").partition("\n")[2].strip()
    assert rewrite(PLACES.format(body=inline)).findings == ()
    assert rewrite(PLACES.format(body=inline.replace("first[0, 0]", "first.shape[0]"))).findings == ()


def test_a_tile_is_no_condition_of_a_mask():
    body = "nl.store(out[i_p, i_f], value=nl.load(table[i_p, i_f], mask=first < 3))"
    findings = rewrite(PLACES.format(body=body)).findings
    assert any("it is not known whether 'first' in a mask is a number" in f.message for f in findings)


CALLED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def stored(parts, out):
    for i in range(2):
        nl.store(out[i], value=parts[i])


@nki.jit
def k(x):
    out = nl.ndarray((2, 64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    {made}
    return out
"""
CALLS = (
    "stored([tile, tile], out)",
    "pair = (tile, tile)\n    stored(pair, out)",
    "tiles = []\n    for i in range(2):\n        tiles.append(nl.load(x))\n    stored(tiles, out)",
    "tiles: list = [nl.load(x) for i in range(2)]\n    stored(parts=tiles, out=out)",
)


@pytest.mark.parametrize("made", CALLS)
def test_a_list_of_tiles_is_no_tile_in_the_function_that_gets_it(made):
    outcome = rewrite(CALLED.format(made=made))
    assert "nl.store(out[i], value=parts[i])" in outcome.source
    assert any("'parts[i]'" in finding.message for finding in outcome.findings)
