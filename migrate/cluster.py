"""``--executor dask://HOST:PORT``: the work of this machine's processes, done by the workers of a Dask cluster.

The engine knows no cluster: it asks for an ``Executor`` (to rewrite) or for ``Workers`` (to run kernels), as it does
here. The scheduler gives what a lost worker had to another one; work that ends several workers is given up, as that of
a local process which dies. Source: https://distributed.dask.org/en/stable/resilience.html.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import pickle
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from typing import Any

import click
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.messages import Reply, Request, decode_reply
from nki_migrate.runtime.pool import Workers

from . import cluster_tasks
from .cluster_tasks import DifferentMachine, digest_at, identity
from .errors import InputError
from .output import plural

_CONNECT_SECONDS = 10.0
"""How long the scheduler, and then a first worker, may take to answer."""
_ALONE_SECONDS = 15.0
"""How long the run waits for a worker once none is left."""
_LOOK_SECONDS = 1.0
_NOT_CONTENT = ("/proc/", "/sys/", "/dev/")
"""Files that are other ones on each machine, and no part of what a user has."""


class LostWork(BrokenExecutor):
    """Workers were lost again and again with the same work."""


@contextlib.contextmanager
def connected(executor: str) -> Iterator[Cluster]:
    """The cluster, for a run. What is left of its work at the end is cancelled.

    Raises :class:`InputError` where it cannot be reached, has no worker, or has one that is not what this machine is.
    """
    if importlib.util.find_spec("distributed") is None:
        raise InputError(f"--executor {executor}: Dask is not installed: pip install 'nki-migrate[cluster]'")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's remarks on versions and sizes; what matters is checked here
        cluster = Cluster(_client(executor), executor)
        try:
            cluster.require_same()
            yield cluster
        finally:
            cluster.close()
    if cluster.lost:
        were = "worker was" if len(cluster.lost) == 1 else "workers were"
        click.echo(f"note: {len(cluster.lost)} {were} lost; what they had was done again", err=True)


def _client(executor: str) -> Any:
    distributed = importlib.import_module("distributed")
    try:
        return distributed.Client(executor.replace("dask", "tcp", 1), timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"--executor {executor}: no Dask scheduler answers there: {why}") from error


def _lacks_the_tool(error: object) -> bool:
    """Is it the error of a worker that cannot import what it is to do? (Dask passes some on as their text.)"""
    return isinstance(error, Exception) and "ModuleNotFoundError" in repr(error) and "nki_migrate" in repr(error)


def _timeout_error() -> type[Exception]:
    """What ``distributed`` raises; Python's own from 3.11 on. A start without a cluster does not load ``asyncio``."""
    found: type[Exception] = importlib.import_module("asyncio").TimeoutError
    return found


class Cluster:
    """A connection to a scheduler. ``lost`` are the addresses of workers that went while there was work."""

    def __init__(self, client: Any, executor: str) -> None:
        self.lost: set[str] = set()
        self.run = uuid.uuid4().hex
        self._client = client
        self._executor = executor
        self._count = 0
        self._seen: set[str] = set()
        self._tasks: dict[Future[Any], Any] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._watched, daemon=True)

    @property
    def width(self) -> int:
        """How many tasks the workers do at a time."""
        return max(sum(self._threads().values()), 1)

    def require_same(self) -> None:
        """Raise :class:`InputError` unless there is a worker, and all are what this machine is."""
        try:
            self._client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except (_timeout_error(), OSError) as error:
            raise InputError(f"--executor {self._executor}: the scheduler has no worker") from error
        expected = identity()
        for address, found in self._client.get_versions()["workers"].items():
            python = ".".join(str(found["host"]["python"]).split(".")[:2])
            cluster_tasks.require_same(expected[:1], (("Python", python),), f"the worker {address}")
        for address, found in self._client.run(identity, on_error="return").items():
            if _lacks_the_tool(found):
                raise DifferentMachine(f"the worker {address} has no nki-migrate: install it there")
            if isinstance(found, BaseException):
                raise DifferentMachine(f"the worker {address} does not answer: {type(found).__name__}: {found}")
            cluster_tasks.require_same(expected, found, f"the worker {address}")
        self._looked()
        self._watch.start()

    @contextlib.contextmanager
    def processes(self, jobs: int) -> Iterator[Executor]:
        """What rewrites, however many ``jobs`` are asked for: each worker does one task at a time."""
        try:
            yield _Tasks(self)
        finally:
            self.cancel()

    @contextlib.contextmanager
    def emulators(self) -> Iterator[Workers]:
        """What runs kernels."""
        try:
            yield _Emulators(self)
        finally:
            self.cancel()

    def send(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """The result of ``function``, which a worker calls with what it must be and the ``arguments``."""
        outcome: Future[Any] = Future()
        self._count += 1
        key = f"nki-migrate-{self.run}-{self._count}"
        task = self._client.submit(function, identity(), *arguments, key=key, pure=False)
        with self._lock:
            self._tasks[outcome] = task
        task.add_done_callback(lambda done: self._settle(outcome, done))
        return outcome

    def _settle(self, outcome: Future[Any], done: Any) -> None:
        error: BaseException | None
        if done.status == "finished":
            try:
                self._end(outcome, done.result(), None)
                return
            except Exception as failure:  # its worker went with the result, and the scheduler with the rest
                error = failure
        elif done.status == "error":
            error = done.exception()
        else:
            error = InputError(f"--executor {self._executor}: the scheduler is gone, and its work with it")
        if type(error).__name__ == "KilledWorker":
            error = LostWork("the workers that did it were lost")
        elif _lacks_the_tool(error):
            error = DifferentMachine(f"--executor {self._executor}: a worker has no nki-migrate: install it there")
        self._end(outcome, None, error)

    def _end(self, outcome: Future[Any], result: Any, error: BaseException | None) -> None:
        with self._lock:
            self._tasks.pop(outcome, None)
        with contextlib.suppress(InvalidStateError):
            outcome.set_result(result) if error is None else outcome.set_exception(error)

    def cancel(self) -> None:
        """Cancel what is outstanding."""
        with self._lock:
            tasks, self._tasks = list(self._tasks.values()), {}
        if tasks:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self._client.cancel(tasks, force=True)

    def close(self) -> None:
        """Cancel what is outstanding, end the processes of this run on the workers, and disconnect."""
        self._ended.set()
        with contextlib.suppress(Exception):  # who is gone has nothing left to end
            self.cancel()
            self._looked()
            self._client.run(cluster_tasks.released, self.run, on_error="ignore")
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)

    # --- lost workers ------------------------------------------------------------------------------------------------

    def _threads(self) -> dict[str, int]:
        """The workers, and how many threads each has."""
        threads: dict[str, int] = self._client.sync(self._client.scheduler.ncores, callback_timeout=_CONNECT_SECONDS)
        return dict(threads)

    def _looked(self) -> set[str]:
        """The workers that there are; those that were there before are lost."""
        known = set(self._threads())
        self.lost |= self._seen - known
        self._seen |= known
        return known

    def _watched(self) -> None:
        """Note workers that go. Where the scheduler goes, or no worker is left, nothing will ever come: say so."""
        last = time.monotonic()
        while not self._ended.wait(_LOOK_SECONDS):
            try:
                known = self._looked()
            except Exception as error:
                if not self._ended.is_set():
                    self._give_up(f"the scheduler does not answer any more: {type(error).__name__}")
                return
            last = time.monotonic() if known else last
            if time.monotonic() - last > _ALONE_SECONDS:
                self._give_up(f"no worker is left ({plural(len(self.lost), 'worker')} lost)")
                return

    def _give_up(self, reason: str) -> None:
        with self._lock:
            outstanding = list(self._tasks)
        for outcome in outstanding:
            self._end(outcome, None, InputError(f"--executor {self._executor}: {reason}"))


class _Tasks(Executor):
    """Calls of functions by workers, each with one call at a time."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """As any executor's; there are no arguments by name."""
        assert not named
        return self._cluster.send(cluster_tasks.computed, function, *arguments)


class _Emulators:
    """Runs of kernels by processes of the workers."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.width = cluster.width

    def submit(self, request: Request) -> Future[Reply]:
        """The reply to a request. It fails where a worker has not the files of this machine."""
        directory = os.getcwd()
        digest = digest_at(os.path.join(directory, request.file), request)
        outcome: Future[Reply] = Future()
        task = self._cluster.send(cluster_tasks.answered, self._cluster.run, directory, digest, request)
        task.add_done_callback(lambda done: _decode(outcome, done, request))
        return outcome


def _decode(outcome: Future[Reply], done: Future[cluster_tasks.Reply], request: Request) -> None:
    error = done.exception()
    if isinstance(error, LostWork):
        outcome.set_result(Failure(False, f"the worker process died: {error}", request.file, lasting=False))
    elif error is not None:
        outcome.set_exception(error)
    else:
        data, read = done.result()
        other = [path for path, digest in read if digest != digest_at(path, request)]
        other = [path for path in other if not path.startswith(_NOT_CONTENT)]
        try:
            if other:
                raise DifferentMachine(
                    f"a worker read another {other[0]} than this machine has: {cluster_tasks.SHARED}"
                )
            outcome.set_result(decode_reply(data))
        except (DifferentMachine, pickle.UnpicklingError) as problem:
            outcome.set_exception(problem)
