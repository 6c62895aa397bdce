"""``--executor dask://HOST:PORT``: a real cluster of two processes on this machine does what this machine does."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nki_migrate import cluster as connecting
from nki_migrate import cluster_tasks, rewriting
from nki_migrate.cli import main
from nki_migrate.cluster import LostWork, connected
from nki_migrate.codemods import Options
from nki_migrate.errors import InputError
from nki_migrate.golden import GOLDENS
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.messages import Kernels, Request

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
COMMAND = [sys.executable, "-m", "nki_migrate"]


class Machines:
    """A scheduler and its workers: processes, in a directory that is not the user's."""

    def __init__(self, place, **environment):
        place.mkdir()
        self.place = place
        self.environment = {**os.environ, **environment}
        self.workers = []
        self.scheduler = self.started("scheduler", "--port", "0", "--scheduler-file", place / "scheduler.json")
        deadline = time.monotonic() + 60
        while not (place / "scheduler.json").exists() or not (place / "scheduler.json").read_text():
            assert time.monotonic() < deadline, (place / "scheduler.log").read_text()
            time.sleep(0.05)
        self.address = json.loads((place / "scheduler.json").read_text())["address"]
        self.executor = self.address.replace("tcp", "dask", 1)

    def started(self, kind, *arguments):
        log = (self.place / f"{kind}.log").open("ab")
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--no-dashboard", *map(str, arguments)]
        if kind == "scheduler":
            command += ["--host", "127.0.0.1"]
        return subprocess.Popen(
            command, cwd=self.place, env=self.environment, stdout=log, stderr=log, start_new_session=True
        )

    def add_worker(self, *arguments):
        arguments = arguments or ("--no-nanny",)
        worker = self.started("worker", self.address, "--nthreads", 1, "--host", "127.0.0.1", *arguments)
        self.workers.append(worker)
        return worker

    def wait_for(self, count):
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=60)

    def close(self):
        for process in [*self.workers, self.scheduler]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """A cluster of two workers for all tests that harm none."""
    found = Machines(tmp_path_factory.mktemp("cluster") / "machines")
    try:
        found.add_worker()
        found.add_worker()
        found.wait_for(2)
        yield found
    finally:
        found.close()


@pytest.fixture
def others(tmp_path):
    """Clusters of a test's own, without workers at first."""
    made = []

    def make(**environment):
        made.append(Machines(tmp_path / f"others{len(made)}", **environment))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("NKI_MIGRATE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "user").mkdir()
    monkeypatch.chdir(tmp_path / "user")
    return tmp_path / "user"


@pytest.fixture
def run(capfd):
    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main([*map(str, arguments)])
        out, err = capfd.readouterr()
        return exit_.value.code, out, err

    return call


@pytest.fixture
def alone(commands):
    """The exit code and the output of a command on this machine, in a process that knows no cluster."""
    return lambda *arguments: commands.run(arguments, os.environ)


def kernels(count, place):
    """Kernels before their migration, as many as there are files asked for."""
    names = sorted(GOLDENS)
    for number in range(count):
        name = names[number % len(names)]
        shutil.copytree(GOLDEN / name, place / f"{number:03}_{name}", ignore=shutil.ignore_patterns("after*"))


def test_a_rewrite_gives_the_same_in_the_same_order(run, alone, machines, here):
    kernels(7, here)
    (here / "broken.py").write_text("import neuronxcc.nki\nprint 'old'\n")
    (here / "empty.py").write_text("")
    for options in ([], ["--output-format", "json"], ["--unsafe", "--stat", "--verbose"]):
        local = alone("rewrite", "--no-cache", *options, ".")
        assert run("rewrite", "--no-cache", *options, "--executor", machines.executor, ".") == local
        assert local[0] == 2 and local[1]
    shutil.copytree(here, here.parent / "copy")
    run("rewrite", "--write", "--no-cache", "--executor", machines.executor, ".")
    os.chdir(here.parent / "copy")
    alone("rewrite", "--write", "--no-cache", ".")
    for path in Path.cwd().rglob("*.py"):
        assert path.read_bytes() == (here / path.relative_to(Path.cwd())).read_bytes()


def test_a_rewrite_needs_no_file_of_the_client(machines):
    source = (GOLDEN / "running_counter" / "before.py").read_bytes()
    with connected(machines.executor) as cluster, cluster.processes(2) as pool:
        ((_, report),) = pool.submit(
            rewriting._reported, [(0, "/nowhere/kernel.py", source)], Options(target="0.2"), None
        ).result()
    assert report.status == "changed" and report.path == "/nowhere/kernel.py"


@pytest.mark.parametrize("after", ["after.py", "wrong_after.py"])
def test_a_proof_is_the_same(run, alone, machines, here, after):
    shutil.copytree(GOLDEN / "running_counter", here / "k")
    asked = "verify", "--no-cache", "k/before.py", f"k/{after}"
    local = alone(*asked)
    assert run(*asked, "--executor", machines.executor) == local
    assert local[0] == (0 if after == "after.py" else 1)


def test_a_migration_is_verified_and_written(run, alone, machines, here):
    shutil.copytree(GOLDEN / "running_counter", here / "k", ignore=shutil.ignore_patterns("*after*"))
    local = alone("verify", "--migrate", "--no-cache", "k")
    assert run("verify", "--migrate", "--executor", machines.executor, "k") == local and local[0] == 0
    code, _, err = run("rewrite", "--write", "--verify", "--executor", machines.executor, "k/before.py")
    assert code == 0 and "1 changed" in err and "verified: " in err


def processing(machines):
    """What each worker has to do."""
    with distributed.Client(machines.address, set_as_default=False) as client:
        return {address: tasks for address, tasks in client.processing().items() if tasks}


def started_rewrite(machines, *more):
    process = subprocess.Popen(
        [*COMMAND, "rewrite", "--no-cache", "--executor", machines.executor, *more, "."],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(processing(machines)) < 2:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    return process


def test_a_worker_that_is_lost_is_survived_and_told(others, alone, here):
    machines = others()
    lost = machines.add_worker()
    machines.add_worker()
    machines.wait_for(2)
    kernels(24, here)
    process = started_rewrite(machines)
    os.kill(lost.pid, signal.SIGKILL)
    out, err = process.communicate(timeout=240)
    code, expected, told = alone("rewrite", "--no-cache", ".")
    assert (process.returncode, out.decode()) == (code, expected)
    assert err.decode() == "note: 1 worker was lost; what they had was done again\n" + told


def test_ctrl_c_cancels_what_is_outstanding(machines, here):
    kernels(24, here)
    process = started_rewrite(machines, "--write", "--allow-dirty")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and err.decode().strip() == "nki-migrate: error: interrupted"
    assert time.monotonic() - began < 20
    waiting = [key for tasks in processing(machines).values() for key in tasks]
    assert len(waiting) <= 2  # what a worker does, it ends
    assert not list(here.rglob("*.tmp"))


def test_work_that_ends_its_workers_is_given_up(others):
    machines = others(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    machines.add_worker("--nanny")
    machines.wait_for(1)
    with connected(machines.executor) as cluster:
        with cluster.processes(1) as pool, pytest.raises(LostWork):
            pool.submit(os._exit, 3).result(timeout=60)
        with cluster.emulators() as workers:
            dying = cluster.send(cluster_tasks.computed, os._exit, 3)
            outcome = connecting.Future()
            dying.add_done_callback(lambda done: connecting._decode(outcome, done, Request("kernels", "k.py")))
            reply = outcome.result(timeout=60)
            assert isinstance(reply, Failure) and reply.message.startswith("the worker process died")
            assert not reply.lasting and workers.width == 1


def test_a_cluster_that_is_gone_is_one_error(monkeypatch, others):
    monkeypatch.setattr(connecting, "_ALONE_SECONDS", 0.5)
    machines = others()
    machines.add_worker()
    machines.wait_for(1)
    with connected(machines.executor) as cluster, cluster.processes(1) as pool:
        lost = pool.submit(os._exit, 3)
        with pytest.raises(InputError, match="no worker is left"):
            lost.result(timeout=60)
    machines.add_worker()
    machines.wait_for(1)
    with connected(machines.executor) as cluster, cluster.processes(1) as pool:
        sleeping = pool.submit(time.sleep, 30)
        monkeypatch.setattr(connecting, "_CONNECT_SECONDS", 0.5)  # how long it waits for an answer that does not come
        os.kill(machines.scheduler.pid, signal.SIGKILL)
        with pytest.raises(InputError, match="the scheduler"):
            sleeping.result(timeout=60)


def test_an_error_of_a_task_is_the_callers(machines):
    with connected(machines.executor) as cluster, cluster.processes(1) as pool, pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 1, 0).result(timeout=60)


def test_a_worker_of_another_version_is_one_error(run, others, here):
    machines = others()
    (machines.place / "other.py").write_text(
        "from nki_migrate import cluster_tasks\n"
        "found = dict(cluster_tasks.identity()) | {'nki-migrate': '0.1.0 (source 12345678)'}\n"
        "cluster_tasks.identity = lambda: tuple(found.items())\n"
    )
    (machines.place / "without.py").write_text("import sys\nsys.modules['nki_migrate'] = None\n")
    (here / "k.py").write_text("import neuronxcc.nki as nki\n")
    for preload, message in (
        ("other.py", "has nki-migrate 0.1.0 (source 12345678), and this machine "),
        ("without.py", "has no nki-migrate: install it there"),
    ):
        worker = machines.add_worker("--no-nanny", "--preload", machines.place / preload)
        machines.wait_for(1)
        code, out, err = run("rewrite", "--no-cache", "--executor", machines.executor, ".")
        assert (code, out, err.count("\n")) == (2, "", 1) and message in err and "the worker tcp://" in err
        worker.terminate()
        worker.wait()


def test_a_worker_that_joins_later_is_checked_too():
    with pytest.raises(InputError, match=r"has Python 2\.7, and this machine"):
        wrong = (("Python", "2.7"), *cluster_tasks.identity()[1:])
        cluster_tasks.require_same(cluster_tasks.identity(), wrong, "it")
    with pytest.raises(InputError, match="has Python 3"):
        cluster_tasks.computed((("Python", "2.7"), *cluster_tasks.identity()[1:]), divmod, 1, 0)


def test_another_python_is_one_error(run, monkeypatch, machines, here):
    (here / "k.py").write_text("import neuronxcc.nki as nki\n")
    monkeypatch.setattr(connecting, "identity", lambda: (("Python", "3.99"), *cluster_tasks.identity()[1:]))
    code, _, err = run("verify", "--migrate", "--executor", machines.executor, ".")
    assert code == 2 and err.count("\n") == 1 and "and this machine 3.99: install the same on both" in err


def test_a_cluster_that_does_not_answer_is_one_error(run, monkeypatch, others, here):
    monkeypatch.setattr(connecting, "_CONNECT_SECONDS", 1.0)
    (here / "k.py").write_text("import neuronxcc.nki as nki\n")
    code, _, err = run("rewrite", "--executor", "dask://127.0.0.1:1", ".")
    assert code == 2 and err.count("\n") == 1 and "dask://127.0.0.1:1: no Dask scheduler answers there" in err
    code, _, err = run("rewrite", "--executor", others().executor, ".")
    assert code == 2 and err.count("\n") == 1 and "the scheduler has no worker" in err


@pytest.mark.parametrize("executor", ["dask", "dask://", "dask://host", "dask://host:", "tcp://host:1", "dask://a b:1"])
def test_an_address_that_is_none_is_one_error(run, executor):
    for command in (("rewrite", "."), ("verify", "a.py", "b.py")):
        code, _, err = run(*command, "--executor", executor)
        assert code == 2 and "is neither local nor dask://HOST:PORT" in err and err.count("\n") == 1


def test_without_the_extra_is_one_error(run, monkeypatch, here):
    (here / "k.py").write_text("import neuronxcc.nki as nki\n")
    monkeypatch.setattr(connecting.importlib.util, "find_spec", lambda name: None)
    code, _, err = run("rewrite", "--executor", "dask://127.0.0.1:8786", "k.py")
    assert code == 2 and "pip install 'nki-migrate[cluster]'" in err and err.count("\n") == 1


def test_other_files_on_a_worker_are_one_error(run, monkeypatch, machines, here):
    shutil.copytree(GOLDEN / "running_counter", here / "k")
    digest = cluster_tasks.digest_at
    (here / "helper.py").write_text("ROWS = 128\n")
    (here / "k.py").write_text("import helper\nimport nki\n\n\n@nki.jit\ndef kernel(x):\n    return x\n")
    for file, asked, message in (
        ("before.py", ("k/before.py", "k/after.py"), "has another "),
        ("helper.py", ("k.py", "k.py"), "a worker read another "),
    ):

        def other(path, request, file=file):
            return "other" if path.endswith(file) else digest(path, request)

        monkeypatch.setattr(connecting, "digest_at", other)
        code, out, err = run("verify", "--executor", machines.executor, *asked)
        assert (code, out, err.count("\n")) == (2, "", 1) and message in err and "with the same paths" in err
    expected = cluster_tasks.identity()
    with pytest.raises(InputError, match="has no directory /nowhere"):
        cluster_tasks.answered(expected, "run", "/nowhere", "", Request("kernels", "k.py"))


def test_the_processes_of_a_run_end_with_it(machines, here):
    (here / "k.py").write_text("import nki\n\n\n@nki.jit\ndef kernel(x):\n    return x\n")
    with connected(machines.executor) as cluster, cluster.emulators() as workers:
        replies = [workers.submit(Request("kernels", "k.py")) for _ in range(4)]
        assert all(isinstance(reply.result(timeout=120), Kernels) for reply in replies)
        busy = cluster._client.run(lambda: len(cluster_tasks._emulators))
        assert sum(busy.values()) >= 1
    with connected(machines.executor) as cluster:
        assert not any(cluster._client.run(lambda: len(cluster_tasks._emulators)).values())
