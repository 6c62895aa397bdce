"""Kernels for the tests of Ascend plans: written ones, and generated ones with an interpreter of bytes."""

import ast
import random

from nki_migrate.runtime.ascend.plans import Buffer, Entry, Program, Touch
from nki_migrate.runtime.ascend.plans.names import Names
from nki_migrate.runtime.ascend.plans.sources import kernels_of

HEADER = (
    "import tilelang\nimport tilelang.language as T\n\n\n@T.prim_func\ndef main(A: T.Tensor((4096,), 'float32')):\n"
)


def program_of(body, header=HEADER, **given):
    """The program of a kernel whose body is ``body``."""
    lines = "\n".join(f"    {line}" if line else "" for line in body.strip("\n").split("\n"))
    return read(header + lines + "\n", **given)


def read(source, **given):
    tree = ast.parse(source)
    names = Names.of(tree)
    (kernel,) = kernels_of(tree, names, given)
    return kernel.program(names)


SEGMENTS = """
index_ub = T.alloc_ub((4096,), "float32")
reduce_tmp = T.alloc_ub((2048,), "float32")
mm_res = T.alloc_ub((2048,), "float32")
w_raw = T.alloc_ub((32,), "float16")
weight = T.alloc_ub((32,), "float32")
tmp = T.alloc_ub((32768,), "uint8")
reduce_g = T.alloc_ub((64,), "float32")
score_seg = T.alloc_ub((4096,), "float32")
mask = T.alloc_ub((512,), "uint8")
tmp_1 = T.alloc_ub((16384,), "float32")
topk_b = T.alloc_ub((4096,), "float32")
topk_a = T.alloc_ub((4096,), "float32")
merged_ub = T.alloc_ub((8192,), "float32")
topk_index = T.alloc_ub((2048,), "float32")
mask_topk = T.alloc_ub((256,), "uint8")
output_val = T.alloc_ub((1024,), "float32")
reduce_g_topk = T.alloc_ub((4096,), "float32")
output_ub = T.alloc_ub((1024,), "int32")
for i in T.serial(4096):
    index_ub[i] = i
for seg in T.serial(4):
    for n in T.serial(64):
        T.tile.fill(reduce_tmp, 0.0)
        for g in T.serial(2):
            T.copy(A[g * 2048], mm_res)
            T.copy(A[g * 32], w_raw)
            T.tile.cast(weight, w_raw, "CAST_NONE", 32)
            for i in range(32):
                T.tile.mul(mm_res[i * 64 : i * 64 + 64], mm_res[i * 64 : i * 64 + 64], weight[i])
            T.tile.add(reduce_tmp, mm_res, reduce_tmp)
        T.reduce_sum(reduce_tmp, reduce_g, tmp)
        for i in range(64):
            score_seg[n * 64 + i] = reduce_g[i]
    T.tile.compare(mask, index_ub, A[0], "LT")
    T.tile.select(score_seg, mask, score_seg, 0.0, "VSEL_TENSOR_SCALAR_MODE")
    T.tile.sort(tmp_1, score_seg, tmp)
    T.tile.gather_mask(topk_b, tmp_1, "P0101")
    if seg == 0:
        T.copy(topk_b, topk_a)
    else:
        T.tile.merge_sort(merged_ub, topk_a, topk_b, tmp)
        T.copy(merged_ub[0:4096], topk_a)
T.tile.gather_mask(topk_index, topk_a, "P1010")
T.tile.compare(mask_topk, topk_index, A[0], "LT")
T.tile.gather_mask(output_val, topk_index, mask_topk)
T.tile.fill(reduce_g_topk, 0.0)
T.copy(reduce_g_topk, A[0])
T.copy(output_val, output_ub)
T.copy(output_ub, A[0])
"""
"""A kernel of ours with the sizes and the lifetimes of the lightning indexer whose plan is recorded below."""

RECORDED = {
    "index_ub": 0,
    "reduce_tmp": 16384,
    "mm_res": 24576,
    "w_raw": 32768,
    "weight": 32832,
    "tmp": 32960,
    "reduce_g": 65728,
    "score_seg": 65984,
    "mask": 82368,
    "tmp_1": 82880,
    "topk_b": 148416,
    "topk_a": 164800,
    "topk_index": 181184,
    "mask_topk": 189376,
    "output_val": 189632,
    "merged_ub": 65728,
    "reduce_g_topk": 0,
    "output_ub": 0,
}
"""Addresses that tilelang-ascend's planner gave on 910B, printed in its pull request 1234 (numbers only).

The sizes of the first fifteen and of ``merged_ub`` are in the numbers; the last two are as large as it takes not to fit
behind the others."""


def generated(seed, scopes=True):
    """A random program: a handful of buffers of UB, statements that touch them, loops and conditions."""
    rng = random.Random(seed)
    names = [f"b{i}" for i in range(rng.randint(2, 7))]
    buffers = tuple(
        Buffer(name, "UB", (size,), "uint8", size, line)
        for line, name in enumerate(names, start=1)
        for size in [rng.choice([32, 64, 96, 20, 33, 128])]
    )
    entries = []
    counter = iter(range(1, 10_000))

    def touch():
        name = rng.choice(names)
        kind = rng.random()
        if kind < 0.35:
            return Touch(name, False, True, True)
        if kind < 0.5:
            return Touch(name, False, True, False)
        return Touch(name, True, rng.random() < 0.2)

    def block(depth, level):
        for _ in range(rng.randint(1, 5)):
            if scopes and depth < 3 and rng.random() < 0.35:
                loop = rng.random() < 0.6
                branch = not loop and rng.random() < 0.7
                inner = level + loop
                statement, line = next(counter), len(entries) + 1
                sure = loop and rng.random() < 0.6
                entries.append(Entry("open", statement, inner, line, (), loop, branch, sure))
                block(depth + 1, inner)
                header = (Touch(rng.choice(names), True, False),) if rng.random() < 0.2 else ()
                entries.append(Entry("close", statement, inner, line, header, loop, branch, sure))
                if branch and rng.random() < 0.6:
                    statement, line = next(counter), len(entries) + 1
                    side = Entry("open", statement, level, line, branch=True, otherwise=True)
                    entries.append(side)
                    block(depth + 1, level)
                    entries.append(Entry("close", statement, level, line, branch=True, otherwise=True))
            else:
                touches = {t.buffer: t for t in (touch() for _ in range(rng.randint(1, 2)))}
                entries.append(Entry("touch", next(counter), level, len(entries) + 1, tuple(touches.values())))

    block(0, 0)
    return Program(f"generated {seed}", buffers, tuple(entries))


def corruption(program, addresses, seed=0):
    """Run ``program`` on bytes: the first read that does not find what its own buffer wrote, ``None`` for a sound plan.

    Each write stores a number of its own into the bytes (all, or a part), and what each buffer should hold is kept
    beside it. Loops run up to three times (those that may be skipped also not at all), conditions go either way.
    """
    rng = random.Random(seed)
    size = max((addresses[b.name] + b.nbytes for b in program.buffers if b.name in addresses), default=0)
    memory = [None] * size
    wanted = {b.name: [None] * b.nbytes for b in program.buffers}
    found = []
    matching = {}
    stack = []
    for index, entry in enumerate(program.entries):
        if entry.kind == "open":
            stack.append(index)
        elif entry.kind == "close":
            matching[stack.pop()] = index
    ticks = iter(range(1, 1_000_000))

    def visit(entry):
        for t in entry.touches:
            if t.reads and t.buffer in addresses:
                at = addresses[t.buffer]
                held = memory[at : at + len(wanted[t.buffer])]
                if any(want is not None and want != have for want, have in zip(wanted[t.buffer], held, strict=True)):
                    found.append((entry.line, t.buffer))
        for t in entry.touches:
            if t.writes and t.buffer in addresses:
                count = len(wanted[t.buffer])
                low, high = (0, count) if t.whole else sorted((rng.randrange(count), rng.randrange(count) + 1))
                value = next(ticks)
                for byte in range(low, high):
                    memory[addresses[t.buffer] + byte] = wanted[t.buffer][byte] = value

    def run(first, end):
        index = first
        while index < end:
            entry = program.entries[index]
            if entry.kind != "open":
                visit(entry)
                index += 1
                continue
            close = matching[index]
            visit(program.entries[close]) if program.entries[close].touches else None
            following = program.entries[close + 1] if close + 1 < end else None
            if entry.branch and following is not None and following.otherwise:
                first_side = rng.random() < 0.5
                if first_side:
                    run(index + 1, close)
                else:
                    run(close + 2, matching[close + 1])
                index = matching[close + 1] + 1
                continue
            times = rng.randint(1 if entry.sure else 0, 3) if entry.loop else rng.randint(0, 1) if entry.branch else 1
            for _ in range(times):
                run(index + 1, close)
                visit(program.entries[close]) if entry.loop else None
            index = close + 1

    run(0, len(program.entries))
    return found[0] if found else None
