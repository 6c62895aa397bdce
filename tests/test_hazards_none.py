"""Kernels without hazards have none: every golden; and no hazard means that parallel loops run the same backwards."""

from __future__ import annotations

import inspect
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nki_migrate.golden import FIRST
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.runtime.beta1.launch import launch
from nki_migrate.runtime.beta1.modules import MODULES
from nki_migrate.runtime.cases import Case, read_cases
from nki_migrate.runtime.compare import Run, trace_of
from nki_migrate.runtime.hazards import find
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Workers
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET, TARGETS
from one_process import OneProcess

nki, nl, nisa = MODULES["neuronxcc.nki"], MODULES["neuronxcc.nki.language"], MODULES["neuronxcc.nki.isa"]

WRONG_ON_PURPOSE = {("lifetime_conflict", "eight tiles on two"): ["overwritten"]}
"""The golden that shows a lifetime conflict: both sides have it."""


def golden_runs() -> list[tuple[str, Case, Path]]:
    runs = []
    for name, golden in sorted(GOLDENS.items()):
        sides = [] if golden.is_beta2_only else [golden.before_path]
        sides += [] if golden.expected_failure else [golden.first_after_path]
        runs += [
            (name, replace(case, target=FIRST), path) for case in read_cases(golden.cases_path).cases for path in sides
        ]
    return runs


def test_no_golden_gives_a_false_alarm(workers: Workers) -> None:
    runs = golden_runs()
    found = {}
    hardware = [case.hardware or DEFAULT_TARGET for _, case, _ in runs]
    replies = [
        workers.submit(Request("run", str(path), case, target))
        for (_, case, path), target in zip(runs, hardware, strict=True)
    ]
    for (name, case, path), target, reply in zip(runs, hardware, replies, strict=True):
        run = reply.result()
        assert isinstance(run, Run), (name, case.name, run)
        kinds = [hazard.kind for hazard in find(run, TARGETS[target])]
        if kinds != WRONG_ON_PURPOSE.get((name, case.name), []):
            found[name, case.name, path.name] = kinds
    assert found == {}
    assert len(runs) > 100


# --- parallel loops backwards ----------------------------------------------------------------------------------------


def steps(x: Any, program: list[tuple[str, int, int]]) -> Any:
    """A parallel loop over the rows of ``x`` whose body is ``program``: copies between places of a scratch tensor.

    A place below zero is one for each iteration: -1 is place ``i``, -2 is place ``i + 6``. Places of ``scratch`` are
    not read after the loop, but for the first one, that is overwritten before.
    """
    count = x.shape[0]
    out = nl.ndarray((4 * count, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    places = nl.ndarray((4, 4 * count * 8), dtype=nl.float32, buffer=nl.sbuf)
    places[...] = nl.zeros(places.shape, dtype=nl.float32, buffer=nl.sbuf)
    scratch = nl.ndarray((4, 4 * count * 8), dtype=nl.float32, buffer=nl.sbuf)
    scratch[...] = nl.zeros(scratch.shape, dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(count):
        loaded = nl.load(x[i : i + 1, :])
        for kind, to, of in program:
            target, source = ((i - 6 * place - 6 if place < 0 else place) * 8 for place in (to, of))
            if kind == "load":
                places[0:1, target : target + 8] = nl.copy(loaded)
            elif kind == "copy":
                places[0:1, target : target + 8] = nl.add(places[0:1, source : source + 8], 1.0)
            elif kind == "reduce":
                places[0:1, target : target + 8] += loaded
            elif kind == "gather":
                places[0:1, target : target + 8] += places[0:1, source : source + 8]
            elif kind == "scale":
                places[0:1, target : target + 8] *= nl.add(loaded, 1.0)
            elif kind == "set aside":
                scratch[0:1, target : target + 8] = nl.add(places[0:1, source : source + 8], 1.0)
            elif kind == "add aside":
                scratch[0:1, target : target + 8] += loaded
            else:
                places[0:1, target : target + 8] = nl.add(scratch[0:1, source : source + 8], 1.0)
    if ("set aside", 0, 0) in program:
        scratch[0:1, 0:8] = nl.copy(places[0:1, 0:8])
    if ("add aside", 0, 0) in program:
        places[0:1, 64:72] = nl.copy(scratch[0:1, 8:16])
    for k in nl.affine_range(4 * count):
        nl.store(out[k : k + 1, :], value=places[0:1, k * 8 : k * 8 + 8])
    return out


PLACES = st.integers(-2, 5)
KINDS = st.sampled_from(["load", "copy", "reduce", "gather", "scale", "set aside", "add aside", "bring back"])
PROGRAMS = st.lists(st.tuples(KINDS, PLACES, PLACES), min_size=1, max_size=5)


@pytest.mark.random
@settings(max_examples=examples(75), deadline=None)
@given(PROGRAMS)
@example([("copy", -1, 2)])
@example([("reduce", 0, 0), ("copy", -2, -1)])
@example([("reduce", 0, 0), ("scale", 0, 0)])
@example([("gather", 0, 0)])
@example([("gather", -1, -2)])
@example([("gather", -1, 2)])
@example([("add aside", 1, 0), ("bring back", -2, 1)])
@example([("set aside", -1, 0), ("add aside", 0, 0), ("set aside", 0, 0)])
def test_without_dependent_iterations_a_parallel_loop_runs_the_same_backwards(program: Any) -> None:
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    forwards = launch(nki.jit(steps), {"x": x, "program": program}, record=True)
    backwards = launch(nki.jit(steps), {"x": x, "program": program}, descending=True)
    run = Run((), tuple(trace_of(machine) for machine in forwards.machines))
    kinds = {hazard.kind for hazard in find(run, TARGETS[DEFAULT_TARGET])}
    assert kinds <= {"dependent_iterations"}
    if not kinds:
        np.testing.assert_array_equal(forwards.outputs[0], backwards.outputs[0])


def old_outputs(workers: Workers) -> dict[tuple[str, str], list[np.ndarray]]:
    """The outputs of every golden's Beta 1 kernel, as the environment of ``workers`` says that loops run."""
    runs = [(name, case, path) for name, case, path in golden_runs() if path == GOLDENS[name].before_path]
    replies = [
        workers.submit(Request("run", str(path), case, case.hardware or DEFAULT_TARGET)) for _, case, path in runs
    ]
    found = {(name, case.name): reply.result() for (name, case, _), reply in zip(runs, replies, strict=True)}
    assert all(isinstance(reply, Run) for reply in found.values())
    return {key: [packed.array() for packed in reply.outputs] for key, reply in found.items()}


def test_goldens_run_the_same_backwards_up_to_the_rounding_of_sums(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    forwards = old_outputs(workers)
    monkeypatch.setenv("NKI_MIGRATE_DESCENDING", "1")
    with closing(OneProcess()) as descending:
        backwards = old_outputs(descending)
    assert len(forwards) > 50
    for key, outputs in forwards.items():
        same = [
            np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-2, atol=1e-5)
            for a, b in zip(outputs, backwards[key], strict=True)
        ]
        assert all(same) == (key not in WRONG_ON_PURPOSE), key


def test_the_reversed_loop_is_the_option_of_the_session() -> None:
    assert inspect.signature(launch).parameters["descending"].default is None

    def order(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((1, 8), dtype=nl.float32, buffer=nl.sbuf)
        for i in nl.affine_range(3):
            total[...] = nl.add(nl.multiply(total, 2.0), nl.load(x[i : i + 1, :]))
            nl.store(out[i : i + 1, :], value=total)
        return out

    x = np.ones((3, 8), np.float32)
    first = [launch(nki.jit(order), {"x": x}, descending=down).outputs[0][:, 0].tolist() for down in (False, True)]
    assert first == [[1.0, 3.0, 7.0], [7.0, 3.0, 1.0]]
