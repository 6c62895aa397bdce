"""What machines read: results as JSON, SARIF, JUnit XML and GitHub's annotations, and the HTML report.

Each format is one module that renders what :mod:`.annotations` (lines of source with something to say) or the
results themselves give. Nothing here decides anything: exit codes and verdicts are made elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

        return as_json(reports)
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


def _annotated(output_format: str, command: str, annotations: list[Annotation]) -> str:
    if output_format == "sarif":
        from .sarif import log

        return log(command, annotations)
    from .github import commands

    return commands(annotations)
