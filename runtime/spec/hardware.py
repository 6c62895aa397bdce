"""The three hardware targets and their limits.

Sources: ``reference/beta2.md`` section 2.2 (usable SBUF bytes, from KLR and nkipy's ``HardwareConstants.h``), the
NKI direct allocation guide (start partition rules, PSUM banks), ``nl.tile_size`` of the 2.28 API reference.
"""

from __future__ import annotations

from dataclasses import dataclass

PARTITIONS = 128
PSUM_BANKS = 8
PSUM_BANK_BYTES = 2048
PSUM_PARTITION_BYTES = PSUM_BANKS * PSUM_BANK_BYTES
PSUM_FMAX = 512
GEMM_STATIONARY_FMAX = 128
GEMM_MOVING_FMAX = 512
BN_STATS_FMAX = 512
PSUM_MIN_ALIGN = 4
SBUF_MIN_ALIGN = 1


@dataclass(frozen=True)
class Target:
    """One NeuronCore generation.

    ``sbuf_bytes`` is the usable number of bytes in one SBUF partition (the compiler keeps the rest for itself).
    """

    name: str
    instance: str
    version: int
    sbuf_bytes: int


TARGETS = {
    "gen2": Target("gen2", "trn1", 2, 180_224),
    "gen3": Target("gen3", "trn2", 3, 212_984),
    "gen4": Target("gen4", "trn3", 4, 245_752),
}
DEFAULT_TARGET = "gen3"
