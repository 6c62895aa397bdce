"""``nki-migrate emulate``: run a command with neuronxcc, nki and nkilib provided by the emulator.

Every Python that the command starts finds ``bootstrap/sitecustomize.py`` through ``PYTHONPATH``; that and the options
as environment variables are the whole protocol, and it lives in the environment of the command alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import InputError

BOOTSTRAP = Path(__file__).resolve().parent / "bootstrap"
PRECISION = "NKI_MIGRATE_PRECISION"
"""Read by the emulator when the command's program calls a kernel."""


def run(command: Sequence[str], precision: str | None = None, options: Mapping[str, str] | None = None) -> int:
    """Run ``command`` and return its exit code (128 + n for signal n, as a shell does).

    ``precision`` (``engine`` or ``simulator``) is that of all kernels; without it each kernel has the one of its mode.
    ``options`` are more environment variables. Raises :class:`InputError` for a command that is not there, or cannot be
    run.
    """
    if not command:
        raise InputError("no command given: write it after --")
    if shutil.which(command[0]) is None:
        problem = "is not executable" if os.path.isfile(command[0]) else "not found"
        raise InputError(f"{command[0]}: command {problem}")
    try:
        process = subprocess.Popen(list(command), env={**environment(os.environ, precision), **(options or {})})
    except OSError as error:
        raise InputError(f"{command[0]}: cannot be run: {error.strerror}") from None
    return _exit_code(process)


def environment(current: Mapping[str, str], precision: str | None = None) -> dict[str, str]:
    """``current`` with the bootstrap directory in front of ``PYTHONPATH``, and the options."""
    others = [entry for entry in current.get("PYTHONPATH", "").split(os.pathsep) if entry]
    options = {PRECISION: precision} if precision else {}
    return {**current, **options, "PYTHONPATH": os.pathsep.join([str(BOOTSTRAP), *others])}


def _exit_code(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end. An interrupt reaches the command too: it decides what to do about it."""
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            continue
        return code if code >= 0 else 128 - code
