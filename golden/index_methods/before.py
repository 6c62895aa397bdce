"""Rows and columns in tiles that objects describe: their methods compute indices and masks."""

from dataclasses import dataclass
from typing import NamedTuple, Optional, Union

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt
from neuronxcc.nki.compiler.backends.neuron.indexing import TileIndex

Position = Union[int, float]


@dataclass(frozen=True)
class Tiling:
    """One dimension in tiles."""

    size: int
    tile: int
    inner: Optional["Tiling"] = None

    @classmethod
    def of(cls, size: int, tile: int):
        return cls(size, min(size, tile))

    @classmethod
    def nested(cls, size: int, tile: int, part: int):
        return cls(size, tile, cls.of(tile, part))

    @property
    def count(self) -> int:
        return (self.size + self.tile - 1) // self.tile

    @staticmethod
    def below(index: TileIndex, *, least: int = None, limit: int = None):
        assert least is not None or limit is not None, "a bound is needed"
        if least is not None and limit is not None:
            return (index >= least) & (index < limit)
        elif limit is not None:
            return index < limit
        return index >= least

    def at(self, number: Union[int, TileIndex], offset: TileIndex) -> TileIndex:
        return number * self.tile + offset

    def part(self, number, inner_number, offset):
        assert self.inner is not None, "this dimension has one level of tiles"
        start = number * self.tile
        return start + inner_number * self.inner.tile + offset

    def mask(self, number, offset, limit=None):
        if limit is None:
            limit = self.size
        return self.below(self.at(number, offset), limit=limit)

    def vectors(self, width):
        i_p, i_f = nl.mgrid[0 : self.tile, 0:width]
        return i_p, i_f


class Plan(NamedTuple):
    """What the steps of the kernel share."""

    rows: Tiling
    columns: Tiling
    scale: float
    bias: nt.tensor  # a column on chip


def make_plan(shape, scale: float) -> Plan:
    """Tiles of 128 rows and 64 columns; the columns of a tile in halves."""
    rows, columns = Tiling.of(shape[0], 128), Tiling.nested(shape[1], 64, 32)
    bias = nl.full((128, 1), 0.5, dtype=nl.float32, buffer=nl.sbuf)
    return Plan(rows, columns, scale, bias)


def step(plan: Plan, x, out, i, j, h):
    """One half of a tile, scaled and shifted."""
    i_p, i_f = plan.rows.vectors(plan.columns.inner.tile)
    c_p, c_f = plan.rows.vectors(1)
    inside = plan.rows.mask(i, i_p)
    at = plan.columns.part(j, h, i_f)
    both = inside & Tiling.below(at, limit=plan.columns.size)
    tile = nl.ndarray((plan.rows.tile, plan.columns.inner.tile), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile[i_p, i_f], src=x[plan.rows.at(i, i_p), at], mask=both)
    tile[i_p, i_f] = nisa.tensor_scalar(
        tile[i_p, i_f], nl.multiply, plan.scale, op1=nl.add, operand1=plan.bias[c_p, c_f], mask=both
    )
    nl.store(out[plan.rows.at(i, i_p), at], value=tile[i_p, i_f], mask=both)


@nki.jit
def shifted(x, scale=2.0):
    """(R, C) float32 to scale * x + 0.5."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    plan = make_plan(x.shape, scale)
    for i in nl.affine_range(plan.rows.count):
        for j in nl.affine_range(plan.columns.count):
            for h in nl.affine_range(plan.columns.inner.count):
                step(plan, x, out, i, j, h)
    return out
