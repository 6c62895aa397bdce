"""Results as JUnit XML: one test case for each kernel and case of ``verify``, and for each file of the others.

*Different* is a ``failure``; *undecided* and *error* are an ``error``, never ``skipped``: nobody looks at those.
Source: the common dialect, https://github.com/testmoapp/junitxml.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ..output import assumption_lines, finding_lines, shown
from ..reports import NOTEBOOK
from .annotations import source_path, titled
from .markup import valid

if TYPE_CHECKING:
    from ..reports import Report
    from ..verdicts import CaseResult, Proof

Element = ElementTree.Element


def of_proof(proof: Proof) -> str:
    """One suite for each pair of files, one test case for each kernel and case; notes have a suite without cases."""
    suites = []
    for pair, results in groupby(proof.results, key=lambda result: (result.before, result.after)):
        name = " -> ".join(shown(source_path(path)) for path in pair if path)
        suites.append(_suite(name, [_of_result(result) for result in results]))
    if proof.notes:
        notes = Element("testsuite", {"name": "notes", **_counts([])})
        ElementTree.SubElement(notes, "system-out").text = valid("\n".join(proof.notes))
        suites.append(notes)
    return _document("nki-migrate verify", suites)


def _of_result(result: CaseResult) -> Element:
    from ..verdicts import result_text

    name = titled(result)
    case = _case(result.before, name, result.seconds)
    verdict = result.verdict
    if verdict != "equal":
        kind = "failure" if verdict == "different" else "error"
        reasons = [f"{level.level} {level.verdict.value}: {level.summary}" for level in result.levels]
        reasons = [problem.message for problem in result.problems] or [r for r in reasons if " equal: " not in r]
        case.append(_outcome(kind, verdict.value, "; ".join(reasons) or verdict.value, result_text(result)))
    return case


def of_reports(command: str, reports: list[Report], *, changes_are_done: bool) -> str:
    """One suite, one test case for each file; a file that does not concern the command is a skipped one."""
    cases = [_of_report(report, changes_are_done) for report in reports]
    return _document(f"nki-migrate {command}", [_suite(f"nki-migrate {command}", cases)])


def _of_report(report: Report, changes_are_done: bool) -> Element:
    case = _case(report.path, shown(source_path(report.path)))
    lines = list(finding_lines(report))
    notes = list(assumption_lines(report))
    if report.status == "changed" and not changes_are_done:
        rules = ", ".join(f"{code} ({count})" for code, count in sorted(report.applied.items()))
        lines.insert(0, f"would change: {rules}" if rules else "would change")
    if report.status == "failed":
        reason = report.reason or "failed"
        case.append(_outcome("error", "failed", reason, "\n".join([reason, *lines])))
    elif report.reason == NOTEBOOK:
        case.append(_outcome("failure", "left", report.reason, report.reason))
    elif lines:
        case.append(_outcome("failure", "left", lines[0], "\n".join(lines)))
    elif report.status == "skipped":
        ElementTree.SubElement(case, "skipped", message=valid(report.reason or ""))
    if notes:
        ElementTree.SubElement(case, "system-out").text = valid("\n".join(notes))
    return case


def _case(path: str, name: str, seconds: float = 0.0) -> Element:
    known = valid(shown(source_path(path)))
    classname = known.removesuffix(".py").replace("/", ".")
    return Element("testcase", classname=classname, name=valid(name), file=known, time=f"{seconds:.3f}")


def _outcome(kind: str, type_: str, message: str, text: str) -> Element:
    element = Element(kind, type=type_, message=valid(message))
    element.text = valid(text)
    return element


def _suite(name: str, cases: Iterable[Element]) -> Element:
    suite = Element("testsuite", name=valid(name))
    suite.extend(cases)
    suite.attrib.update(_counts([suite]))
    return suite


def _document(name: str, suites: list[Element]) -> str:
    root = Element("testsuites", {"name": name, **_counts(suites)})
    root.extend(suites)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _counts(suites: list[Element]) -> dict[str, str]:
    def number(tag: str) -> str:
        return str(sum(1 for suite in suites for _ in suite.iter(tag)))

    seconds = sum(_seconds(suites))
    counts = {plural: number(tag) for tag, plural in _COUNTED.items()}
    return {**counts, "time": f"{seconds:.3f}"}


_COUNTED = {"testcase": "tests", "failure": "failures", "error": "errors", "skipped": "skipped"}


def _seconds(suites: list[Element]) -> Iterator[float]:
    for suite in suites:
        for case in suite.iter("testcase"):
            yield float(case.get("time", "0"))
