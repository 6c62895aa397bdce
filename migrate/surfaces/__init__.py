"""What machines read: results as JSON, SARIF, JUnit XML and GitHub's annotations, and the HTML report.

Each format is one module that renders what :mod:`.annotations` (lines of source with something to say) or the
results themselves give. Nothing here decides anything: exit codes and verdicts are made elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from ..errors import InputError
from .origin import origin

if TYPE_CHECKING:
    from ..reports import Report
    from ..verdicts import Proof
    from .annotations import Annotation

FORMATS = ("text", "json", "github", "sarif", "junit")
"""What ``--output-format`` takes where there are findings or verdicts."""


def reports_as(output_format: str, command: str, reports: list[Report], *, changes_are_done: bool) -> str:
    """The reports of ``command`` (``rewrite`` or ``check``) in one of :data:`FORMATS` but ``text``.

    ``changes_are_done`` says that changed files were written; else each of them is something that is left to do.
    """
    if output_format == "json":
        from ..output import as_json

        return as_json(reports, decisions=command == "rewrite")
    if output_format == "junit":
        from .junit import of_reports as suite

        return suite(command, reports, changes_are_done=changes_are_done)
    from .annotations import of_reports

    return _annotated(output_format, command, list(of_reports(command, reports, changes_are_done=changes_are_done)))


def proof_as(output_format: str, proof: Proof) -> str:
    """The proof of ``verify`` in one of :data:`FORMATS` but ``text``."""
    if output_format == "json":
        from ..verdicts import as_json

        return as_json(proof)
    if output_format == "junit":
        from .junit import of_proof as suite

        return suite(proof)
    from .annotations import of_proof

    return _annotated(output_format, "verify", list(of_proof(proof)))


def print_reports(reports: list[Report], output_format: str, command: str, *, changes_are_done: bool) -> None:
    """The reports of ``command`` for machines on stdout; their summary also on stderr."""
    from .. import output

    summary = (
        output.check_summary(reports)
        if command == "check"
        else output.rewrite_summary(reports, conditional=not changes_are_done)
    )
    text = reports_as(output_format, command, reports, changes_are_done=changes_are_done)
    output.print_for_machines(output_format, text, summary)


def print_proof(proof: Proof, output_format: str, *, tiles: bool = False) -> None:
    """The proof of ``verify`` on stdout; its summary also on stderr where stdout is for machines.

    ``tiles`` adds which new tile stands for which old one.
    """
    from ..output import is_terminal, print_for_machines
    from ..verdicts import as_text, summary

    if output_format != "text":
        print_for_machines(output_format, proof_as(output_format, proof), summary(proof))
    elif is_terminal():
        from .. import terminal

        terminal.print_proof(proof, tiles=tiles)
    else:
        click.echo(as_text(proof, tiles=tiles))


_NONE: Mapping[tuple[str, str], bytes] = {}


def write_report(
    file: str,
    command: str,
    reports: Sequence[Report],
    proof: Proof | None = None,
    *,
    written: bool = False,
    contents: Mapping[tuple[str, str], bytes] = _NONE,
    base: str | None = None,
) -> None:
    """Write the HTML report of a run to ``file``.

    ``written`` says that the changes of ``reports`` were made; ``contents`` are versions of files that are not on disk,
    by path and label, and ``base`` is the git revision that they are of. Raises :class:`InputError` when the file
    cannot be written.
    """
    from .page import Subject, on_disk, page

    def known(path: str, label: str) -> bytes | None:
        return contents.get((path, label)) or on_disk(path, label)

    text = page(Subject(command, reports, proof, written, known, origin(base)))
    try:
        _write(os.path.realpath(file), text)
    except OSError as error:
        raise InputError(f"{file}: cannot write the report: {error.strerror}") from None


def _write(file: str, text: str) -> None:
    """All of the page, or the page that was there before; what is no regular file (``/dev/stdout``) is written to."""
    is_device = os.path.exists(file) and not os.path.isfile(file)
    target = file if is_device else f"{file}.{secrets.token_hex(4)}.tmp"
    try:
        with open(target, "w", encoding="utf-8") as stream:
            stream.write(text)
        if not is_device:
            os.replace(target, file)
    except BaseException:
        if not is_device:
            with contextlib.suppress(OSError):
                os.unlink(target)
        raise


def _annotated(output_format: str, command: str, annotations: list[Annotation]) -> str:
    if output_format == "sarif":
        from .sarif import log

        return log(command, annotations)
    from .github import commands

    return commands(annotations)
