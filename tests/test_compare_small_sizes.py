"""Sizes of one, and of none: a rewrite is as right there as elsewhere, though other instructions say the same.

``verify --search`` proposes such sizes of every kernel (``tests/bench/searched.py``); each of these was once called
different.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime import isa, shims
from nki_migrate.runtime.beta1.launch import launch
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Verdict, compare_operands
from nki_migrate.runtime.errors import NotModelled
from nki_migrate.runtime.memory import View, view_of
from test_compare_operands import Bench, record

with shims.installed():
    import neuronxcc.nki.language as nl

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.isa.constants import oob_mode


@nki.jit
"""
COLUMN = """def k(x, column):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.{op}({operands}))
    return out
"""
ROW = """def k(x, row):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    wide = nl.load(row).broadcast_to((rows, columns))
    nl.store(out, nl.multiply(nl.load(x), wide))
    return out
"""
THIRDS = """def k(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns // 3), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    i_p, i_f = nl.mgrid[0:rows, 0 : columns // 3]
    kept = nl.ndarray((nl.par_dim(rows), columns // 3), dtype=x.dtype, buffer=nl.sbuf)
    kept[i_p, i_f] = nisa.tensor_copy(tile[i_p, 3 * i_f])
    nl.store(out, value=kept)
    return out
"""
PICKED = """def k(table, rows):
    out = nl.ndarray((rows.shape[0], 8), dtype=table.dtype, buffer=nl.shared_hbm)
    index = nl.load(rows[0 : rows.shape[0], 0:1])
    i_p, i_f = nl.arange(rows.shape[0])[:, None], nl.arange(8)[None, :]
    tile = nl.zeros((nl.par_dim(rows.shape[0]), 8), dtype=table.dtype, buffer=nl.sbuf)
    tile[i_p, i_f] = nl.load(table[index[i_p, 0], i_f], mode=oob_mode.skip)
    nl.store(out[i_p, i_f], value=tile)
    return out
"""


def tensor(*shape: int) -> TensorSpec:
    return TensorSpec(shape, "float32", "normal")


@pytest.mark.parametrize("rows", [1, 5, 128])
@pytest.mark.parametrize("columns", [1, 7])
@pytest.mark.parametrize("op", ["add", "subtract", "maximum"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_column_beside_a_tile_of_any_width(migrate: Any, rows: int, columns: int, op: str, swapped: bool) -> None:
    sides = ["nl.load(x[0:128, 0:64])", "nl.load(column[0:128, 0:1])"]
    operands = ", ".join(reversed(sides) if swapped else sides).replace("128", str(rows)).replace("64", str(columns))
    source = HEAD + COLUMN.format(op=op, operands=operands)
    assert migrate(source, {"x": tensor(rows, columns), "column": tensor(rows, 1)}).trouble == ()
    unknown = HEAD + COLUMN.format(op=op, operands=operands).replace(f"x[0:{rows}, 0:{columns}]", "x")
    assert migrate(unknown, {"x": tensor(rows, columns), "column": tensor(rows, 1)}).trouble == ()


@pytest.mark.parametrize("rows", [1, 2, 33])
@pytest.mark.parametrize("columns", [1, 7])
@pytest.mark.parametrize("width", [1, None])
def test_a_row_for_any_number_of_partitions(migrate: Any, rows: int, columns: int, width: int | None) -> None:
    row = "nl.load(row[0:1, 0:1])" if width else "nl.load(row[0:1, 0:columns])"
    args = {"x": tensor(rows, columns), "row": tensor(1, width or columns)}
    assert migrate(HEAD + ROW.replace("nl.load(row)", row), args).trouble == ()


@pytest.mark.parametrize("shape", [(1, 2), (4, 2), (4, 3), (128, 300)])
def test_an_access_of_no_elements_is_nowhere(migrate: Any, shape: tuple[int, int]) -> None:
    assert migrate(HEAD + THIRDS, {"x": tensor(*shape)}).trouble == ()


@pytest.mark.parametrize("there", [0, 1, 3, 6])
@pytest.mark.parametrize("first", [True, False])
def test_rows_that_a_load_skips_take_part_in_its_instruction(
    migrate: Any, there: int, first: bool, tmp_path: Any
) -> None:
    """One DMA has them all, in both versions: a mask over rows had been read into it, and it was cut, or left out."""
    at = np.where((np.arange(6) < there) == first, np.arange(6), 99).astype(np.int32).reshape(6, 1)
    np.save(tmp_path / "rows.npy", at)
    rows = TensorSpec((6, 1), "int32", str(tmp_path / "rows.npy"))
    assert migrate(HEAD + PICKED, {"table": tensor(6, 8), "rows": rows}).trouble == ()


def test_no_document_says_what_an_index_vector_of_negative_length_is() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        i_p, i_f = nl.arange(4 - 5)[:, None], nl.arange(8)[None, :]
        nl.store(out[i_p, i_f], nl.load(x[i_p, i_f]))
        return out

    with pytest.raises(NotModelled, match="an index vector of negative length, from 0 to -1"):
        launch(kernel, {"x": np.ones((4, 8), np.float32)})


# --- what is no such difference --------------------------------------------------------------------------------------


def verdict(
    op: str = "subtract", new_op: str = "", flip: bool = False, reverse: bool = False, wrong: bool = False
) -> Verdict:
    """A ``tensor_tensor`` of two tiles, and a ``tensor_scalar`` whose data is the first tile (the second: ``flip``)."""

    def whole(tile: Any) -> View:
        return view_of(tile, tile.array())

    def tiles(b: Bench) -> list[Any]:
        made = [b.tile(name, shape=(128, 1)) for name in "tcr"]
        for tile, source in zip(made, (b.x, b.y), strict=False):
            b.copy(tile, source, of=np.s_[0, :, 0:1])
        return made

    def old(b: Bench) -> None:
        t, c, r = tiles(b)
        b.add(r, t, c, op=op)

    def new(b: Bench) -> None:
        t, c, r = tiles(b)
        data, operand = (c, t) if flip else (t, c)
        result = isa.tensor_scalar(whole(data), new_op or op, whole(data if wrong else operand), reverse)
        isa.commit(b.machine, result, whole(r))

    return compare_operands(record(old), record(new)).verdict


def test_two_columns_are_a_column_and_its_operand() -> None:
    assert verdict() is Verdict.EQUAL
    assert verdict(flip=True, reverse=True) is Verdict.EQUAL
    assert verdict(op="add", flip=True) is Verdict.EQUAL


@pytest.mark.parametrize(
    "changed",
    [{"flip": True}, {"reverse": True}, {"new_op": "add"}, {"wrong": True}, {"op": "power"}],
    ids=str,
)
def test_any_other_tensor_scalar_is_a_difference(changed: dict[str, Any]) -> None:
    with np.errstate(over="ignore"):
        assert verdict(**changed) is Verdict.DIFFERENT
