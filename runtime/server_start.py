"""How the process starts that workers are forked from (:mod:`.fork_server`).

The tool's own process has loaded half of what that one needs: Python, NumPy, and of the emulator what runs and
comparisons have in common. Where it can, it forks itself before it has a second thread, and the child forgets what is
the tool's. It cannot where Python was started otherwise than for a worker: with another hash seed, or with options.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import io
import os
import signal
import socket
import subprocess
import sys
import types
from contextlib import suppress
from typing import Any, NoReturn, Protocol

from .hash_seed import is_tool
from .worker_start import STANDARD_ERROR, environment_at_start

_BOOT = """\
import sys
if sys.path and sys.path[0] == "":
    del sys.path[0]
from nki_migrate.runtime.worker import serve
serve(int(sys.argv[1]))
"""
_WORKER = f"{__name__.rpartition('.')[0]}.worker"
"""It loads the emulator, which the tool's own process does not need."""
_THREADS, _DESCRIPTORS = "/proc/self/task", "/proc/self/fd"
_OF_THE_TOOL = {
    "calendar",
    "concurrent",
    "csv",
    "email",
    "queue",
    "quopri",
    "runpy",
    "shlex",
    "uuid",
    "zipfile",
    "zlib",
}
"""Modules of the standard library that ``verify`` loads and the emulator does not: a kernel's folder may have others of
these names."""


class Server(Protocol):
    """What is asked of the process."""

    def poll(self) -> int | None: ...

    def wait(self) -> int: ...

    def kill(self) -> None: ...


class Child:
    """A child that this process has forked."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._code: int | None = None

    def poll(self) -> int | None:
        return self._ended(os.WNOHANG)

    def wait(self) -> int:
        code = self._ended(0)
        assert code is not None
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self._number, signal.SIGKILL)

    def _ended(self, options: int) -> int | None:
        if self._code is None:
            number, status = os.waitpid(self._number, options)
            self._code = os.waitstatus_to_exitcode(status) if number else None
        return self._code


def started_server() -> tuple[Server, socket.socket]:
    """A new process, and the socket on which it is asked for workers."""
    ours, theirs = _sockets()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=environment_at_start(),
        )
    return process, ours


def forked_server() -> tuple[Server, socket.socket] | None:
    """The same, forked from this process; ``None`` where it would not be as one that is started."""
    if not is_tool() or sys.flags.hash_randomization or not _has_one_thread():
        return None
    ours, theirs = _sockets()
    if min(ours.fileno(), theirs.fileno()) <= STANDARD_ERROR:  # the tool was started without one of the streams
        return None
    number = os.fork()
    if number == 0:
        _be_server(theirs)
    theirs.close()
    return Child(number), ours


def _sockets() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _has_one_thread() -> bool:
    """Has this process one thread, those of libraries among them? What is not known is not so."""
    return os.path.isdir(_THREADS) and len(os.listdir(_THREADS)) == 1


def _be_server(requests: socket.socket) -> NoReturn:
    """Be the process, in a child that was forked: what the tool's frames hold stays, as this never returns to them."""
    try:
        number = requests.detach()
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _forget_streams(number)
        _forget_modules()
        sys.argv = ["-c", str(number)]
        if not getattr(sys.flags, "safe_path", False):
            del sys.path[0]  # the folder of the tool, or the one in which it was called
        importlib.import_module(_WORKER).serve(number)
    finally:
        os._exit(1)


def _forget_streams(kept: int) -> None:
    """Close what the tool has opened, but for the descriptor ``kept`` and standard error; streams are as at first."""
    for number in map(int, os.listdir(_DESCRIPTORS)):
        if number not in (kept, STANDARD_ERROR):
            with suppress(OSError):  # the descriptor of the list itself
                os.close(number)
    for _ in range(STANDARD_ERROR):
        os.open(os.devnull, os.O_RDWR)
    errors = (sys.stdin.errors if sys.stdin is not None else None) or "strict"
    sys.stdin, sys.stdout, sys.stderr = _stream(0, errors), _stream(1, errors), _stream(2, "backslashreplace")
    vars(sys).update(__stdin__=sys.stdin, __stdout__=sys.stdout, __stderr__=sys.stderr)


def _stream(number: int, errors: str) -> io.TextIOWrapper:
    """A standard stream as Python makes it of a descriptor."""
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    binary: Any = os.fdopen(number, "wb" if number else "rb", 0 if at_once and number else -1, closefd=False)
    encoding = "utf-8" if sys.stdin is None else sys.stdin.encoding
    line = number == STANDARD_ERROR and not at_once
    return io.TextIOWrapper(binary, encoding, errors, line_buffering=line, write_through=at_once)


def _forget_modules() -> None:
    """Let modules that only the tool needs be loaded anew by who imports them: a kernel may mean others by their names.

    Packages with parts that are compiled stay, since most of these cannot be loaded twice.
    """
    sys.modules["__main__"] = started = types.ModuleType("__main__")
    vars(started).update(__builtins__=builtins, __annotations__={}, __loader__=importlib.machinery.BuiltinImporter)
    compiled = {
        name.partition(".")[0]
        for name, module in sys.modules.items()
        if isinstance(getattr(module, "__loader__", None), importlib.machinery.ExtensionFileLoader)
    }
    finders = {getattr(finder, "__module__", "").partition(".")[0] for finder in (*sys.meta_path, *sys.path_hooks)}
    own = __name__.partition(".")[0]
    known = {*sys.stdlib_module_names, "__main__", own, *compiled, *finders} - _OF_THE_TOOL
    for name in [each for each in sys.modules if each.partition(".")[0] not in known]:
        del sys.modules[name]
