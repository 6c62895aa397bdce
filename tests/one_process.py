"""One process that runs many small kernels, where a test asks what they compute and not how runs are kept apart.

The tool runs each case in a process of its own. A fork copies what the emulator touches, which takes several times as
long as a kernel of a few tiles: the tests run thousands of these. The pytest plugin and ``nki-migrate emulate`` run
many kernels in one process, too.
"""

from __future__ import annotations

import os
import pickle
import sys
from concurrent.futures import Future
from contextlib import suppress
from typing import IO

from nki_migrate.runtime import execution
from nki_migrate.runtime.messages import Reply, Request, receive, send

_MOST = 500
"""Runs of one process: modules of kernels, and lines of their files, stay in it."""


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
        data = receive(self._replies)
        answered: Future[Reply] = Future()
        if data is None:
            self.close()
            raise AssertionError(f"the process ended that ran {request.file}")
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
        """End the process."""
        if self._child:
            self._requests.close()
            self._replies.close()
            os.waitpid(self._child, 0)
            self._left = self._child = 0


def _serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests until there are no more. Never returns."""
    with suppress(BaseException):
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):
            os.dup2(nothing, stream)
        path, modules = list(sys.path), set(sys.modules)
        while (message := receive(requests)) is not None:
            send(replies, pickle.dumps(execution.answer(pickle.loads(message))))
            sys.path[:] = path
            for name in set(sys.modules) - modules:
                if name.startswith(("old_", "new_")):
                    del sys.modules[name]
    os._exit(0)
