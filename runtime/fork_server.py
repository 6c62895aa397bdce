"""Workers that are forked from a process which has loaded the emulator, where each would load it anew.

That takes ten times as long as a small kernel. The process from which they are forked has loaded the emulator and
nothing of the user's; each gets the environment, the working directory and the standard error of who asks. What Python
or a library reads when it starts cannot be given later: where it is another one, the worker is started.

That process is started, or it is forked from the tool's own (:mod:`.server_start`).
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress

from .server_start import Server, forked_server, started_server
from .worker_start import MOST, STANDARD_ERROR, Process, spawned, worker_environment

_AT_START = ("PYTHON", "OMP_", "OPENBLAS_", "MKL_", "LD_", "LC_", "LANG", "HOME", "MALLOC_")
"""How the names of the variables begin that are read when a process starts."""

Spawn = Callable[[int, int, "str | None"], Process]


class Forked:
    """A process that another one has forked: a descriptor tells that it has ended, it is no child to wait for."""

    def __init__(self, number: int) -> None:
        self._number = number
        try:
            self._end: int | None = os.pidfd_open(number)
        except ProcessLookupError:
            self._end = None

    def poll(self) -> int | None:
        return None if self._end is not None and not select.select([self._end], [], [], 0)[0] else self._ended()

    def wait(self, timeout: float | None = None) -> int:
        if self._end is not None and not select.select([self._end], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a forked worker", timeout or 0)
        return self._ended()

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        if self.poll() is None:
            assert self._end is not None
            signal.pidfd_send_signal(self._end, number)

    def _ended(self) -> int:
        if self._end is not None:
            os.close(self._end)
            self._end = None
        return 0


class ForkServer:
    """The process that workers are forked from. It starts with the first of them, and ends when it is closed."""

    def __init__(self, spawn: Spawn = spawned) -> None:
        self._spawn = spawn
        self._turn = threading.Lock()
        self._environment = _read_at_start()
        self._socket: socket.socket | None = None
        self._closed = not _sees_ends()
        self._process: Server

    def begin(self) -> None:
        """Fork the process from this one, if that can be done: as long as this one has one thread."""
        with self._turn:
            if not self._closed and self._socket is None:
                forked = forked_server()
                if forked is not None:
                    self._process, self._socket = forked

    def forked(self, requests: int, replies: int, directory: str | None) -> Process:
        """A worker, as :func:`nki_migrate.runtime.worker_start.spawned` starts one."""
        message = pickle.dumps((worker_environment(), os.path.abspath(directory or os.curdir)))
        with self._turn:
            if not self._closed and _read_at_start() == self._environment and len(message) <= MOST:
                with suppress(OSError, ValueError):  # it has ended
                    if self._socket is None:
                        self._process, self._socket = started_server()
                    socket.send_fds(self._socket, [message], [requests, replies, STANDARD_ERROR])
                    return Forked(int(self._socket.recv(32)))
        return self._spawn(requests, replies, directory)

    def close(self) -> None:
        """End the process. What it has forked goes on."""
        with self._turn:
            self._closed = True
            if self._socket is not None:
                self._socket.close()
                self._process.wait()


def _sees_ends() -> bool:
    """Can this process see the end of one that is no child of it?"""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def _read_at_start() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(_AT_START)}
