"""ASC021 unpins: ``T.annotate_address`` goes, and the compiler plans.

Why: addresses that were written for one size are wrong for another. Without them the compiler's planner gives some.

Safe: the compiler's default plan of what is left has no problem; where only its reusing plan has none,
``TL_ASCEND_MEMORY_PLANNING`` is added to the ``pass_configs`` of the kernel's ``tilelang.jit``. Left alone: a kernel
that the planner cannot place as tightly as its author did, sizes that are not known, a ``tilelang.jit`` that cannot
be changed. Written for ``--to ascend==unpinned`` only.

Source: ``src/transform/ascend_memory_planning.cc`` of tilelang-ascend.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from nki_migrate.runtime.ascend.plans import Program
from nki_migrate.runtime.ascend.plans.sources import PLANNING

from ...syntax.drafts import Draft, Edit
from ..addresses import annotation_calls
from ..configuration import configuration_edit
from ..module import AscendModule, Read

CODE = "ASC021"
GOALS = ("unpinned",)
GOLDENS = ("ascend_unpinned",)
VALID = ("annotate_address({x: 0})",)
INVALID = (
    (
        "@T.prim_func\ndef k(A: T.Tensor((8,), 'float32')):\n    a = T.alloc_ub((8,), 'float32')\n"
        "    T.annotate_address({a: 64})\n    T.copy(A, a)\n",
        "@T.prim_func\ndef k(A: T.Tensor((8,), 'float32')):\n    a = T.alloc_ub((8,), 'float32')\n    T.copy(A, a)\n",
    ),
)


def rewrite(module: AscendModule) -> None:
    """Take the addresses of each kernel away."""
    for read in module.kernels:
        calls = annotation_calls(module, read)
        if not calls:
            continue
        problem, advice, edits = _unpinned(module, read, calls)
        if problem:
            module.leave(calls[0], CODE, f"'{read.kernel.name}' stays pinned: {problem}", advice)
        else:
            module.commit(Draft(CODE, calls[0], edits))


def _unpinned(module: AscendModule, read: Read, calls: list[ast.Call]) -> tuple[str, str, list[Edit]]:
    if read.program is None:
        assert read.problem is not None
        return f"line {read.problem.line}: {read.problem.text}", read.problem.advice, []
    edits = []
    for call in calls:
        statement = module.parents[call]
        edit = module.removal(statement) if isinstance(statement, ast.Expr) else None
        if edit is None:
            return "T.annotate_address is no statement of its own", "give it a line of its own", []
        edits.append(edit)
    free = unpinned(read.program)
    problems = module.plan(read, free, "auto").problems
    if not problems:
        return "", "", edits
    problems = module.plan(read, free, "reuse").problems
    if problems:
        first = problems[0]
        return f"the planner finds no plan without it: {first.message}", first.advice, []
    added = configuration_edit(module, read.kernel.factory, (PLANNING,))
    if added is None:
        return "only memory planning has a plan without it, and nothing here can turn it on", "use tilelang.jit", []
    return "", "", [*edits, *added]


def unpinned(program: Program) -> Program:
    """The program without its addresses."""
    return replace(program, buffers=tuple(replace(buffer, address=None) for buffer in program.buffers))
