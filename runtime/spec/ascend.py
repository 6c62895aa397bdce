"""What is known of Ascend NPUs and of TileLang-Ascend's memory calls: pure data.

Sizes are bytes. ``910b`` is the Atlas A2/A3 generation that the fork ``tile-ai/tilelang-ascend`` plans for (branch
``ascendc_pto``, commit 95acbd7): its planner leaves the last 256 bytes of UB and L1 alone and aligns everything to 32.
``950`` is the target of ``tilelang`` 0.1.15 itself, whose limits and alignments are those of the wheel's sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Arena:
    """One memory of a core.

    ``limit`` is what a plan may use of the ``size`` that is there. ``align`` is what the planner aligns addresses (and
    on 910b sizes) to, ``documented`` what the instructions that use the memory are documented to need.
    """

    space: str
    size: int
    limit: int
    align: int
    documented: int


@dataclass(frozen=True)
class AscendTarget:
    """One generation: its name, its arenas by space, and whether sizes are rounded up to the alignment."""

    name: str
    arenas: Mapping[str, Arena]
    rounds_sizes: bool
    package: str


SPACES = ("UB", "L1", "L0A", "L0B", "L0C")
"""The memories of a core that have addresses. Global memory (GM) is planned by nobody."""


def _target(name: str, package: str, rounds_sizes: bool, *rows: tuple[str, int, int, int, int]) -> AscendTarget:
    return AscendTarget(name, {row[0]: Arena(*row) for row in rows}, rounds_sizes, package)


TARGETS: Mapping[str, AscendTarget] = {
    "910b": _target(
        "910b",
        "tilelang-ascend",
        True,
        ("UB", 196608, 196352, 32, 32),
        ("L1", 524288, 524032, 32, 32),
        ("L0A", 65536, 65536, 32, 512),
        ("L0B", 65536, 65536, 32, 512),
        ("L0C", 131072, 131072, 32, 64),
    ),
    "950": _target(
        "950",
        "tilelang",
        False,
        ("UB", 253952, 253952, 32, 32),
        ("L1", 524288, 524288, 512, 512),
        ("L0A", 65536, 65536, 512, 512),
        ("L0B", 65536, 65536, 512, 512),
        ("L0C", 262144, 262144, 1024, 1024),
    ),
}
DEFAULT_TARGET = "910b"
SIMT_UB_LIMIT = 221184
"""What UB of a 950 leaves to a plan where the kernel has SIMT vector functions."""

SPACE_OF_CALL: Mapping[str, str] = {
    "alloc_ub": "UB",
    "alloc_L1": "L1",
    "alloc_L0A": "L0A",
    "alloc_L0B": "L0B",
    "alloc_L0C": "L0C",
    "alloc_l1": "L1",
    "alloc_l0a": "L0A",
    "alloc_l0b": "L0B",
    "alloc_l0c": "L0C",
    "alloc_global": "GM",
}
"""Calls that name their memory. ``alloc_shared`` and ``alloc_fragment`` do not: see :data:`INFERRED_CALLS`."""

INFERRED_CALLS = ("alloc_shared", "alloc_fragment")
"""Calls whose memory the fork infers: an operand of a matmul lies in L1 (or L0A, L0B, L0C), all else in UB (or L0C)."""

SPACE_OF_SCOPE: Mapping[str, str] = {
    "global": "GM",
    "shared": "UB",
    "shared.ub": "UB",
    "shared.l1": "L1",
    "wmma.matrix_a": "L0A",
    "wmma.matrix_b": "L0B",
    "wmma.accumulator": "L0C",
    "shared.l0a": "L0A",
    "shared.l0b": "L0B",
    "shared.l0c": "L0C",
}
"""Storage scopes of ``alloc_buffer`` by name. ``local`` of the seed is no memory: there is nothing inside of UB."""

CALL_OF_SPACE: Mapping[str, str] = {
    "UB": "alloc_ub",
    "L1": "alloc_L1",
    "L0A": "alloc_L0A",
    "L0B": "alloc_L0B",
    "L0C": "alloc_L0C",
}

ITEMSIZE: Mapping[str, int] = {
    **dict.fromkeys(("bool", "int8", "uint8", "e4m3_float8", "e5m2_float8", "float8_e4m3", "float8_e5m2"), 1),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16", "half"), 2),
    **dict.fromkeys(("float", "float32", "int", "int32", "uint32"), 4),
    **dict.fromkeys(("float64", "int64", "uint64"), 8),
}
"""Bytes of an element by its type's name; ``float`` and ``int`` are the fork's names for 32 bits."""


@dataclass(frozen=True)
class Effect:
    """What a call does with its buffers: positions of those it overwrites as a whole, and of those it only reads.

    Any other buffer is taken to be read and written. ``init`` names the keyword that makes a matmul overwrite,
    ``count`` is the position of the number of elements, ``sizes`` tells calls whose buffers have as many elements as
    what they write.
    """

    writes: tuple[int, ...]
    reads: tuple[int, ...]
    init: str = ""
    count: int | None = None
    sizes: bool = True


def _dst_first(names: str) -> dict[str, Effect]:
    return {f"tile.{name}": Effect((0,), (1, 2, 3, 4)) for name in names.split()}


EFFECTS: Mapping[str, Effect] = {
    "copy": Effect((1,), (0,)),
    "fill": Effect((0,), ()),
    "clear": Effect((0,), ()),
    "gemm_v0": Effect((2,), (0, 1), "init", sizes=False),
    "mma": Effect((2,), (0, 1), "init", sizes=False),
    "gemm": Effect((2,), (0, 1), "clear_accum", sizes=False),
    **{name: Effect((1,), (0,), sizes=False) for name in ("reduce_sum", "reduce_max", "reduce_min", "reduce_absmax")},
    "cumsum": Effect((1,), (0,)),
    **_dst_first("add sub mul div max min bitwise_and bitwise_or bitwise_xor exp ln abs reciprocal sqrt rsqrt relu"),
    **_dst_first("sigmoid silu bitwise_not leaky_relu pow sin cos select"),
    "tile.compare": Effect((0,), (1, 2), sizes=False),
    "tile.broadcast": Effect((0,), (1,), sizes=False),
    "tile.cast": Effect((0,), (1,), count=3),
    **{f"tile.{name}": Effect((0,), (1,), sizes=False) for name in ("sort", "topk", "gather_mask", "transpose")},
    "tile.gather": Effect((0,), (1, 2), sizes=False),
    "tile.merge_sort": Effect((0,), (1, 2), sizes=False),
    "tile.fill": Effect((0,), ()),
    "tile.clear": Effect((0,), ()),
    "tile.createvecindex": Effect((0,), ()),
}
"""The calls whose effect on their buffers is known; names are below ``tilelang.language``."""

MATMULS = ("gemm_v0", "mma", "gemm")

SYNCHRONISATION = (
    "barrier_all",
    "pipe_barrier",
    "sync_all",
    "set_flag",
    "wait_flag",
    "set_cross_flag",
    "wait_cross_flag",
)
"""Calls of expert mode that only order others; developer mode inserts them itself."""

VIEWS = ("view", "reshape", "buffer_alias")
"""Calls whose result is another view on the bytes of their first argument."""

LOOPS = ("serial", "Parallel", "Pipelined", "Persistent", "unroll", "vectorized", "grid")
