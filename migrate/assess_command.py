"""``nki-migrate assess``, as the command line asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from .assessment import assessment
from .configuration import Configuration
from .discover import found_files
from .ignores import without_codes
from .kept_reports import cached_reports
from .nki_pins import with_pins
from .rewrite_command import cores
from .surfaces.assessment import rendered, summary

if TYPE_CHECKING:
    from nki_migrate.codemods.model import Options

    from .reports import Report


def run(
    paths: Sequence[str],
    options: Options,
    configured: Configuration,
    cases: str | None,
    jobs: int | None,
    output_format: str,
    *,
    keep: bool,
) -> bool:
    """Print the assessment; could every file be read and rewritten?"""
    files = found_files(paths, configured.excludes)
    options = with_pins(options, files)

    def reports_with(wanted: Options) -> list[Report]:
        reports = cached_reports(files, wanted, jobs or cores(), keep=keep)
        return [without_codes(report, configured.ignored_codes(report.path)) for report in reports]

    reports = reports_with(options)
    is_reviewed = any(found.applicability == "review" for report in reports for found in report.findings)
    unsafe = reports_with(replace(options, unsafe=True)) if is_reviewed else reports
    found = assessment(reports, unsafe, cases)
    click.echo(rendered(found, output_format))
    if output_format in ("csv", "html"):
        click.echo(summary(found), err=True)
    return all(report.status != "failed" for report in reports)
