"""Which engine executes an instruction, which memories it reaches, and at which partitions it may start.

One row an instruction, by the name that it has in the event stream; what has no row runs on an engine that the compiler
chooses, and what is said of its operands is what holds for all of them. Sources: the Trainium/Inferentia2 architecture
guide ("Accessing SBUF/PSUM tensors using compute engines", "Near-memory accumulation in PSUM"), the *Memory types* of
each instruction in the API references of 2.26.1 (Beta 1) and 2.28.0 (Beta 2), which agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ON_CHIP = frozenset({"sbuf", "psum"})
SBUF = frozenset({"sbuf"})
PSUM = frozenset({"psum"})


@dataclass(frozen=True)
class Engine:
    """What an engine reads from and writes to. ``aligned``: do its accesses obey the rule of start partitions?"""

    reads: frozenset[str]
    writes: frozenset[str]
    title: str
    aligned: bool = True


ENGINES: Mapping[str, Engine] = {
    "": Engine(ON_CHIP, ON_CHIP, "a compute engine"),
    "tensor": Engine(SBUF, PSUM, "the Tensor Engine"),
    "vector": Engine(ON_CHIP, ON_CHIP, "the Vector Engine"),
    "scalar": Engine(ON_CHIP, ON_CHIP, "the Scalar Engine"),
    "gpsimd": Engine(SBUF, SBUF, "the GpSimd Engine"),
    "dma": Engine(SBUF | {"hbm"}, SBUF | {"hbm"}, "DMA", aligned=False),
}
""""TensorE must read input matrices from SBUF and write output matrices to PSUM", "GpSimd Engine cannot access PSUM",
"both VectorE and ScalarE have read and write access to PSUM"; a DMA reaches every partition."""


@dataclass(frozen=True)
class Instruction:
    """One row: ``engine`` executes it (empty: the kernel or the compiler chooses).

    ``apart`` are two operands that cannot both be in PSUM, ``anywhere`` those that start at any partition.
    """

    engine: str = ""
    apart: tuple[str, str] | None = None
    anywhere: frozenset[str] = frozenset()


ANY = Instruction()
INSTRUCTIONS: Mapping[str, Instruction] = {
    "affine_select": Instruction("gpsimd"),
    "dma_compute": Instruction("dma"),
    "dma_copy": Instruction("dma"),
    "dma_transpose": Instruction("dma"),
    "iota": Instruction("gpsimd"),
    "local_gather": Instruction("gpsimd"),
    "nc_matmul": Instruction("tensor"),
    "nc_matmul_mx": Instruction("tensor", anywhere=frozenset({"stationary_scale", "moving_scale"})),
    "nonzero_with_count": Instruction("gpsimd"),
    "quantize_mx": Instruction("vector", anywhere=frozenset({"dst_scale"})),
    "scalar_tensor_tensor": Instruction("vector", apart=("data", "operand1")),
    "select_reduce": Instruction("vector", apart=("predicate", "on_true")),
    "sendrecv": Instruction("dma"),
    "sequence_bounds": Instruction("gpsimd"),
    "tensor_copy_predicated": Instruction("vector", apart=("src", "predicate")),
    "tensor_partition_reduce": Instruction("gpsimd"),
    "tensor_tensor": Instruction(apart=("data1", "data2")),
    "tensor_tensor_scan": Instruction("vector", apart=("data0", "data1")),
}
"""``nc_transpose`` has no row: the Vector Engine transposes up to 32 x 32, the Tensor Engine up to 128 x 128."""

VECTOR_TRANSPOSE = 32
"""Partitions and elements a partition that the Vector Engine transposes at most (``nc_transpose``)."""

GPSIMD_OPERATORS = frozenset({"power"})
"""Operators of ``tensor_tensor`` that run on the GpSimd Engine."""
GPSIMD_INTEGERS = frozenset({"add", "subtract", "multiply"})
"""Further ones of Beta 1, on 32-bit integers (``nisa.tensor_tensor`` of 2.26.1, "Supported Math Operators")."""

_FLOAT32 = frozenset({"float32"})
MATMUL_TYPES: Mapping[int, frozenset[str]] = {2: _FLOAT32, 3: _FLOAT32, 4: _FLOAT32 | {"bfloat16"}}
"""Types of what a matmul writes, by the generation ("The dst tile must be a float32 tile in NeuronCore-v2 and
NeuronCore-v3. Starting NeuronCore-v4, dst can either be a float32 or bfloat16 tile", ``nc_matmul`` of 2.28.0)."""
NATIVE_TRANSPOSE = 3
"""Generation from which on a transpose by the Tensor Engine leaves the type of its operand (Trainium2 guide).

Before, it is a matmul, whose result is float32."""


def start_partitions(partitions: int) -> tuple[int, ...]:
    """Partitions at which an access of ``partitions`` partitions may start, and a tile may lie.

    "If 64 < num_partition <= 128, start_partition must be 0", up to 64 0 or 64, up to 32 one of 0, 32, 64 and 96.
    """
    if partitions > 64:
        return (0,)
    return (0, 64) if partitions > 32 else (0, 32, 64, 96)
