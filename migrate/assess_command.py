"""``nki-migrate assess``, as the command line asks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import click
from nki_migrate.codemods.model import Options

from .assessment import assessment
from .command_options import range_of
from .configuration import Configuration
from .discover import found_files
from .exit_codes import DONE, FAILED
from .ignores import without_codes
from .kept_reports import cached_reports
from .nki_pins import with_pins
from .progress import Files
from .reports import Report
from .rewrite_command import cores
from .surfaces.assessment import rendered, summary


@dataclass(frozen=True)
class Asked:
    """The arguments and options of ``assess``."""

    paths: tuple[str, ...]
    select: frozenset[str]
    ignore: frozenset[str]
    modules: tuple[tuple[str, str], ...]
    configuration: Configuration
    allocation: str
    blocks: str
    target: str
    cases: str | None
    jobs: int | None
    no_cache: bool
    output_format: str

    @property
    def options(self) -> Options:
        """What ``rewrite`` is asked."""
        target, oldest = range_of(self.target)
        return Options(
            select=self.select,
            ignore=self.ignore,
            allocation=self.allocation,
            blocks=self.blocks,
            target=target,
            oldest=oldest,
            modules=self.modules,
            renames=self.configuration.renames,
        )


def run(asked: Asked) -> int:
    """Print the assessment, and return the exit code."""
    files = found_files(asked.paths, asked.configuration.excludes)
    options = with_pins(asked.options, files)

    def reports_with(wanted: Options) -> list[Report]:
        progress = Files(f"assess: rewrite{' --unsafe' if wanted.unsafe else ''}")
        reports = cached_reports(files, wanted, asked.jobs or cores(), keep=not asked.no_cache, progress=progress)
        return [without_codes(report, asked.configuration.ignored_codes(report.path)) for report in reports]

    reports = reports_with(options)
    is_reviewed = any(found.applicability == "review" for report in reports for found in report.findings)
    unsafe = reports_with(replace(options, unsafe=True)) if is_reviewed else reports
    found = assessment(reports, unsafe, asked.cases)
    click.echo(rendered(found, asked.output_format))
    if asked.output_format in ("csv", "html"):
        click.echo(summary(found), err=True)
    return FAILED if any(report.status == "failed" for report in reports) else DONE
