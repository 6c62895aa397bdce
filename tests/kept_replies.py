"""What workers answer about goldens, kept for all tests of one session: no golden changes while it lasts.

Several files of tests run the same goldens. Each session has a folder of its own, so none can read what another wrote.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path

from nki_migrate.runtime.compare import Run
from nki_migrate.runtime.messages import Reference, Reply, Request
from one_process import OneProcess

GOLDENS = Path(__file__).resolve().parent.parent / "golden"


class KeptReplies:
    """A process that runs no golden twice the same way. ``folder`` is the session's, of all its processes."""

    def __init__(self, process: OneProcess, folder: Path) -> None:
        self.width, self._process, self._folder = process.width, process, folder
        folder.mkdir(exist_ok=True)

    def submit(self, request: Request) -> Future[Reply]:
        if not Path(request.file).is_relative_to(GOLDENS):
            return self._process.submit(request)
        request = _without_target(request)
        kept = self._folder / hashlib.sha256(pickle.dumps(request)).hexdigest()
        if kept.exists():
            known: Future[Reply] = Future()
            known.set_result(pickle.loads(kept.read_bytes()))
            return known
        asked = self._process.submit(request)
        asked.add_done_callback(lambda done: _keep(done, kept))
        return asked


def _without_target(request: Request) -> Request:
    """The request without the version of ``nki``, which neither kernels of Beta 1 nor references in NumPy run as."""
    if request.case is None or (request.kind != "reference" and not _is_beta1(request.file)):
        return request
    return replace(request, case=replace(request.case, target=""))


@cache
def _is_beta1(file: str) -> bool:
    return os.path.basename(file) == "before.py" and "neuronxcc" in Path(file).read_text(encoding="utf-8")


def _keep(done: Future[Reply], kept: Path) -> None:
    if not done.cancelled() and done.exception() is None and isinstance(done.result(), Run | Reference):
        keep(done.result(), kept)


def keep(value: object, kept: Path) -> None:
    """Write a value to a file that other processes may read, or write, at any time."""
    written = kept.with_suffix(f".{os.getpid()}")
    written.write_bytes(pickle.dumps(value))
    written.replace(kept)
