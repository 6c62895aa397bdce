"""ASC004 pools: buffers of a ``T.memory_pool``, and those with large alignments, get ``T.annotate_address``.

Why: TileLang-Ascend has no pools. What a pool decides is which bytes a buffer has; ``T.annotate_address`` says so.

Safe: each buffer of the pool's memory is at the address where the emulator puts it in the old kernel: that of the
pool, and the first free blocks in the order of the calls. Left alone, with the whole kernel: a pool that a loop or a
condition allocates from, sizes that the source does not tell, a pool that has no room.

Source: ``tilelang/language/__init__.py`` (``annotate_address``) of tilelang-ascend.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.ascend.plans.model import Program
from nki_migrate.runtime.spec.ascend import CALL_OF_SPACE

from ...syntax.call_text import by_name
from ...syntax.drafts import Draft, Edit
from ..addresses import annotation_edits
from ..module import AscendModule, Read

CODE = "ASC004"
GOLDENS = ("ascend_pool",)
VALID = ("pool = Pool()\nx = pool.allocate(3)",)
INVALID = (
    (
        "@T.prim_func\ndef k(A: T.Tensor((8,), 'float32')):\n"
        "    pool = T.memory_pool(max_size=4096, block_size=1024, scope='shared')\n"
        "    a = pool.allocate(shape=(8,), dtype='float32')\n    T.copy(A, a)\n    pool.free(a)\n",
        "@T.prim_func\ndef k(A: T.Tensor((8,), 'float32')):\n"
        "    a = T.alloc_ub((8,), 'float32')\n    T.annotate_address({a: 0})\n    T.copy(A, a)\n",
    ),
)


def rewrite(module: AscendModule) -> None:
    """Rewrite the kernels with pools, and those with alignments that need addresses."""
    left: set[str] = set()
    for read in module.kernels:
        reason, line = _rewrite_kernel(module, read)
        if reason:
            left |= {node.id for node in ast.walk(read.kernel.function) if isinstance(node, ast.Name)}
        elif module.is_moving(read):
            left |= {node.id for node in ast.walk(read.kernel.function) if isinstance(node, ast.Name)}
            continue
        if reason:
            for call in _pool_calls(module, read):
                module.leave(call, CODE, f"a memory pool: {reason}", f"see line {line}; --set gives values of names")
    _drop_pools(module, left)


def _pool_calls(module: AscendModule, read: Read) -> list[ast.Call]:
    inside = set(ast.walk(read.kernel.function))
    made = [call for call, _ in module.calls("memory_pool")]
    names = {t.id for call in made for t in _targets(module, call)}
    found = [call for call in made if call in inside]
    for node in ast.walk(read.kernel.function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            if node.func.attr in ("allocate", "free") and isinstance(of, ast.Name) and of.id in names:
                found.append(node)
    return found


def _targets(module: AscendModule, call: ast.Call) -> list[ast.Name]:
    statement = module.parents[call]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [target for target in targets if isinstance(target, ast.Name)]


def _rewrite_kernel(module: AscendModule, read: Read) -> tuple[str, int]:
    """Why the kernel stays, and the line that is to blame; an empty reason where it is rewritten or has no pool."""
    program = read.program
    calls = _pool_calls(module, read)
    if program is None:
        unread = read.problem
        return (unread.text, unread.line) if calls and unread else ("", 0)
    spaces = {pool.space for pool in program.pools} | module.aligned_spaces(program)
    if not spaces:
        return "", 0
    made = module.plan(read)
    for problem in made.problems:
        if problem.kind in ("pool", "over-capacity", "no-address"):
            return problem.message, problem.line
    edits = _edits(module, calls, program)
    annotated = annotation_edits(module, read, program, made.plan, frozenset(spaces))
    if edits is None or annotated is None:
        return "a call of the pool in a form that is not followed", calls[0].lineno if calls else 0
    if not module.is_moving(read):  # ASC002 moves its lines first: the next round has it
        node = calls[0] if calls else read.kernel.function
        module.commit(Draft(CODE, node, [*edits, *annotated]))
    return "", 0


def _edits(module: AscendModule, calls: list[ast.Call], program: Program) -> list[Edit] | None:
    """The calls of a pool as allocations; what frees and makes it goes."""
    found: list[Edit] = []
    going = frozenset(s for call in calls if isinstance(s := module.parents[call], ast.stmt) and _goes(s, call))
    spaces = {pool.name: pool.space for pool in program.pools}
    for call in calls:
        parent = module.parents[call]
        if isinstance(parent, ast.stmt) and parent in going:
            edit = module.removal(parent, going)
            if edit is None:
                return None
            found.append(edit)
            continue
        given = by_name(call, ("shape", "dtype"))
        function = call.func
        if given is None or "shape" not in given or not isinstance(function, ast.Attribute):
            return None
        pool = function.value.id if isinstance(function.value, ast.Name) else ""
        name = module.spelled_in(call, CALL_OF_SPACE[spaces[pool]]) if pool in spaces else None
        if name is None:
            return None
        dtype = module.segment(given["dtype"]) if "dtype" in given else '"float32"'
        found.append(module.replace(call, f"{name}({module.segment(given['shape'])}, {dtype})"))
    return found


def _goes(statement: ast.stmt, call: ast.Call) -> bool:
    """Is it the statement that frees a buffer, or makes the pool?"""
    if isinstance(statement, ast.Expr):
        return isinstance(call.func, ast.Attribute) and call.func.attr == "free"
    return (
        isinstance(statement, ast.Assign)
        and isinstance(call.func, (ast.Attribute, ast.Name))
        and ((call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id) == "memory_pool")
    )


def _drop_pools(module: AscendModule, left: set[str]) -> None:
    """Pools of the file that no kernel needs any more."""
    kernels = [set(ast.walk(read.kernel.function)) for read in module.kernels]
    for call, _ in module.calls("memory_pool"):
        statement = module.parents[call]
        if any(call in nodes for nodes in kernels) or not isinstance(statement, ast.Assign):
            continue
        names = [target.id for target in _targets(module, call)]
        uses = [u for t in _targets(module, call) for u in module.uses(t) if u is not t]
        outside = [use for use in uses if not any(use in nodes for nodes in kernels)]
        edit = module.removal(statement) if not outside and not left & set(names) else None
        if edit is not None:
            module.commit(Draft(CODE, call, [edit]))
        elif outside:
            module.leave(call, CODE, "a memory pool that code outside of kernels uses", "it goes with its last use")
