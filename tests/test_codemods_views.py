"""``.view(dtype)`` of tiles, of their blocks and of parts of them reads the same bytes in both versions."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((3, {rows}, {columns}), dtype=nl.{new}, buffer=nl.shared_hbm)
    blocks = nl.ndarray((3, nl.par_dim(32), 12), dtype=nl.{old}, buffer=nl.sbuf)
    tile = nl.ndarray((nl.par_dim(32), 12), dtype=nl.{old}, buffer=nl.sbuf)
    tile[...] = nl.load(x[0:32, :])
    for b in nl.affine_range(3):
        blocks[b] = nl.load(x[nl.ds(b * 32, 32), :])
        nl.store(out[b], value={value})
    return out
"""


@pytest.mark.parametrize("blocks", ["auto", "list", "fold", "loop"])
@pytest.mark.parametrize(
    ("old", "new", "value", "rows", "columns"),
    [
        ("float32", "int16", "tile.view(nl.int16)[0:20, 3:9]", 20, 6),
        ("float32", "int16", "tile[0:20, 2:5].view(nl.int16)", 20, 6),
        ("float32", "int16", "tile[0:20].view(nl.int16)[:, 1:4]", 20, 3),
        ("float32", "int32", "tile[4:20, 2:5].view(nl.int32)", 16, 3),
        ("int16", "float32", "tile[:, 2:8].view(nl.float32)", 32, 3),
        ("float32", "int16", "blocks.view(nl.int16)[b]", 32, 24),
        ("float32", "int16", "blocks.view(nl.int16)[b, 0:9, 5:11]", 9, 6),
        ("float32", "int16", "blocks[b].view(nl.int16)", 32, 24),
        ("float32", "int16", "blocks[b, 0:9, 1:3].view(nl.int16)", 9, 4),
        ("int16", "float32", "blocks.view(nl.float32)[b, 0:9, 1:4]", 9, 3),
    ],
)
def test_the_same_bytes_are_read(migrate, blocks, old, new, value, rows, columns):
    source = SOURCE.format(rows=rows, columns=columns, old=old, new=new, value=value)
    spec = TensorSpec((96, 12), old, "integers", low=-9, high=9)
    migration = migrate(source, {"x": spec}, Options(blocks=blocks))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    ("old", "value"),
    [
        ("int16", "tile[:, nl.ds(b, 2)].view(nl.float32)"),
        ("int16", "tile[:, 1:3].view(nl.float32)"),
        ("float32", "blocks.view(nl.int16)"),
    ],
)
def test_what_may_split_an_element_is_left_alone(old, value):
    outcome = rewrite(SOURCE.format(rows=32, columns=12, old=old, new="float32", value=value))
    assert [f.code for f in outcome.findings] == ["NKI024"]
    assert value in outcome.source


def test_types_that_are_not_known_are_asserted_to_have_one_size():
    outcome = rewrite(SOURCE.format(rows=32, columns=12, old="float32", new="float32", value="tile.view(x.dtype)"))
    assert outcome.findings == ()
    assert 'assert 4 == itemsize(x.dtype), "rewritten for types of one size"' in outcome.source


def test_a_part_with_fewer_dimensions_has_a_shape_of_its_own(migrate):
    source = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def turned(t):
    a, b, c = t.shape
    out = nl.ndarray((b, a, c), dtype=t.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(c):
        part = nisa.tensor_copy(t[:, :, i])
        out[:, :, i] = nisa.tensor_copy(nisa.nc_transpose(part))
    return out


@nki.jit
def k(x):
    a, b, c = x.shape
    out = nl.ndarray((b, a, c), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((a, b, c), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(src=x, dst=tile)
    nisa.dma_copy(src=turned(tile), dst=out)
    return out
"""
    migration = migrate(source, {"x": TensorSpec((64, 32, 3), "float32", "normal")})
    assert migration.outcome.findings == () and migration.trouble == ()
    assert "part = nl.ndarray((t.shape[0], t.shape[1])" in migration.outcome.source


def test_a_type_that_a_tile_has_of_another_tensor_costs_no_copy():
    source = SOURCE.format(rows=32, columns=12, new="float32", old="float32", value="tile").replace(
        "    for b in",
        "    turned = nisa.nc_transpose(nl.load(x[0:32, 0:12]), dtype=x.dtype)\n"
        "    again = nisa.nc_transpose(nisa.tensor_copy(turned), dtype=turned.dtype)\n    for b in",
    )
    outcome = rewrite(
        source.replace(
            "import neuronxcc.nki.language", "import neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language"
        )
    )
    assert outcome.findings == ()
    assert outcome.source.count("nisa.nc_transpose(") == 2 and outcome.source.count("nisa.tensor_copy(") == 1


@pytest.mark.parametrize(
    ("read", "shape"),
    [
        ("nl.max(windows, [2, 4])", "(32, 4, 4)"),
        ("nl.sum(windows, axis=[3, 4])", "(32, 4, 2)"),
        ("nl.add(windows, 1.0)", "(32, 4, 2, 4, 3)"),
    ],
)
def test_a_named_part_that_steps_is_read_as_the_access_that_it_is(migrate, read, shape):
    source = f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(a):
    out = nl.ndarray({shape}, dtype=nl.float32, buffer=nl.shared_hbm)
    x = nl.load(a)
    p, h, i, w, j = nl.mgrid[0:32, 0:4, 0:2, 0:4, 0:3]
    windows = x[p, h * 2 + i, w * 3 + j]
    x = {read}
    nl.store(out, x)
    return out
"""
    migration = migrate(source, {"a": TensorSpec((32, 8, 12), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
