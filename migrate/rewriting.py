"""From files to reports: read, rewrite, guard. Nothing is written here."""

from __future__ import annotations

import contextlib
import signal
import traceback
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from .discover import Found
from .errors import FileError
from .reports import Report, Status, contents, parsed
from .text import encoded

if TYPE_CHECKING:
    from nki_migrate.codemods.model import Options

WORD = b"neuronxcc"

# Up to this many files, the processes of a pool cost more than they save.
_HANDFUL = 8

_Work = tuple[int, str, bytes]


def rewrite_reports(files: Iterable[Found], options: Options, jobs: int) -> list[Report]:
    """A report for each file, in the order of ``files``, made by up to ``jobs`` processes."""
    results: dict[int, Report] = {}
    work: list[_Work] = []
    for index, file in enumerate(files):
        data = contents(file, WORD)
        if isinstance(data, Report):
            results[index] = data
        else:
            work.append((index, file.path, data))
    work.sort(key=lambda item: -len(item[2]))  # the biggest first: none is left to run alone at the end
    if jobs > 1 and len(work) > _HANDFUL:
        results.update(_pooled(work, options, min(jobs, len(work))))
    else:
        results.update((index, rewrite_report(path, data, options)) for index, path, data in work)
    return [results[index] for index in sorted(results)]


def rewrite_report(path: str, data: bytes, options: Options) -> Report:
    """Rewrite one file's bytes, and guard the result."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # Python's remarks on the user's source (invalid escapes) are not ours to print
            return _rewritten(path, data, options)
    except FileError as error:
        return Report(path, "failed", str(error), before=data, after=data)
    except Exception as error:  # a defect of ours costs this file, not the run
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}"
        reason = f"internal error: {type(error).__name__}: {error} ({where}): please report it together with the file"
        return Report(path, "failed", reason, before=data, after=data)


def _rewritten(path: str, data: bytes, options: Options) -> Report:
    from nki_migrate import codemods

    from .guard import complete, objection

    text, _tree = parsed(data)
    outcome = complete(text.text, codemods.rewrite(text.text, options, path), options, path)
    findings = tuple(sorted(outcome.findings))
    against = objection(text.text, outcome, options, path, codemods.rewrite)
    if against:
        return Report(path, "failed", f"not rewritten: {against}", findings, before=data, after=data)
    status: Status = "unchanged" if outcome.source == text.text else "changed"
    after = encoded(outcome.source, text)
    return Report(path, status, None, findings, outcome.applied, data, after, outcome.moves, outcome.inexact)


def _pooled(work: list[_Work], options: Options, jobs: int) -> Iterator[tuple[int, Report]]:
    futures: list[Future[Report]] = []
    lost: list[_Work] = []
    with ProcessPoolExecutor(jobs, initializer=_ignore_interrupts) as pool:
        try:
            with contextlib.suppress(BrokenProcessPool):
                futures.extend(pool.submit(rewrite_report, path, data, options) for _index, path, data in work)
            for item, future in zip(work, futures, strict=False):
                try:
                    yield item[0], future.result()
                except BrokenProcessPool:
                    lost.append(item)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    # A process that dies takes the files of all others along. Alone, each file can only harm itself.
    for index, path, data in [*lost, *work[len(futures) :]]:
        yield index, _alone(path, data, options)


def _alone(path: str, data: bytes, options: Options) -> Report:
    with ProcessPoolExecutor(1, initializer=_ignore_interrupts) as pool:
        try:
            return pool.submit(rewrite_report, path, data, options).result()
        except BrokenProcessPool:
            return Report(path, "failed", "the process that rewrote it died: please report it together with the file")


def _ignore_interrupts() -> None:
    """Ctrl-C is the parent's to handle: it stops to hand out work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
