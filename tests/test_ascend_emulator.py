"""The seed's API on the emulator: what runs, what is an error, and where the bytes are."""

import importlib.util
import sys
from itertools import count

import numpy as np
import pytest
from nki_migrate.runtime.ascend import launch as ascend
from nki_migrate.runtime.ascend.modules import MODULES
from nki_migrate.runtime.errors import KernelError, NotModelled
from nki_migrate.runtime.spec.ascend_seed import SEED

NUMBERS = count()


@pytest.fixture
def run(tmp_path, monkeypatch):
    """``run(body, A=..., settings=...)``: the record of a kernel with this body, whose tensor is called ``A``."""
    for name, module in MODULES.items():
        monkeypatch.setitem(sys.modules, name, module)

    def launched(body, settings=None, target="910b", head="", **values):
        lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
        tensors = ", ".join(f"{name}: T.Tensor({v.shape}, '{v.dtype.name}')" for name, v in values.items())
        source = (
            f"import tilelang\nimport tilelang.language as T\n{head}\n\n@T.prim_func\ndef main({tensors}):\n{lines}\n"
        )
        path = tmp_path / f"kernel_{next(NUMBERS)}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return ascend.launch(module.main, values, target, settings)

    return launched


def places(record):
    return {tile.label: (tile.space, tile.byte, tile.nbytes) for tile in record.programs[0].tiles}


def test_buffers_lie_at_planned_addresses_and_share_bytes_when_the_plan_says_so(run):
    record = run(
        """
a = T.alloc_buffer((8, 4), "float32", scope="shared")
b = T.alloc_buffer((16,), "float16", scope="shared", alignment=256)
c = T.alloc_L0C((16, 16), "float32")
T.tile.fill(a, 1.0)
T.copy(a, A)
T.tile.fill(b, 1.0)
""",
        A=np.zeros((8, 4), np.float32),
    )
    assert places(record) == {"a": ("ub", 0, 128), "b": ("ub", 256, 32), "c": ("l0c", 0, 1024)}
    assert record.outputs[0].array().tolist() == np.ones((8, 4)).tolist()


def test_an_alias_and_a_pool_really_share_bytes(run):
    record = run(
        """
pool = T.memory_pool(max_size=8192, block_size=1024, scope="shared")
a = pool.allocate(shape=(4, 8), dtype="float32")
flat = T.buffer_alias(a, shape=(32,))
T.tile.fill(a, 1.0)
flat[31] = 5.0
T.copy(a, A[0:4, :])
pool.free(a)
b = pool.allocate(shape=(4, 8), dtype="float32")
T.copy(b, A[4:8, :])
assert T.address_of(a if False else b) == 0
pool.free(b)
""",
        A=np.zeros((8, 8), np.float32),
    )
    out = record.outputs[0].array()
    assert out[3, 7] == 5.0 and out[0, 0] == 1.0
    assert np.array_equal(out[:4], out[4:])
    assert places(record) == {"a": ("ub", 0, 128), "b": ("ub", 0, 128)}


def test_statistics_and_the_trace_count_bytes(run):
    run(
        """
with T.memory_trace(enabled=True) as lines:
    a = T.alloc_buffer((64,), "float32", scope="shared")
    b = T.alloc_buffer((32,), "float32", scope="shared")
    T.free(a)
    stats = T.memory_stats()
    T.copy(A, b)
assert (stats.allocated_bytes, stats["peak_bytes"], stats.freed_bytes) == (128, 384, 256)
assert [(line.what, line.name) for line in lines] == [("alloc", "a"), ("alloc", "b"), ("free", "a"), ("copy", "b")]
assert T.is_aligned(T.address_of(b), alignment=256) and not T.is_aligned(33, alignment=32)
""",
        A=np.zeros((32,), np.float32),
    )


def test_auto_takes_the_shape_of_the_first_copy(run):
    record = run(
        'x = T.alloc_buffer("auto", "float32", scope="shared")\nT.copy(A[0:2, :], x)\nT.copy(x, A[2:4, :])',
        A=np.arange(32, dtype=np.float32).reshape(4, 8),
    )
    assert places(record) == {"x": ("ub", 0, 64)}
    assert np.array_equal(record.outputs[0].array()[2:], record.outputs[0].array()[:2])


def test_elements_are_assigned_in_both_spellings(run):
    record = run(
        """
x = T.alloc_buffer((4,), "float32", scope="shared")
T.tile.fill(x, 0.0)
T.evaluate(x[1].assign(2.0))
x[2] = x[1] + 1
ws = T.workspace(64)
T.copy(x, A)
""",
        A=np.zeros(4, np.float32),
    )
    assert record.outputs[0].array().tolist() == [0, 2, 3, 0]


def test_copies_across_devices_and_in_a_stream(run):
    record = run(
        """
x = T.alloc_buffer((4,), "float32", scope="shared")
with T.stream("compute"):
    T.copy(A, x)
T.tile.add(x, x, 1.0)
T.copy(x, B)
T.copy(B, A, src_scope="cpu", dst_scope="npu")
""",
        A=np.arange(4, dtype=np.float32),
        B=np.zeros(4, np.float32),
    )
    assert [out.array().tolist() for out in record.outputs] == [[1, 2, 3, 4], [1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("T.free(x)\nT.free(x)", "T.free: 'x' was released in line 9 already"),
        ("T.free(x)\nT.copy(x, A)", "'x' is used after it was released in line 9"),
        ("T.free(x)\ny = x[0] + 1", "'x' is used after it was released in line 9"),
        ("with T.stream('s'):\n    T.copy(A, x)\n    T.tile.add(x, x, 1.0)", "'x' is used inside of T.stream('s')"),
        ("pool.free(x)", "pool.free of 'x', which is not from this pool"),
        ("p = pool.allocate(shape=(4,), dtype='float32')\nT.free(p)", "T.free of 'p', which belongs to a pool"),
        ("p = pool.allocate(shape=(4,), dtype='float32')", "ends without giving back 'p' (16 bytes)"),
        (
            "p = pool.allocate(shape=(200,), dtype='float32')\nq = pool.allocate(shape=(200,), dtype='float32')",
            "the pool of 1024 bytes has no room for 'q' (800 bytes): 1024 are in use",
        ),
        ("with T.allocate((4,), dtype='float32') as w:\n    T.free(w)", "the end of its T.allocate block releases it"),
        (
            "v = T.allocate((4,), dtype='float32')\nw = T.allocate((4,), dtype='float32')\na = v.__enter__()\n"
            "b = w.__enter__()\nv.__exit__(None, None, None)",
            "ends before one that begins inside of it: scopes must nest",
        ),
        ("with T.allocate(dtype='float32', scope='shared') as w:\n    pass", "T.allocate has no shape"),
        ("w = T.alloc_buffer((4,), 'float32', scope='local')", "there is no memory inside of UB"),
        ("w = T.alloc_buffer((50000,), 'float32', scope='shared')", "'w' does not fit: 200000 bytes of UB"),
        ("w = T.alloc_buffer('auto', 'float32', scope='shared')", 'the shape is "auto"'),
        ("T.copy(A[0:2], x)", "T.copy of [2] elements into [4]"),
        ("x[4] = 1.0", "'x' has 4 elements in a dimension that is indexed with 4"),
    ],
)
def test_a_wrong_program_ends_in_one_error_with_its_line(run, body, text):
    head = "\npool = T.memory_pool(max_size=1024, block_size=512, scope='shared')"
    with pytest.raises(KernelError) as caught:
        run("x = T.alloc_ub((4,), 'float32')\n" + body, head=head, A=np.zeros(4, np.float32))
    assert text in caught.value.text
    assert caught.value.file.endswith(".py") and caught.value.line > 4


def test_memory_error_can_be_caught(run):
    record = run(
        """
try:
    x = T.alloc_buffer((100000,), "float32", scope="shared")
except T.MemoryError as e:
    x = T.alloc_buffer((4,), "float32", scope="shared")
T.tile.fill(x, 3.0)
T.copy(x, A)
""",
        A=np.zeros(4, np.float32),
    )
    assert record.outputs[0].array().tolist() == [3, 3, 3, 3]


LOOP = """
kept = T.alloc_ub((24576,), "float32")
work = T.alloc_ub((20000,), "float32")
late = T.alloc_ub((24000,), "float32")
for i in T.serial(1):
    T.tile.fill(kept, 1.0)
for k in T.serial(3):
    T.tile.fill(work, 1.0)
    T.tile.add(work, work, kept[0:20000])
    T.copy(work[0:8], A[k, :])
    T.tile.fill(late, 2.0)
    T.copy(late[0:8], B)
"""


def test_reuse_inside_of_a_loop_corrupts_with_the_base_planner_and_not_with_the_loop_aware_one(run):
    """Upstream issue 1156: a buffer of before the loop, read in each pass; another one gets its bytes."""
    outputs = {}
    for planner in ("base", "loop-aware", "scope-exit"):
        settings = ascend.Settings("reuse", planner)
        try:
            record = run(LOOP, settings, A=np.zeros((3, 8), np.float32), B=np.zeros(8, np.float32))
        except KernelError as error:
            outputs[planner] = error.text
        else:
            outputs[planner] = record.outputs[0].array()[:, 0].tolist()
    assert outputs["base"] == [2, 3, 3]
    assert outputs["loop-aware"] == outputs["scope-exit"] == [2, 2, 2]


def test_each_function_of_the_seed_is_there():
    language = vars(MODULES["tilelang.language"])
    for row in SEED.values():
        name = row.name.partition(".")[0]
        assert name in language, row.name


def test_matmul_reduction_and_views(run):
    a = np.arange(12, dtype=np.float16).reshape(3, 4)
    record = run(
        """
x = T.alloc_L1((3, 4), "float16")
y = T.alloc_L1((4, 3), "float16")
c = T.alloc_L0C((3, 3), "float32")
s = T.alloc_ub((3,), "float32")
u = T.alloc_ub((3, 3), "float32")
T.copy(A, x)
T.copy(T.view(A, (4, 3)), y)
for k in T.serial(2):
    T.gemm_v0(x, y, c, init=(k == 0))
T.copy(c, u)
T.reduce_sum(u, s, dim=-1)
T.copy(u, C)
T.copy(s, S)
""",
        A=a,
        C=np.zeros((3, 3), np.float32),
        S=np.zeros(3, np.float32),
    )
    want = 2 * (a.astype(np.float32) @ a.astype(np.float32).reshape(4, 3))
    assert np.array_equal(record.outputs[0].array(), want)
    assert np.array_equal(record.outputs[1].array(), want.sum(axis=1))


def test_cores_that_wait_for_each_other_are_undecided(run):
    with pytest.raises(NotModelled, match="wait for each other"):
        run("T.wait_cross_flag(0)", A=np.zeros(1, np.float32))
