"""The memories of a CUDA architecture as TileLang names them: each is one range of bytes, Tensor Memory of columns."""

from __future__ import annotations

from .memory import MemoryModel, Space
from .tilelang import DEFAULT_ARCHITECTURE, SHARED_BYTES, STATIC_SHARED_BYTES, TMEM_ARCHITECTURES, TMEM_COLUMNS

REGISTER_BYTES = 64 << 10 << 2
"""The register file of a multiprocessor: 64 Ki registers of 32 bits."""

MODEL = MemoryModel(
    "tilelang",
    (
        Space("shared.dyn", SHARED_BYTES),
        Space("shared", dict.fromkeys(SHARED_BYTES, STATIC_SHARED_BYTES)),
        Space("shared.barrier", dict.fromkeys(SHARED_BYTES, STATIC_SHARED_BYTES)),
        Space("shared.cluster_barrier", dict.fromkeys(SHARED_BYTES, STATIC_SHARED_BYTES)),
        Space("shared.tmem", {name: TMEM_COLUMNS if name in TMEM_ARCHITECTURES else 0 for name in SHARED_BYTES}),
        Space("register", dict.fromkeys(SHARED_BYTES, REGISTER_BYTES)),
    ),
    DEFAULT_ARCHITECTURE,
)
"""What one block may use of each memory, by architecture. Registers have no addresses."""
