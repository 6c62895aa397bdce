"""Worker processes, as the tool sees them: submit requests, get replies; a worker that dies is replaced."""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, LifoQueue
from typing import IO, Protocol

from .compare.trace import Failure
from .elsewhere import brought
from .fork_server import ForkServer, Spawn
from .messages import Reply, Request, decode_reply, receive, send
from .worker_start import Process, spawned

_GRACE_SECONDS = 30.0
_CROWDED = 100
"""Processes a processor of a machine on which a worker still answers: a child's seconds are not those of the clock."""


class Worker:
    """One worker process, which works in ``directory`` (by default in this one's). Not for two threads at once.

    ``spawn`` starts it.
    """

    def __init__(self, directory: str | None = None, spawn: Spawn | None = None) -> None:
        self.tried = threading.Event()
        """Set as soon as the process has started, or has failed to."""
        self.start_seconds = 0.0
        """How long that took."""
        self._ended = False
        self._directory = directory
        self._spawn = spawn or spawned
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
        self._process = self._spawn(request_read, reply_write, self._directory)
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


def fork_server() -> ForkServer:
    """What starts the workers of a pool."""
    return ForkServer()


class Pool:
    """Workers for as many requests at a time as there are ``jobs``, forked from one process (:mod:`.fork_server`).

    The first takes as long to start as several small cases take to run: one more is started where a request has waited
    for the others as long as that.
    """

    def __init__(self, jobs: int) -> None:
        self.width = jobs
        self._threads = ThreadPoolExecutor(max_workers=jobs)
        self._idle: LifoQueue[Worker] = LifoQueue()
        self._workers: list[Worker] = []
        self._lock = threading.Lock()
        self._closed = False
        self._server = fork_server()

    def submit(self, request: Request) -> Future[Reply]:
        self._server.begin()  # before there is a second thread
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
        self._workers.append(Worker(spawn=self._server.forked))
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
        self._server.close()


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
