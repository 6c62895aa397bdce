"""Paged attention with sequences of different lengths; the plan of tiles comes from the checkout's own planner."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from . import Compared, case, compared, normal, softmax
from .flash import LOOSE

BF16 = ml_dtypes.bfloat16
PAGE, QUERIES, KEYS = 32, 32, 1024
"""Tokens of a page of the cache, and of a tile of queries and of keys."""


@dataclass(frozen=True)
class Sequences:
    """``new`` tokens of each sequence after ``old`` ones in the cache; those with one new token come last."""

    new: tuple[int, ...]
    old: tuple[int, ...]

    @property
    def decoding(self) -> int:
        """The first sequence with one new token."""
        return self.new.index(1)

    @property
    def padded(self) -> int:
        """New tokens, up to a power of two and to whole tiles of keys."""
        return max(128, 1 << (sum(self.new) - 1).bit_length())

    def pages(self) -> list[Any]:
        """The pages of each sequence: all of them in a shuffled order."""
        counts = [-(-n // PAGE) for n in self.old]
        chosen = np.random.default_rng(0).permutation(sum(counts) + 3)
        return np.split(chosen, np.cumsum(counts))[:-1]


def _planned(planner: ModuleType, of: Sequences, which: slice, queries: int, first_query: int) -> dict[str, Any]:
    """The arguments that describe the tiles of some sequences, without their prefix."""
    plan = planner.VarlenAttentionPlanner(
        np.array(of.new[which], np.int32),
        np.array(of.old[which], np.int32),
        tile_size_q=queries,
        tile_size_kv=KEYS,
        block_size=PAGE,
    ).generate_plan()
    pages = np.concatenate(of.pages()[which])
    table = np.zeros(-(-len(pages) * PAGE // KEYS) * KEYS // PAGE, np.int32)
    table[: len(pages)] = pages
    decodes = queries == 1
    rows = len(of.new) if decodes else min(plan.num_tiles, 128)
    updates, last = plan.build_tile_update_indices(max_num_q_tiles=1 << (rows - 1).bit_length())
    return {
        "tile_q_indices": plan.build_tile_q_indices(skip_value=0 if decodes else of.padded * 10) + first_query,
        "tile_block_tables": plan.build_tile_block_tables(table, skip_value=0),
        "tile_masks": plan.build_tile_masks(decode_kq_matmul=decodes).astype(np.uint8),
        "num_dynamic_loop_steps": np.array([[plan.num_real_tiles]], np.int32),
        "q_update_pred": None if updates is None else updates.reshape(plan.num_tiles, 1).astype(np.uint8),
        "last_tile_indices": last.reshape(-1, 1).astype(np.int32),
    }


@case("/flash_paged_attn_varlen/varlen_attention_kernel.py", "flash_paged_attention_varlen")
def paged(module: ModuleType) -> Iterator[Compared]:
    planner = importlib.import_module("execution_planner")
    starts = planner._get_seq_start_end
    # The planner wants int32 offsets, and adds starts that numpy 2 takes for int64: as numbers of Python they are not.
    planner._get_seq_start_end = lambda *lengths: [np.asarray(x).tolist() for x in starts(*lengths)]  # type: ignore[attr-defined]
    of, heads, d = Sequences((40, 20, 1, 1), (1100, 40, 1300, 33)), 4, 128
    total, pages = sum(of.new), of.pages()
    query = normal(1, heads, of.padded, d, dtype=BF16)
    k, v = normal(1, 1, d, of.padded, seed=1, dtype=BF16), normal(1, 1, of.padded, d, seed=2, dtype=BF16)
    cache = [normal(sum(map(len, pages)) + 3, 1, PAGE, d, seed=seed, dtype=BF16) for seed in (3, 4)]
    owner = np.repeat(np.arange(len(of.new)), of.new)
    seen = (owner[:, None] == owner) & np.tri(total, dtype=bool)
    active = np.zeros((of.padded, of.padded), np.uint8)
    active[:total, :total] = seen
    arguments = {
        **{"query": query, "key": k, "value": v, "key_cache": cache[0], "value_cache": cache[1], "active_mask": active},
        **{f"prefill_{n}": x for n, x in _planned(planner, of, slice(of.decoding), QUERIES, 0).items()},
        **{
            f"decode_{n}": x
            for n, x in _planned(planner, of, slice(of.decoding, None), 1, sum(of.new[: of.decoding])).items()
        },
    }
    expected = np.zeros((heads, total, d))
    for sequence, own in enumerate(pages):
        rows = np.flatnonzero(owner == sequence)
        old_k, old_v = (x[own, 0].reshape(-1, d)[: of.old[sequence]].astype(np.float64) for x in cache)
        keys = np.concatenate([old_k, k[0, 0].T[rows].astype(np.float64)])
        values = np.concatenate([old_v, v[0, 0][rows].astype(np.float64)])
        allowed = np.concatenate([np.ones((len(rows), len(old_k)), bool), np.tri(len(rows), dtype=bool)], axis=1)
        scores = query[0][:, rows].astype(np.float64) @ keys.T * d**-0.5
        expected[:, rows] = softmax(np.where(allowed, scores, -np.inf)) @ values
    found = module.flash_attn_varlen_nkifunc(**arguments)
    yield compared("40 + 20 + 1 + 1 tokens", found[0, :, :total], expected, LOOSE)
    arguments |= {"prefill_q_update_pred": None, "decode_q_update_pred": None}
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn1"
    found = module.flash_attn_varlen_nkifunc(**arguments)
    yield compared("updates computed by the kernel, on trn1", found[0, :, :total], expected, LOOSE)
