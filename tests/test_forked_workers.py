"""A worker that is forked is as one that is started: its environment, its directory, its end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from nki_migrate.runtime import pool
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import Failure, Run
from nki_migrate.runtime.fork_server import Forked, ForkServer
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Worker

SPAWNED = pool.spawned
KERNEL = """
import os
import sys
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def copied(x):
    print(os.getcwd(), os.environ.get("A_NAME"), os.environ["PYTHONHASHSEED"], sys.dont_write_bytecode, sys.path)
    print(sorted(name for name in sys.modules if "pytest" in name or "worker" in name), sys.argv[:1])
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    started = ForkServer(SPAWNED)
    yield started
    started.close()


def run_by(spawn: object, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    (folder / "kernel.py").write_text(KERNEL)
    monkeypatch.setattr(pool, "spawned", spawn)
    worker = Worker(str(folder))
    case = Case("copied", "case", "", args={"x": TensorSpec((128, 8), "float32", "normal")})
    try:
        reply = worker.ask(Request("run", str(folder / "kernel.py"), case, "gen3"))
    finally:
        worker.close()
    assert isinstance(reply, Run), reply
    return reply


def test_a_kernel_sees_no_difference(server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_NAME", "a value")
    started, forked = (run_by(spawn, tmp_path, monkeypatch) for spawn in (SPAWNED, server.forked))
    assert replace(forked, seconds=0) == replace(started, seconds=0)
    assert forked.printed == started.printed
    assert forked.printed.startswith(f"{tmp_path} a value 0 True")


def test_what_python_reads_when_it_starts_is_not_given_later(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    assert "elsewhere" in run_by(server.forked, tmp_path, monkeypatch).printed


def test_its_end_is_seen(server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "spawned", server.forked)
    worker = Worker()
    worker.ask(Request("kernels", __file__))
    process = worker._process
    assert isinstance(process, Forked) and process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.kill()
    assert process.wait(30) == 0 and process.poll() == 0
    process.terminate()  # nothing is left to end
    worker.close()


def test_a_pool_forks_its_workers_and_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ForkServer(SPAWNED)
    monkeypatch.setattr(pool, "fork_server", lambda: server)
    with pool.pool(2) as workers:
        asked = [workers.submit(Request("kernels", __file__)) for _ in range(4)]
        assert all(not isinstance(each.result(), Failure) for each in asked)
        forked = [worker._process for worker in workers._workers]
        assert forked and all(isinstance(process, Forked) for process in forked)
    assert server._process.poll() == 0
    assert all(process.poll() == 0 for process in forked if process is not None)


def test_without_its_server_a_worker_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, absent = ForkServer(SPAWNED), ForkServer(SPAWNED)
    absent.close()
    assert run_by(gone.forked, tmp_path, monkeypatch).printed.startswith(str(tmp_path))
    gone._process.kill()
    gone._process.wait()
    for server in (gone, absent):
        assert run_by(server.forked, tmp_path, monkeypatch).printed.startswith(str(tmp_path))
    gone.close()
