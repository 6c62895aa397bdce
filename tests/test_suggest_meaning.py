"""What a suggested case is to show: each loop twice, a tail under a mask, each branch; else the reason."""

from __future__ import annotations

import time
from concurrent.futures import Future
from pathlib import Path

import pytest
from nki_migrate.judging import Limits
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.messages import Reply, Request
from nki_migrate.runtime.pool import Pool, pool
from nki_migrate.suggest import HELPS, Budget, Suggestion, suggestions

HEAD = """
import math
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
"""
TILES = """
@nki.jit
def tiles(x, causal=True):
    n, m = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i, j = nl.arange(128)[:, None], nl.arange(m)[None, :]
    for t in nl.affine_range(math.ceil(n / 128)):
        a = nl.load(x[t * 128 + i, j], mask=t * 128 + i < n)
        a = nl.multiply(a, 2.0) if causal else nl.add(a, 1.0)
        if m > 512:
            a = nl.exp(a)
        nl.store(out[t * 128 + i, j], value=a, mask=t * 128 + i < n)
    return out
"""
SQUARE = """
@nki.jit
def square(x):
    columns = 16 * 256
    out = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(16):
        a = nl.load(x[0:128, t * 256:(t + 1) * 256])
        nl.store(out[0:128, t * 256:(t + 1) * 256], value=nl.square(a))
    return out
"""
MIXED = """
@nki.jit
def product(a, b):
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    x = nl.load(a[0:128, 0:128], dtype=nl.bfloat16)
    nl.store(out, value=nl.copy(nisa.nc_matmul(x, nl.load(b[0:128, 0:512]))))
    return out
"""
PARTS = """
@nki.jit
def rows(count):
    return count // 128

@nki.jit
def whole(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(rows(x.shape[0])):
        nl.store(out[t * 128:(t + 1) * 128], value=nl.load(x[t * 128:(t + 1) * 128]))
    return out
"""
STORED = """
@nki.jit
def transposed(x, shape2D):
    rows, columns = shape2D
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    p, i, j = nl.arange(128)[:, None, None], nl.arange(rows)[None, :, None], nl.arange(columns)[None, None, :]
    b = nl.ndarray((128, rows * columns), dtype=x.dtype, buffer=nl.sbuf)
    b[p, j * rows + i] = nl.copy(a[p, i * columns + j])
    nl.store(out, value=b)
    return out
"""
WINDOW = """
@nki.jit
def window(x, sizes=(-1, -1), plain=True):
    if not plain:
        wanted = sizes[0]
    if sizes[0] > 0:
        scale = 2.0
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.multiply(nl.load(x), scale))
    return out
"""
SCORES = """
@nki.jit
def scores(q, k, mover, scale=None):
    dim, rows = q.shape[0], q.shape[1]
    out = nl.ndarray((rows, 128), dtype=nl.float32, buffer=nl.shared_hbm)
    moving = nl.load(mover[0:128, 0:128])
    for r in nl.affine_range(rows // 128):
        total = nl.zeros((128, 128), dtype=nl.float32, buffer=nl.psum)
        for d in nl.affine_range(dim // 128):
            left = nl.load(q[d * 128:(d + 1) * 128, r * 128:(r + 1) * 128])
            right = nl.load(k[d * 128:(d + 1) * 128, 0:128])
            total += nisa.nc_matmul(left, right)
        scaled = nisa.tensor_scalar(nl.copy(total), nl.multiply, scale)
        weights = nisa.tensor_copy(scaled, dtype=nl.bfloat16)
        nl.store(out[r * 128:(r + 1) * 128], value=nl.copy(nisa.nc_matmul(weights, moving), dtype=nl.float32))
    return out
"""
CHOSEN = """
@nki.jit
def chosen(x, step=1):
    wide = nl.float32 if x.dtype == nl.float16 else x.dtype
    rows = 16
    rows -= rows % step
    assert x.shape[1] % rows == 0
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    if a.dtype != wide:
        a = nl.copy(a, dtype=wide)
    if step > 1:
        a = nl.multiply(a, 2.0)
    nl.store(out, value=a)
    return out
"""
COUNTED = """
'''Shapes: labels (N, 1).'''

def members(labels, counts):
    total = nl.zeros((8, 1), dtype=nl.float32, buffer=nl.psum)
    for t in nl.affine_range(labels.shape[0] // 128):
        own = nl.broadcast_to(nl.load(labels[t * 128:(t + 1) * 128, :]), shape=(128, 8))
        total += nisa.nc_matmul(nl.copy(own, dtype=nl.bfloat16), nl.ones((128, 1), dtype=nl.bfloat16))
    nl.store(counts, value=nl.copy(total))

@nki.jit
def counted(labels):
    counts = nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    members(labels, counts)
    return counts
"""


def found(tmp_path: Path, text: str, seconds: float = 20.0) -> dict[str, Suggestion]:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + text)
    with pool(2) as workers:
        budget = Budget(seconds, Limits(60.0, 4 << 30))
        return {each.kernel: each for each in suggestions(workers, str(path), (), budget)}


def shapes(suggested: Suggestion, name: str = "x") -> list[tuple[int, ...]]:
    return [spec.shape for case in suggested.cases if isinstance(spec := case.args[name], TensorSpec)]


def test_loops_run_twice_masks_cut_and_branches_are_taken(tmp_path: Path) -> None:
    suggested = found(tmp_path, TILES)["tiles"]
    rows = {rows for rows, _ in shapes(suggested)}
    assert max(rows) > 128 and any(size % 128 for size in rows)
    assert {columns > 512 for _, columns in shapes(suggested)} == {True, False}
    assert {case.args.get("causal", True) for case in suggested.cases} == {True, False}
    assert not [line for line in suggested.unseen if "causal" in line or "m > 512" in line]


def test_a_number_that_is_none_by_default_is_given_and_each_loop_runs_twice_beside_a_fixed_size(tmp_path: Path) -> None:
    """``mover`` is (128, 128), and its type is not that of the others: the sizes of ``q`` are doubled without it."""
    first, *_ = found(tmp_path, SCORES)["scores"].cases
    q, k, mover = (first.args[name] for name in ("q", "k", "mover"))
    assert isinstance(q, TensorSpec) and isinstance(k, TensorSpec) and isinstance(mover, TensorSpec)
    assert min(q.shape) >= 256 and k.shape[0] == q.shape[0] and first.args["scale"] == 0.5
    assert (mover.dtype, {q.dtype, k.dtype}) in [("bfloat16", {"float32"}), ("bfloat16", {"bfloat16"})]


def test_types_and_numbers_that_conditions_ask_for_are_given(tmp_path: Path) -> None:
    suggested = found(tmp_path, CHOSEN)["chosen"]
    assert suggested.unseen == ()
    dtypes = {spec.dtype for case in suggested.cases if isinstance(spec := case.args["x"], TensorSpec)}
    assert "float16" in dtypes and {case.args.get("step", 1) > 1 for case in suggested.cases} == {True, False}  # type: ignore[operator]  # an int


@pytest.mark.parametrize("text", [COUNTED, COUNTED.replace("Shapes: labels (N, 1).", "Labels.")], ids=["told", "asked"])
def test_a_case_in_which_an_argument_is_not_read_is_no_good_one(tmp_path: Path, text: str) -> None:
    suggested = found(tmp_path, text)["counted"]
    assert all(rows >= 100 for rows, _ in shapes(suggested, "labels"))
    assert max(rows for rows, _ in shapes(suggested, "labels")) >= 256
    assert {columns for _, columns in shapes(suggested, "labels")} <= {1, 8}


def test_a_literal_size_behind_many_steps_of_a_loop_is_found(tmp_path: Path) -> None:
    assert all(columns >= 4096 for _, columns in shapes(found(tmp_path, SQUARE)["square"]))


def test_a_matmul_gets_one_kind_of_floats(tmp_path: Path) -> None:
    case, *_ = found(tmp_path, MIXED)["product"].cases
    assert isinstance(case.args["b"], TensorSpec) and case.args["b"].dtype == "bfloat16"


def test_parts_of_kernels_have_their_reason(tmp_path: Path) -> None:
    suggested = found(tmp_path, PARTS, 5.0)
    assert suggested["whole"].cases and not suggested["rows"].cases
    assert suggested["rows"].reason == f"{HELPS}: 'whole' calls it"


def test_kernels_are_searched_in_the_order_of_the_file_and_parts_of_others_last(tmp_path: Path) -> None:
    """A part seldom runs by itself: its time is what the kernels have left, and their cases are tried for it."""
    head = "@nki.jit\ndef {}(x):\n    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    body = "    nl.store(out, nl.exp(nl.load(x)))\n    return out\n\n"
    part = "@nki.jit\ndef {}(tile):\n    tile[...] = nl.exp(tile)\n\n"
    calls = "    tile = nl.load(x)\n    b_part(tile)\n    a_part(tile)\n"
    texts = [part.format("b_part"), part.format("a_part"), head.format("second") + body]
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + "".join([*texts, head.format("first") + calls + body]))
    asked: dict[str, None] = {}

    class Watched(Pool):
        def submit(self, request: Request) -> Future[Reply]:
            if request.case is not None:
                asked.setdefault(request.case.kernel)
            return super().submit(request)

    workers = Watched(1)
    try:
        given = [each.kernel for each in suggestions(workers, str(path), (), Budget(2.0, Limits(60.0, 4 << 30)))]
    finally:
        workers.close()
    assert list(asked) == ["second", "first", "b_part", "a_part"]
    assert given == ["b_part", "a_part", "second", "first"]


def test_a_store_does_not_repeat_what_has_one_column(tmp_path: Path) -> None:
    for case in found(tmp_path, STORED)["transposed"].cases:
        rows, columns = case.args["shape2D"]  # type: ignore[misc]  # a pair
        assert isinstance(case.args["x"], TensorSpec) and case.args["x"].shape[1] == rows * columns > 1


def test_other_options_are_tried_where_a_run_fails(tmp_path: Path) -> None:
    case, *_ = found(tmp_path, WINDOW)["window"].cases
    assert case.args["sizes"][0] > 0  # type: ignore[index]  # a pair


@pytest.mark.parametrize("text", [TILES, SQUARE, PARTS], ids=["tiles", "square", "parts"])
def test_the_time_of_a_file_is_kept(tmp_path: Path, text: str) -> None:
    before = time.process_time()
    found(tmp_path, text + "\n@nki.jit\ndef never(x):\n    raise ValueError(x)\n", 1.0)
    assert time.process_time() - before < 2.0


def test_kernels_that_are_slow_do_not_take_the_time_of_those_behind_them(tmp_path: Path) -> None:
    head = "@nki.jit\ndef {}(x):\n    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    loop = "    a = nl.load(x)\n    for t in range({}):\n        a[...] = nl.exp(a)\n    nl.store(out, a)\n"
    loop += "    return out\n\n"
    slow = "".join(head.format(f"slow{n}") + loop.format(1000000) for n in range(3))
    assert found(tmp_path, f"{slow}{head.format('quick')}{loop.format(2)}", 3.0)["quick"].cases


def test_a_kernel_that_writes_to_nothing_is_told_so_and_one_that_fails_is_not(tmp_path: Path) -> None:
    start = "@nki.jit\ndef k(x):\n    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    check = "    assert x.shape[0] % 128 == x.shape[1] % 128 == 0\n"
    assert "its body seems to be missing" in found(tmp_path, f"{start}{check}    return out\n", 4.0)["k"].reason
    written = found(tmp_path, f"{start}    out[0:1, 0:1] = nl.load(x[0:1, 0:1])\n    return out\n", 4.0)["k"]
    assert written.cases == () and "missing" not in written.reason


def test_indices_are_not_all_the_first(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n@nki.jit\ndef picked(table, rows):\n"
        "    n, f = table.shape\n    out = nl.ndarray((64, f), dtype=table.dtype, buffer=nl.shared_hbm)\n"
        "    index = nl.load(rows[nl.arange(64)[:, None], nl.arange(1)[None, :]])\n"
        "    tile = nl.load(table[index[nl.arange(64)[:, None], 0], nl.arange(f)[None, :]])\n"
        "    nl.store(out, tile)\n    return out\n"
    )
    with pool(2) as workers:
        (found,) = suggestions(workers, str(tmp_path / "k.py"), (), Budget(20.0, Limits(60.0, 4 << 30)))
    spec = found.cases[0].args["rows"]
    assert spec.dtype == "int32" and spec.high > 1, found
