"""An assessment as text, CSV, JSON and HTML."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping

from ..assessment import PROOFS, STATES, Assessment, File, Kernel
from ..output import place_in, plural, shown
from .markup import element, escaped
from .page import document

_PROVED = {
    "case": "has a case",
    "suggest": "cases suggest would try",
    "none": "nothing tells its arguments: record or write a case",
}
_COLUMNS = ("path", "line", "kernel", "state", "findings", "left", "assumptions", "cases", "proof", "codes")


def rendered(found: Assessment, output_format: str) -> str:
    """The assessment as ``text``, ``csv``, ``json`` or ``html``."""
    return {"text": _text, "csv": _csv, "json": _json, "html": _html}[output_format](found)


def summary(found: Assessment) -> str:
    """One line with the counts."""
    kernels = sum(len(file.kernels) for file in found.files)
    states = ", ".join(f"{found.states.get(state, 0)} {state}" for state in STATES)
    proofs = found.proofs
    proved = (
        f"{proofs.get('case', 0)} with cases, {proofs.get('suggest', 0)} that cases suggest would try, "
        f"{proofs.get('none', 0)} with neither"
    )
    elsewhere = sum(len(file.elsewhere) for file in found.files)
    rest = f"; {plural(elsewhere, 'finding')} outside of kernels" if elsewhere else ""
    ignored = sum(len(file.report.ignored) for file in found.files)
    rest += f"; {ignored} ignored" if ignored else ""
    return f"{plural(kernels, 'kernel')} in {plural(found.total, 'file')}: {states}; {proved}{rest}"


def _text(found: Assessment) -> str:
    lines = [line for file in found.files for line in _file_lines(file)]
    rules = [f"rules that rewrite: {_counted(found.applied)}"] if found.applied else []
    return "\n".join([*lines, *rules, summary(found)])


def _file_lines(file: File) -> Iterator[str]:
    yield shown(file.path)
    if file.report.status == "failed":
        yield f"  failed: {file.report.reason}"
    for kernel in file.kernels:
        codes = f" ({_counted(kernel.codes)})" if kernel.codes else ""
        left = f", {plural(len(kernel.left), 'finding')} left with --unsafe" if kernel.left else ""
        yield f"  {file.report.shown_line(kernel.line)}: {kernel.name}: {kernel.state}{codes}{left}; {_proof(kernel)}"
    if file.elsewhere:
        yield f"  outside of kernels: {_counted(_codes(file))}"


def _proof(kernel: Kernel) -> str:
    return plural(kernel.cases, "case") if kernel.cases else _PROVED[kernel.proof]


def _codes(file: File) -> dict[str, int]:
    codes = [found.code for found in file.elsewhere]
    return {code: codes.count(code) for code in codes}


def _counted(codes: Mapping[str, int]) -> str:
    return ", ".join(f"{code} {count}" for code, count in sorted(codes.items()))


def _row(file: File, kernel: Kernel) -> tuple[str | int, ...]:
    counts = len(kernel.findings), len(kernel.left), kernel.assumptions, kernel.cases
    line = file.report.shown_line(kernel.line)
    return (shown(file.path), line, kernel.name, kernel.state, *counts, kernel.proof, _counted(kernel.codes))


def _csv(found: Assessment) -> str:
    """A line for each kernel, and one without a kernel for a file that has something to do outside of kernels."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_COLUMNS)
    for file in found.files:
        table.writerows(_row(file, kernel) for kernel in file.kernels)
        if file.elsewhere or (file.report.status == "failed" and not file.kernels):
            state = "failed" if file.report.status == "failed" else ""
            table.writerow(
                (shown(file.path), "", "", state, len(file.elsewhere), "", "", "", "", _counted(_codes(file)))
            )
    return text.getvalue().rstrip("\n")


def _json(found: Assessment) -> str:
    files = [
        {
            "path": shown(file.path),
            "status": file.report.status,
            "reason": file.report.reason,
            "applied": dict(sorted(file.report.applied.items())),
            "kernels": [_of_kernel(file, kernel) for kernel in file.kernels],
            "elsewhere": dict(sorted(_codes(file).items())),
        }
        for file in found.files
    ]
    counts = {
        "files": found.total,
        "kernels": sum(len(file.kernels) for file in found.files),
        "states": {state: found.states.get(state, 0) for state in STATES},
        "ignored": sum(len(file.report.ignored) for file in found.files),
        "proofs": {proof: found.proofs.get(proof, 0) for proof in PROOFS},
        "applied": dict(sorted(found.applied.items())),
    }
    return json.dumps({"files": files, "summary": counts}, indent=2)


def _of_kernel(file: File, kernel: Kernel) -> dict[str, object]:
    left = set(kernel.left)
    findings = [
        {
            "path": shown(path),
            "line": each.line,
            "code": each.code,
            "applicability": each.applicability,
            "message": each.message,
        }
        for path, each in kernel.findings
    ]
    return {
        "name": kernel.name,
        **place_in(file.report, kernel.line),
        "state": kernel.state,
        "findings": findings,
        "left": len(left),
        "assumptions": kernel.assumptions,
        "cases": kernel.cases,
        "proof": kernel.proof,
    }


_TONES = {"done": "unchanged", "safe": "equal", "review": "undecided", "manual": "different", "failed": "failed"}


def _html(found: Assessment) -> str:
    head = element("tr", *(element("th", escaped(name)) for name in _COLUMNS[1:]))
    rows = [markup for file in found.files for markup in _html_rows(file)]
    table = element("table", element("thead", head), element("tbody", *rows), class_="overview")
    body = (
        element("header", element("h1", "nki-migrate assess"), element("p", escaped(summary(found)))),
        element("section", element("div", table, class_="scroll")),
        element("p", escaped(f"Rules that rewrite: {_counted(found.applied) or 'none'}"), class_="note"),
    )
    return document("nki-migrate assess", *body)


def _html_rows(file: File) -> Iterator[str]:
    why = f": {file.report.reason}" if file.report.status == "failed" else ""
    outside = f" (outside of kernels: {_counted(_codes(file))})" if file.elsewhere else ""
    title = element("td", escaped(f"{shown(file.path)}{why}{outside}"), colspan=len(_COLUMNS) - 1)
    yield element("tr", title, class_="path")
    for kernel in file.kernels:
        cells = [element("td", escaped(cell)) for cell in _row(file, kernel)[1:]]
        badge = element("span", escaped(kernel.state), class_=f"badge {_TONES[kernel.state]}")
        cells[2] = element("td", badge)
        yield element("tr", *cells, class_="case")
