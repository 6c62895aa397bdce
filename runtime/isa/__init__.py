"""One instruction, one definition.

Each function takes operands as :class:`~nki_migrate.runtime.memory.View` (or numbers) and returns a
:class:`~nki_migrate.runtime.isa.core.Result`: what the engine computes, before it is rounded into its destination.
Beta 1 and Beta 2 are two thin signatures over these functions, so their results can be compared bit by bit.
"""

from .core import Result, commit, result_of, said
from .elementwise import (
    activation,
    affine_select,
    copy,
    iota,
    memset,
    reciprocal,
    scalar_tensor_tensor,
    select,
    tensor_scalar,
    tensor_tensor,
    tensor_tensor_scan,
)
from .matmul import matmul, transpose
from .reductions import tensor_partition_reduce, tensor_reduce

__all__ = [
    "Result",
    "activation",
    "affine_select",
    "commit",
    "copy",
    "iota",
    "matmul",
    "memset",
    "reciprocal",
    "result_of",
    "said",
    "scalar_tensor_tensor",
    "select",
    "tensor_partition_reduce",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_tensor",
    "tensor_tensor_scan",
    "transpose",
]
