"""Annotations of tensors: of parameters, results, attributes and local names."""

from dataclasses import dataclass
from typing import Optional

import nki
import nki.language as nl


@dataclass
class Host:
    """What a caller keeps."""

    weights: nl.ndarray  # (P, F)
    scale: Optional[nl.ndarray] = None


def twice(x: nl.ndarray, tile=None) -> nl.ndarray:
    """A tile of x plus itself."""
    assert len(x.shape) > 1, "rewritten for 2 dimensions at least"
    loaded = nl.load(x)
    add_tile = nl.add(loaded, loaded)
    return add_tile


@nki.jit
def raised(x: nl.ndarray):
    """(P, F) doubled."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    more = twice(x)
    nl.store(out, value=more)
    return out
