"""``nki-migrate rewrite``, as the command line asks for it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click
from nki_migrate.codemods.model import Options
from nki_migrate.runtime.cells import is_notebook

from . import interactive, languages, output, rule_commits
from .changes import Changes
from .command_options import must_be_allowed, planned, range_of
from .discover import STDIN, found_files
from .errors import InputError
from .executors import connected
from .exit_codes import exit_code
from .ignores import without_codes
from .journal import last_written
from .kept_reports import cached_reports
from .nki_pins import with_pins
from .output import plural
from .progress import Files
from .repository import uncommitted
from .rewriting import rewrite_reports, word_of
from .store import stored
from .support_homes import with_homes, with_modules
from .surfaces import print_reports, write_report
from .todos import with_stale_marks, with_todos

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .cluster import Cluster
    from .configuration import Configuration
    from .discover import Found
    from .reports import Report
    from .rule_commits import Step
    from .verdicts import Proof

_SHOWN = 10
"""Files that one line of an error names."""


@dataclass(frozen=True)
class Asked:
    """The arguments and options of ``rewrite``.

    ``told`` are the options of NKI alone that the command line has; ``source`` is ``--from``, ``wanted`` is ``--to``,
    ``context`` is ``--unified``.
    """

    paths: tuple[str, ...]
    write: bool
    allow_dirty: bool
    check: bool
    verify: bool
    output_format: str
    cases: str | None
    select: frozenset[str]
    ignore: frozenset[str]
    modules: tuple[tuple[str, str], ...]
    mark: bool
    unsafe: bool
    allocation: str
    blocks: str
    support: str
    target: str
    source: str | None
    wanted: str | None
    hardware: str | None
    mode: str | None
    planner: str | None
    given: tuple[str, ...]
    jobs: int | None
    executor: str
    no_cache: bool
    verbose: bool
    quiet: bool
    stat: bool
    context: int
    stdin_filename: str | None
    report: str | None
    interactive: bool
    commit_per_rule: bool
    told: tuple[str, ...]
    configuration: Configuration


def run(asked: Asked) -> int:
    """Rewrite, print, write where that is asked for, and return the exit code."""
    if is_notebook(asked.stdin_filename or ""):
        raise InputError(f"--stdin-filename {asked.stdin_filename}: - is read as Python: give a notebook as PATH")
    files = found_files(asked.paths, asked.configuration.excludes)
    options = _options(asked, files)
    changes = _changes(asked, files)
    with connected(asked.executor) as cluster:
        reports, proof = _reports(asked, files, options, cluster, changes)
        counted = [_counted(asked, report) for report in reports]
        reports = _with_marks(asked, files, options, counted, cluster)
    if asked.interactive:
        reports = interactive.chosen(reports, asked.context)
    reports = with_modules(reports, options.target)
    if asked.interactive:
        interactive.show_modules(reports, asked.context)
    interrupted = False
    if asked.write:
        if not asked.allow_dirty:
            _require_clean([report.path for report in reports if report.status == "changed" and report.path != STDIN])
        commits = _planned_commits(asked, files, options, reports)
        reports, interrupted = stored(reports)
    _print(reports, asked, word_of(options), changes)
    if asked.report is not None:
        write_report(asked.report, "rewrite", reports, proof, written=asked.write)
    if interrupted:
        raise KeyboardInterrupt
    if asked.commit_per_rule:
        _commit(commits, reports)
    return exit_code(reports, changes_are_done=asked.write)


def _planned_commits(asked: Asked, files: list[Found], options: Options, reports: list[Report]) -> list[Step]:
    """The commits of the run, one for each rule where that can be; none where they are not asked for."""
    changed = [report.path for report in reports if report.status == "changed"]
    if not asked.commit_per_rule or not changed:
        return []
    if differing := uncommitted(changed):  # what the last run wrote is none of the user's changes, and in no commit
        raise InputError(
            f"nothing was written: uncommitted changes ({', '.join(differing[:_SHOWN])}): commit them first"
        )
    rule_commits.repository_for(changed)

    def selected(codes: frozenset[str]) -> list[Report]:
        progress = Files(f"rewrite --commit-per-rule: {plural(len(codes), 'rule')}")
        step = replace(options, select=codes, marks=False)
        found = rewrite_reports(files, step, asked.jobs or cores(), progress=progress)
        return with_modules(found, options.target)

    return rule_commits.steps(reports, selected)


def _commit(planned: list[Step], reports: list[Report]) -> None:
    """Commit the steps, where all files of theirs are written."""
    written = [report.path for report in reports if report.status == "changed"]
    if planned and set(written) == set(planned[-1].contents):
        root = rule_commits.repository_for(written)
        output.print_lines(rule_commits.commit(root, planned), err=True)
    elif planned:
        raise InputError("--commit-per-rule: nothing is committed, as not all files could be written")


def _counted(asked: Asked, report: Report) -> Report:
    """The report without the findings that the configuration only counts."""
    return without_codes(report, asked.configuration.ignored_codes(report.path))


def _with_marks(
    asked: Asked, files: list[Found], options: Options, reports: list[Report], cluster: Cluster | None
) -> list[Report]:
    """The reports with what is left marked in the files, or with findings on the marks whose finding is gone."""
    if not asked.mark:
        return [with_stale_marks(report, options) for report in reports]

    def again(files: list[Found]) -> list[Report]:
        found = rewrite_reports(files, options, asked.jobs or cores(), cluster, Files("rewrite --mark"))
        return [_counted(asked, report) for report in found]

    return with_todos(reports, files, options, again)


def _require_clean(paths: list[str]) -> None:
    """Raise ``InputError`` if files that are about to be written have changes of the user's that no commit has.

    What the last run wrote is not the user's: a run with ``--unsafe`` behind one without needs no commit between them.
    Other files of the tree do not count, as nothing happens to them.
    """
    differing = uncommitted(paths)
    if differing:
        known = last_written(differing)
        differing = [path for path in differing if path not in known]
    if differing:
        shown = [*differing[:_SHOWN], *(["..."] if len(differing) > _SHOWN else [])]
        raise InputError(
            f"nothing was written: {plural(len(differing), 'file')} to write with uncommitted changes "
            f"({', '.join(shown)}): commit or stash them, or pass --allow-dirty"
        )


def _options(asked: Asked, files: list[Found]) -> Options:
    language, version, goal = languages.asked(asked.source, asked.wanted)
    told = [option for option, text in (("--from", asked.source), ("--to", asked.wanted)) if text is not None]
    languages.require(language, files, told)
    languages.refuse(list(asked.told), files, language)
    target, oldest = range_of(asked.target)
    options = Options(
        select=asked.select,
        ignore=asked.ignore,
        unsafe=asked.unsafe,
        allocation=asked.allocation,
        blocks=asked.blocks,
        target=goal or target,
        oldest="" if goal else oldest,
        source=version,
        modules=asked.modules,
        language=language,
        renames=asked.configuration.renames,
        planning=planned(files, asked.hardware, asked.mode, asked.planner, asked.given),
    )
    options = with_pins(options, files)
    return with_homes(options, files, asked.configuration.excludes) if asked.support == "module" else options


def _changes(asked: Asked, files: list[Found]) -> Changes | None:
    """What prints the changes of a dry run, each as soon as it is known; none where they are not printed.

    Marks are put into the files when all of them are known.
    """
    if asked.write or asked.check or asked.interactive or asked.output_format != "text":
        return None
    return Changes(
        [file.path for file in files],
        stat=asked.stat,
        context=asked.context,
        stdin_filename=asked.stdin_filename,
        waits=asked.mark,
    )


def _reports(
    asked: Asked, files: list[Found], options: Options, cluster: Cluster | None, changes: Changes | None
) -> tuple[list[Report], Proof | None]:
    """What becomes of each file, and the proof where the run verifies."""
    if asked.cases is not None:
        from .observing import with_observed

        must_be_allowed("rewrite --cases")
        options = with_observed(options, files, asked.cases, asked.jobs, must_run=not asked.verify)
    if asked.verify:
        from .verify_migrated import verified_rewrite

        return verified_rewrite(files, options, asked.jobs, asked.cases, cluster)
    reports = cached_reports(
        files, options, asked.jobs or cores(), keep=not asked.no_cache, cluster=cluster, progress=changes
    )
    return reports, None


def cores() -> int:
    """The processes that a rewrite takes where nobody says how many."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _print(reports: list[Report], asked: Asked, word: bytes, changes: Changes | None) -> None:
    if asked.output_format != "text":
        print_reports(_named(reports, asked), asked.output_format, "rewrite", changes_are_done=asked.write)
        return
    for report in reports:
        if asked.write and report.path == STDIN:
            click.echo(b"" if report.status == "failed" else report.after, nl=False)
    if changes is not None:
        changes.finish(reports)
    reports = _named(reports, asked)
    output.print_lines(_status_lines(reports, asked), err=True)
    if asked.verbose:
        output.print_lines((line for report in reports for line in output.decision_lines(report)), err=True)
    if asked.quiet:
        output.print_lines(output.status_lines([r for r in reports if r.status == "failed"], silent=()), err=True)
        return
    output.print_findings(reports, word, err=True)
    click.echo(output.rewrite_summary(reports, conditional=not asked.write), err=True)
    output.print_lines(filter(None, [output.nothing(reports, word)]), err=True)


def _named(reports: list[Report], asked: Asked) -> list[Report]:
    """The reports, that on standard input under the name that it was given."""
    name = asked.stdin_filename
    return [replace(r, path=name) if name is not None and r.path == STDIN else r for r in reports]


def _status_lines(reports: list[Report], asked: Asked) -> Iterator[str]:
    """A line for each file that was written, or would change."""
    for report in reports:
        is_file = report.path not in (STDIN, asked.stdin_filename)
        if report.status == "changed" and (asked.write or asked.check) and is_file and not asked.quiet:
            done, open = ("added", "would be added") if report.is_added else ("rewritten", "would change")
            yield f"{output.shown(report.path)}: {done if asked.write else open}"
