"""ASC020 pins: each buffer's planned address is written into the kernel, as ``T.annotate_address``.

Why: an address that is written down does not change with the compiler's planner. Users ask for plans that they can
check and keep (upstream issues 1286, 1129).

Safe: the addresses are those of the plan (``--mode``, ``--planner``, ``--hardware``), which has no problem: nothing is
over capacity, misaligned, or shares bytes while it lives. Left alone: a kernel whose sizes are not known, or whose plan
has problems. Written for ``--to ascend==pinned`` only.

Source: ``tilelang/language/__init__.py`` (``annotate_address``) of tilelang-ascend.
"""

from __future__ import annotations

from ...syntax.drafts import Draft
from ..addresses import annotation_edits
from ..module import AscendModule, Read

CODE = "ASC020"
GOALS = ("pinned",)
GOLDENS = ("ascend_pinned",)
VALID = ("x = T.alloc_ub((8,), 'float32')",)
INVALID = (
    (
        "@T.prim_func\ndef k(A: T.Tensor((8,), 'float32')):\n    a = T.alloc_ub((8,), 'float32')\n"
        "    b = T.alloc_ub((8,), 'float32')\n    T.copy(A, a)\n    T.copy(a, b)\n",
        "@T.prim_func\ndef k(A: T.Tensor((8,), 'float32')):\n    a = T.alloc_ub((8,), 'float32')\n"
        "    b = T.alloc_ub((8,), 'float32')\n    T.annotate_address({a: 0, b: 32})\n"
        "    T.copy(A, a)\n    T.copy(a, b)\n",
    ),
)
_SEED = ("allocate", "memory_pool", "alloc_buffer")


def rewrite(module: AscendModule) -> None:
    """Write the addresses of each kernel."""
    for read in module.kernels:
        problem, advice = _pinned(module, read)
        if problem:
            module.leave(read.kernel.function, CODE, f"'{read.kernel.name}' is not pinned: {problem}", advice)


def _pinned(module: AscendModule, read: Read) -> tuple[str, str]:
    program = read.program
    if program is None:
        assert read.problem is not None
        return f"line {read.problem.line}: {read.problem.text}", read.problem.advice
    if all(buffer.address is not None for buffer in program.buffers):
        return "", ""
    made = module.plan(read)
    for problem in made.problems:
        return f"line {problem.line}: {problem.message}", problem.advice
    if module.has_calls(read, *_SEED) or program.pools:
        return "", ""  # what the other rules leave of these has a finding of its own
    edits = annotation_edits(module, read, program, made.plan)
    if edits is None:
        return "its allocations are not statements of their own", "assign each buffer in a line of its own"
    module.commit(Draft(CODE, read.kernel.function, edits))
    return "", ""
