"""``nki-migrate cases suggest PATH...``: what :mod:`.suggest` finds, printed or added to the cases beside each file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click
from nki_migrate.runtime.pool import Pool, pool

from .case_text import add_cases, case_toml
from .errors import InputError
from .judging import Limits
from .output import plural
from .planning import CASES_NAME, cases_at, may_have_kernels, python_files
from .progress import StatusLine
from .suggest import Budget, NoKernel, Suggestion, suggestions

__all__ = ["Asked", "Budget", "Limits", "run"]


@dataclass(frozen=True)
class Asked:
    """The files and folders, the kernels (none: all), and whether cases are written; ``excludes`` names what is not
    looked at in folders."""

    paths: Sequence[str]
    kernels: Sequence[str]
    budget: Budget
    jobs: int | None = None
    write: bool = False
    excludes: Callable[[str], bool] | None = None


@dataclass
class _Counts:
    """Kernels that have cases (or had), those that have none, the files of cases that grew, and what failed."""

    proved: int = 0
    without: int = 0
    cases: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def run(asked: Asked) -> int:
    """Print cases that run as TOML, or add them to ``cases.toml``; 0 when each kernel has one, else 1.

    Raises :class:`InputError` without a kernel, and for a file that is named and cannot be used. 2 where a file that
    stands in a folder cannot.
    """
    if not asked.write and (len(asked.paths) > 1 or os.path.isdir(asked.paths[0])):
        raise InputError("cases of several files are not printed: --write adds them to the cases.toml beside each file")
    counts, status = _Counts(), StatusLine()
    try:
        with pool(asked.jobs) as workers:
            for file, named in _files(asked):
                _one_file(workers, file, asked, counts, status, named=named)
    finally:
        status.end()
    if asked.write:
        _sum_up(counts)
    if not counts.proved and not counts.without and not counts.failures:
        one = f"'{asked.kernels[0]}'" if asked.kernels else "that a case can call"
        raise InputError(f"{', '.join(asked.paths)}: no kernel {one}")
    return 2 if counts.failures else 1 if counts.without else 0


def _files(asked: Asked) -> Iterator[tuple[str, bool]]:
    """The files to look at, each with whether the user names it."""
    for path in asked.paths:
        if not os.path.isdir(path):
            yield path, len(asked.paths) == 1
            continue
        for file in python_files([path], asked.excludes):
            if may_have_kernels(file):
                yield file, False


def _one_file(workers: Pool, file: str, asked: Asked, counts: _Counts, status: StatusLine, *, named: bool) -> None:
    target = Path(file).with_name(CASES_NAME)
    known = _known(target, file) if asked.write else set()
    try:
        for found in suggestions(workers, file, asked.kernels, asked.budget, status, known):
            status.end()
            counts.proved += found.is_known or bool(found.cases)
            counts.without += not (found.is_known or found.cases)
            if not found.is_known:
                _say(found, f"{file}: " if asked.write else "")
                _hand_out(found, file, target if asked.write else None, counts)
    except NoKernel as error:
        if named:
            raise
        if error.hints and not asked.kernels:
            click.echo(str(error), err=True)
    except InputError as error:
        if named:
            raise
        counts.failures.append(str(error))
        click.echo(f"{file}: {error}" if file not in str(error) else str(error), err=True)


def _hand_out(found: Suggestion, file: str, target: Path | None, counts: _Counts) -> None:
    """Add the cases of a kernel to ``target``, or print them where there is none."""
    if target is None:
        for case in found.cases:
            click.echo(case_toml(case, Path(file).parent.absolute()))
    elif found.cases:
        add_cases(target, [replace(case, source=str(Path(file).absolute())) for case in found.cases])
        counts.cases[str(target)] = counts.cases.get(str(target), 0) + len(found.cases)


def _known(target: Path, file: str) -> set[str]:
    """The kernels that have a case for this file already."""
    return {case.kernel for case in cases_at(str(target), may_be_missing=True).cases if case.is_for(file)}


def _say(found: Suggestion, place: str) -> None:
    """How many cases a kernel has, why there is none, and what they do not show: on stderr."""
    why = f"; {found.reason}" if found.reason else ""
    count = plural(len(found.cases), "case") if found.cases else "no case"
    click.echo(f"{place}{found.kernel}: {count} of {plural(found.tried, 'proposal')}{why}", err=True)
    for line in found.unseen:
        click.echo(f"  no case shows the other side: {line}", err=True)


def _sum_up(counts: _Counts) -> None:
    for path, number in counts.cases.items():
        click.echo(f"{path}: {plural(number, 'new case')}")
    failed = f", {plural(len(counts.failures), 'file')} failed" if counts.failures else ""
    kernels = plural(counts.proved + counts.without, "kernel")
    click.echo(f"{kernels}: {counts.proved} with cases, {counts.without} without{failed}")
