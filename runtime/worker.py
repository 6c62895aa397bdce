"""Runs kernels, so that the tool's own process never imports user code.

:func:`main` is the body of a process that :mod:`.pool` spawns. It holds the emulator and nothing of the user's. For
each request it forks a child that loads the kernel file, runs one case and sends back plain data; so every case meets a
fresh interpreter state, and whatever a kernel does (hang, crash, exhaust memory, print, change directories) costs one
case.
"""

from __future__ import annotations

import io
import os
import pickle
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import IO, Any, BinaryIO

from . import errors, events, reading
from .cases import Case
from .compare import trace
from .compare.trace import Failure, Packed, Run
from .compare.verdict import Place
from .hazards.model import Hazard
from .reading import Reads
from .spec.seen import Seen, SeenFunction
from .versions import DISK, Version

_LENGTH = struct.Struct(">Q")
_MAX_PRINTED = 20_000
_MAX_FILE = 1 << 30
"""Bytes that a kernel may write to one file: what it prints goes to one, too, and has no other end."""
DEFAULT_SECONDS = 300.0
DEFAULT_MEMORY = 8 << 30


@dataclass(frozen=True)
class Request:
    """What a worker is asked for one kernel file.

    ``kind`` is ``"kernels"`` (which kernels does the file define?), ``"run"`` (run ``case``), ``"observe"`` (run it,
    and tell what its functions got) or ``"reference"`` (the NumPy reference of ``case``). ``seconds`` of wall time and
    ``memory`` bytes of address space are the child's limits.
    ``version`` says which content the files have. ``hazards``: look for them in the record of a run. ``language``
    is that of the file's kernels.
    """

    kind: str
    file: str
    case: Case | None = None
    hardware: str = "gen3"
    seconds: float = DEFAULT_SECONDS
    memory: int = DEFAULT_MEMORY
    version: Version = DISK
    hazards: bool = False
    language: str = "nki"


@dataclass(frozen=True)
class Kernel:
    """A kernel that a file defines. ``sub_kernel``: decorated only to be called from other kernels."""

    name: str
    dialect: str
    line: int
    sub_kernel: bool


@dataclass(frozen=True)
class Kernels:
    """The kernels of one file, in the order of their definitions."""

    kernels: tuple[Kernel, ...]
    reads: Reads = field(default=Reads(), compare=False)


@dataclass(frozen=True)
class Reference:
    """What a NumPy reference returned."""

    outputs: tuple[Packed, ...]
    reads: Reads = field(default=Reads(), compare=False)


@dataclass(frozen=True)
class Observation:
    """The functions of the user's that a Beta 1 kernel entered, and what they got."""

    functions: tuple[SeenFunction, ...]
    reads: Reads = field(default=Reads(), compare=False)


Reply = Kernels | Run | Reference | Observation | Failure
_PLAIN_CLASSES = {
    (cls.__module__, cls.__qualname__): cls
    for cls in (
        *(Kernel, Kernels, Reference, Observation, Reads, Run, Failure, Packed, Seen, SeenFunction),
        *(trace.Program, trace.TileRow, trace.HbmTensor, events.Event, events.Loop, events.Operand, Hazard, Place),
    )
}


class _PlainUnpickler(pickle.Unpickler):
    """Builds the classes of a reply and nothing else: bytes from a process that ran user code must not execute."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PLAIN_CLASSES:
            raise pickle.UnpicklingError(f"a worker sent a {module}.{name}")
        return _PLAIN_CLASSES[module, name]


def decode_reply(data: bytes) -> Reply:
    """The reply that ``data`` stands for; raises :class:`pickle.UnpicklingError` for anything that is not plain."""
    reply = _PlainUnpickler(io.BytesIO(data)).load()
    if not isinstance(reply, (Kernels, Run, Reference, Observation, Failure)):
        raise pickle.UnpicklingError("a worker sent no reply")
    return reply


def send(stream: IO[bytes], data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next message, ``None`` at the end of the stream."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(header)
    data = stream.read(size)
    return data if len(data) == size else None


def main() -> None:
    """Serve requests from the file descriptor ``argv[1]`` and answer on ``argv[2]`` until the tool closes its end."""
    from . import execution

    execution.preload()
    requests: BinaryIO = os.fdopen(int(sys.argv[1]), "rb")
    replies: BinaryIO = os.fdopen(int(sys.argv[2]), "wb")
    while (message := receive(requests)) is not None:
        request: Request = pickle.loads(message)
        send(replies, _isolated(request, execution.answer, (requests, replies)))


def _isolated(request: Request, answer: Callable[[Request], Reply], private: tuple[BinaryIO, BinaryIO]) -> bytes:
    """Fork a child that answers ``request`` within its limits; the pickled reply."""
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as printed:
        child = os.fork()
        if child == 0:
            _child(request, answer, writing, printed, (reading, *(stream.fileno() for stream in private)))
        os.close(writing)
        signal.signal(signal.SIGTERM, lambda *_: _end_with_child(child))
        message = _message_within(reading, time.monotonic() + request.seconds)
        os.close(reading)
        status = _ended(child, patience=1.0 if message is False else 0.0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if isinstance(message, bytes):
            return message
        printed.seek(0)
        text = printed.read(_MAX_PRINTED).decode(errors="replace")
    return pickle.dumps(replace(_death(request, status, timed_out=message), printed=text))


def _child(
    request: Request, answer: Callable[[Request], Reply], writing: int, printed: IO[bytes], private: tuple[int, ...]
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
        started = time.monotonic()
        reading.start()
        reply = replace(answer(request), reads=reading.so_far())
        sys.stdout.flush()
        sys.stderr.flush()
        if isinstance(reply, (Run, Failure)):
            printed.seek(0)
            reply = replace(reply, printed=printed.read(_MAX_PRINTED).decode(errors="replace"))
        if isinstance(reply, Run):
            reply = replace(reply, seconds=time.monotonic() - started)
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


def _message_within(descriptor: int, deadline: float) -> bytes | bool:
    """The child's message; ``True`` when the deadline passed first, ``False`` when the child ended without one."""
    data = bytearray()
    size: int | None = None
    while size is None or len(data) < size:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return True
        part = os.read(descriptor, 1 << 20)
        if not part:
            return False
        data += part
        if size is None and len(data) >= _LENGTH.size:
            (size,) = _LENGTH.unpack(data[: _LENGTH.size])
            del data[: _LENGTH.size]
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


def _end_with_child(child: int) -> None:
    _kill_group(child)
    os._exit(1)


def failure_of(error: BaseException, request: Request) -> Failure:
    """What an exception that a kernel (or the loading of its file) raised means."""
    if isinstance(error, errors.NotModelled):
        return Failure(True, f"the emulator does not model {error.construct}", error.file, error.line)
    if isinstance(error, errors.KernelError):
        return Failure(False, f"{error.code}: {error.text}" if error.code else error.text, error.file, error.line)
    if isinstance(error, SyntaxError):
        return Failure(False, f"SyntaxError: {error.msg}", error.filename or request.file, error.lineno or 0)
    file, line = user_place(error, request.file)
    if isinstance(error, MemoryError):
        advice = f"give the case smaller tensors or more memory (--memory); the limit is {request.memory >> 20} MiB"
        return Failure(False, "ran out of memory", file, line, advice, lasting=False)
    text = str(error).strip()
    name = type(error).__name__
    return Failure(False, f"{name}: {text}" if text else name, file, line)


def user_place(error: BaseException, file: str) -> tuple[str, int]:
    """Where an exception came from: the innermost frame beside the kernel file, else the innermost of the user's."""
    directory = os.path.dirname(os.path.abspath(file)) + os.sep
    places = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    beside = [place for place in places if place[0].startswith(directory)]
    outside = [place for place in places if not errors.is_emulator_file(place[0])]
    return (beside or outside or [(file, 0)])[-1]
