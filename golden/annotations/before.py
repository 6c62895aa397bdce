"""Annotations of tensors: of parameters, results, attributes and local names."""

from dataclasses import dataclass
from typing import Optional

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt


@dataclass
class Host:
    """What a caller keeps."""

    weights: nt.tensor  # (P, F)
    scale: Optional[nt.tensor] = None


def twice(x: nt.tensor[128, 512], tile: nt.tensor | None = None) -> nt.tensor:
    """A tile of x plus itself."""
    loaded: nt.tensor = nl.load(x)
    return nl.add(loaded, loaded)


@nki.jit
def raised(x: nt.tensor[128, 512]):
    """(P, F) doubled."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    more = twice(x)
    nl.store(out, value=more)
    return out
