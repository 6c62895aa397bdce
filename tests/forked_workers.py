"""Workers that are forked from a process which has loaded the emulator, where each would load it anew.

Most tests that run a kernel start a worker, which takes ten times as long as the kernel. The workers of a session's
process are forked from one that has loaded the emulator and nothing of a test's; each gets the environment, the working
directory and the standard error of who asks. What Python or a library reads when it starts cannot be given later: where
it is another one, the worker is spawned, as the tool does it.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

from nki_migrate.runtime import pool
from nki_migrate.runtime.pool import Process

_BOOT = """\
import sys
if sys.path and sys.path[0] == "":
    del sys.path[0]
sys.path.append(sys.argv[2])
from forked_workers import serve
del sys.path[-1]
serve(int(sys.argv[1]))
"""
_AT_START = ("PYTHON", "OMP_", "OPENBLAS_", "MKL_", "LD_", "LC_", "LANG", "HOME", "MALLOC_")
"""How the names of the variables begin that are read when a process starts."""
_STANDARD_ERROR = 2
_MOST = 1 << 20
"""Bytes of a message: an environment and a directory."""

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
    """The process that workers are forked from."""

    def __init__(self, spawn: Spawn = pool.spawned) -> None:
        self._spawn = spawn
        self._turn = threading.Lock()
        self._environment = _read_at_start()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, str(theirs.fileno()), os.path.dirname(__file__)],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                env=pool.environment_at_start(),
            )

    def forked(self, requests: int, replies: int, directory: str | None) -> Process:
        """A worker, as :func:`nki_migrate.runtime.pool.spawned` starts one."""
        message = pickle.dumps((pool.worker_environment(), os.path.abspath(directory or os.curdir)))
        if _read_at_start() != self._environment or len(message) > _MOST:
            return self._spawn(requests, replies, directory)
        with self._turn:
            socket.send_fds(self._socket, [message], [requests, replies, _STANDARD_ERROR])
            return Forked(int(self._socket.recv(32)))

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


def _read_at_start() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(_AT_START)}


def serve(descriptor: int) -> None:
    """Fork a worker for each message, until the socket is closed."""
    import gc

    from nki_migrate.runtime import execution

    execution.preload()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the workers
    with socket.socket(fileno=descriptor) as requests:
        while True:
            message, descriptors, _, _ = socket.recv_fds(requests, _MOST, 3)
            if not message:
                return
            number = os.fork()
            if number == 0:
                requests.close()
                _work(*descriptors, *pickle.loads(message))
            for each in descriptors:
                os.close(each)
            requests.send(str(number).encode())


def _work(requests: int, replies: int, errors: int, environment: dict[str, str], directory: str) -> None:
    """Be a worker. Never returns."""
    from nki_migrate.runtime.worker import main

    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(errors, _STANDARD_ERROR)
        os.close(errors)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)
        sys.argv = ["-c", str(requests), str(replies)]
        del sys.modules[__name__]
        main()
    finally:
        os._exit(0)
