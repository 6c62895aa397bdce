"""Rows and columns in tiles that objects describe: their methods compute indices and masks."""

from dataclasses import dataclass
from typing import Optional, Union

import nki
import nki.isa as nisa
import nki.language as nl

Position = Union[int, float]


@dataclass(frozen=True)
class Tiling(nl.NKIObject):
    """One dimension in tiles."""

    size: int
    tile: int
    inner: Optional["Tiling"] = None

    @staticmethod
    def of(size: int, tile: int):
        return Tiling(size, min(size, tile))

    @staticmethod
    def nested(size: int, tile: int, part: int):
        return Tiling(size, tile, Tiling.of(tile, part))

    def count(self) -> int:
        return (self.size + self.tile - 1) // self.tile

    @staticmethod
    def below(index, least: int = None, limit: int = None):
        assert least is not None or limit is not None, "a bound is needed"
        if least is not None and limit is not None:
            return index >= least and index < limit
        elif limit is not None:
            return index < limit
        return index >= least

    def at(self, number, offset):
        return number * self.tile + offset

    def part(self, number, inner_number, offset):
        assert self.inner is not None, "this dimension has one level of tiles"
        start = number * self.tile
        return start + inner_number * self.inner.tile + offset

    def mask(self, number, offset, limit=None):
        if limit is None:
            limit = self.size
        return Tiling.below(self.at(number, offset), limit=limit)


@dataclass(frozen=True)
class Plan(nl.NKIObject):
    """What the steps of the kernel share."""

    rows: Tiling
    columns: Tiling
    scale: float
    bias: nl.ndarray  # a column on chip


def make_plan(shape, scale: float) -> Plan:
    """Tiles of 128 rows and 64 columns; the columns of a tile in halves."""
    rows, columns = Tiling.of(shape[0], 128), Tiling.nested(shape[1], 64, 32)
    bias = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=bias, value=0.5)
    return Plan(rows, columns, scale, bias)


def step(plan: Plan, x, out, i, j, h):
    """One half of a tile, scaled and shifted."""
    assert plan.columns.inner is not None, 'this dimension has one level of tiles'
    tile = nl.ndarray((plan.rows.tile, plan.columns.inner.tile), dtype=nl.float32, buffer=nl.sbuf)
    i_p_size = min(plan.rows.tile, plan.rows.size - i * plan.rows.tile)
    i_f_size = min(
        plan.columns.inner.tile,
        plan.columns.size - (j * plan.columns.tile + h * plan.columns.inner.tile),
    )
    if i_p_size > 0 and i_f_size > 0:
        nisa.dma_copy(
            dst=tile[0:i_p_size, 0:i_f_size],
            src=x[
                nl.ds(i * plan.rows.tile, i_p_size),
                nl.ds(j * plan.columns.tile + h * plan.columns.inner.tile, i_f_size),
            ],
        )
        nisa.tensor_scalar(
            dst=tile[0:i_p_size, 0:i_f_size],
            data=tile[0:i_p_size, 0:i_f_size],
            op0=nl.multiply,
            operand0=plan.scale,
            op1=nl.add,
            operand1=plan.bias[0:i_p_size, :],
        )
        nl.store(
            out[
                nl.ds(i * plan.rows.tile, i_p_size),
                nl.ds(j * plan.columns.tile + h * plan.columns.inner.tile, i_f_size),
            ],
            value=tile[0:i_p_size, 0:i_f_size],
        )


@nki.jit
def shifted(x, scale=2.0):
    """(R, C) float32 to scale * x + 0.5."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    plan = make_plan(x.shape, scale)
    for i in nl.affine_range(plan.rows.count()):
        for j in nl.affine_range(plan.columns.count()):
            for h in nl.affine_range(plan.columns.inner.count()):
                step(plan, x, out, i, j, h)
    return out
