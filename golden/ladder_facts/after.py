"""The largest sum of the groups of a row; what the rules need to know stands elsewhere than in the call itself."""

import nki
import nki.isa as nisa
import nki.language as nl
from nkilib.core.utils.allocator import SbufManager

STATIC = 3


def grouped(tile, rows, groups, size, sbm: SbufManager):
    """The sums of (P, groups * size): (P, groups)."""
    by_group = (rows, groups, size)
    sums = sbm.alloc_stack((rows, groups), dtype=nl.float32, buffer=nl.sbuf)
    filled(sums)
    nisa.tensor_reduce(dst=sums, op=nl.add, data=tile.reshape(by_group), axis=2)
    return sums


def first_of(tiles: list[nl.ndarray], rows):
    """A list of tiles is no tile: an integer chooses one."""
    chosen = tiles[0]
    largest = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=chosen, axis=1)
    return largest


def filled(tile):
    """A tile of whatever type, filled with zeros."""
    nisa.memset(dst=tile, value=0)


@nki.jit
def largest_group(x, groups=4, is_shared=False):
    """(P, F) gives (P, 1): the largest of the sums of ``groups`` equal parts of a row, and one."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    sbm = SbufManager(0, 96 * 1024, use_auto_alloc=True)
    sbm.open_scope()
    tile = sbm.alloc_stack((rows, columns), dtype=nl.float32)
    nisa.dma_copy(dst=tile, src=x, dge_mode=nisa.dge_mode.none)
    ones = sbm.alloc_stack((rows, 1), dtype=nl.int32)
    filled(ones)
    nisa.tensor_scalar(dst=ones, data=ones, op0=nl.add, operand0=1, engine=nki.isa.vector_engine)
    largest = first_of([grouped(tile, rows, groups, columns // groups, sbm)], rows)
    nisa.tensor_tensor(dst=largest, data1=largest, data2=ones, op=nl.add)
    nisa.dma_copy(dst=out, src=largest)
    sbm.close_scope()
    return out
