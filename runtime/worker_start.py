"""How a worker process is started: its environment, and what it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

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
_THREADS = tuple(name for name in _ENVIRONMENT if name.endswith("_NUM_THREADS"))
STANDARD_ERROR = 2
MOST = 1 << 20
"""Bytes of what a process that forks workers is told: an environment and a directory."""


def worker_environment() -> dict[str, str]:
    """The environment variables of a worker."""
    return {**os.environ, **_ENVIRONMENT}


def environment_at_start() -> dict[str, str]:
    """Those that its process starts with: the emulator's own modules may be kept, if the user's may."""
    return {name: value for name, value in worker_environment().items() if name != NO_BYTECODE or name in os.environ}


@contextmanager
def one_thread_loaded() -> Iterator[None]:
    """Let a library that multiplies make no threads when it is loaded, where the user asks for none.

    One for each processor takes as long as half of what the tool loads, and the tool's own process multiplies nothing.
    """
    unset = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, "1"))
    try:
        yield
    finally:
        for name in unset:
            os.environ.pop(name, None)


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
