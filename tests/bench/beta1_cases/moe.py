"""Mixture of experts: the blockwise matmuls of the Neuron team, forward and backward."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from . import MENDED, Compared, case, compared, normal

# An index vector of one dimension, where a column is meant (line 935): it would load a row.
MENDED["/blockwise_mm.py"] = "nl.arange(TILE_SIZE)[:, ]", "nl.arange(TILE_SIZE)[:, None]"
LOOSE = 2e-2
"""Weights, hidden states and what is between the two matmuls are rounded to bfloat16."""


@dataclass(frozen=True)
class Blocks:
    """Tokens in blocks of ``size``, each block for one expert; the last token is the padding."""

    hidden: Any
    affinities: Any
    gate_up: Any
    down: Any
    size: int
    token_ids: Any
    experts: Any

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "hidden_states": self.hidden,
            "expert_affinities_masked": self.affinities.reshape(-1, 1),
            "gate_up_proj_weight": self.gate_up,
            "down_proj_weight": self.down,
            "block_size": self.size,
            "token_position_to_id": self.token_ids,
            "block_to_expert": self.experts,
        }

    def each(self) -> Iterator[tuple[int, Any, int]]:
        """(block, token ids, expert)."""
        for number, expert in enumerate(self.experts.reshape(-1)):
            yield number, self.token_ids[number * self.size : (number + 1) * self.size], int(expert)


def blocks(size: int, count: int, width: int, inner: int, tokens: int, *, once: bool = False, seed: int = 0) -> Blocks:
    """``count`` blocks for two experts. ``once``: no token is in two blocks."""
    import ml_dtypes

    bf16, rng, experts = ml_dtypes.bfloat16, np.random.default_rng(seed), 2
    chosen = rng.permutation(tokens)[: size * count] if once else rng.integers(0, tokens, size * count)
    if not once:
        for block in range(count):
            chosen[block * size : (block + 1) * size] = rng.permutation(tokens)[:size]
        chosen[-9:] = tokens
    affinities = np.abs(normal(tokens + 1, experts, seed=3)).astype(bf16)
    return Blocks(
        normal(tokens + 1, width, dtype=bf16),
        affinities,
        (normal(experts, width, 2, inner, seed=1) / np.sqrt(width)).astype(bf16),
        (normal(experts, inner, width, seed=2) / np.sqrt(inner)).astype(bf16),
        size,
        chosen.astype(np.int32),
        np.array([block % experts for block in range(count)], np.int32).reshape(-1, 1),
    )


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def forward(of: Blocks, *, before: bool = False, accumulate: bool = True, scales: Any = (1.0, 1.0, 1.0)) -> Any:
    """The output of all tokens; ``before`` multiplies the tokens by their affinity, not the results."""
    hidden, affinities = of.hidden.astype(np.float64), of.affinities.astype(np.float64)
    gate_up, down = of.gate_up.astype(np.float64), of.down.astype(np.float64)
    out = np.zeros(hidden.shape)
    for _, ids, expert in of.each():
        factor = affinities[ids, expert][:, None]
        tokens = hidden[ids] * factor if before else hidden[ids]
        gate = tokens @ gate_up[expert, :, 0] * scales[0]
        inner = gate * sigmoid(gate) * (tokens @ gate_up[expert, :, 1] * scales[1])
        result = inner @ down[expert] * scales[2] * (1 if before else factor)
        out[ids] = out[ids] + result if accumulate else result
    return out


def run(module: ModuleType, name: str, of: Blocks, grid: int | None = None, **options: Any) -> Any:
    """The output of a kernel that stores it into its parameter ``output``; rows that it leaves stay 0."""
    import neuronxcc.nki as nki

    output = np.zeros(of.hidden.shape, of.hidden.dtype)
    kernel = nki.jit(getattr(module, name), mode="trace", kernel_return=False)
    (kernel if grid is None else kernel[grid])(**of.arguments, output=output, **options)
    return output


@case("/blockwise_mm.py", "blockwise_mm_baseline", "blockwise_mm_tuned_schedule_0")
def baseline(module: ModuleType, name: str) -> Iterator[Compared]:
    of = blocks(128, 2, 4096, 144, 200)
    found = run(module, name, of)
    yield compared("2 blocks of 128", found[:-1], forward(of)[:-1], LOOSE)
    if name == "blockwise_mm_baseline":
        of = replace(of, experts=np.ones(2, np.int32))
        found = run(module, name, of, skip_dma=module.SkipMode(False, True))
        yield compared("equal weights skipped", found[:-1], forward(of)[:-1], LOOSE)


@case("/blockwise_mm.py", "blockwise_mm")
def entry(module: ModuleType) -> Iterator[Compared]:
    of = blocks(128, 2, 4096, 144, 200)
    yield compared("2 blocks of 128", run(module, "blockwise_mm", of)[:-1], forward(of)[:-1], LOOSE)


@case("/blockwise_mm.py", "blockwise_mm_baseline_allocated")
def allocated(module: ModuleType) -> Iterator[Compared]:
    of = blocks(128, 2, 4096, 144, 200)
    found = module.blockwise_mm_baseline_allocated(**of.arguments)
    yield compared("2 blocks of 128", found[:-1], forward(of)[:-1], LOOSE)


@case("/blockwise_mm.py", "blockwise_mm_prefetch_3_tiles")
def prefetching(module: ModuleType) -> Iterator[Compared]:
    of = blocks(512, 2, 4096, 144, 700)
    found = run(module, "blockwise_mm_prefetch_3_tiles", of)
    yield compared("2 blocks of 512", found[:-1], forward(of)[:-1], LOOSE)


@case("/blockwise_mm.py", "blockwise_mm_baseline_shard_hidden")
def by_hidden(module: ModuleType) -> Iterator[Compared]:
    name, modes = "blockwise_mm_baseline_shard_hidden", module.ExpertAffinityScaleMode
    of = blocks(128, 2, 4096, 144, 200)
    yield compared("scaled after", run(module, name, of, 2)[:-1], forward(of)[:-1], LOOSE)
    of = blocks(128, 2, 4096, 144, 300, once=True)
    options = {"expert_affinities_scaling_mode": modes.PRE_SCALE, "is_tensor_update_accumulating": False}
    found = run(module, name, of, 2, **options)
    yield compared("scaled before", found, forward(of, before=True, accumulate=False), LOOSE)


@case("/blockwise_mm.py", "blockwise_mm_baseline_block_parallel")
def by_block(module: ModuleType) -> Iterator[Compared]:
    # Each program takes blocks in threes, and does not mask what it loads for one that is not there.
    of = blocks(128, 6, 1024, 144, 800, once=True)
    options = {"is_tensor_update_accumulating": False}
    found = run(module, "blockwise_mm_baseline_block_parallel", of, 2, **options)
    yield compared("6 blocks of 128", found, forward(of, before=True, accumulate=False), LOOSE)
    of = replace(of, experts=np.array([0, 0, 1, 1, 1, 0], np.int32))
    found = run(module, "blockwise_mm_baseline_block_parallel", of, 2, skip_dma=module.SkipMode(False, True), **options)
    yield compared("equal weights skipped", found, forward(of, before=True, accumulate=False), LOOSE)


@case("/blockwise_mm.py", "blockwise_mm_baseline_quant")
def quantized(module: ModuleType) -> Iterator[Compared]:
    of = blocks(512, 1, 4096, 144, 600)
    scales = np.abs(normal(2, 144, seed=5)) + 0.5, np.abs(normal(4096, seed=6)) + 0.5
    found = run(
        module,
        "blockwise_mm_baseline_quant",
        of,
        gate_up_proj_scale=scales[0].reshape(1, 1, -1),
        down_proj_scale=scales[1].reshape(1, 1, -1),
    )
    what = "1 block of 512, load_gate_up_proj_scales mended"
    yield compared(what, found[:-1], forward(of, scales=(*scales[0], scales[1]))[:-1], LOOSE)


@case("/blockwise_mm_bwd.py", "blockwise_mm_bwd", "blockwise_mm_bwd_baseline_shard_hidden")
def gradient(module: ModuleType, name: str) -> Iterator[Compared]:
    import ml_dtypes
    import neuronxcc.nki as nki

    of = blocks(512, 2, 4096, 144, 700)
    bf16 = ml_dtypes.bfloat16
    dy = normal(*of.hidden.shape, seed=7, dtype=bf16)
    hidden, affinities, wide = (x.astype(np.float64) for x in (of.hidden, of.affinities, dy))
    gate_up, down = of.gate_up.astype(np.float64), of.down.astype(np.float64)
    expected = [np.zeros(x.shape) for x in (of.hidden, of.affinities, of.gate_up, of.down)]
    inner_acts, down_acts = np.zeros((2, 2, 144, 512)), np.zeros((2, 512, 4096))
    for block, ids, e in of.each():
        gate, up = hidden[ids] @ gate_up[e, :, 0], hidden[ids] @ gate_up[e, :, 1]
        inner_acts[block] = gate.T, up.T
        silu, factor = gate * sigmoid(gate), affinities[ids, e][:, None]
        down_acts[block] = (silu * up) @ down[e]
        outer = wide[ids] * factor
        expected[1][ids, e] = (wide[ids] * down_acts[block]).sum(axis=1)
        expected[3][e] += (silu * up).T @ outer
        d_inner = outer @ down[e].T
        d_gate = d_inner * up * sigmoid(gate) * (1 + gate * (1 - sigmoid(gate)))
        for which, part in enumerate((d_gate, d_inner * silu)):
            expected[2][e, :, which] += hidden[ids].T @ part
            np.add.at(expected[0], ids, part @ gate_up[e, :, which].T)
    found = [np.zeros(x.shape, bf16) for x in (of.hidden, of.affinities.reshape(-1, 1), of.gate_up, of.down)]
    kernel = nki.jit(getattr(module, name), mode="trace", kernel_return=False)
    (kernel if name == "blockwise_mm_bwd" else kernel[2])(
        of.hidden,
        found[0],
        of.affinities.reshape(-1, 1),
        found[1],
        of.gate_up,
        found[2],
        inner_acts.astype(bf16),
        of.down,
        found[3],
        down_acts.astype(bf16),
        of.token_ids,
        of.experts.reshape(-1),
        dy,
    )
    found[1] = found[1].reshape(of.affinities.shape)
    for what, one, other in zip(("hidden", "affinities", "gate and up", "down"), found, expected, strict=True):
        rows = slice(None, -1) if what in ("hidden", "affinities") else slice(None)
        yield compared(what, one[rows], other[rows], LOOSE)
