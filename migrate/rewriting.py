"""From files to reports: read, rewrite, guard. Nothing is written here."""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import multiprocessing
import os
import posixpath
import queue
import re
import signal
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from nki_migrate import codemods
from nki_migrate.codemods import components
from nki_migrate.codemods.model import Asserted
from nki_migrate.codemods.project.links import imported
from nki_migrate.codemods.syntax.node_index import tree_of, trees_changed, trees_kept
from nki_migrate.runtime.spec.versions import NAMES, OLDEST, version

from . import languages
from .discover import Found
from .errors import FileError
from .generated import without_generated
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

_LARGE = 300_000
"""Bytes of a file that is rewritten alone: its trees take some hundred times as many."""

Processes = Callable[[int], AbstractContextManager[Executor]]
"""What rewrites: processes of this machine (how many are asked for), or of a cluster."""

_Work = tuple[int, str, bytes]
"""One file: its place among the files, its path, its bytes."""

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
    work: list[_Work] = []
    codemods.plugin_rules()  # one that cannot be loaded is an error of the run, not of each file
    for index, file in enumerate(files):
        progress.read(index, files)
        data = _contents(file, options)
        if isinstance(data, Report):
            results[index] = data
        else:
            work.append((index, file.path, data))
    skipped = {index: report for index, report in results.items() if report.reason in not_concerned(word_of(options))}
    groups, homes = _grouped(work, skipped, options)
    groups.sort(key=lambda group: -sum(len(data) for _, _, data in group))  # none of the big ones is left to run alone
    progress.begin({path: len(data) for group in groups for _, path, data in group})
    for index, report in _made(groups, options, homes, jobs, cluster, progress):
        results[index] = report
        ended(report)
    for index, report in skipped.items():  # what no kernel needs in another way is none of ours
        if results[index] is report or (results[index].status == "unchanged" and not results[index].findings):
            results[index] = _with_backlog(report, options.target)
    return [results[index] for index in sorted(results)]


@trees_kept()
def _grouped(
    work: list[_Work], skipped: dict[int, Report], options: Options
) -> tuple[list[list[_Work]], Mapping[str, Homes] | None]:
    """The files, with those that they import, in groups that import from each other, and the homes of shipped kernels.

    No process holds the trees of all of them at once: what is kept of most are their imports.
    """
    trees = _few_trees(work) if len(work) + len(skipped) > 1 else {}
    homes = _homes(trees, skipped, options)
    trees |= _with_imports(work, homes, options)
    return _groups([*work, *_imported(trees, skipped)], trees), homes


def _few_trees(work: list[_Work]) -> dict[str, ast.Module]:
    """The trees of files that use kernels of ``neuronxcc``'s or may define them, and of others the imports."""
    trees: dict[str, ast.Module] = {}
    names: set[str] = set()
    for item in work:
        tree = _tree(item[2])
        trees[_name(item)] = alone = codemods.imports_alone(tree)
        if codemods.imports_shipped(alone):
            names |= codemods.shipped_names(tree)
            trees[_name(item)] = tree
    trees_changed()  # what is found in trees holds them
    defined = re.compile(rf"\b(def|class)[\s\\]+({'|'.join(names)})\b".encode()) if names else None
    return trees | {_name(item): _tree(item[2]) for item in work if defined and defined.search(item[2])}


def _made(
    groups: list[list[_Work]],
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
                yield from _reported(group, options, homes)


def _large_files(group: list[_Work]) -> dict[str, int]:
    """The bytes of the files of a group that are so large that nothing is rewritten beside them, for the memory."""
    return {path: len(data) for _, path, data in group if len(data) > _LARGE}


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


def _with_backlog(skipped: Report, target: str) -> Report:
    """The report on a file without Beta 1: what an earlier rewrite has left in it, if anything."""
    from nki_migrate.codemods.driver.backlog import backlog, may_have_backlog

    data = python_source(skipped.path, skipped.before or b"")
    if b"nki" not in data:
        return skipped
    try:
        text = decoded(data).text
        tree = parsed(data)[1] if may_have_backlog(text) else None
    except FileError:
        return skipped
    findings = tuple(backlog(text, tree, target)) if tree is not None else ()
    return Report(skipped.path, "unchanged", None, findings, before=data, after=data) if findings else skipped


def rewrite_report(path: str, data: bytes, options: Options) -> Report:
    """Rewrite one file's bytes, and guard the result."""
    return _reported([(0, path, data)], options, None)[0][1]


def _homes(trees: dict[str, ast.Module], skipped: dict[int, Report], options: Options) -> Mapping[str, Homes] | None:
    """The modules that have the kernels which files import from ``neuronxcc``; ``None`` for files that stand alone.

    They may be Beta 2 already.
    """
    from nki_migrate.codemods import homes, shipped_names

    if not trees:
        return None
    words = [f"def {name}".encode() for tree in trees.values() for name in shipped_names(tree)]
    plain = {_name((0, report.path, b"")): report.before or b"" for report in skipped.values()}
    further = {path: _tree(data) for path, data in plain.items() if any(word in data for word in words)}
    return homes(trees | further, {*trees, *plain}, options.modules)


def _with_imports(work: list[_Work], homes: Mapping[str, Homes] | None, options: Options) -> dict[str, ast.Module]:
    """The trees of the files whose imports of kernels will be others, as they will be."""
    from nki_migrate.codemods import with_imports

    changed = [item for item in work if homes is not None and _name(item) in homes]
    texts = {_name(item): parsed(item[2])[0].text for item in changed}
    return {name: ast.parse(with_imports(text, (homes or {})[name], options)) for name, text in texts.items()}


def _imported(trees: dict[str, ast.Module], skipped: dict[int, Report]) -> list[_Work]:
    """The files that do not name NKI, but that files which do import: kernels may use their classes and functions.

    Their trees are added to ``trees``.
    """
    plain = {_name((0, report.path, b"")): index for index, report in skipped.items() if report.path.endswith(".py")}
    read: dict[str, ast.Module] = {}

    def tree_of(name: str) -> ast.Module | None:
        tree = _tree(skipped[plain[name]].before or b"")
        read[name] = codemods.imports_alone(tree)
        return read[name] if tree.body else None

    names = imported(trees, tree_of, plain) if trees and plain else []
    trees |= {name: read[name] for name in names}
    return [(plain[name], skipped[plain[name]].path, skipped[plain[name]].before or b"") for name in names]


def _groups(work: list[_Work], trees: dict[str, ast.Module]) -> list[list[_Work]]:
    """The files, those together that import from each other."""
    by_name = {_name(item): item for item in work}
    grouped = [[by_name[name] for name in names] for names in components(trees)]
    return grouped if trees else [[item] for item in work]


def source_name(path: str) -> str:
    """A file's path as the codemods read it."""
    return posixpath.normpath(path.replace(os.sep, "/"))


def _name(item: _Work) -> str:
    return source_name(item[1])


def _tree(data: bytes) -> ast.Module:
    """What a file's imports are read from; a file that cannot be read has none (its own report says so)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(decoded(data).text)  # read once: nothing keeps it
    except (FileError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


@trees_kept()
def _reported(group: list[_Work], options: Options, homes: Mapping[str, Homes] | None) -> list[tuple[int, Report]]:
    """The reports on files that are rewritten together, each with its file's place."""
    reports: list[tuple[int, Report]] = []
    texts: dict[str, Text] = {}
    trees: dict[str, ast.Module] = {}  # parsed once, for all that reads them here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's remarks on the user's source (invalid escapes) are not ours to print
        for index, path, data in group:
            name = _name((index, path, data))
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
            name = _name((index, path, data))
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
    groups: list[list[_Work]],
    options: Options,
    homes: Mapping[str, Homes] | None,
    workers: Processes,
    jobs: int,
    progress: Files,
) -> Iterator[tuple[int, Report]]:
    futures: dict[Future[list[tuple[int, Report]]], list[_Work]] = {}
    lost: list[list[_Work]] = []
    with workers(jobs) as pool:
        with contextlib.suppress(BrokenExecutor), _uninterrupted():
            for group in groups:
                futures[pool.submit(_reported, group, options, homes)] = group
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


def _alone(item: _Work, options: Options, homes: Mapping[str, Homes] | None, workers: Processes) -> Report:
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
