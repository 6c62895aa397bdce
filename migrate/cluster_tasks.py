"""What the workers of a cluster do: the same functions as the processes of one machine, behind checks of what they are.

Tasks carry texts. Where a kernel is run, its file must be there, too: what a run read is compared by its content.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import platform
import threading
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Worker

from .cache import PACKAGES, digest_of, source_digest
from .errors import InputError
from .plugins import plugins_digest

T = TypeVar("T")

Identity = tuple[tuple[str, str], ...]
"""What must be the same on all machines, by name."""


class DifferentMachine(InputError):
    """A worker is not what the client is, or does not have its files."""


@cache
def identity() -> Identity:
    """What results depend on besides their input: Python, the tool's own source, the packages that it computes with."""
    python = ".".join(platform.python_version_tuple()[:2])
    ours = f"{version('nki-migrate')} (source {source_digest()[:8]})"
    packages = ((name, _version(name)) for name in PACKAGES)
    return (("Python", python), ("nki-migrate", ours), *packages, ("plugins", plugins_digest()[:8] or "none"))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def require_same(expected: Identity, found: Identity, where: str) -> None:
    """Raise :class:`DifferentMachine` where a worker is not what the client is."""
    for (name, wanted), (_, got) in zip(expected, found, strict=True):
        if wanted != got:
            raise DifferentMachine(f"{where} has {name} {got}, and this machine {wanted}: install the same on both")


_ONE_AT_A_TIME = threading.Lock()


def computed(expected: Identity, function: Callable[..., T], *arguments: object) -> T:
    """What ``function`` gives, in a worker: one call at a time in a process, as what rewrites knows of no threads."""
    require_same(expected, identity(), _here())
    with _ONE_AT_A_TIME:
        return function(*arguments)


# --- running kernels -------------------------------------------------------------------------------------------------

Emulators = dict[tuple[str, int], Worker]
_emulators: Emulators = {}
"""The processes that run kernels, by the run of the tool that they are for and the thread that asks them."""
_released: set[str] = set()

Reply = tuple[bytes, tuple[tuple[str, str], ...]]
"""A reply as the process that ran user code sent it, and the digests of the files that it read."""


def answered(expected: Identity, run: str, directory: str, digest: str, request: Request) -> Reply:
    """The reply to a request, from a process that works in ``directory``; ``digest`` is that of the kernel's file."""
    require_same(expected, identity(), _here())
    if not os.path.isdir(directory):
        raise DifferentMachine(f"{_here()} has no directory {directory}: {SHARED}")
    if digest_at(os.path.join(directory, request.file), request) != digest:
        raise DifferentMachine(f"{_here()} has another {os.path.join(directory, request.file)}, or none: {SHARED}")
    worker = _emulators.setdefault((run, threading.get_ident()), Worker(directory))
    reply = worker.ask(request)
    if run in _released:  # the client has gone in the meantime
        worker.close()
    read = tuple((path, digest_at(path, request)) for path in reply.reads.files)
    return pickle.dumps(reply), read


SHARED = "verify on a cluster takes a file system that all machines share, with the same paths"


def digest_at(path: str, request: Request) -> str:
    """The digest of what a request's run reads at ``path``; empty where there is nothing."""
    text = request.version.content(path)
    if text is None:
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError:
            return ""
    return digest_of(text)


def released(run: str) -> None:
    """End the processes of a run of the tool, and what they may be running."""
    _released.add(run)
    for key in [key for key in list(_emulators) if key[0] == run]:
        worker = _emulators.pop(key, None)
        if worker is not None:
            worker.close()


def _here() -> str:
    """This worker by its address."""
    return f"the worker {_address()}"


def _address() -> str:
    with contextlib.suppress(ImportError, ValueError):
        return str(importlib.import_module("distributed").get_worker().address)
    return platform.node()
