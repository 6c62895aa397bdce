"""From files to reports: read, rewrite, guard. Nothing is written here."""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import multiprocessing
import queue
import signal
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from nki_migrate import codemods
from nki_migrate.codemods.model import Asserted
from nki_migrate.codemods.syntax.node_index import tree_of, trees_changed, trees_kept
from nki_migrate.runtime.spec.versions import NAMES, OLDEST, version

from . import languages
from .discover import Found
from .errors import FileError
from .generated import without_generated
from .grouping import LARGE, Head, Work, grouped_files, head, heads, name_of, source_name
from .ignores import is_nobodys, rewrite_knows, with_ignores
from .notebook_reports import in_cells
from .progress import Files
from .reports import Report, Status, contents, internal_error, not_concerned, parsed, python_source, without
from .text import Text, decoded, encoded

if TYPE_CHECKING:
    from nki_migrate.codemods.model import Options, Outcome
    from nki_migrate.codemods.project.vendor_kernels import Homes

    from .cluster import Cluster

WORD = b"neuronxcc"
NKI = b"nki"
"""What every file of NKI has, whatever its version: later targets than that of the rules from Beta 1 are for all."""

# Up to this many files, the processes of a pool cost more than they save.
_HANDFUL = 8

Processes = Callable[[int], AbstractContextManager[Executor]]
"""What rewrites: processes of this machine (how many are asked for), or of a cluster."""

_Result = TypeVar("_Result")

_LOOK = 0.25
"""Seconds between two looks at the clock, for whom progress is shown."""


def rewrite_reports(
    files: Iterable[Found],
    options: Options,
    jobs: int,
    cluster: Cluster | None = None,
    progress: Files | None = None,
) -> list[Report]:
    """A report for each file, in the order of ``files``, made by up to ``jobs`` processes, or by those of a cluster.

    Files that import from each other are rewritten together: what a function gets is told by all its calls.
    ``progress`` is told of each file as it is done, with its last report where it changed.
    """
    progress = progress or Files("rewrite")
    files = list(without_generated(files))
    rest, theirs = languages.split(files, options.language)
    of_theirs = options if options.language else replace(options, target=type(options)().target, source="")
    reports: dict[str, Report] = {}
    if theirs:
        from .language_reports import rewritten

        reports = {r.path: r for name in theirs for r in rewritten(name, theirs[name], of_theirs)}
    of_nki = replace(options, target=type(options)().target) if options.language else options
    knows = is_nobodys if options.select or options.ignore else rewrite_knows
    by_path = {file.path: file for file in files}

    @functools.cache
    def complete(path: str) -> Report:
        return in_cells(with_ignores(reports[path], knows), by_path[path], is_rewrite=True)

    def ended(report: Report) -> None:
        if report.status == "changed":  # what does not change is known when all files are
            reports[report.path] = report
            report = complete(report.path)
        progress.ended(report)

    for report in list(reports.values()):
        ended(report)
    try:
        reports |= {report.path: report for report in _nki_reports(rest, of_nki, jobs, cluster, progress, ended)}
    finally:
        progress.end()
    return [complete(file.path) for file in files]


def _nki_reports(
    files: Sequence[Found],
    options: Options,
    jobs: int,
    cluster: Cluster | None,
    progress: Files,
    ended: Callable[[Report], None],
) -> list[Report]:
    results: dict[int, Report] = {}
    work: list[Work] = []
    codemods.plugin_rules()  # one that cannot be loaded is an error of the run, not of each file
    for index, file in enumerate(files):
        progress.read(index, files)
        data = _contents(file, options)
        if isinstance(data, Report):
            results[index] = data
        else:
            work.append((index, file.path, data))
    skipped = {index: report for index, report in results.items() if report.reason in not_concerned(word_of(options))}
    groups, homes = grouped_files(work, skipped, options, functools.partial(_heads, jobs=jobs))
    groups.sort(key=lambda group: -sum(len(data) for _, _, data in group))  # none of the big ones is left to run alone
    progress.begin({path: len(data) for group in groups for _, path, data in group})
    for index, report in _made(groups, options, homes, jobs, cluster, progress):
        results[index] = report
        ended(report)
    for index, report in skipped.items():  # what no kernel needs in another way is none of ours
        if results[index] is report or (results[index].status == "unchanged" and not results[index].findings):
            results[index] = _with_backlog(report, options)
    return [results[index] for index in sorted(results)]


def _heads(files: list[bytes], jobs: int) -> Iterator[Head]:
    """The heads of files, read by processes of their own: what whole trees leave behind in memory goes with these."""
    if jobs < 2 or len(files) <= _HANDFUL:
        return heads(files)
    try:
        with _workers(jobs) as pool:
            with _uninterrupted():
                found = pool.map(head, files, chunksize=_CHUNK)
            return iter([*found])
    except BrokenExecutor:
        return heads(files)


_CHUNK = 16
"""Files that a process reads at a time."""


def _made(
    groups: list[list[Work]],
    options: Options,
    homes: Mapping[str, Homes] | None,
    jobs: int,
    cluster: Cluster | None,
    progress: Files,
) -> Iterator[tuple[int, Report]]:
    """The reports on all groups, as they are done: each with its file's place."""
    if cluster is not None:
        yield from _pooled(groups, options, homes, cluster.processes, cluster.width, progress)
    elif jobs > 1 and sum(map(len, groups)) > _HANDFUL:
        beside = [group for group in groups if not _large_files(group)]
        for group in groups:
            if large := _large_files(group):
                progress.alone(large)
                yield from _pooled([group], options, homes, _workers, 1, progress)
        progress.alone({})
        if beside:
            yield from _pooled(beside, options, homes, _workers, min(jobs, len(beside)), progress)
    else:
        with _seldom_collected():
            for group in groups:
                progress.show()
                yield from _alone_in_memory(group, options, homes)


def _large_files(group: list[Work]) -> dict[str, int]:
    """The bytes of the files of a group that are so large that nothing is rewritten beside them, for the memory."""
    return {path: len(data) for _, path, data in group if len(data) > LARGE}


def _contents(file: Found, options: Options) -> bytes | Report:
    """What a file holds if it concerns a rewrite: by its words, or as it may have an in-house name of NKI's."""
    found = contents(file, word_of(options))
    if not options.renames or not isinstance(found, Report) or found.reason != without(word_of(options)):
        return found
    source, ends = found.source, [name.encode().split(b".")[-2:] for name, _ in options.renames]
    return source if any(all(part in source for part in end) for end in ends) else found


def word_of(options: Options) -> bytes:
    """What a file mentions that a rewrite with ``options`` concerns."""
    is_other = bool(options.language) or options.target not in NAMES
    return WORD if is_other or version(options.target) == OLDEST else NKI


def _with_backlog(skipped: Report, options: Options) -> Report:
    """The report on a file that does not import Beta 1: what of it is left in there, if anything."""
    from nki_migrate.codemods.driver.backlog import backlog, importing_beta2, may_have_backlog, written_in_beta1

    data = python_source(skipped.path, skipped.before or b"")
    if b"nki" not in data:
        return skipped
    try:
        text = decoded(data).text
        tree = parsed(data)[1] if may_have_backlog(text) else None
    except FileError:
        return skipped
    if tree is None:
        return skipped
    sources = {source_name(skipped.path): text}
    old = written_in_beta1(importing_beta2(sources, options), sources, options)
    findings = tuple(old.values()) or tuple(backlog(text, tree, options.target))
    return Report(skipped.path, "unchanged", None, findings, before=data, after=data) if findings else skipped


def rewrite_report(path: str, data: bytes, options: Options) -> Report:
    """Rewrite one file's bytes, and guard the result."""
    return _reported([(0, path, data)], options, None)[0][1]


def _alone_in_memory(
    group: list[Work], options: Options, homes: Mapping[str, Homes] | None
) -> list[tuple[int, Report]]:
    """:func:`_reported`, behind which nothing of a large group is left: its modules and their program are a cycle."""
    reports = _reported(group, options, homes)
    if sum(len(data) for _, _, data in group) > LARGE:
        gc.collect()
    return reports


@trees_kept()
def _reported(group: list[Work], options: Options, homes: Mapping[str, Homes] | None) -> list[tuple[int, Report]]:
    """The reports on files that are rewritten together, each with its file's place."""
    reports: list[tuple[int, Report]] = []
    texts: dict[str, Text] = {}
    trees: dict[str, ast.Module] = {}  # parsed once, for all that reads them here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's remarks on the user's source (invalid escapes) are not ours to print
        for index, path, data in group:
            name = name_of((index, path, data))
            try:
                texts[name], trees[name] = parsed(data)
            except FileError as error:
                reports.append((index, Report(path, "failed", str(error), before=data, after=data)))
        began = time.perf_counter()
        try:
            outcomes = codemods.rewrite_together({name: text.text for name, text in texts.items()}, options, homes)
        except Exception as error:  # a defect of ours costs one file, not the group and not the run
            if len(group) > 1:
                return [_apart(report, error) for item in group for report in _reported([item], options, homes)]
            return [(index, internal_error(path, data, error)) for index, path, data in group]
        written = {name: outcome.source for name, outcome in outcomes.items()}
        reached = _reached(written)
        share = (time.perf_counter() - began) / max(len(texts), 1)
        for index, path, data in group:
            name = name_of((index, path, data))
            trees_changed()  # what was found in the file before is needed no more
            if name in texts:
                began = time.perf_counter()
                again = _rewriting_again(name, written, homes)
                reaches = reached.get(name, frozenset())
                report = _guarded(path, data, texts[name], outcomes[name], options, reaches, again)
                reports.append((index, replace(report, seconds=share + time.perf_counter() - began)))
                del trees[name]
    if len(reports) > 1:
        reports = [(index, replace(report, group=group[0][1])) for index, report in reports]
    return reports


def _apart(found: tuple[int, Report], error: Exception) -> tuple[int, Report]:
    """The report on a file that is rewritten alone, for a defect of ours, and not with those that it belongs to."""
    index, report = found
    why = internal_error(report.path, report.before, error).reason or ""
    note = Asserted(1, "", "it can be rewritten apart from the files that it imports, and that import it", why)
    return index, replace(report, asserted=(note, *report.asserted))


def _reached(sources: dict[str, str]) -> dict[str, frozenset[str]]:
    """The definitions of each file that kernels of the others use."""
    from nki_migrate.runtime.legality import kernel_names

    try:
        return kernel_names({name: tree_of(source) for name, source in sources.items()}) if len(sources) > 1 else {}
    except (SyntaxError, ValueError):
        return {}  # the guard says so


def _rewriting_again(
    name: str, written: Mapping[str, str], homes: Mapping[str, Homes] | None
) -> Callable[[str, Options, str], Outcome]:
    """How a file is rewritten a second time: alone, and where that changes it, with the files it was rewritten with.

    What those show, such as the version of NKI, or what their calls give, may be what left it as it is.
    """

    def again(source: str, options: Options, filename: str) -> Outcome:
        alone = codemods.rewrite(source, options, filename)
        if alone.source == source or len(written) == 1:
            return alone
        return codemods.rewrite_together({**written, name: source}, options, homes)[name]

    return again


def _guarded(
    path: str,
    data: bytes,
    text: Text,
    outcome: Outcome,
    options: Options,
    reached: frozenset[str],
    again: Callable[[str, Options, str], Outcome],
) -> Report:
    from .guard import complete, objection

    try:
        outcome = complete(text.text, outcome, options, reached)
        against = objection(text.text, outcome, options, path, again)
    except Exception as error:
        return internal_error(path, data, error)
    findings = tuple(sorted(outcome.findings))
    home = options.support_home(source_name(path))
    if outcome.support and home is not None:
        against = against or home.problem
    if against:
        return Report(path, "failed", f"not rewritten: {against}", findings, before=data, after=data)
    status: Status = "unchanged" if outcome.source == text.text else "changed"
    after = encoded(outcome.source, text)
    rest = outcome.moves, outcome.inexact, outcome.decisions, outcome.asserted
    report = Report(path, status, None, findings, outcome.applied, data, after, *rest)
    return replace(report, needs=outcome.support, home=home.path) if home is not None and outcome.support else report


def _pooled(
    groups: list[list[Work]],
    options: Options,
    homes: Mapping[str, Homes] | None,
    workers: Processes,
    jobs: int,
    progress: Files,
) -> Iterator[tuple[int, Report]]:
    futures: dict[Future[list[tuple[int, Report]]], list[Work]] = {}
    lost: list[list[Work]] = []
    with workers(jobs) as pool:
        with contextlib.suppress(BrokenExecutor), _uninterrupted():
            for group in groups:
                futures[pool.submit(_alone_in_memory, group, options, homes)] = group
        for future in _as_done(futures, progress.show):
            try:
                yield from future.result()
            except BrokenExecutor:
                lost.append(futures[future])
    # A process that dies takes the files of all others along. Alone, each file can only harm itself.
    for index, path, data in [item for group in [*lost, *groups[len(futures) :]] for item in group]:
        yield index, _alone((index, path, data), options, homes, workers)


def _as_done(futures: Collection[Future[_Result]], look: Callable[[], None]) -> Iterator[Future[_Result]]:
    """The futures, as they are done; while none is, a ``look`` at the clock every moment."""
    done: queue.SimpleQueue[Future[_Result]] = queue.SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    left = len(futures)
    while left:
        try:
            yield done.get(timeout=_LOOK)
            left -= 1
        except queue.Empty:
            look()


def _alone(item: Work, options: Options, homes: Mapping[str, Homes] | None, workers: Processes) -> Report:
    with workers(1) as pool:
        try:
            with _uninterrupted():
                future = pool.submit(_reported, [item], options, homes)
            return future.result()[0][1]
        except BrokenExecutor:
            return Report(
                item[1], "failed", "the process that rewrote it died: please report it together with the file"
            )


@contextlib.contextmanager
def _workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that rewrite. What ends their use early (Ctrl-C) ends them, too: they compute, and write nothing."""
    others = multiprocessing.active_children()
    with ProcessPoolExecutor(jobs, initializer=_start_worker) as pool:
        try:
            yield pool
        except BaseException:
            for process in multiprocessing.active_children():
                if process not in others:
                    process.terminate()
            pool.shutdown(cancel_futures=True)
            raise


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """While processes start, Ctrl-C waits: Python loses one that comes in its hooks of a fork, and a process that does
    not ignore it yet would die of it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle: it ends the processes
    _collect_seldom()


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    before = gc.get_threshold()
    _collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _collect_seldom() -> None:
    """Trees are many objects and hardly a cycle: Python's collector, left alone, reads them all over and over."""
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])


_ALLOCATIONS = 200_000
"""Objects made between two looks at the young ones; Python's default is 700. More takes memory, and saves little."""
