"""Is source legal Beta 2? From files to reports, statically."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from nki_migrate.codemods.model import Finding

from .discover import Found
from .errors import FileError
from .reports import Report, contents, parsed

# Both namespaces: Beta 1's neuronxcc.nki is what Beta 2 does not have, Beta 2's nki and nkilib are what is checked.
WORD = b"nki"


def check_reports(files: Iterable[Found]) -> list[Report]:
    """A report for each file; what is not legal is a finding that only a person can resolve."""
    return [data if isinstance(data := contents(file, WORD), Report) else _checked(file.path, data) for file in files]


def _checked(path: str, data: bytes) -> Report:
    from nki_migrate.runtime.legality import check_source

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text, _tree = parsed(data)
            violations = check_source(text.text, path)
    except FileError as error:
        return Report(path, "failed", str(error), before=data, after=data)
    findings = (
        Finding(violation.line, violation.column, violation.code, "manual", violation.message, violation.help)
        for violation in violations
    )
    return Report(path, "unchanged", None, tuple(sorted(findings)), before=data, after=data)
