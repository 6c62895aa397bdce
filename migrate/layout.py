"""``nki-migrate layout``: the address of every tile of one run of a kernel, as text, as JSON, and as a picture."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import click
from nki_migrate.runtime.cases import Case, CaseError, CaseFile, read_cases
from nki_migrate.runtime.compare import Failure, Run
from nki_migrate.runtime.dialect import memory_of
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Worker

from .errors import InputError
from .layout_map import mapped
from .layout_svg import drawn
from .layout_text import as_text, hazard_lines
from .nki_versions import at_version

FOUND = 1


def run(
    file: str | os.PathLike[str],
    kernel: str,
    cases: str | os.PathLike[str] | None = None,
    case: str | None = None,
    output_format: str = "text",
    strict: bool = False,
    language: str = "nki",
    hardware: str | None = None,
) -> int:
    """Run one case of ``kernel``, print its map, and its hazards; with ``strict`` the exit code is 1 if it has any.

    The hazards are below the map; where the map is for machines (``json``, ``svg``), they go to standard error. Raises
    :class:`InputError` when there is nothing to print.
    """
    chosen = _chosen_case(os.fspath(file), kernel, cases, case)
    model = memory_of(language)
    if hardware is not None and hardware not in model.hardware:
        raise InputError(f"no architecture is called '{hardware}': there are {', '.join(model.hardware)}")
    hardware = hardware or chosen.hardware or model.default
    recorded = recorded_run(os.fspath(file), chosen, hardware, language)
    found = mapped(recorded, f"{chosen.kernel}, {chosen.name}", model, hardware)
    if output_format == "text":
        click.echo("\n".join(as_text(found)))
    else:
        rows = [row.as_json() for row in recorded.distinct_tiles]
        click.echo(drawn(found) if output_format == "svg" else json.dumps(rows, indent=2))
        for line in (*hazard_lines(found.hazards), *(f"note: {note}" for note in found.notes)):
            click.echo(line, err=True)
    return FOUND if strict and found.hazards else 0


def recorded_run(file: str, case: Case, hardware: str, language: str = "nki") -> Run:
    """One run of a kernel, in a process of its own. Raises :class:`InputError` when it does not get to its end."""
    case = at_version(case, file) if language == "nki" else case
    worker = Worker()
    try:
        reply = worker.ask(Request("run", file, case, hardware, hazards=True, language=language))
    finally:
        worker.close()
    if isinstance(reply, Failure):
        raise not_run(case, reply)
    if not isinstance(reply, Run):
        raise InputError(f"kernel '{case.kernel}', {case.name}: the worker did not run it")
    return reply


def not_run(case: Case, failure: Failure) -> InputError:
    """Why a case that a command needs did not get to its end."""
    place = f"{failure.file}:{failure.line}: " if failure.line else ""
    text = f"kernel '{case.kernel}', {case.name}: {place}{failure.message}. {failure.help}"
    return InputError(text.rstrip(". ") + ".")


def _chosen_case(file: str, kernel: str, cases: str | os.PathLike[str] | None, name: str | None) -> Case:
    if not os.path.isfile(file):
        raise InputError(f"{file}: no such file")
    path = os.fspath(cases) if cases is not None else str(Path(file).with_name("cases.toml"))
    try:
        source = read_cases(path)
    except CaseError as error:
        raise InputError(str(error)) from None
    mine = source.of(kernel)
    for broken in source.bad:
        if broken.kernel == kernel and (broken.name == name or not mine):
            raise InputError(broken.message)
    if not mine:
        raise InputError(_no_case(source, kernel))
    if name is None:
        return mine[0]
    for case in mine:
        if case.name == name:
            return case
    raise InputError(f"{path}: kernel '{kernel}' has no case '{name}': {_choices(name, [c.name for c in mine])}")


def _no_case(source: CaseFile, kernel: str) -> str:
    others = list(dict.fromkeys(case.kernel for case in source.cases))
    return f"{source.path}: no case says how to run kernel '{kernel}': {_choices(kernel, others)}"


def _choices(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known) or 'none'}"
