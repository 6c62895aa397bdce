"""What a run sends: large outputs in memory are what would be in the message, events of it keep every field."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.runtime import elsewhere
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import Failure, Packed, Run
from nki_migrate.runtime.compare.trace import LARGE, Elsewhere, Program
from nki_migrate.runtime.events import Event, Operand
from nki_migrate.runtime.messages import Request, decode_reply
from nki_migrate.runtime.pool import pool

KERNEL = """import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def twice(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // 128):
        rows = nl.ds(i * 128, 128)
        nl.store(out[rows, :], value=nl.load(x[rows, :]) * 2.0)
    return out
"""


def crossed(run: Run) -> Run:
    """``run`` after its way through this process' own memory."""
    descriptor = elsewhere.opened()
    assert descriptor is not None
    try:
        sent = elsewhere.left(run, descriptor, os.getpid())
        assert [isinstance(p.data, Elsewhere) for p in sent.outputs] == [len(p.data) >= LARGE for p in run.outputs]
        return elsewhere.brought(decode_reply(pickle.dumps(sent)))
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_outputs_of_all_sizes_arrive(dtype: object) -> None:
    rng = np.random.default_rng(0)
    count = LARGE // np.dtype(dtype).itemsize
    arrays = [rng.integers(0, 2, n).astype(dtype) for n in (0, 1, count - 1, count, count + 3)]
    arrays.append(rng.integers(0, 2, (2, count)).astype(dtype).T)
    run = Run(tuple(Packed.of(array) for array in arrays), ())
    for packed, array in zip(crossed(run).outputs, arrays, strict=True):
        assert packed.array().dtype == array.dtype and np.array_equal(packed.array(), array)
    for packed, array in zip(decode_reply(pickle.dumps(run)).outputs, arrays, strict=True):
        assert np.array_equal(packed.array(), array)


def test_a_worker_keeps_an_output_until_the_next_request(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    with pool(1) as workers:
        runs = []
        for seed in (1, 2):
            case = Case("twice", str(seed), "", seed=seed, args={"x": TensorSpec((256, 8192), "float32")})
            run = workers.submit(Request("run", str(file), case)).result()
            assert isinstance(run, Run), run
            runs.append(run.outputs[0].array())
        assert runs[0].nbytes >= LARGE and not np.array_equal(*runs)
        assert abs(float(runs[0].std()) - 2) < 0.01


def test_without_such_memory_outputs_cross_in_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    assert elsewhere.opened() is None
    run = Run((Packed.of(np.zeros(LARGE, np.uint8)),), ())
    assert elsewhere.left(run, None, os.getpid()) is run
    closed = os.open(os.devnull, os.O_RDONLY)
    assert elsewhere.left(run, closed, os.getpid()) == run
    os.close(closed)


def test_only_a_regular_file_is_mapped_and_only_what_it_has() -> None:
    reading, writing = os.pipe()
    descriptor = elsewhere.opened()
    assert descriptor is not None
    try:
        for place in (Elsewhere(os.getpid(), reading, 0, 8), Elsewhere(os.getpid(), descriptor, 0, 8)):
            with pytest.raises(ValueError):
                elsewhere.brought(Run((Packed((8,), "uint8", place),), ()))
        with pytest.raises(OSError):
            elsewhere.brought(Run((Packed((8,), "uint8", Elsewhere(os.getpid(), 9999, 0, 8)),), ()))
    finally:
        for each in (reading, writing, descriptor):
            os.close(each)
    failure = Failure(False, "no run")
    assert elsewhere.left(failure, 0, 0) is elsewhere.brought(failure) is failure


OPERANDS = st.builds(
    Operand,
    st.sampled_from(["dst", "data"]),
    st.sampled_from(["sbuf", "hbm"]),
    st.integers(0, 9),
    st.booleans(),
    st.integers(0, 127),
    st.integers(0, 99),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8), st.integers(1, 9)), max_size=3).map(tuple),
    st.sampled_from(["float32", "int8"]),
    st.booleans(),
    st.booleans(),
)
VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.tuples(st.integers())
EVENTS = st.builds(
    Event,
    st.integers(1, 99),
    st.sampled_from(["memset", "nc_matmul"]),
    st.lists(OPERANDS, max_size=4).map(tuple),
    st.lists(st.tuples(st.text(max_size=3), VALUES), max_size=2).map(tuple),
    st.just("k.py"),
    st.integers(0, 99),
    st.booleans(),
    st.lists(st.tuples(st.just("load"), st.just("mode"), VALUES), max_size=1).map(tuple),
)


def fields_of(event: Event) -> list[object]:
    """Every field, those among them that a comparison of events leaves out."""
    return [vars(event), [vars(operand) for operand in event.operands]]


@given(st.lists(EVENTS, max_size=4).map(tuple))
def test_events_cross_with_every_field(events: tuple[Event, ...]) -> None:
    run = decode_reply(pickle.dumps(Run((), (Program((), (), events),))))
    assert isinstance(run, Run)
    assert [fields_of(event) for event in run.programs[0].events] == [fields_of(event) for event in events]
