"""Reports on files of other languages than NKI: rewritten, or judged."""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nki_migrate.codemods.project.links import components

from .claims import dialect
from .discover import Found
from .errors import FileError
from .guard import general_objections
from .languages import for_project
from .reports import Report, contents, internal_error, parsed
from .text import Text, encoded

if TYPE_CHECKING:
    from nki_migrate.codemods.dialect import Dialect
    from nki_migrate.codemods.model import Options, Outcome


def rewritten(name: str, files: Sequence[Found], options: Options) -> list[Report]:
    """The reports on files of the language ``name``; those that import from each other are rewritten together."""
    language = dialect(name)
    datas = {file.path: contents(file, b"") for file in files}
    reports = {path: data for path, data in datas.items() if isinstance(data, Report)}
    texts: dict[str, Text] = {}
    trees: dict[str, ast.Module] = {}
    for path, data in datas.items():
        if isinstance(data, bytes):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    texts[path], trees[path] = parsed(data)
            except FileError as error:
                reports[path] = Report(path, "failed", str(error), before=data, after=data)
    for group in components(trees):
        asked: dict[Options, dict[str, Text]] = {}
        for path in group:
            asked.setdefault(for_project(name, path, options), {})[path] = texts[path]
        for given, together in asked.items():
            reports |= {report.path: report for report in _group(language, together, given)}
    befores = {path: data for path, data in datas.items() if isinstance(data, bytes)}
    return [_with_bytes(reports[file.path], befores.get(file.path)) for file in files]


def _with_bytes(report: Report, before: bytes | None) -> Report:
    if before is None or report.before:
        return report
    return replace(report, before=before, after=report.after or before)


def _group(language: Dialect, texts: Mapping[str, Text], options: Options) -> Iterator[Report]:
    began = time.perf_counter()
    try:
        outcomes = language.rewrite({path: text.text for path, text in texts.items()}, options)
    except Exception as error:  # a defect of ours costs one file, not the group and not the run
        if len(texts) > 1:
            for path, text in texts.items():
                yield from _group(language, {path: text}, options)
        else:
            yield from (internal_error(path, b"", error) for path in texts)
        return
    share = (time.perf_counter() - began) / len(texts)
    for path, text in texts.items():
        yield replace(_report(language, path, text, outcomes[path], options), seconds=share)


def _report(language: Dialect, path: str, text: Text, outcome: Outcome, options: Options) -> Report:
    findings = tuple(sorted(outcome.findings))
    if outcome.source == text.text:
        return Report(path, "unchanged", None, findings)

    def again(source: str, options: Options, filename: str) -> Outcome:
        return language.rewrite({filename: source}, options)[filename]

    against = [
        *general_objections(text.text, outcome, options, path, again),
        *language.objections(text.text, outcome, options),
    ]
    if against:
        more = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
        return Report(path, "failed", f"not rewritten: {against[0]}{more}", findings)
    after = encoded(outcome.source, text)
    rest = outcome.moves, outcome.inexact, outcome.decisions
    return Report(path, "changed", None, findings, outcome.applied, b"", after, *rest)


def checked(name: str, file: Found, version: str, options: Options | None = None) -> Report:
    """What is not legal in one file of the language ``name``."""
    data = contents(file, b"")
    if isinstance(data, Report):
        return data
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text, _tree = parsed(data)
    except FileError as error:
        return Report(file.path, "failed", str(error), before=data, after=data)
    findings = tuple(sorted(dialect(name).check(text.text, file.path, version, options)))
    return Report(file.path, "unchanged", None, findings, before=data, after=data)
