"""What a file may do to its worker process: it costs one case, and the next one meets a process as it was."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nki_migrate.runtime import pool as pool_module
from nki_migrate.runtime import reading, stopwatch
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import Failure, Run
from nki_migrate.runtime.messages import Kernels, Probe, Reply, Request
from nki_migrate.runtime.pool import pool

COPY = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
"""
Ask = Callable[..., Reply]
SERVER = pool_module.fork_server


@pytest.fixture(autouse=True, scope="module")
def _spawned() -> Iterator[None]:
    """Workers that are forked from a process of each pool's own, as the tool forks them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_module, "fork_server", SERVER)
        yield


def failure(reply: Reply) -> Failure:
    assert isinstance(reply, Failure), reply
    return reply


def ran(reply: Reply) -> Run:
    assert isinstance(reply, Run), reply
    return reply


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("import os\nos.abort()", "crashed the Python interpreter (SIGABRT)"),
        ("import os\nos._exit(0)", "ended the Python interpreter (exit code 0)"),
        ("import os\nos.closerange(3, 100)\nos._exit(5)", "(exit code 5)"),
        ("import ctypes\nctypes.string_at(0)", "crashed the Python interpreter (SIGSEGV)"),
        ("b = [bytearray(1 << 28) for _ in range(64)]", "MemoryError"),
        ("import sys\nsys.setrecursionlimit(100)\ndef f(): f()\nf()", "RecursionError: maximum recursion depth"),
    ],
)
def test_a_file_that_ends_its_process_costs_only_itself(ask: Ask, body: str, message: str) -> None:
    found = failure(ask(body, memory=1 << 30))
    assert message in found.message or (message == "MemoryError" and "ran out of memory" in found.message)
    assert ran(ask(COPY, "copied")).outputs


def test_a_file_that_hangs_is_stopped(ask: Ask) -> None:
    found = failure(ask("print('so far', flush=True)\nwhile True: pass", seconds=3.0))
    assert found.message == "did not end within 3 seconds and was stopped"
    assert found.printed == "so far\n"


def test_what_a_process_waits_for_a_processor_is_not_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10 seconds of the clock it waited for 7; a process that is gone waits for no more."""
    clock, waited = [100.0], tmp_path / "7" / "schedstat"
    monkeypatch.setattr(stopwatch, "_PROCESSES", tmp_path)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    waited.parent.mkdir()
    waited.write_text("1 2000000000 3")
    watch = stopwatch.Stopwatch(7)
    clock[0], _ = 110.0, waited.write_text("1 9000000000 3")
    assert watch.seconds == 3.0
    waited.unlink()
    clock[0] = 111.0
    assert watch.seconds == 4.0
    assert stopwatch.Stopwatch(7).seconds == 0.0


def test_a_file_that_changes_between_two_probes_is_read_again(tmp_path: Path) -> None:
    """The process that the children of a worker come from has parsed it, and never runs it."""
    path = tmp_path / "k.py"
    case = Case("copied", "", str(path), args={"x": TensorSpec((4, 4), "float32")})
    with pool(1) as workers:
        for body, ends in ((COPY, True), (COPY.replace("nl.store", "assert x.shape == (4, 5)\n    nl.store"), False)):
            path.write_text(body)
            reply = workers.submit(Request("probe", str(path), case)).result()
            assert isinstance(reply, Probe if ends else Failure), reply
    assert isinstance(reply, Failure) and [each.after for each in reply.compared] == [(4, 5)]


def test_processes_that_a_file_leaves_behind_are_ended(ask: Ask, tmp_path: Path) -> None:
    body = f"""
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
        """
    assert ask(body) == Kernels(())
    assert _gone(int((tmp_path / "pid").read_text()))


def test_a_file_cannot_reach_the_conversation(ask: Ask) -> None:
    body = """
        import os
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"\\xff" * 64)
            except OSError:
                pass
        """
    reply = ask(body)
    assert isinstance(reply, (Failure, Kernels))
    assert ran(ask(COPY, "copied")).outputs


def test_the_directory_and_the_modules_of_the_next_case_are_as_before(ask: Ask) -> None:
    ask("import os, sys\nos.chdir('/')\nsys.modules.clear()\nsys.path.clear()")
    body = COPY + f"\nimport os\nassert os.getcwd() == {os.getcwd()!r}\n"
    assert ran(ask(body, "copied")).outputs


@pytest.mark.parametrize(
    "body",
    [
        "import sys\nsys.stdout = sys.stderr = None\nsys.stdin.close()",
        "import sys\nsys.modules['numpy'] = None\nsys.modules['nki_migrate.runtime'] = None",
        "import os\nos.environ.clear()\nos.umask(0o777)",
        "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_DFL)\nsignal.alarm(1)",
        "import threading\nthreading.Thread(target=lambda: __import__('time').sleep(600)).start()",
        "import atexit, os\natexit.register(os._exit, 7)",
        "import gc, sys\ngc.disable()\nsys.setswitchinterval(1e-6)\nsys.settrace(lambda *_: None)",
        "import builtins\nbuiltins.print = builtins.open = None",
        "import os\nos.kill(os.getppid(), 0)",
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    ],
)
def test_whatever_a_file_does_to_its_process_the_next_case_runs(ask: Ask, body: str) -> None:
    assert isinstance(ask(body, seconds=10.0), (Failure, Kernels))
    assert ran(ask(COPY, "copied")).outputs


def test_output_without_end_is_cut_and_ends_with_its_time(ask: Ask) -> None:
    found = failure(ask("while True: print('x' * 1000)", seconds=1.0))
    assert len(found.printed) <= 20_000 and "did not end" in found.message


def test_what_a_run_reads_is_recorded(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "sibling_that_is_read.py").write_text("WIDTH = 8\n")
    (tmp_path / "table.json").write_text("{}")
    body = COPY + textwrap.dedent(f"""
        import os
        import sibling_that_is_read
        open({str(tmp_path / "table.json")!r}).read()
        open({str(tmp_path / "log.txt")!r}, "w").close()
        os.environ.get("A_VARIABLE")
        """)
    reads = ran(ask(body, "copied")).reads
    assert {Path(path).name for path in reads.files} == {"kernel.py", "sibling_that_is_read.py", "table.json"}
    assert str(tmp_path) in reads.directories and "A_VARIABLE" in reads.variables


@pytest.mark.parametrize("prefix", [None, "/compiled", "/compiled/"])
@pytest.mark.parametrize("name", ["k.py", "after_0.2.py"])
def test_compiled_code_stands_for_its_source(monkeypatch: pytest.MonkeyPatch, prefix: str | None, name: str) -> None:
    tag = sys.implementation.cache_tag
    folder = "/a/__pycache__" if prefix is None else "/compiled/a"
    monkeypatch.setattr(sys, "pycache_prefix", prefix)
    assert reading._source_of(f"{folder}/{name.removesuffix('.py')}.{tag}.pyc") == f"/a/{name}"
    assert reading._source_of(f"/a/{name}") == f"/a/{name}"


def test_closing_a_worker_ends_the_case_that_it_runs(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(f"import os\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\nwhile True: pass\n")
    with pool(1) as workers:
        workers.submit(Request("kernels", str(file)))
        deadline = time.monotonic() + 120
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert _gone(int((tmp_path / "pid").read_text()))


def _gone(process: int) -> bool:
    """Has the process ended (within half a minute)?"""
    for _ in range(600):
        try:
            os.kill(process, 0)
            status = Path(f"/proc/{process}/stat")
            if status.exists() and ") Z " in status.read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_a_pool_that_is_closed_answers_all_that_waits(tmp_path: Path, seconds: float) -> None:
    """Also where a thread is about to start one more worker, or has a request for one that was ended."""
    source, started = tmp_path / "k.py", tmp_path / "started"
    source.write_text(f"import time\nopen({str(started)!r}, 'w').close()\ntime.sleep(600)\n")
    case = Case("k", "", str(source))
    with pool(2) as workers:
        replies = [workers.submit(Request("run", str(source), case, "gen3")) for _ in range(3)]
        while not started.exists():
            time.sleep(0.01)
        time.sleep(seconds)
    assert [reply.cancelled() or isinstance(reply.result(timeout=60), Failure) for reply in replies] == [True] * 3
