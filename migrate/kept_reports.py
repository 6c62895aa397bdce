"""Reports of rewrites that are kept: nothing is rewritten again while files and options are what they were.

All files of a run are one unit, with the Python files beside them: rules look at what files import. Kept is what a
report says beyond the bytes of its file, which are read in any case.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from nki_migrate.codemods.model import Asserted, Decision, Finding, Moved, Options

from . import languages, rewriting
from .cache import Entries, cache_directory, digest_of
from .discover import STDIN, Found
from .plugins import plugins_digest
from .reports import Report

if TYPE_CHECKING:
    from .cluster import Cluster
    from .progress import Files


def cached_reports(
    files: Sequence[Found],
    options: Options,
    jobs: int,
    *,
    keep: bool,
    cluster: Cluster | None = None,
    progress: Files | None = None,
) -> list[Report]:
    """:func:`kept_reports` with the user's cache, or without one where nothing is to be kept."""
    return kept_reports(files, options, jobs, Entries(cache_directory(os.environ)) if keep else None, cluster, progress)


def kept_reports(
    files: Sequence[Found],
    options: Options,
    jobs: int,
    cache: Entries | None,
    cluster: Cluster | None = None,
    progress: Files | None = None,
) -> list[Report]:
    """What :func:`~.rewriting.rewrite_reports` gives, from ``cache`` where the same was asked before.

    Nothing is kept of standard input, of runs with files of other languages (they read what their project pins) and of
    runs in which a process died or the tool failed.
    """
    if cache is None or any(file.path == STDIN for file in files) or languages.split(files, options.language)[1]:
        return rewriting.rewrite_reports(files, options, jobs, cluster, progress)
    contents = {path: _content(path) for path in _paths(files)}
    question = _question(files, options, contents)
    known = cache.entry(question)
    if known is not None:
        return [_report(entry, contents) for entry in known]
    reports = rewriting.rewrite_reports(files, options, jobs, cluster, progress)
    if all(_lasts(report, contents) for report in reports):
        cache.keep_entry(question, [_entry(report) for report in reports])
        cache.prune()
    return reports


def _paths(files: Sequence[Found]) -> list[str]:
    """The files, and all Python files beside them."""
    named = {os.path.abspath(file.path) for file in files}
    directories = {os.path.dirname(path) for path in named}
    beside = {os.path.join(d, name) for d in directories for name in os.listdir(d) if name.endswith(".py")}
    return sorted(named | beside)


def _content(path: str) -> bytes | None:
    if not os.path.isfile(path):  # reading a pipe would never end
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _question(files: Sequence[Found], options: Options, contents: Mapping[str, bytes | None]) -> str:
    chosen = [(name, sorted(v) if isinstance(v, frozenset) else v) for name, v in sorted(vars(options).items())]
    digests = [f"{path} {None if data is None else digest_of(data)}" for path, data in contents.items()]
    state = digest_of("\n".join([*digests, *(repr(file) for file in files)]).encode(errors="surrogateescape"))
    return "\n".join(("rewrite", os.getcwd(), repr(chosen), state, plugins_digest()))


def _lasts(report: Report, contents: Mapping[str, bytes | None]) -> bool:
    """Is a report on the bytes that were read here, and no failure of the tool's own?"""
    failed = (report.reason or "").startswith(("the process", "internal error"))
    return not failed and report.before in (b"", contents[os.path.abspath(report.path)])


def _entry(report: Report) -> list[Any]:
    after = base64.b64encode(report.after).decode() if report.after != report.before else None
    said = [[astuple(each) for each in some] for some in (report.findings, report.moves, report.decisions)]
    counts = [sorted(counted.items()) for counted in (report.applied, report.inexact)]
    asserted = [astuple(each) for each in report.asserted]
    return [
        report.path,
        report.status,
        report.reason,
        bool(report.before),
        after,
        *said,
        *counts,
        asserted,
        [astuple(each) for each in report.ignored],
        report.seconds,
        report.group,
        report.needs,
        report.home,
    ]


def _report(entry: Any, contents: Mapping[str, bytes | None]) -> Report:
    path, status, reason, is_read, after, findings, moves, decisions, applied, inexact, asserted, *rest = entry
    ignored, seconds, group, needs, home = rest
    before = (contents[os.path.abspath(path)] or b"") if is_read else b""
    return Report(
        path,
        status,
        reason,
        tuple(Finding(*each) for each in findings),
        dict(applied),
        before,
        before if after is None else base64.b64decode(after),
        tuple(Moved(old, tuple(lines), new, tuple(places)) for old, lines, new, places in moves),
        dict(inexact),
        tuple(Decision(*each) for each in decisions),
        tuple(Asserted(*each) for each in asserted),
        tuple(Finding(*each) for each in ignored),
        seconds,
        group,
        tuple(needs),
        home,
    )
