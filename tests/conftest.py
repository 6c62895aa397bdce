"""Fixtures that several files of tests share."""

from __future__ import annotations

import gc
import itertools
import linecache
import os
import shutil
import signal
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from first_rung import Options, rewrite
from forked_commands import ForkedCommands
from hypothesis import HealthCheck, settings
from kept_outcomes import KeptOutcomes
from kept_replies import KeptReplies
from nki_migrate.codemods import Outcome
from nki_migrate.guard import complete, objection
from nki_migrate.runtime import pool as pool_module
from nki_migrate.runtime import shims
from nki_migrate.runtime.beta2.launch import launch
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import LEVELS
from nki_migrate.runtime.fork_server import ForkServer
from nki_migrate.runtime.messages import Reply, Request
from nki_migrate.runtime.pool import Worker
from nki_migrate.runtime.spec.versions import DEFAULT
from nki_migrate.verify import judged
from one_process import OneProcess

pytest.register_assert_rewrite("isa_checks")
# No property depends on how fast the machine is.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

HARDWARE = "gen3"


def pytest_configure(config: pytest.Config) -> None:
    """Where Python may write no compiled modules, those of a session lie apart: each process would compile the tool."""
    if sys.dont_write_bytecode and not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="bytecode-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = folder
        sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """Python's collector would read 18,000 tests over and over, and trees hardly have a cycle: a fifth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, *gc.get_threshold()[1:])


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """A shell starts what runs in the background with SIGINT ignored, and what the tests start inherits that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What one run of the tests keeps is no other's: some stand in for the codemods. Journals are not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _forked_workers(_own_cache: None) -> Iterator[None]:
    """Workers of tests in this process are forked, all from one: see :mod:`nki_migrate.runtime.fork_server`."""
    server = ForkServer()

    class Shared(ForkServer):
        forked = staticmethod(server.forked)  # type: ignore[assignment]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_module, "spawned", server.forked)
        patch.setattr(pool_module, "fork_server", Shared)
        yield
    server.close()


@dataclass(frozen=True)
class Migration:
    """A kernel that was rewritten, and that ran before and after."""

    outcome: Outcome
    objection: str | None
    before: Reply
    after: Reply
    trouble: tuple[str, ...]
    """Everything that keeps the two runs from being equal, as text."""


Migrate = Callable[..., Migration]
Ask = Callable[..., Reply]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """A test that leaves the stand-ins for ``nki`` behind fails itself, not the next one that looks for them."""
    if shims.is_installed():
        shims.uninstall()
        raise AssertionError("the test has left the stand-ins installed: use shims.installed()")


@pytest.fixture(scope="session")
def one_process() -> Iterator[OneProcess]:
    """The process that runs kernels of tests which do not ask how runs are kept apart."""
    started = OneProcess()
    yield started
    started.close()


@pytest.fixture(scope="session")
def migrate(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Migrate:
    """``migrate(source, args, options, kernel="k")``: rewrite it, run both files on the emulator, compare the runs."""
    folder = tmp_path_factory.mktemp("migrations")
    numbers = itertools.count()

    @cache
    def checked(source: str, options: Options) -> tuple[Outcome, str | None]:
        """A rewrite, and what the guard says of it: tests run one kernel with many arguments."""
        outcome = complete(source, rewrite(source, options, "old.py"), options)
        return outcome, objection(source, outcome, options, "old.py", rewrite)

    def migrated(
        source: str,
        args: dict[str, Any],
        options: Options | None = None,
        *,
        kernel: str = "k",
        grid: tuple[int, ...] = (),
        make: dict[str, Any] | None = None,
    ) -> Migration:
        options = options or Options()
        outcome, refused = checked(source, options)
        number = next(numbers)
        replies = []
        for name, text in (("old", source), ("new", outcome.source)):
            path = folder / f"{name}_{number}.py"
            path.write_text(text, encoding="utf-8")
            case = Case(kernel, "case", "", grid=grid, args=args, target=str(options.target), make=make)
            replies.append(one_process.submit(Request("run", str(path), case, HARDWARE)))
        before, after = (reply.result() for reply in replies)
        result = judged(case, LEVELS, before, after, None)
        trouble = [f"{p.side}: {p.verdict.value}: line {p.line}: {p.message}" for p in result.problems]
        for level in result.levels:
            if level.verdict.value != "equal":
                trouble += [f"{level.level}: {level.verdict.value}: {level.summary}"]
                trouble += [f"    {difference.message}" for difference in level.differences[:3]]
        return Migration(outcome, refused, before, after, tuple(trouble))

    return migrated


@pytest.fixture(scope="session")
def workers(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> KeptReplies:
    """What runs each golden once for all tests that ask for the same run of it."""
    return KeptReplies(one_process, of_the_session(tmp_path_factory) / "replies")


@pytest.fixture(scope="session")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> KeptOutcomes:
    """``rewritten(source, options, filename)``: what a rewrite gives, computed once for all tests that ask for it."""
    return KeptOutcomes(of_the_session(tmp_path_factory) / "outcomes")


def of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all processes of a session have, and no other session."""
    here = tmp_path_factory.getbasetemp()
    return here.parent if "PYTEST_XDIST_WORKER" in os.environ else here


@pytest.fixture(scope="session")
def commands() -> Iterator[ForkedCommands]:
    """``commands.run(arguments, environment)``: a command in a process of its own."""
    started = ForkedCommands()
    yield started
    started.close()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    started = Worker()
    yield started
    started.close()


@pytest.fixture
def ask(worker: Worker, tmp_path: Path) -> Ask:
    """Ask the worker about a file with the given source: its kernels, or one run when there is a case."""

    def answer(source: str, kernel: str | None = None, kind: str = "", **facts: Any) -> Reply:
        file = tmp_path / facts.pop("name", "kernel.py")
        file.write_text(textwrap.dedent(source))
        limits = {key: facts.pop(key) for key in ("seconds", "memory") if key in facts}
        case = None
        if kernel is not None:
            facts = {"args": {"x": TensorSpec((128, 8), "float32", "normal")}, **facts}
            case = Case(kernel, "the case", str(tmp_path / "cases.toml"), 4, **facts)
        kind = kind or ("kernels" if case is None else "run")
        return worker.ask(Request(kind, str(file), case, **{"seconds": 60.0, **limits}))

    return answer


@pytest.fixture(scope="session")
def run_source(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Any]]:
    """``run_source(text, inputs)``: what ``kernel`` of a file gives back, run by the front end in this process.

    The front end is that of ``version``, a keyword; of the newest where a test does not say one.

    The module is ``sys.modules["kernels"]``.
    """
    path = tmp_path_factory.mktemp("kernels") / "kernel.py"

    def outputs(text: str, inputs: dict[str, Any], version: str = DEFAULT.name) -> list[Any]:
        path.write_text(text)
        linecache.checkcache(str(path))
        with shims.installed():
            module = sys.modules["kernels"] = ModuleType("kernels")
            exec(compile(text, str(path), "exec"), vars(module))
            return list(launch(module.kernel, inputs, version=version).outputs)

    return outputs
