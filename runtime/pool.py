"""Worker processes, as the tool sees them: submit requests, get replies; a worker that dies is replaced."""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, LifoQueue
from typing import IO, Protocol

from .compare.trace import Failure
from .elsewhere import brought
from .messages import Reply, Request, decode_reply, receive, send

_BOOT = """\
import sys
if sys.path and sys.path[0] == "":
    del sys.path[0]
from nki_migrate.runtime.worker import main
main()
"""
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    NO_BYTECODE: "1",
}
"""One thread and one hash seed: a kernel's result must not depend on the machine that verifies it.

User code sees that no bytecode is written; the emulator's own, which is loaded before, may be.
"""
_GRACE_SECONDS = 30.0
_CROWDED = 100
"""Processes a processor of a machine on which a worker still answers: a child's seconds are not those of the clock."""


def worker_environment() -> dict[str, str]:
    """The environment variables of a worker."""
    return {**os.environ, **_ENVIRONMENT}


def environment_at_start() -> dict[str, str]:
    """Those that its process starts with: the emulator's own modules may be kept, if the user's may."""
    return {name: value for name, value in worker_environment().items() if name != NO_BYTECODE or name in os.environ}


class Process(Protocol):
    """What is asked of a process."""

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


def spawned(requests: int, replies: int, directory: str | None) -> Process:
    """A new worker process between two file descriptors, in ``directory`` or in this process' own."""
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, str(requests), str(replies)],
        pass_fds=(requests, replies),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        cwd=directory,
        env=environment_at_start(),
    )


class Worker:
    """One worker process, which works in ``directory`` (by default in this one's). Not for two threads at once."""

    def __init__(self, directory: str | None = None) -> None:
        self.tried = threading.Event()
        """Set as soon as the process has started, or has failed to."""
        self.start_seconds = 0.0
        """How long that took."""
        self._ended = False
        self._directory = directory
        self._process: Process | None = None
        self._requests: IO[bytes]
        self._replies: IO[bytes]

    def ask(self, request: Request) -> Reply:
        """The reply to ``request``; a worker that does not answer is a :class:`Failure`, and is replaced."""
        if self._ended:
            return Failure(False, "the worker process was ended", request.file)
        if self._process is None or self._process.poll() is not None:
            self.close()
            try:
                self._start()
            finally:
                self.tried.set()
        try:
            send(self._requests, pickle.dumps(request))
            data = self._received(_CROWDED * request.seconds + _GRACE_SECONDS)
        except (OSError, ValueError):  # it is gone, or another thread has ended it
            data = None
        if data is None:
            self.close()
            return Failure(False, "the worker process died", request.file)
        try:
            return brought(decode_reply(data))
        except (pickle.UnpicklingError, EOFError, AttributeError, TypeError, ValueError, OSError) as error:
            self.close()
            return Failure(False, f"the worker's answer makes no sense: {error}", request.file)

    def _received(self, seconds: float) -> bytes | None:
        """The next message, ``None`` when there is none within ``seconds``."""
        return receive(self._replies) if select.select([self._replies], [], [], seconds)[0] else None

    def _start(self) -> None:
        """Start the process, and wait until it says that it has loaded the emulator."""
        began = time.monotonic()
        request_read, request_write = os.pipe()
        reply_read, reply_write = os.pipe()
        self._requests, self._replies = os.fdopen(request_write, "wb"), os.fdopen(reply_read, "rb")
        self._process = spawned(request_read, reply_write, self._directory)
        os.close(request_read)
        os.close(reply_write)
        if self._ended:  # meanwhile
            self.close()
        with suppress(OSError, ValueError):
            self._received(_GRACE_SECONDS)
        self.start_seconds = time.monotonic() - began

    def end(self) -> None:
        """End the process for good: another thread may be about to start it."""
        self._ended = True
        self.close()

    def close(self) -> None:
        """End the process, and the case that it may be running."""
        process, self._process = self._process, None  # the thread that waits for it may close it, too
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (self._requests, self._replies):
            try:
                stream.close()
            except BrokenPipeError:
                continue


class Workers(Protocol):
    """What answers requests: processes of this machine, or of a cluster. ``width`` is how many at a time."""

    @property
    def width(self) -> int: ...

    def submit(self, request: Request) -> Future[Reply]: ...


class Pool:
    """Workers for as many requests at a time as there are ``jobs``.

    A worker takes as long to start as several small cases take to run: one more is started where a request has waited
    for the others as long as the first took to start.
    """

    def __init__(self, jobs: int) -> None:
        self.width = jobs
        self._threads = ThreadPoolExecutor(max_workers=jobs)
        self._idle: LifoQueue[Worker] = LifoQueue()
        self._workers: list[Worker] = []
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, request: Request) -> Future[Reply]:
        return self._threads.submit(self._answer, request)

    def _answer(self, request: Request) -> Reply:
        worker = self._free()
        try:
            return worker.ask(request)
        finally:
            self._idle.put(worker)

    def _free(self) -> Worker:
        """A worker that has nothing to do."""
        with self._lock:
            if not self._workers:
                return self._another()
        try:
            self._workers[0].tried.wait(_GRACE_SECONDS)
            return self._idle.get(timeout=self._workers[0].start_seconds)
        except Empty:
            with self._lock:
                return self._another()

    def _another(self) -> Worker:
        """One more worker. There are never more than threads: who waits for one in vain has none."""
        self._workers.append(Worker())
        if self._closed:
            self._workers[-1].end()
        return self._workers[-1]

    def close(self) -> None:
        """End the workers, those that a thread is about to start, too."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._closed = True
        for worker in self._workers:
            worker.end()


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def pool(jobs: int | None = None) -> Iterator[Pool]:
    """A pool that ends its workers on exit. ``jobs`` defaults to the number of processors."""
    workers = Pool(jobs or processors())
    try:
        yield workers
    finally:
        workers.close()
