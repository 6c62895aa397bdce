"""One process that runs many small kernels, where a test asks what they compute and not how runs are kept apart.

The tool runs each case in a process of its own. A fork copies what the emulator touches, which takes several times as
long as a kernel of a few tiles: the tests run thousands of these. The pytest plugin and ``nki-migrate emulate`` run
many kernels in one process, too.

What a run changes in its process for good is undone behind it: where modules are looked for, how they are imported, and
the modules of the kernel's folder.
"""

from __future__ import annotations

import builtins
import linecache
import os
import pickle
import select
import signal
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import IO

from nki_migrate.runtime import execution
from nki_migrate.runtime.compare import Failure, Run
from nki_migrate.runtime.messages import Reply, Request, receive, send

_MOST = 500
"""Runs of one process: lines of the files of kernels stay in it."""
_SECONDS = 600.0
"""How long a run may take. The longest takes some seconds."""


class OneProcess:
    """What answers requests as a :class:`nki_migrate.runtime.pool.Pool` does, one at a time."""

    width = 1

    def __init__(self) -> None:
        self._left = 0
        self._child = 0
        self._requests: IO[bytes]
        self._replies: IO[bytes]

    def submit(self, request: Request) -> Future[Reply]:
        if not self._left:
            self.close()
            self._start()
        self._left -= 1
        send(self._requests, pickle.dumps(request))
        in_time = select.select([self._replies], [], [], _SECONDS)[0]
        data = receive(self._replies) if in_time else None
        answered: Future[Reply] = Future()
        if data is None:
            self.close()
            raise AssertionError(f"the process ended that ran {request.file}, or it has run for {_SECONDS} seconds")
        answered.set_result(pickle.loads(data))
        return answered

    def _start(self) -> None:
        execution.preload()
        request_read, request_write = os.pipe()
        reply_read, reply_write = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(request_write)
            os.close(reply_read)
            _serve(os.fdopen(request_read, "rb"), os.fdopen(reply_write, "wb"))
        os.close(request_read)
        os.close(reply_write)
        self._requests, self._replies = os.fdopen(request_write, "wb"), os.fdopen(reply_read, "rb")
        self._left = _MOST

    def close(self) -> None:
        """End the process, which runs nothing now. Others that were forked since may hold its requests open."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            self._requests.close()
            self._replies.close()
            os.waitpid(self._child, 0)
            self._left = self._child = 0


def _serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests until there are no more. Never returns."""
    with suppress(BaseException), tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):
            os.dup2(nothing, stream)
        sys.stdout = sys.stderr = printed
        sys.dont_write_bytecode = True  # as in a worker: no file of a kernel is loaded twice
        path, modules, imported = list(sys.path), set(sys.modules), builtins.__import__
        while (message := receive(requests)) is not None:
            request = pickle.loads(message)
            linecache.checkcache(request.file)  # another text may have been in it
            reply = execution.answer(request)
            send(replies, pickle.dumps(_with_text(reply, printed)))
            sys.path[:] = path
            setattr(builtins, "__import__", imported)  # noqa: B010
            for name in _of_folder(os.path.dirname(request.file), set(sys.modules) - modules):
                del sys.modules[name]
    os._exit(0)


def _with_text(reply: Reply, printed: IO[str]) -> Reply:
    """The reply with what its run has printed."""
    printed.seek(0)
    text = printed.read()
    printed.seek(0)
    printed.truncate()
    return replace(reply, printed=text) if isinstance(reply, Run | Failure) else reply


def _of_folder(folder: str, names: Iterable[str]) -> list[str]:
    """Those of the modules ``names`` that a folder has the files of."""
    return [name for name in names if _place(sys.modules[name]).startswith(folder + os.sep)]


def _place(module: ModuleType) -> str:
    """The file of a module, or the folder of a package without one, as a folder is written."""
    file = getattr(module, "__file__", None)
    return file or "".join(f"{folder}{os.sep}" for folder in list(getattr(module, "__path__", []))[:1])
