"""Sums along rows in tiles of a three-dimensional grid; what tile this is, the helpers ask themselves."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np

ROWS = 64


def tile_of(x, width):
    """The tile of this program."""
    group = nl.program_id(0)
    row = nl.program_id(1) * ROWS
    column = nl.program_id(2) * width
    return nl.load(x[group, row : row + ROWS, column : column + width])


@nki.jit(mode="trace")
def weighted(tile, weight=2.0):
    """A tile, by how many tiles there are in its row."""
    return nl.multiply(tile, weight / nl.num_programs(2), dtype=tile.dtype)


@nki.jit
def row_sums(x, width):
    assert nl.program_ndim() == 3, f"a grid of {nl.program_ndim()} axes"
    out = nl.ndarray(
        (x.shape[0], x.shape[1], nl.num_programs(2)),
        dtype=x.dtype,
        buffer=nl.shared_hbm,
    )

    # every program does one tile
    start = nl.program_id(1) * ROWS

    def summed(tile):
        total = nisa.tensor_reduce(np.add, tile, axis=(1,), dtype=x.dtype)
        nl.store(out[nl.program_id(0), nl.ds(start, ROWS), nl.ds(nl.program_id(2), 1)], value=total)

    tile = weighted(tile_of(x, width))
    summed(tile)
    return out


@nki.jit
def negated(x):
    """A program for each tile of 128 rows: no number of cores."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ds(nl.program_id(0) * 128, 128)
    nl.store(out[rows, :], value=nl.negative(nl.load(x[rows, :])))
    return out


@nki.jit
def halves(x):
    """As many parts as there are cores: this is what Beta 2's grid is, too."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    part = x.shape[1] // nl.num_programs(0)
    begin = nl.program_id(0) * part
    nl.store(out[:, begin : begin + part], value=nl.load(x[:, begin : begin + part]))
    return out


def run(x, width):
    """All kernels, on their grids."""
    groups, rows, columns = x.shape
    sums = row_sums[groups, rows // ROWS, columns // width](x, width=width)
    launched = negated
    other = launched[sums.shape[1] // 128](
        sums[0],
    )
    return halves[nl.nc(2)](other)
