"""Plans of Ascend kernels: recorded addresses, upstream's planners and their mistakes, no live overlap."""

from unittest import mock

import pytest
from ascend_programs import RECORDED, SEGMENTS, corruption, generated, program_of, read
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.ascend.plans import LIFETIMES, Unreadable, conflicts, lifetimes, planned
from nki_migrate.runtime.spec import ascend


def addresses(result):
    return {alloc.name: alloc.addr for alloc in result.plan.allocs if alloc.addr is not None}


def kinds(result):
    return [problem.kind for problem in result.problems]


# --- recorded --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planner", ["loop-aware", "scope-exit"])
def test_the_recorded_plan_of_a_910b_comes_out(planner):
    result = planned(program_of(SEGMENTS), "910b", "reuse", planner)
    assert addresses(result) == RECORDED
    assert kinds(result) == []


def test_the_planner_before_it_reused_the_index_buffer_inside_of_the_loop():
    result = planned(program_of(SEGMENTS), "910b", "reuse", "base")
    assert addresses(result)["merged_ub"] == 0 == addresses(result)["index_ub"]
    first = result.problems[0]
    assert first.kind == "overlap" and "'index_ub'" in first.message and "'merged_ub'" in first.message


def test_the_linear_mode_is_the_running_sum_of_rounded_sizes():
    result = planned(program_of(SEGMENTS), "910b", "linear")
    program = program_of(SEGMENTS)
    at = 0
    for buffer in program.buffers:
        assert addresses(result)[buffer.name] == at
        at += -(-buffer.nbytes // 32) * 32
    assert kinds(result) == ["over-capacity"]


# --- issue 1156: reuse inside of a loop ------------------------------------------------------------------------------

LOOP = """
kept = T.alloc_ub((24576,), "float32")
work = T.alloc_ub((20000,), "float32")
late = T.alloc_ub((24000,), "float32")
for i in T.serial(24576):
    kept[i] = i
for k in T.serial(3):
    T.tile.fill(work, 1.0)
    T.tile.add(work, kept[0:20000], work)
    T.copy(work, A[0])
    T.tile.fill(late, 2.0)
    T.copy(late, A[0])
"""


def test_a_buffer_that_each_iteration_reads_is_overwritten_by_the_base_planner_only():
    program = program_of(LOOP)
    base, aware = (planned(program, "910b", "reuse", planner) for planner in ("base", "loop-aware"))
    assert corruption(program, addresses(base))[1] == "kept"
    assert "overlap" in kinds(base)
    assert kinds(aware) == [] and corruption(program, addresses(aware)) is None


def test_a_lifetime_that_ends_with_a_scope_ends_where_it_opens_unless_resolved_at_its_exit():
    program = program_of("""
        big = T.alloc_ub((64,), "float32")
        for i in T.serial(2):
            flag = T.alloc_ub((8,), "int32")
            T.copy(A[0], flag)
            if flag[0] > 0:
                T.copy(A[0], big)
        """.replace("\n        ", "\n"))
    begin, end = lifetimes(program, "scope-exit")["flag"]
    assert begin < end
    early = lifetimes(program, "loop-aware")["flag"][1]
    assert early <= end


@pytest.mark.parametrize("planner", LIFETIMES)
def test_a_value_that_the_next_iteration_reads_is_no_free_memory(planner):
    """No planner of upstream sees it: first written in the loop's first pass only, read in all."""
    program = program_of("""
        total = T.alloc_ub((24576,), "float32")
        other = T.alloc_ub((24576,), "float32")
        part = T.alloc_ub((512,), "float32")
        for k in T.serial(3):
            if k == 0:
                T.tile.fill(total, 0.0)
            T.copy(A[0], part)
            T.tile.add(total[0:512], total[0:512], part)
            T.tile.fill(other, 2.0)
            T.copy(other, A[0])
        """.replace("\n        ", "\n"))
    result = planned(program, "910b", "reuse", planner)
    both = {addresses(result).get("total"), addresses(result).get("other")}
    assert frozenset(("total", "other")) in conflicts(program)
    assert kinds(result) != [] and both == {0}


# --- properties ------------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(("linear", "reuse", "pool")), st.sampled_from(LIFETIMES), st.booleans())
@example(2715, "pool", "base", False)
def test_a_plan_that_is_judged_sound_never_loses_a_value(seed, mode, planner, small):
    program = generated(seed)
    result = _planned_in(program, mode, planner, 320 if small else None)
    if not kinds(result):
        for run in range(4):
            assert corruption(program, addresses(result), run) is None


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(("reuse", "pool")), st.sampled_from(LIFETIMES))
def test_no_planner_lets_two_buffers_share_bytes_that_it_takes_to_live_together(seed, mode, planner):
    program = generated(seed)
    placed = addresses(_planned_in(program, mode, planner, 320))
    spans = lifetimes(program, planner)
    sizes = {b.name: b.nbytes for b in program.buffers}
    for a in placed:
        for b in placed:
            if a < b and a in spans and b in spans:
                steps = max(spans[a][0], spans[b][0]) <= min(spans[a][1], spans[b][1])
                shared = max(placed[a], placed[b]) < min(placed[a] + sizes[a], placed[b] + sizes[b])
                assert not (steps and shared), (a, b)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(LIFETIMES))
def test_without_loops_and_scopes_every_planner_is_sound(seed, planner):
    program = generated(seed, scopes=False)
    result = _planned_in(program, "reuse", planner, 320)
    assert "overlap" not in kinds(result)
    assert corruption(program, addresses(result)) is None


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(("linear", "reuse", "pool")), st.sampled_from(("910b", "950")))
def test_addresses_are_aligned_and_capacity_is_kept_or_reported(seed, mode, target):
    program = generated(seed)
    result = planned(program, target, mode)
    assert "misaligned" not in kinds(result)
    top = max((alloc.end or 0 for alloc in result.plan.allocs), default=0)
    assert top <= result.plan.space("UB").limit or "over-capacity" in kinds(result)


def _planned_in(program, mode, planner, limit):
    """A plan in a memory of ``limit`` bytes, so that reuse happens."""
    if limit is None:
        return planned(program, "910b", mode, planner)
    target = ascend.AscendTarget(
        "small", {**ascend.TARGETS["910b"].arenas, "UB": ascend.Arena("UB", limit, limit, 32, 32)}, True, "tests"
    )
    with mock.patch.dict(ascend.TARGETS, {"small": target}):
        return planned(program, "small", mode, planner)


# --- what is said ----------------------------------------------------------------------------------------------------


def test_problems_name_buffers_sizes_and_lines():
    program = program_of("""
        a = T.alloc_ub((1024,), "float32")
        b = T.alloc_ub((1024,), "float32")
        T.annotate_address({a: 0, b: 2050})
        T.tile.fill(a, 0.0)
        T.tile.fill(b, 0.0)
        T.tile.add(a, a, b)
        """.replace("\n        ", "\n"))
    result = planned(program, "910b", "fixed")
    texts = {p.kind: (p.line, p.message) for p in result.problems}
    assert texts["misaligned"] == (
        8,
        "'b' (4096 bytes, bytes 2050-6145, line 8) begins at byte 2050 of UB, no multiple of 32",
    )
    assert texts["overlap"] == (
        8,
        "'a' (4096 bytes, bytes 0-4095, line 7), 'b' (4096 bytes, bytes 2050-6145, line 8) share bytes 2050-4095 of UB "
        "while both may hold values",
    )


def test_hand_written_addresses_that_take_turns_are_no_problem():
    program = program_of("""
        scores = T.alloc_ub((16, 64), "float32")
        mask = T.alloc_ub((64,), "float32")
        T.annotate_address({scores: 0, mask: 0})
        for k in T.serial(4):
            T.copy(A[0], mask)
            T.copy(mask, A[0])
            for i in range(16):
                T.tile.select(scores[i, :], A[0], scores[i, :], 0.0, "MODE")
                T.tile.mul(scores[i, :], scores[i, :], 2.0)
            T.copy(scores, A[0])
        """.replace("\n        ", "\n"))
    assert kinds(planned(program, "910b", "fixed")) == ["overlap"]
    covered = program_of("""
        scores = T.alloc_ub((16, 64), "float32")
        mask = T.alloc_ub((64,), "float32")
        T.annotate_address({scores: 0, mask: 0})
        for k in T.serial(4):
            T.copy(A[0], mask)
            T.copy(mask, A[0])
            for i in range(16):
                T.copy(A[0:64], scores[i, :])
                T.tile.mul(scores[i, :], scores[i, :], 2.0)
            T.copy(scores, A[0])
        """.replace("\n        ", "\n"))
    assert kinds(planned(covered, "910b", "fixed")) == []


def test_what_both_sides_of_a_condition_overwrite_is_not_needed_before_it():
    body = """
    rows = T.alloc_ub((64,), "float32")
    other = T.alloc_ub((64,), "float32")
    flag = T.alloc_ub((8,), "int32")
    T.annotate_address({rows: 0, other: 0, flag: 256})
    T.copy(A, flag)
    for k in T.serial(4):
        T.copy(A[0:64], other)
        T.copy(other, A[0:64])
        if flag[k] > 0:
            T.copy(A[0:64], rows)
        else:
            T.tile.fill(rows, 0.0)
        T.copy(rows, A[0:64])
    """.replace("\n    ", "\n")
    assert kinds(planned(program_of(body), "910b", "fixed")) == []
    one_side = body.replace("else:\n    ", "if flag[k] > 1:\n    ")
    assert kinds(planned(program_of(one_side), "910b", "fixed")) == ["overlap"]


def test_sizes_that_nothing_tells_are_asked_for():
    source = (
        "import tilelang\nfrom tilelang import language as T\n\n\n@tilelang.jit(out_idx=[0])\ndef make(n, block):\n"
        "    @T.prim_func\n    def main(A: T.Tensor((n,), 'float32')):\n"
        "        x = T.alloc_ub((block // 2, n), 'float32')\n        T.copy(A, x)\n\n    return main\n"
    )
    with pytest.raises(Unreadable, match="the size of 'x' is not known: 'n', 'block' have no value here"):
        read(source)
    assert read(source, n=64, block=8).buffers[0].shape == (4, 64)
    called = source + "\n\nSIZE = 64\nkernel = make(SIZE, block=SIZE // 8)\n"
    assert read(called).buffers[0].shape == (4, 64)
    options = called.replace(
        "SIZE = 64", "p.add_argument('--size', default=64)\nargs = p.parse_args()\nSIZE = args.size"
    )
    assert read(options).buffers[0].shape == (4, 64)


def test_the_name_of_the_language_is_read_from_the_imports():
    header = (
        "import tilelang\nimport tilelang.language as tl\n\n\n@tl.prim_func\ndef main(A: tl.Tensor((8,), 'float32')):\n"
    )
    assert program_of("x = tl.alloc_ub((8,), 'float32')\ntl.copy(A, x)", header).buffers[0].nbytes == 32
    script = "from tvm.script import tir as T\n\n\n@T.prim_func\ndef main(A: T.Buffer((8,), 'float32')):\n"
    with pytest.raises(ValueError):
        program_of("x = T.alloc_buffer((8,), 'float32')", script)


def test_a_shared_buffer_lies_where_matmuls_need_it():
    program = program_of("""
        a = T.alloc_shared((16, 16), "float16")
        b = T.alloc_shared((16, 16), "float16")
        v = T.alloc_shared((16, 16), "float32")
        c = T.alloc_fragment((16, 16), "float32")
        T.gemm_v0(a, b, c, init=True)
        T.copy(c, v)
        """.replace("\n        ", "\n"))
    assert [buffer.space for buffer in program.buffers] == ["L1", "L1", "UB", "L0C"]
