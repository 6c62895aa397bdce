"""What launches a kernel of Beta 1: decorators that may also be called with a function, and the frameworks' callers.

Source: nki.jit, nki.baremetal, nki.benchmark, nki.profile and nki.simulate_kernel of the API reference 2.26.1;
``reference/beta1.md`` 3.7 for what the frameworks have.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

OUTPUT_HARNESSES = {"torch_neuronx.nki_jit", "torch_neuronx.xla_impl.ops.nki_jit"}
"""PyTorch's first launchers: kernels of theirs could write to tensors that they get (``reference/beta1.md`` 3.7)."""
KERNEL_DECORATORS = {
    "nki.jit",
    "nki.trace",
    "nki.baremetal",
    "nki.benchmark",
    "nki.profile",
    "nki.simulate_kernel",
    *OUTPUT_HARNESSES,
}
STEERING = {"ncc.skip_middle_end_transformations", "ncc.enable_stack_allocator"}
"""Decorators beside these that steer the compiler of Beta 1 and change nothing of what a kernel computes."""
CALLERS = {"nki_call"}
"""Functions of the frameworks that launch the kernel that they get, by their last name."""
LAUNCHERS = {"nki.baremetal", "nki.benchmark", "nki.profile", "nki.simulate_kernel", "jax_neuronx.nki_call"}
"""What launches a function without making it a kernel for others, and Beta 2 does not have."""


def given_kernel(call: ast.Call, meant: Callable[[ast.expr], str]) -> tuple[ast.expr, str] | None:
    """The kernel that is given to what launches it, and the canonical name of that; ``None`` for any other call.

    ``nki.benchmark(kernel)``, ``nki.benchmark(warmup=5)(kernel[grid])``, ``nki_call(partial(kernel, n=2), x)``.
    ``meant`` is the canonical name of what a chain of attributes means by the imports of the module, or empty.
    """
    if not call.args:
        return None
    launcher = call.func.func if isinstance(call.func, ast.Call) and not call.func.args else call.func
    name = meant(launcher)
    if name not in KERNEL_DECORATORS and name.rpartition(".")[2] not in CALLERS:
        return None
    given = call.args[0]
    if isinstance(given, ast.Call) and meant(given.func) == "functools.partial" and given.args:
        given = given.args[0]
    return (given.value if isinstance(given, ast.Subscript) else given), name
