"""Rewrite in memory, and verify what would be written. Which files may then be written is decided here, too."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from nki_migrate.codemods import components
from nki_migrate.codemods.model import Options
from nki_migrate.codemods.syntax.codes import OBSERVED_FACTS as CODE
from nki_migrate.runtime.compare import Inexact, Verdict
from nki_migrate.runtime.spec.versions import DEFAULT
from nki_migrate.runtime.versions import Version

from .cache import cache_directory
from .command_options import is_forbidden
from .configuration import SUPPORT, Configuration
from .grouping import source_name
from .judging import Pair
from .kept_reports import kept_reports
from .nki_pins import with_pins
from .output import plural
from .planning import Choice
from .proof_cache import Cache
from .reports import Report, imports_beta1, parsed
from .rewriting import rewrite_reports
from .sides import Side
from .support_homes import with_homes, with_modules
from .verdicts import CaseResult, Problem, Proof, summary
from .verify import Evidence, Settings, evidence

if TYPE_CHECKING:
    from .cluster import Cluster
    from .discover import Found

REWRITTEN = "rewritten"


def rewritten_side(reports: Sequence[Report], target: str = "") -> Side:
    """The user's files with every change of ``reports`` made, for the version ``target``.

    That are the modules, too, which get what changed files need.
    """
    reports = with_modules(reports, target or DEFAULT.name)
    changed = {os.path.realpath(report.path): report for report in reports if report.status == "changed"}
    overlay = tuple((path, report.after) for path, report in changed.items())
    moves = {path: report.moves for path, report in changed.items()}
    bounds = [(ulps, code) for report in changed.values() for code, ulps in report.inexact.items()]
    inexact = Inexact(*max(bounds), of_quotients=True) if bounds else None
    return Side(Version(overlay=overlay), REWRITTEN, moves=moves, inexact=inexact, target=target)


def migrated_reports(
    files: Sequence[Found], options: Options, jobs: int, cache: Cache | None, cluster: Cluster | None
) -> list[Report]:
    """What a rewrite of ``files`` gives; ``cache`` keeps it."""
    return kept_reports(files, options, jobs, cache, cluster)


def with_project(options: Options, files: Sequence[Found], configuration: Configuration) -> Options:
    """``options`` with what the projects of ``files`` say: their pins of ``nki``, and where functions go."""
    options = with_pins(options, files)
    inline = configuration.values.get("support", SUPPORT[0]) != SUPPORT[0]
    return options if inline else with_homes(options, files, configuration.excludes)


def verified_migration(reports: Sequence[Report], settings: Settings, target: str = "", source: str = "") -> Evidence:
    """Each changed file against what it was (of the version ``source``, empty: by evidence), written for ``target``.

    Files that failed are results, too.
    """
    side = rewritten_side(reports, target)
    changed = [report.path for report in reports if report.status == "changed"]
    pairs = [Pair(path, path, new=side).at(source, "") for path in changed]
    found = evidence(pairs, settings, "the files that the rewrite changes", may_be_empty=True)
    for report in reports:
        if report.status == "failed":
            problem = Problem(
                "case", Verdict.ERROR, f"not rewritten: {(report.reason or '').removeprefix('not rewritten: ')}"
            )
            found.results.append(CaseResult(report.path, report.path, problems=(problem,), labels=("", REWRITTEN)))
        elif report.findings:
            codes = ", ".join(dict.fromkeys(finding.code for finding in report.findings))
            left = plural(len(report.findings), "finding")
            found.notes.append(f"{report.path}: the rewrite leaves {left} ({codes}): nki-migrate rewrite shows them")
    found.notes += _still_beta1(found, side)
    found.reports = with_modules(reports, target or DEFAULT.name)
    return found


def _still_beta1(found: Evidence, side: Side) -> Iterator[str]:
    """Files that rewritten ones import and that would still import Beta 1."""
    for path, reads in found.reads.items():
        for other in sorted(reads - {os.path.realpath(path)}):
            try:
                text = side.content(other)
            except OSError:
                continue
            if other.endswith(".py") and imports_beta1(text):
                yield f"{path}: as rewritten it still imports {os.path.relpath(other)}, which is Beta 1"


# --- what may be written ---------------------------------------------------------------------------------------------


def only_verified(reports: Sequence[Report], settings: Settings, options: Options) -> tuple[list[Report], Evidence]:
    """The reports, failed for every changed file that the proof does not carry.

    A file is carried when each of its kernels has a case and is equal in all of them, and every rewritten file that
    its runs read is carried as well. A file without kernels of its own is carried by the kernels that read it: at least
    one, and none of them may be left out.
    """
    found = verified_migration(reports, settings, options.target, options.source)
    changed = {os.path.realpath(report.path): report.path for report in reports if report.status == "changed"}
    objections = {path: _objection(path, found) for path in changed.values()}
    uses = {
        path: {changed[real] for real in found.reads.get(path, ()) if real in changed} - {path}
        for path in changed.values()
    }
    _spread(objections, uses, found)
    return [
        report.failed(f"not written: {objections[report.path]}") if objections.get(report.path) else report
        for report in reports
    ], found


def _objection(path: str, found: Evidence) -> str:
    """Why the results of a file do not carry it; empty when they do, or when it has none."""
    for result in found.results:
        if result.before == path and result.verdict is not Verdict.EQUAL:
            return _described(result)
    return ""


def _described(result: CaseResult) -> str:
    what = ", ".join(part for part in (f"kernel '{result.kernel}'" if result.kernel else "", result.case) if part)
    level = next((level for level in result.levels if level.verdict is not Verdict.EQUAL), None)
    if result.problems:
        problem = next((p for p in result.problems if p.verdict is result.verdict), result.problems[0])
        why = f"{problem.side}: {problem.message}" if problem.side != "case" else problem.message
    elif level is not None:
        why = level.differences[0].message if level.differences else level.summary
        why = f"{level.level}: {why}"
    else:
        why = "does not agree with the reference"
    return f"{what + ': ' if what else ''}{result.verdict.value}: {why}"


def _spread(objections: dict[str, str], uses: Mapping[str, set[str]], found: Evidence) -> None:
    """Extend the objections along the uses until nothing changes."""
    own = {task.pair.before for task in found.tasks}
    while True:
        added = {}
        for path in objections:
            if objections[path]:
                continue
            users = [user for user, used in uses.items() if path in used]
            needed = next((other for other in sorted(uses[path]) if objections[other]), None)
            refused = next((user for user in users if objections[user]), None)
            if needed is not None:
                added[path] = f"it needs {needed}, which is not verified"
            elif path not in own and refused is not None:
                added[path] = f"{refused} uses it, and is not verified"
            elif path not in own and not any(user in own for user in users):
                added[path] = "no verified kernel uses it (no cases)"
        if not added:
            return
        objections.update(added)


def unproved(reports: Sequence[Report], kept: Sequence[Report]) -> dict[str, str]:
    """The files that rest on what cases showed and are not verified, and those that go with them: why, if it is known.

    ``kept`` are the reports that :func:`only_verified` made of ``reports``.
    """
    refused = {
        after.path: after.reason or ""
        for before, after in zip(reports, kept, strict=True)
        if CODE in before.applied and after.status == "failed"
    }
    if not refused:
        return {}
    paths = {source_name(report.path): report.path for report in reports}
    trees = {source_name(r.path): parsed(r.source)[1] for r in reports if r.status in ("changed", "unchanged")}
    groups = [{paths[name] for name in names} for names in components(trees)]
    return {path: refused.get(path, "") for group in groups if group & refused.keys() for path in sorted(group)}


def verified_rewrite(
    files: Sequence[Found], options: Options, jobs: int | None, cases: str | None, cluster: Cluster | None = None
) -> tuple[list[Report], Proof]:
    """The reports of a rewrite, failed where the change is not verified, and the proof; its counts go to stderr.

    What cases showed is trusted first. Files that do not verify with it are rewritten without it, and so are those
    that import from them.
    """
    processes = jobs or os.cpu_count() or 1
    settings = Settings(
        choice=Choice(cases, target="beta2"),
        jobs=jobs,
        cache=None if cluster is not None else Cache(cache_directory(os.environ)),
        execute=not is_forbidden(os.environ),
        cluster=cluster,
    )
    reports = rewrite_reports(files, replace(options, trusted=True), processes, cluster)
    kept, found = only_verified(reports, settings, options)
    again = {} if options.unsafe else unproved(reports, kept)
    if again:
        for path, reason in again.items():
            click.echo(
                f"{path}: what cases show is not used: {reason or 'a file that it goes with does not verify'}", err=True
            )
        plain = rewrite_reports(files, options, processes, cluster)
        reports = [without if report.path in again else report for report, without in zip(reports, plain, strict=True)]
        kept, found = only_verified(reports, settings, options)
    if found.results:
        click.echo(f"verified: {summary(found.proof)}", err=True)
    return kept, found.proof
