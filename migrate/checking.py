"""Is source legal Beta 2? From files to reports, statically."""

from __future__ import annotations

import ast
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from nki_migrate.codemods.model import Finding, Options
from nki_migrate.runtime.spec.versions import DEFAULT, Version, shown, versions_of

from . import languages
from .claims import language_of
from .discover import Found
from .errors import FileError, InputError
from .ignores import check_knows, with_ignores
from .notebook_reports import in_cells
from .progress import Files
from .reports import Report, contents, internal_error, parsed

if TYPE_CHECKING:
    from nki_migrate.runtime.legality import Violation

# Both namespaces: Beta 1's neuronxcc.nki is what Beta 2 does not have, Beta 2's nki and nkilib are what is checked.
WORD = b"nki"

_LANGUAGE = tuple(f"{root}.{module}." for root in ("nki", "neuronxcc.nki") for module in ("language", "isa"))
_HOST_CALLS = frozenset({"neuronxcc.nki.language.static_cast"})  # also converts NumPy arrays in tests


def check_reports(files: Iterable[Found], target: str = DEFAULT.name, options: Options | None = None) -> list[Report]:
    """A report for each file; what is not legal in NKI ``target`` is a finding that only a person can resolve.

    ``target`` is a version or a range (``0.3..0.6``): a finding that not all of its versions have says which do.
    ``options`` are those of the run that other languages read.
    """
    files = list(files)
    progress = Files("check")
    progress.begin({file.path: 1 for file in files})
    reports = []
    for file in files:
        try:
            report = in_cells(with_ignores(_checked(file, target, options), check_knows), file)
        except InputError:
            raise
        except Exception as error:  # a defect of ours costs one file, not the run
            report = internal_error(file.path, b"", error)
        reports.append(report)
        progress.ended(reports[-1])
    progress.end()
    return reports


def _checked(file: Found, target: str, options: Options | None) -> Report:
    whole = contents(file, b"")
    language = language_of(whole) if isinstance(whole, bytes) else "nki"
    if language != "nki":
        from .language_reports import checked

        goal = languages.for_project(language, file.path, options or Options()).target
        return checked(language, file, goal, options)
    data = contents(file, WORD)
    return data if isinstance(data, Report) else check_report(file.path, data, target)


def check_report(path: str, data: bytes, target: str = DEFAULT.name) -> Report:
    """What is not legal in one file's bytes, in a version or in any of a range."""
    from nki_migrate.codemods.driver.backlog import backlog, may_have_backlog
    from nki_migrate.codemods.emit.marks import marked
    from nki_migrate.runtime.legality import check_tree

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text, tree = parsed(data)
            helpers, is_left = _helpers(tree), may_have_backlog(text.text)
            violations = {at: check_tree(tree, target=at, also=helpers) for at in versions_of(target)}
            left = {at: backlog(text.text, tree, at) if is_left else [] for at in violations}
            marks = set(marked(text.text, tree))
    except FileError as error:
        return Report(path, "failed", str(error), before=data, after=data)
    found = {at: _findings(violations[at], left[at], marks) for at in violations}
    return Report(path, "unchanged", None, tuple(sorted(_together(found))), before=data, after=data)


def _findings(violations: Iterable[Violation], left: list[Finding], marks: set[Finding]) -> list[Finding]:
    """What one version refuses, and what an earlier rewrite has left on other lines."""
    findings = [
        Finding(violation.line, violation.column, violation.code, "manual", violation.message, violation.help)
        for violation in violations
    ]
    illegal = {finding.line for finding in findings}
    return findings + [finding for finding in left if finding in marks or finding.line not in illegal]


def _together(found: Mapping[Version, list[Finding]]) -> Iterator[Finding]:
    """The findings of several versions, each once; one that not all have says which do: there the versions part."""
    for finding in dict.fromkeys(item for findings in found.values() for item in findings):
        having = [at for at, findings in found.items() if finding in findings]
        times = max(findings.count(finding) for findings in found.values())
        message = finding.message if len(having) == len(found) else f"NKI {shown(having)}: {finding.message}"
        yield from itertools.repeat(replace(finding, message=message), times)


def _helpers(tree: ast.Module) -> list[str]:
    """Functions that compute with NKI: kernel code, even if all kernels that call them are in other files."""
    from nki_migrate.runtime.legality.names import module_of

    module = module_of(tree)
    helpers = []
    for name, node in module.definitions.items():
        if not isinstance(node, ast.ClassDef):
            local = module.local_names(node)
            calls = (item.func for item in module.own_nodes(node) if isinstance(item, ast.Call))
            called = {module.qualified(call, local) or "" for call in calls} - _HOST_CALLS
            if any(callee.startswith(_LANGUAGE) for callee in called):
                helpers.append(name)
    return helpers
