"""ASC022 developer-mode: a kernel of expert mode is written in developer mode.

Why: developer mode leaves memories, engines and order to the compiler: ``T.alloc_shared`` and ``T.alloc_fragment``,
no ``T.Scope``, no barriers, and passes that insert what is missing. Upstream moves its own examples so (commit
0eaba78).

Safe: every buffer is in the memory where it was, because that is where the compiler puts it; the pass configuration
turns on what replaces the deleted calls. Left alone: kernels that use L0A or L0B, flags between cores, the number of
the vector core, an L1 buffer that no matmul reads (the compiler would move it to UB), a
``T.Scope`` inside of another. Written for ``--to ascend==developer`` only.

Source: the table of tilelang-ascend's expert-to-developer guide, and commit 0eaba78.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from nki_migrate.runtime.ascend.plans import Program
from nki_migrate.runtime.ascend.plans.inference import with_spaces
from nki_migrate.runtime.spec.ascend import MATMULS, SYNCHRONISATION

from ...syntax.drafts import Draft, Edit
from ..addresses import annotation_calls
from ..configuration import configuration_edit
from ..module import AscendModule, Read

CODE = "ASC022"
GOALS = ("developer",)
GOLDENS = ("ascend_developer",)
VALID = ("@T.prim_func\ndef k():\n    x = T.alloc_shared((8,), 'float32')\n",)
INVALID = (
    (
        "@tilelang.jit(out_idx=[-1])\ndef make(n):\n    @T.prim_func\n    def k(A: T.Tensor((8, 8), 'float16')):\n"
        "        with T.Kernel(1, is_npu=True) as (cid, _):\n"
        "            a = T.alloc_L1((8, 8), 'float16')\n            c = T.alloc_L0C((8, 8), 'float32')\n"
        "            with T.Scope('C'):\n                T.copy(A, a)\n                T.barrier_all()\n"
        "                T.gemm_v0(a, a, c, init=True)\n    return k\n",
        "@tilelang.jit(out_idx=[-1], pass_configs={tilelang.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True, "
        "tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True, tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True})\n"
        "def make(n):\n    @T.prim_func\n    def k(A: T.Tensor((8, 8), 'float16')):\n"
        "        with T.Kernel(1, is_npu=True) as (cid, _):\n"
        "            a = T.alloc_shared((8, 8), 'float16')\n            c = T.alloc_fragment((8, 8), 'float32')\n"
        "            T.copy(A, a)\n            T.gemm_v0(a, a, c, init=True)\n    return k\n",
    ),
)
_CALLS = {"alloc_ub": "alloc_shared", "alloc_L1": "alloc_shared", "alloc_L0C": "alloc_fragment"}
_ORDER = tuple(name for name in SYNCHRONISATION if not name.endswith("cross_flag"))
_PASSES = ("TL_ASCEND_AUTO_CV_COMBINE", "TL_ASCEND_AUTO_SYNC", "TL_ASCEND_MEMORY_PLANNING")
_HELP = "see upstream's expert-to-developer guide"


def rewrite(module: AscendModule) -> None:
    """Rewrite each kernel as a whole, or not at all."""
    for read in module.kernels:
        if not module.has_calls(read, *_CALLS):
            continue
        problem, edits = _developed(module, read)
        if problem:
            module.leave(read.kernel.function, CODE, f"'{read.kernel.name}' stays in expert mode: {problem}", _HELP)
        elif edits:
            module.commit(Draft(CODE, read.kernel.function, edits))


def _developed(module: AscendModule, read: Read) -> tuple[str, list[Edit]]:
    problem = _obstacle(module, read)
    if problem:
        return problem, []
    inside = set(ast.walk(read.kernel.function))
    edits: list[Edit] = []
    for call, name in module.calls(*_CALLS):
        if call in inside:
            edits.append(module.replace(call.func, module.spelled(call.func, _CALLS[name]) or f"T.{_CALLS[name]}"))
    going = [s for s, call, _ in module.statements(*_ORDER) if call in inside]
    going += [s for call in annotation_calls(module, read) if isinstance(s := module.parents[call], ast.Expr)]
    removals = [module.removal(statement, frozenset(going)) for statement in going]
    if any(edit is None for edit in removals):
        return "a barrier shares its line with another statement", []
    gone = [edit for edit in removals if edit is not None]
    edits += gone
    moved = _out_of_scopes(module, inside)
    if moved is None:
        return "the body of a T.Scope cannot be moved", []
    edits += [e for e in moved if not any(g.start <= e.start and e.end <= g.end for g in gone)]
    added = configuration_edit(module, read.kernel.factory, _PASSES)
    if added is None:
        return "its passes cannot be configured: no tilelang.jit whose pass_configs are written in the file", []
    return "", [*edits, *added]


def _out_of_scopes(module: AscendModule, inside: set[ast.AST]) -> list[Edit] | None:
    """The edits that move the bodies of the kernel's scopes out; ``None`` where one cannot be moved."""
    edits: list[Edit] = []
    for statement, item, call, _ in module.withs("Scope"):
        if call in inside:
            moved = module.unwrapped(statement, "") if len(statement.items) == 1 and not item.optional_vars else None
            if moved is None:
                return None
            edits += moved
    return edits


def _obstacle(module: AscendModule, read: Read) -> str:
    """Why the kernel cannot be written in developer mode; empty where it can."""
    program = module.outline(read)
    if program is None:
        return read.problem.text if read.problem else "it cannot be read"
    for name in ("alloc_L0A", "alloc_L0B", "set_cross_flag", "wait_cross_flag", "mma"):
        if module.has_calls(read, name):
            return f"it uses T.{name}"
    inside = set(ast.walk(read.kernel.function))
    scopes = [statement for statement, _, call, _ in module.withs("Scope") if call in inside]
    if any(other is not s and other in set(ast.walk(s)) for s in scopes for other in scopes):
        return "a T.Scope stands inside of another"
    vector = _vector_name(module, inside)
    if vector and any(isinstance(n, ast.Name) and n.id == vector and isinstance(n.ctx, ast.Load) for n in inside):
        return f"it computes with '{vector}', the number of the vector core"
    return _moved(module, program, inside)


def _moved(module: AscendModule, program: Program, inside: set[ast.AST]) -> str:
    """The first buffer that developer mode would put into another memory, as a sentence; empty where there is none."""
    positions: dict[str, set[int]] = {}
    for call, _ in module.calls(*MATMULS):
        for place, argument in enumerate(call.args[:3] if call in inside else []):
            base = argument.value if isinstance(argument, ast.Subscript) else argument
            if isinstance(base, ast.Name):
                positions.setdefault(base.id, set()).add(place)
    renamed = replace(
        program,
        buffers=tuple(replace(b, space="?", call=_CALLS[b.call]) if b.call in _CALLS else b for b in program.buffers),
    )
    for before, after in zip(program.buffers, with_spaces(renamed, positions).buffers, strict=True):
        if before.space != after.space:
            return f"the compiler would put '{before.name}' into {after.space}, it is in {before.space}"
    return ""


def _vector_name(module: AscendModule, inside: set[ast.AST]) -> str:
    """The name that the kernel gives to the number of the vector core."""
    for _, item, call, _ in module.withs("Kernel"):
        target = item.optional_vars
        if call in inside and isinstance(target, ast.Tuple) and len(target.elts) > 1:
            name = target.elts[1]
            return name.id if isinstance(name, ast.Name) else ""
    return ""
