"""SbufManager: the printed addresses and logs of its documentation, and the quirks of the version that we follow."""

from __future__ import annotations

import pytest
from nki_migrate.runtime import hazards, session
from nki_migrate.runtime.beta2 import state
from nki_migrate.runtime.beta2.declare import declare
from nki_migrate.runtime.beta2.modules import MODULES as NKI
from nki_migrate.runtime.compare.trace import trace_of
from nki_migrate.runtime.errors import KernelError
from nki_migrate.runtime.machine import Machine
from nki_migrate.runtime.nkilib.modules import MODULES
from nki_migrate.runtime.spec.hardware import TARGETS, Target
from nki_migrate.runtime.spec.versions import V02

nl = NKI["nki.language"]
allocator, logging = MODULES["nkilib.core.utils.allocator"], MODULES["nkilib.core.utils.logging"]
ModularAllocator = MODULES["nkilib.core.utils.modular_allocator"].ModularAllocator
SbufManager = allocator.SbufManager
DOCUMENTED = Target("documented", "-", 3, 262144)
"""The documentation's examples assume 256 KiB a partition."""


@pytest.fixture(autouse=True)
def kernel():
    running = session.Session(Machine(DOCUMENTED), dialect="beta2")
    state.install(running, state.State(declare, V02))
    with session.running(running):
        yield running


def manager(lower=0, upper=262144, level="OFF", **kwargs):
    return SbufManager(lower, upper, logging.Logger("SBM", logging.LogLevel[level]), **kwargs)


def test_scopes_and_heap_give_the_documented_addresses():
    sbm = SbufManager(0, nl.tile_size.total_available_sbuf_size)
    weights = sbm.alloc_heap((128, 256), nl.bfloat16, name="weights")
    sbm.open_scope(name="outer")
    buf1 = sbm.alloc_stack((128, 512), nl.bfloat16, name="buf1")
    sbm.open_scope(name="inner")
    buf2 = sbm.alloc_stack((128, 256), nl.bfloat16, name="buf2")
    buf3 = sbm.alloc_stack((128, 256), nl.bfloat16, name="buf3")
    sbm.close_scope()
    buf4 = sbm.alloc_stack((128, 512), nl.bfloat16, name="buf4")
    sbm.close_scope()
    sbm.pop_heap()
    tensors = (weights, buf1, buf2, buf3, buf4)
    assert [t.address for t in tensors] == [(0, 261632), (0, 0), (0, 1024), (0, 1536), (0, 1024)]
    assert [t.name for t in tensors] == ["weights", "buf1", "buf2", "buf3", "buf4"]
    assert sbm.get_free_space() == sbm.get_total_space() == 262144


def test_multi_buffering_prints_the_documented_tree(capsys):
    sbm = manager(level="DEBUG")
    sbm.open_scope(interleave_degree=2, name="double_buffer")
    for _ in nl.affine_range(4):
        sbm.alloc_stack((128, 512), nl.bfloat16)
        sbm.increment_section()
    sbm.close_scope()
    tree = """\
[SBM] Allocations:
    ▶ SCOPE 'double_buffer' [interleave=2] @ 0
    ├── (unnamed): 1024 B @ 0 (128, 512) bfloat16
    ├── ↳ section: 1/2 @ 1024
    ├── (unnamed): 1024 B @ 1024 (128, 512) bfloat16
    ├── ↻ section: 0/2 @ 0
    ├── (unnamed): 1024 B @ 0 (128, 512) bfloat16
    ├── ↳ section: 1/2 @ 1024
    └── (unnamed): 1024 B @ 1024 (128, 512) bfloat16
    ◀ END 'double_buffer' freed=2048 B
"""
    assert tree in capsys.readouterr().out


def test_nested_scopes_and_heap_in_the_tree(capsys):
    sbm = manager(level="DEBUG")
    sbm.open_scope()
    sbm.alloc_heap((128, 2), nl.float32, name="w")
    sbm.open_scope(name="in")
    sbm.alloc_stack((128, 1), nl.int8, name="t")
    sbm.close_scope()
    sbm.pop_heap()
    sbm.close_scope()
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("[SBM] Allocations:")
    assert lines[start + 1 : -1] == [
        "    ▶ SCOPE (unnamed) [interleave=1] @ 0",
        "    ├── [HEAP+] w: 8 B @ 262136 (128, 2) float32",
        "    ├── ▶ SCOPE 'in' [interleave=1] @ 0",
        "    │   └── t: 1 B @ 0 (128, 1) int8",
        "    ├── ◀ END 'in' freed=1 B",
        "    └── [HEAP-] FREE w: 8 B, remaining=0",
        "    ◀ END (unnamed) freed=0 B",
    ]
    assert lines[-1] == (
        "[INFO] [SBM] [SBM] SB memory statistics: max_usage=9 B (0%), free=262135 B, "
        "stack=1 B (1 allocs), heap=8 B (1 allocs)"
    )


def test_the_log_is_silent_above_its_level(capsys):
    sbm = manager(level="WARN")
    sbm.open_scope()
    sbm.close_scope()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("variables", "level"),
    [
        ({}, "INFO"),
        ({"NKILIB_LOG_LEVEL": "error"}, "ERROR"),
        ({"NKILIB_LOG_LEVEL": "error", "NKILIB_LOG_LEVEL_SBM": "DEBUG"}, "DEBUG"),
        ({"NKILIB_LOG_LEVEL": "loud"}, "INFO"),
    ],
)
def test_the_environment_sets_the_level(monkeypatch, variables, level):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert logging.get_logger("SBM").level is logging.LogLevel[level]


def test_alignment_defaults_to_the_element():
    sbm = manager()
    sbm.open_scope()
    addresses = [
        sbm.alloc_stack((128, 3), nl.int8).address[1],
        sbm.alloc_stack((128, 1), nl.bfloat16).address[1],
        sbm.alloc_stack((128, 1), nl.float32, align=32).address[1],
        sbm.alloc_stack((128,), nl.float32).address[1],
    ]
    assert addresses == [0, 4, 32, 36]
    assert sbm.get_stack_curr_addr() == 40
    sbm.align_stack_curr_addr()
    assert sbm.get_stack_curr_addr() == 64


def test_room_is_tested_before_alignment():
    sbm = manager(upper=6)
    sbm.open_scope()
    sbm.alloc_stack((1, 1), nl.int8)
    assert sbm.alloc_stack((1, 1), nl.float32).address == (0, 4)
    assert sbm.get_free_space() == -2


def test_heap_loses_the_padding_of_odd_sizes():
    sbm = manager(upper=100)
    assert sbm.alloc_heap((1, 6), nl.int8).address == (0, 94)
    assert sbm.get_heap_curr_addr() == 92
    sbm.pop_heap()
    assert sbm.get_heap_curr_addr() == 96


def test_heap_alignment_is_for_the_end():
    assert manager(upper=100).alloc_heap((1, 3), nl.bfloat16, align=32).address == (0, 90)


def test_a_section_may_overlap_a_closed_scope_of_the_one_before():
    sbm = manager()
    sbm.open_scope(interleave_degree=2)
    sbm.open_scope()
    first = sbm.alloc_stack((1, 8), nl.float32)
    sbm.close_scope()
    sbm.increment_section()
    assert sbm.alloc_stack((1, 8), nl.float32).address == first.address


def assertion(text):
    return pytest.raises(
        AssertionError, match=rf"\[INTERNAL_ERROR\] \[NCC_INKI016\] Kernel validation exception: {text} - "
    )


def test_documented_errors():
    sbm = manager(upper=64)
    with assertion("Cannot allocate in stack without an open scope"):
        sbm.alloc_stack((1, 1), nl.int8)
    sbm.open_scope()
    with assertion("Stack out of memory"):
        sbm.alloc_stack((1, 65), nl.int8)
    with assertion("Heap out of memory"):
        sbm.alloc_heap((1, 65), nl.int8)
    with assertion("Heap underflow: pop called on empty heap"):
        sbm.pop_heap()
    with assertion("alloc_stack is only supported for SBUF tensors"):
        sbm.alloc_stack((1, 1), nl.int8, buffer=nl.psum)
    with assertion("dtype size unknown! tfloat32"):
        allocator.sizeinbytes(nl.tfloat32)
    sbm.close_scope()
    with pytest.raises(IndexError):
        sbm.close_scope()
    with pytest.raises(IndexError):
        sbm.increment_section()


def test_automatic_mode_counts_but_does_not_place():
    sbm = allocator.create_auto_alloc_manager(logging.Logger("SBM", logging.LogLevel.OFF))
    assert sbm.is_auto_alloc() and sbm.get_total_space() == 262144
    sbm.open_scope()
    tensor = sbm.alloc((128, 262145), nl.int8)
    assert tensor.address.start == (None, None)
    assert sbm.get_free_space() == -1
    with assertion(r"get_stack_curr_addr\(\) is not supported in auto-allocation mode"):
        sbm.get_stack_curr_addr()


def test_alloc_follows_the_default_and_prefixes_names():
    sbm = manager(default_stack_alloc=False)
    sbm.set_name_prefix("layer0_")
    assert sbm.alloc((1, 1), nl.float32, name="w").address == (0, 262140)
    assert sbm.alloc_hbm((1, 1), nl.float32, name="h").name == "layer0_h"
    assert sbm.get_name_prefix() == "layer0_"
    with pytest.raises(KernelError, match="Tensor name 'layer0_w' already in use"):
        sbm.alloc((1, 1), nl.float32, name="w")


def test_a_tensor_without_name_is_named_after_its_variable():
    sbm = manager()
    sbm.open_scope()
    scores = sbm.alloc_stack((1, 1), nl.float32)
    assert scores.name == "scores"


def test_modular_allocator_shares_addresses_by_the_modulo():
    modular = ModularAllocator(initial_address=30)
    tiles = modular.alloc_sbuf_tensor((128, 16), nl.bfloat16, [4, 3], [2, 3], align_to=32)
    assert [[t.address[1] for t in row] for row in tiles] == [
        [32 + ((i % 2) * 3 + j) * 32 for j in range(3)] for i in range(4)
    ]
    assert modular.get_current_address() == 32 + 6 * 32
    assert modular.alloc_sbuf_tensor((128, 4), nl.int8, base_partition=0).address == (0, 224)
    with assertion(r"block_dim length \(1\) must match num_free_tiles length \(2\)"):
        modular.alloc_sbuf_tensor((128, 4), nl.int8, [2], [2, 2])


def test_the_allocator_does_not_check_the_target(kernel):
    kernel.machine = Machine(TARGETS["gen2"])
    sbm = manager()
    with pytest.raises(KernelError, match=r"gen2 has \[0, 180224\)"):
        sbm.alloc_heap((128, 4), nl.float32)


# --- flaws that are kept, and reported -------------------------------------------------------------------------------


def flaws(kernel):
    """Message, and the two tensors, of the hazards that the manager's flaws make."""
    found = hazards.hazards_of(trace_of(kernel.machine), DOCUMENTED)
    return [(hazard.message, hazard.tensors) for hazard in found if hazard.kind == "allocator"]


def test_a_stack_tensor_that_alignment_moves_into_the_heap_is_reported(kernel):
    sbm = manager(upper=12)
    sbm.open_scope()
    sbm.alloc_heap((128, 4), nl.int8, name="weights")
    sbm.alloc_stack((128, 3), nl.int8, name="flag")
    assert sbm.alloc_stack((128, 5), nl.int8, name="scores", align=8).address == (0, 8)
    message = "SbufManager: 'scores' at bytes 8-12 reaches into the heap tensor 'weights' at bytes 8-11"
    assert flaws(kernel) == [(message, ("weights", "scores"))]


def test_tensors_in_different_partitions_do_not_collide(kernel):
    sbm = manager(upper=12)
    sbm.open_scope()
    sbm.alloc_heap((32, 4), nl.int8, name="weights", base_partition=64)
    sbm.alloc_stack((128, 3), nl.int8, name="flag")
    sbm.alloc_stack((32, 5), nl.int8, name="scores", align=8)
    assert flaws(kernel) == []


def test_a_section_over_a_closed_scope_of_the_one_before_is_reported(kernel):
    sbm = manager()
    sbm.open_scope(interleave_degree=2)
    sbm.open_scope()
    sbm.alloc_stack((128, 8), nl.float32, name="first")
    sbm.close_scope()
    sbm.increment_section()
    sbm.alloc_stack((128, 4), nl.float32, name="second")
    message = (
        "SbufManager: 'second' at bytes 0-15 lies over a tensor of a scope that an earlier section closed: 'first' at "
        "bytes 0-31"
    )
    assert flaws(kernel) == [(message, ("first", "second"))]


def test_a_new_round_of_sections_reuses_memory_on_purpose(kernel):
    sbm = manager()
    sbm.open_scope(interleave_degree=2)
    for step in range(4):
        sbm.alloc_stack((128, 8), nl.float32, name=f"tile{step}")
        sbm.increment_section()
    sbm.close_scope()
    sbm.open_scope()
    sbm.alloc_stack((128, 8), nl.float32, name="later")
    assert flaws(kernel) == []


def test_bytes_that_the_heap_loses_are_reported(kernel):
    sbm = manager(upper=100)
    sbm.alloc_heap((128, 6), nl.int8, name="odd")
    sbm.pop_heap()
    sbm.alloc_heap((128, 8), nl.int8, name="even")
    sbm.pop_heap()
    assert flaws(kernel) == [("'odd' took 8 bytes of the heap and gave back 4", ("odd", "odd"))]


def test_the_compiler_places_without_flaws(kernel):
    sbm = allocator.create_auto_alloc_manager(logging.Logger("SBM", logging.LogLevel.OFF))
    sbm.alloc_heap((128, 6), nl.int8)
    sbm.pop_heap()
    assert flaws(kernel) == []


@pytest.mark.parametrize("name", ["float4_e2m1fn_x4", "float8_e4m3fn_x4", "float8_e5m2_x4"])
def test_packed_types_have_the_size_of_their_element(name, capsys):
    sbm = manager(level="DEBUG")
    dtype = getattr(nl, name)
    assert allocator.sizeinbytes(dtype) == dtype.itemsize
    sbm.open_scope()
    sbm.alloc_stack((128, 3), dtype, name="packed")
    sbm.close_scope()
    assert f"packed: {3 * dtype.itemsize} B @ 0 (128, 3) {name}\n" in capsys.readouterr().out
