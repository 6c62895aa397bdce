"""The functions of the "memory management API" document that circulates as TileLang-Ascend's, one row for each.

Most of its names never existed in the project. Each row says what the emulator does with the name, what a rewritten
kernel has in its place, or why there is nothing to put there. The emulator, the rules, ``explain`` and the table of the
documentation read these rows, so that they cannot say different things.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class SeedFunction:
    """One name of the document.

    ``real`` says whether the project has the name at all. ``runs`` is what the emulator does, ``becomes`` what the
    rewrite puts in its place ("" where it refuses), ``refused`` why, and what to do then. ``code`` is the rule.
    """

    name: str
    signature: str
    real: str
    runs: str
    becomes: str
    refused: str
    code: str


def _row(name: str, signature: str, real: str, runs: str, becomes: str, refused: str, code: str) -> SeedFunction:
    return SeedFunction(name, signature, real, runs, becomes, refused, code)


_ROWS = (
    _row(
        "alloc_buffer",
        'T.alloc_buffer(shape, dtype, scope="global")',
        "TVM script has it; kernels of the project use alloc_ub, alloc_L1, alloc_L0A, alloc_L0B and alloc_L0C",
        "a buffer at its planned address in the memory of its scope",
        'T.alloc_ub(shape, dtype) for scope="shared", T.alloc_L1 and the others for their scopes',
        'scope="local" (there is no memory inside of UB) and scope="global" (a parameter or workspace_idx)',
        "ASC001",
    ),
    _row(
        "alloc_buffer.alignment",
        "T.alloc_buffer(..., alignment=256)",
        "no: the keyword of TVM script is align=",
        "the address is a multiple of it",
        "nothing where the planner aligns as much; else all buffers of that memory get T.annotate_address",
        "",
        "ASC001",
    ),
    _row(
        "alloc_buffer.auto",
        'T.alloc_buffer("auto", dtype)',
        "no",
        "the shape is that of the other side of the first T.copy with the buffer",
        "that shape, where it is written in the file",
        "no T.copy with a buffer of known shape uses it first",
        "ASC010",
    ),
    _row(
        "allocate",
        "with T.allocate(shape, dtype=..., scope=...) as buf:",
        "TVM script has T.allocate(extents, dtype, scope), which is no context manager",
        "a buffer that lives as long as the block; the end releases it",
        "buf = T.alloc_ub(shape, dtype), and the body of the block",
        "the document's own examples have no shape: nothing tells the size",
        "ASC002",
    ),
    _row(
        "free",
        "T.free(buf)",
        "no (upstream issue 1171 asks for it)",
        "the buffer is released; a second free, or a use after it, is an error",
        "nothing: the planner ends a lifetime at the last use",
        "",
        "ASC003",
    ),
    _row(
        "memory_pool",
        "T.memory_pool(max_size=..., block_size=..., scope=...)",
        "no",
        "an arena of max_size bytes at its planned address, handed out in blocks of block_size, first fit",
        "nothing: its buffers get T.annotate_address",
        "",
        "ASC004",
    ),
    _row(
        "memory_pool.allocate",
        "pool.allocate(shape=..., dtype=...)",
        "no",
        "a buffer in the first free blocks of the pool",
        "T.alloc_ub(shape, dtype), at the same address by T.annotate_address",
        "in a loop or a condition: which blocks are free is not known in the source",
        "ASC004",
    ),
    _row(
        "memory_pool.free",
        "pool.free(buf)",
        "no",
        "the blocks go back to the pool",
        "nothing",
        "",
        "ASC004",
    ),
    _row(
        "buffer_alias",
        "T.buffer_alias(buf, shape)",
        "no: T.view(src, shape, dtype) and T.reshape(src, shape) are what it has",
        "another buffer on the same bytes",
        "T.view(buf, shape), with dtype= T.view(buf, shape, dtype)",
        "",
        "ASC005",
    ),
    _row(
        "workspace",
        "T.workspace(size)",
        "no: @tilelang.jit(workspace_idx=[...]) names parameters that are workspaces",
        "size bytes of global memory",
        "a parameter T.Tensor([size], 'uint8') and its index in workspace_idx; nothing where its result is unused",
        "the kernel is not made by a function under @tilelang.jit",
        "ASC006",
    ),
    _row(
        "evaluate",
        "T.evaluate(buf[i].assign(value))",
        "T.evaluate is TVM's; an element has no assign",
        "the element is set",
        "buf[i] = value",
        "",
        "ASC007",
    ),
    _row(
        "copy",
        "T.copy(src, dst)",
        "yes",
        "bytes move; both sides must have one shape, or one of them names where the other's begins",
        "unchanged",
        "",
        "",
    ),
    _row(
        "stream",
        'with T.stream("compute"):',
        "no: copies are ordered by flags and barriers",
        "copies inside end with the block; to read what one of them writes before that is an error",
        "the body of the block and T.barrier_all()",
        "",
        "ASC008",
    ),
    _row(
        "copy.src_scope",
        'T.copy(cpu, npu, src_scope="cpu", dst_scope="npu")',
        "no: a kernel sees global memory only",
        "the bytes are copied",
        "",
        "host code moves tensors to the device: tensor.npu() before the launch, tensor.cpu() after it",
        "ASC011",
    ),
    _row(
        "address_of",
        "T.address_of(buf)",
        "TVM script has it",
        "the byte address in its memory",
        "unchanged",
        "",
        "",
    ),
    _row(
        "is_aligned",
        "T.is_aligned(address, alignment=256)",
        "no",
        "whether the address is a multiple",
        "",
        "addresses are not known inside a kernel; nki-migrate layout prints them, check says what is misaligned",
        "ASC011",
    ),
    _row(
        "memory_stats",
        "T.memory_stats()",
        "no",
        "allocated_bytes, peak_bytes and freed_bytes so far",
        "nothing where its result is unused",
        "nki-migrate layout prints the figures of the plan",
        "ASC009",
    ),
    _row(
        "memory_trace",
        "with T.memory_trace(enabled=True):",
        "no",
        "each allocation, release and copy inside is recorded",
        "the body of the block",
        "",
        "ASC009",
    ),
    _row(
        "MemoryError",
        "except T.MemoryError as e:",
        "no: the compiler fails, or lowers what does not fit without a word",
        "raised where an allocation does not fit",
        "",
        "a kernel cannot try: nki-migrate check says before whether it fits",
        "ASC011",
    ),
)

SEED: Mapping[str, SeedFunction] = {row.name: row for row in _ROWS}
"""The rows by name, in the order of the document."""
