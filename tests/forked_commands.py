"""Commands of the tool, each in a process of its own that is forked from one which has loaded the tool and run nothing.

To load it takes several times as long as a command on a small kernel. For tests of what several commands say one after
the other, of packages that are installed between them, and of what a process that knows nothing else does; how the tool
starts is shown by tests that start it.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, NoReturn

_LOADED = ("cli", "rewriting", "codemods.driver.migration")
"""What commands have in common, but for the table of rules, which has those of the packages that are installed."""
_SERVER = "import sys; sys.path.insert(0, sys.argv[1]); from forked_commands import serve; serve()"

_SECONDS = 240
"""How long a command may take. Most take less than one."""

Done = tuple[int, str, str]
"""The exit code of a command, and what it wrote to the two streams, if these are no terminal."""


class ForkedCommands:
    """The process that commands are forked from."""

    def __init__(self) -> None:
        program = [sys.executable, "-c", _SERVER, os.path.dirname(__file__)]
        self._process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout

    def run(
        self,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        path: tuple[str, ...] = (),
        terminal: str = "",
    ) -> Done:
        """Run a command in this process' directory. ``path`` is where packages are looked for first.

        ``terminal`` is the file of one that the command writes to; the caller reads what it shows.
        """
        pickle.dump((arguments, dict(environment), path, os.getcwd(), terminal), self._requests)
        self._requests.flush()
        done: Done = pickle.load(self._answers)
        return done

    def close(self) -> None:
        """End the process, which runs no command now. Others that were forked since may hold its requests open."""
        self._process.terminate()
        self._process.wait()
        self._requests.close()
        self._answers.close()


def serve() -> None:
    """Fork a command for each request, one after the other, until there are no more."""
    for name in _LOADED:
        importlib.import_module(f"nki_migrate.{name}")
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    while requests.peek(1):
        request = pickle.load(requests)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                _command(*request, (out, err))
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            texts = [_text(stream) for stream in (out, err)]
        pickle.dump((code, *texts), answers)
        answers.flush()


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


def _command(
    arguments: tuple[str, ...],
    environment: dict[str, str],
    path: tuple[str, ...],
    directory: str,
    terminal: str,
    streams: tuple[IO[bytes], ...],
) -> NoReturn:
    """Be the command. Never returns."""
    code: object = 70
    try:
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)
        _connect([os.open(terminal, os.O_RDWR | os.O_NOCTTY)] * 2 if terminal else [each.fileno() for each in streams])
        signal.alarm(_SECONDS)
        sys.path[0] = directory  # as ``python -m`` has it
        sys.path[1:1] = path
        sys.argv = ["nki-migrate", *arguments]
        importlib.import_module("nki_migrate.__main__").main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def _connect(files: Sequence[int]) -> None:
    """Have ``files`` as the two streams of this process, as Python opens them: the loaded process' may be of others."""
    for number, file in enumerate(files, start=1):
        os.dup2(file, number)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False, errors="backslashreplace", buffering=1)
