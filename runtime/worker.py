"""Runs kernels, so that the tool's own process never imports user code.

:func:`main` is the body of a process that :mod:`.pool` spawns. It holds the emulator and nothing of the user's. For
each request it forks a child that loads the kernel file, runs one case and sends back plain data; so every case meets a
fresh interpreter state, and whatever a kernel does (hang, crash, exhaust memory, print, change directories) costs one
case.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import IO, BinaryIO

from . import elsewhere, execution, reading
from .compare.trace import Failure, Run
from .messages import LENGTH, Probe, Reply, Request, receive, send
from .stopwatch import Stopwatch
from .worker_start import MOST, STANDARD_ERROR

_MAX_PRINTED = 20_000
_ALLOCATIONS = 50_000
"""Objects that a run makes between two collections: what it records stays to its end, and would be read again and
again. Tiles are no part of cycles, so that their memory does not wait."""
_MAX_FILE = 1 << 30
"""Bytes that a kernel may write to one file: what it prints goes to one, too, and has no other end."""


def main() -> None:
    """Serve requests from the file descriptor ``argv[1]`` and answer on ``argv[2]`` until the tool closes its end."""
    _prepare()
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    signal.signal(signal.SIGTERM, _end_with_child)
    requests: BinaryIO = os.fdopen(int(sys.argv[1]), "rb")
    replies: BinaryIO = os.fdopen(int(sys.argv[2]), "wb")
    send(replies, b"")  # it has started
    outputs: int | None = None
    while (message := receive(requests)) is not None:
        if outputs is None or elsewhere.is_used(outputs):
            if outputs is not None:
                os.close(outputs)  # the tool has mapped what is in it
            outputs = elsewhere.opened()
        request: Request = pickle.loads(message)
        execution.read_ahead(request)
        send(replies, _isolated(request, execution.answer, (requests, replies), outputs))


def _prepare() -> None:
    """Load the emulator, for all that this process forks."""
    execution.preload()
    gc.freeze()  # no collection of a child reads what it shares with this process
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])


def serve(descriptor: int) -> None:
    """Fork a worker for each message of a socket (:mod:`.fork_server`), until that is closed. Never returns."""
    _prepare()
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    with socket.socket(fileno=descriptor) as requests:
        while True:
            message, descriptors, _, _ = socket.recv_fds(requests, MOST, 3)
            if not message:
                _reap()
                os._exit(0)  # nothing of the emulator has an end to wait for
            number = os.fork()
            if number == 0:
                requests.close()
                _work(descriptors, *pickle.loads(message))
            for each in descriptors:
                os.close(each)
            requests.send(str(number).encode())


def _reap() -> None:
    """Take note of the workers that have ended, so that their times count as those of this process' children."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def _work(descriptors: Sequence[int], environment: dict[str, str], directory: str) -> None:
    """Be a worker. Never returns."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        requests, replies, errors = descriptors
        os.dup2(errors, STANDARD_ERROR)
        os.close(errors)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)
        sys.argv = ["-c", str(requests), str(replies)]
        main()
    finally:
        os._exit(0)


def _isolated(
    request: Request, answer: Callable[[Request], Reply], private: tuple[BinaryIO, BinaryIO], outputs: int | None
) -> bytes:
    """Fork a child that answers ``request`` within its limits; the pickled reply. ``outputs`` is for large ones."""
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as printed:
        child = os.fork()
        if child == 0:
            _child(request, answer, writing, printed, (reading, *(stream.fileno() for stream in private)), outputs)
        os.close(writing)
        _running.append(child)
        message = _message_within(reading, Stopwatch(child), request.seconds)
        os.close(reading)
        status = _ended(child, patience=1.0 if message is False else 0.0)
        _running.clear()
        if isinstance(message, bytes):
            return message
        printed.seek(0)
        text = printed.read(_MAX_PRINTED).decode(errors="replace")
    return pickle.dumps(replace(_death(request, status, timed_out=message), printed=text))


def _child(
    request: Request,
    answer: Callable[[Request], Reply],
    writing: int,
    printed: IO[bytes],
    private: tuple[int, ...],
    outputs: int | None,
) -> None:
    """The forked child: its limits, its streams, its answer. Never returns."""
    try:
        os.setsid()
        for descriptor in private:
            os.close(descriptor)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _limit("AS", request.memory)
        _limit("FSIZE", _MAX_FILE)
        watch = Stopwatch()
        reading.start()
        reply = replace(answer(request), reads=reading.so_far())
        sys.stdout.flush()
        sys.stderr.flush()
        if isinstance(reply, (Run, Failure)):
            printed.seek(0)
            reply = replace(reply, printed=printed.read(_MAX_PRINTED).decode(errors="replace"))
        if isinstance(reply, (Run, Probe, Failure)):
            reply = replace(reply, seconds=watch.seconds)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        reply = elsewhere.left(reply, outputs, os.getppid())
        with os.fdopen(writing, "wb") as stream:
            send(stream, pickle.dumps(reply))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def _limit(what: str, limit: int) -> None:
    """Bound a resource (``AS``: the address space, ``FSIZE``: each file that is written), as the system allows it."""
    kind = getattr(resource, f"RLIMIT_{what}")
    _, hard = resource.getrlimit(kind)
    bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    try:
        resource.setrlimit(kind, (bound, hard))
    except (ValueError, OSError):
        print(f"the limit of {bound} bytes (RLIMIT_{what}) could not be set", file=sys.stderr)


def _message_within(descriptor: int, watch: Stopwatch, seconds: float) -> bytes | bool:
    """The child's message; ``True`` when its seconds were over first, ``False`` when it ended without one."""
    data = bytearray()
    size: int | None = None
    while size is None or len(data) < size:
        left = seconds - watch.seconds
        if left <= 0:
            return True
        if not select.select([descriptor], [], [], left)[0]:
            continue
        part = os.read(descriptor, 1 << 20)
        if not part:
            return False
        data += part
        if size is None and len(data) >= LENGTH.size:
            (size,) = LENGTH.unpack(data[: LENGTH.size])
            del data[: LENGTH.size]
    return bytes(data)


def _death(request: Request, status: int, *, timed_out: bool) -> Failure:
    """Why a child gave no answer."""
    if timed_out:
        return Failure(
            False,
            f"did not end within {request.seconds:g} seconds and was stopped",
            request.file,
            help="give the case smaller tensors or more time (--timeout), or look for a loop that does not end",
            lasting=False,
            seconds=request.seconds,
        )
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        advice = "the system may have run out of memory: give the case smaller tensors" if name == "SIGKILL" else ""
        message = f"crashed the Python interpreter ({name})"
        return Failure(False, message, request.file, help=advice, lasting=False)
    message = f"ended the Python interpreter (exit code {os.WEXITSTATUS(status)})"
    return Failure(False, message, request.file, lasting=False)


def _ended(child: int, patience: float) -> int:
    """The exit status of the child, which has ``patience`` seconds to end by itself. Nothing that it started stays."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        process, status = os.waitpid(child, os.WNOHANG)
        if process:
            _kill(os.killpg, child)
            return status
        time.sleep(0.01)
    _kill_group(child)
    return os.waitpid(child, 0)[1]


def _kill_group(child: int) -> None:
    """End the child, and whatever it started."""
    _kill(os.killpg, child)
    _kill(os.kill, child)


def _kill(kill: Callable[[int, int], None], process: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        kill(process, signal.SIGKILL)


_running: list[int] = []
"""The child that answers now, if any."""


def _end_with_child(*_: object) -> None:
    """What a worker does that is told to end."""
    for child in _running:
        _kill_group(child)
    os._exit(1)
