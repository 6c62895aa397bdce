"""What helpers return is described through the caller's names, whatever their own names mean there."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

BLOCKS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def loaded(x):
    n = 64
    parts = nl.ndarray((2, nl.par_dim(128), n), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(2):
        parts[i] = nl.load(x[i])
    return parts


@nki.jit
def k(x):
    n = 32
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    parts = loaded(x)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(n)[None, :]
    kept = nl.zeros((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    kept[i_p, i_f] = nl.multiply(parts[1, i_p, i_f], 2.0)
    nl.store(out, value=kept)
    return out
"""


def test_a_size_of_the_helper_is_not_taken_for_a_size_of_the_same_name_in_the_caller(migrate):
    migration = migrate(BLOCKS, {"x": TensorSpec((2, 128, 64), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "data=parts[1][0:128, 0:n]" in migration.outcome.source


PARTS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def loaded(part, i, dst):
    dst[...] = nl.load(part[:, nl.ds(i * 64, 64)])


def half(part, i, j, dst):
    loaded(part[i], j, dst)


def column(tile, c):
    return nl.multiply(tile[:, c], 2.0)


@nki.jit
def k(x, y):
    b, h, p, f = x.shape
    out = nl.ndarray((b, h, p, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(b):
        one = x[i]
        for j in nl.affine_range(h):
            tile = nl.ndarray((nl.par_dim(p), 64), dtype=x.dtype, buffer=nl.sbuf)
            loaded(x[i, j], 0, tile)
            other = nl.ndarray((nl.par_dim(p), 64), dtype=x.dtype, buffer=nl.sbuf)
            half(one, j, 1, other)
            whole = nl.ndarray((nl.par_dim(p), 64), dtype=x.dtype, buffer=nl.sbuf)
            loaded(y, 0, whole)
            total = nl.add(nl.add(tile, other), whole)
            nl.store(out[i, j], value=nl.add(total, column(total[0:p, 8:40], 3)))
    return out
"""


def test_what_a_helper_takes_of_a_part_is_taken_of_the_whole_tensor(migrate):
    args = {"x": TensorSpec((2, 3, 32, 128), "float32"), "y": TensorSpec((32, 64), "float32")}
    migration = migrate(PARTS, args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "loaded(x[i, j], 0, tile, part_tensor=x, part_index0=i, part_index1=j)" in migration.outcome.source
    assert "loaded_2(y, 0, whole)" in migration.outcome.source  # a whole tensor is indexed itself


RESULTS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def statistics(tile, scale=None):
    if scale is not None:
        tile = nl.multiply(tile, scale)
    return nl.sum(tile, axis=1), nl.max(tile, axis=1)


@nki.jit
def k(x, scale=None, wide=True):
    p, f = x.shape
    out = nl.ndarray((p, f), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    if wide:
        room = nl.ndarray((nl.par_dim(p), f), dtype=x.dtype, buffer=nl.sbuf)
    else:
        room = nl.ndarray((nl.par_dim(p), f), dtype=nl.float32, buffer=nl.psum)
    room[...] = nl.multiply(tile, 2.0)
    total, peak = statistics(room)
    if scale is not None:
        total, peak = statistics(tile, scale=nl.load(scale))
    both = nl.add(total, peak)
    nl.store(out, value=nl.add(room, both))
    return out
"""


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"wide": False},
        {"scale": TensorSpec((32, 48), "float32")},
    ],
)
def test_tuples_that_a_helper_returns_optional_tensors_and_memories_of_branches(migrate, args):
    migration = migrate(RESULTS, {"x": TensorSpec((32, 48), "float32"), **args})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


UNKNOWN_RANK = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def loaded(part, i, dst):
    dst[...] = nl.load(part[0:32, nl.ds(i * 64, 64)])


@nki.jit
def k(x, n):
    out = nl.ndarray((n, 2, 32, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(32)[:, None]
    i_f = nl.arange(64)[None, :]
    for i in nl.affine_range(n):
        one = x[i]
        for j in nl.affine_range(2):
            tile = nl.ndarray((nl.par_dim(32), 64), dtype=x.dtype, buffer=nl.sbuf)
            loaded(x[i, j], 0, tile)
            other = nl.ndarray((nl.par_dim(32), 64), dtype=x.dtype, buffer=nl.sbuf)
            loaded(one[j], 1, other)
            third = nl.load(x[i, j][i_p, i_f + 32])
            nl.store(out[i, j], value=nl.add(nl.add(tile, other), third))
    return out
"""


def test_parts_of_a_tensor_whose_rank_the_source_does_not_tell(migrate):
    migration = migrate(UNKNOWN_RANK, {"x": TensorSpec((3, 2, 32, 128), "float32"), "n": 3})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


SIZES_OF_AN_OBJECT = """\
from dataclasses import dataclass

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@dataclass
class Sizes:
    height: int = 32
    width: int = 64
    steps: tuple = (16, 32)


def doubled(x, sizes):
    i_p, i_f = nl.mgrid[0 : sizes.height, 0 : sizes.steps[1]]
    tile = nl.ndarray((nl.par_dim(sizes.height), sizes.width), dtype=x.dtype, buffer=nl.sbuf)
    tile[...] = nl.load(x)
    half = nl.multiply(tile[i_p, i_f + sizes.steps[0]], 2.0)
    registered(sizes)
    return half


@nki.jit
def k(x):
    sizes = Sizes()
    out = nl.ndarray((32, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=doubled(x, sizes))
    return out
"""


def test_a_size_that_an_object_holds_gets_a_name_where_it_is_read():
    outcome = rewrite(SIZES_OF_AN_OBJECT)
    assert [f.message for f in outcome.findings] == []
    assert "    size = sizes.steps[1]\n" in outcome.source
    assert "tile[0:height_2, nl.ds(size_2, size)]" in outcome.source


def test_the_name_of_a_size_stays_when_its_index_vector_has_to():
    kept = SIZES_OF_AN_OBJECT.replace("    registered(sizes)", "    registered(sizes, i_p)")
    outcome = rewrite(kept)
    assert "    size = sizes.steps[1]\n    i_p, i_f = nl.mgrid" in outcome.source
    assert "nl.ds(size_2, size)" in outcome.source


def test_a_size_that_only_some_cases_read_is_left_to_a_person():
    some = SIZES_OF_AN_OBJECT.replace("0 : sizes.height,", "0 : (sizes.height if sizes else 32),")
    assert any("only some cases read" in finding.message for finding in rewrite(some).findings)


SUM_OF_SHAPES = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def both(x_tile, output_tile):
    output_tile[0, :, :] = x_tile * 2.0
    output_tile[1, :, : 16] = output_tile[0, :, : 16] + (-1 * x_tile[:, 16 :] * x_tile[:, : 16])
    output_tile[1, :, 16 :] = x_tile[:, : 16] + x_tile[:, 16 :]


@nki.jit
def k(x):
    out = nl.ndarray((2, 32, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:32, 0:32])
    output_tile = nl.ndarray([2] + [nl.par_dim(tile.shape[0]), tile.shape[1]], dtype=tile.dtype, buffer=nl.sbuf)
    both(tile, output_tile)
    for i in nl.affine_range(2):
        nl.store(out[i], value=output_tile[i, :, :])
    return out
"""


def test_a_shape_that_is_a_sum_of_lists_has_its_block_dimensions(migrate):
    migration = migrate(SUM_OF_SHAPES, {"x": TensorSpec((32, 32), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "output_tile.append(nl.ndarray((32, 32), " in migration.outcome.source


OPTIONAL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def added(part, other=None, start=3):
    tile = nl.load(part[0:8, nl.ds(start, 8)])
    if other is not None:
        tile[...] = nl.add(tile, nl.load(other[nl.ds(start, 8), 0:8]))
    return tile


@nki.jit
def k(x):
    b, p, f = x.shape
    out = nl.ndarray((8, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    width = 8

    def loaded(i, start=0):
        return nl.load(x[i, 0:width, nl.ds(start, width)])

    tile = nl.add(added(x[0], x[1]), added(x[2], x[3], 5))
    nl.store(out, value=nl.add(tile, nl.add(loaded(1), loaded(2, 7))))
    return out
"""


def test_further_parameters_do_not_take_the_places_of_optional_ones(migrate):
    migration = migrate(OPTIONAL, {"x": TensorSpec((4, 32, 64), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "start=3,\n    part_tensor=None,\n    part_index0=None,\n" in migration.outcome.source


def test_a_function_that_needs_the_whole_tensor_is_not_called_under_another_name():
    alias = OPTIONAL.replace("added(x[2], x[3], 5))", "other(x[2], x[3], 5))").replace(
        "    width = 8\n", "    width = 8\n    other = added\n"
    )
    finding, *_ = rewrite(alias).findings
    assert (finding.line, finding.code) == (17, "NKI003")
    assert finding.message.startswith("'added' is used otherwise than by calling it")


BRANCHES = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def first(part):
    return nl.load(part[0:4, 0:8])


@nki.jit
def k(x, n):
    b, p, f = x.shape
    out = nl.ndarray((3, 4, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    part = x[1]

    def second():
        return nl.load(part[4:8, 0:8])

    nl.store(out[0], value=second())
    if n == 1:
        part = x[2]
    nl.store(out[1], value=first(part))
    nl.store(out[2], value=second())
    return out
"""


def test_a_name_of_different_parts_is_not_taken_for_one_of_them():
    findings = {finding.line: finding.message for finding in rewrite(BRANCHES).findings}
    assert "may be a part of a tensor itself" in findings[6]
    assert any("'part'" in message for message in findings.values())  # what the second call of second() finds


ALIAS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def corner(part, start):
    same = part
    return nl.load(same[nl.ds(start, 4), nl.ds(start, 8)])


@nki.jit
def k(x):
    p, f = x.shape
    out = nl.ndarray((2, 4, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out[0], value=corner(x[0:32, 0:32], 3))
    nl.store(out[1], value=corner(x[32:64, 0:32], 3))
    return out
"""


def test_a_part_that_a_helper_names_again_is_another_one_in_each_call(migrate):
    migration = migrate(ALIAS, {"x": TensorSpec((64, 64), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


ONLY_A_COPY = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def added(tile, bias=None):
    if bias is None:
        bias = nl.zeros((64, 1), dtype=nl.float32, buffer=nl.sbuf)
    return nl.add(tile, bias)


@nki.jit
def k(x):
    p, f = x.shape
    out = nl.ndarray((2, 64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    column = nl.load(x[:, 0:1])
    plain = added(tile)
    biased = added(tile, column)
    whole = added(tile, tile)
    nl.store(out[0], value=biased)
    return out
"""


def test_what_only_a_copy_uses_is_written(migrate):
    migration = migrate(ONLY_A_COPY, {"x": TensorSpec((64, 64), "float32")})
    assert migration.objection is None
    assert "def promoted_dtype" in migration.outcome.source


TURNED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def narrow(src):
    return nl.bfloat16 if src.dtype == nl.bfloat16 else nl.float32


def turned(src, out, scale=None, in_psum=False):
    kind = narrow(src)
    assert src.itemsize <= 4
    if in_psum:
        out[...] = nisa.nc_transpose(src)
    else:
        out_shape = out.shape
        product = nl.ndarray(out_shape, dtype=kind, buffer=nl.psum)
        product[...] = nisa.nc_transpose(src.view(kind))
        seen = out.view(kind)
        if scale is not None:
            seen[...] = nl.multiply(product, scale)
        else:
            seen[...] = nl.copy(product)


@nki.jit
def k(x):
    out = nl.ndarray((3, 64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    both = nl.ndarray((nl.par_dim(64), 2, 32), dtype=x.dtype, buffer=nl.sbuf)
    tile = nl.load(x[nl.ds(0, 32), nl.ds(0, 128)])
    half = 0.5 if tile.dtype == nl.bfloat16 else None
    for i in nl.static_range(2):
        turned(tile[:, nl.ds(i * 64, 64)], both[:, i, :], half)
    last = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.psum)
    turned(tile[:, nl.ds(0, 64)], last, in_psum=True)
    nl.store(out[0], value=both[:, 0, :])
    nl.store(out[1], value=both[:, 1, :])
    nl.store(out[2], value=last)
    return out
"""


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_a_flag_and_views_of_parts_in_a_helper(migrate, dtype):
    """The type of a view is only known when the kernel is traced; a flag tells the copies for SBUF and PSUM apart."""
    migration = migrate(TURNED, {"x": TensorSpec((32, 128), dtype, "arange")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "def turned_2(" in migration.outcome.source
    assert "def turned_3(" not in migration.outcome.source
    assert 'assert False, "written for in_psum = True"' in migration.outcome.source


def test_a_view_of_another_size_is_asserted_not_to_be():
    source = TURNED.replace("nl.float32\n\n\ndef turned", "nl.int8\n\n\ndef turned")
    text = " ".join(rewrite(source).source.split())
    assert 'assert itemsize(src_tensor.dtype) == itemsize( kind ), "rewritten for types of one size"' in text


RESHAPED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, rows):
    sizes = (rows, 2, 16)
    out = nl.ndarray(sizes, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[nl.ds(0, 64), nl.ds(0, 32)])
    folded = tile.reshape(sizes)
    kept = nl.ndarray((2,) + out.shape[:1] + sizes[2:], dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(2):
        nl.store(kept[i], value=folded[:, i, :])
    nl.store(out, value=folded)
    return out, kept
"""


def test_a_reshape_whose_partitions_are_not_known_is_asserted_to_keep_them(migrate):
    source = RESHAPED.replace("(2,) + out.shape[:1] + sizes[2:]", "(2,) + out.shape[:1] + out.shape[2:]")
    migration = migrate(source, {"x": TensorSpec((64, 32), "float32"), "rows": 64})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "assert 64 == rows" in migration.outcome.source


PRODUCTS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def product(a, out):
    out[...] = nisa.nc_matmul(a, a)


@nki.jit
def k(x):
    out = nl.ndarray((4, 64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x[nl.ds(0, 128), nl.ds(0, 64)])
    {declared}
    for t in nl.affine_range(4):
        {body}
        nl.store(out[t], value=psum)
    return out
"""
_DECLARED = "psum = nl.zeros((nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)"


@pytest.mark.parametrize(
    "declared, body, what",
    [
        (f"{_DECLARED}\n    tiles = [psum]", "product(tile, psum)", "may be overwritten by a matmul again"),
        (_DECLARED, "product(tile, psum[:, nl.ds(0, 32)])", "may be overwritten by a matmul again"),
        (
            f"{_DECLARED}\n\n    def step():\n        product(tile, psum)\n",
            "step()\n        step()",
            "may be overwritten by a matmul again",
        ),
        (
            f"{_DECLARED}\n    psum[...] = 1.0",
            "add(tile, psum)",
            "is accumulated onto values that no matmul wrote",
        ),
    ],
)
def test_a_helper_that_would_accumulate_where_beta_1_did_not_is_a_finding(declared, body, what):
    source = PRODUCTS.format(declared=declared, body=body)
    source = source.replace("@nki.jit", "def add(a, out):\n    out[...] += nisa.nc_matmul(a, a)\n\n\n@nki.jit")
    assert any(what in finding.message for finding in rewrite(source).findings)


def test_a_tile_that_a_helper_overwrites_in_a_loop_is_declared_there(migrate):
    migration = migrate(
        PRODUCTS.format(declared=_DECLARED, body="product(tile, psum)"), {"x": TensorSpec((128, 64), "float32")}
    )
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


COPIED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def turned(src, out, factor):
    if factor is not None:
        tile = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.sbuf)
        tile[...] = nl.multiply(src, factor)
    else:
        tile = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.sbuf)
        tile[...] = nl.copy(src)
    out[...] = nl.add(tile, 1.0)


@nki.jit
def k(x):
    out = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x[nl.ds(0, 64), nl.ds(0, 64)])
    one = nl.ndarray((nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.sbuf)
    turned(tile, one, 2.0)
    turned(tile, one, one)
    nl.store(out, value=one)
    return out
"""


def test_the_map_of_copies_leads_from_each_declaration_to_the_same_one_in_every_copy():
    moves = [m for m in rewrite(COPIED).moves if m.name == "tile" and m.lines[0] < 14]
    first, second = ([m.new_lines[0] for m in moves if m.lines[0] == line] for line in (8, 11))
    assert first[0] < second[0] < first[1] < second[1]


TYPED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def product(a, b, wide):
    tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    tile[...] = nisa.tensor_copy(nl.matmul(a, b))
    {other}
    return tile


@nki.jit
def k(a, b, m, wide):
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    p = product(nl.load(a[0:128, 0:128]), nl.load(b[0:128, 0:64]), wide)
    q = nl.multiply(p, nl.load(m[0:128, 0:64]))
    nl.store(out, value=nl.add(q, product(nl.load(a[0:128, 0:128]), nl.load(b[0:128, 0:64]), wide)))
    return out
"""


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("other", ["", "if wide:\n        return nl.copy(tile, dtype=nl.bfloat16)"])
def test_what_a_helper_gives_has_the_type_that_it_is_made_of(migrate, other, wide, dtype):
    sizes = {"a": (128, 128), "b": (128, 64), "m": (128, 64)}
    given = {name: TensorSpec(shape, dtype, "normal") for name, shape in sizes.items()}
    migration = migrate(TYPED.format(other=other), given | {"wide": wide})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert ("promoted_dtype" in migration.outcome.source) == bool(other)
