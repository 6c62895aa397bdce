"""Annotations of tensors: of parameters, results, attributes and local names."""

from dataclasses import dataclass
from typing import Optional

import nki
import nki.language as nl
import nki.isa as nisa


@dataclass
class Host:
    """What a caller keeps."""

    weights: nl.ndarray  # (P, F)
    scale: Optional[nl.ndarray] = None


def twice(x: nl.ndarray, tile=None) -> nl.ndarray:
    """A tile of x plus itself."""
    assert len(x.shape) > 1, "rewritten for 2 dimensions at least"
    loaded = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=loaded, src=x)
    add_tile = nl.ndarray(loaded.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=loaded, data2=loaded, op=nl.add)
    return add_tile


@nki.jit
def raised(x: nl.ndarray):
    """(P, F) doubled."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    more = twice(x)
    nisa.dma_copy(dst=out, src=more)
    return out
