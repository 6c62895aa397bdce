"""What a migration would take: each kernel by what ``rewrite`` does with it, and whether anything can prove that.

The findings are those of ``rewrite``, without and with ``--unsafe``; a kernel has those of the functions and classes
that it names, in any of the files. Nothing is run, and nothing is changed.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nki_migrate.codemods.ladder.names import NAMING
from nki_migrate.codemods.project.kernel_code import BETA1, reach
from nki_migrate.codemods.syntax.nodes import first_line

from .errors import FileError
from .grouping import source_name
from .kernel_names import KernelNames
from .planning import CASES_NAME, cases_at
from .reports import Report, imports_beta1, parsed
from .suggest import has_proposals

if TYPE_CHECKING:
    from nki_migrate.codemods.model import Finding
    from nki_migrate.codemods.project.kernel_code import Definition

State = Literal["done", "safe", "review", "manual", "failed"]
STATES: tuple[State, ...] = ("done", "safe", "review", "manual", "failed")
"""Nothing to do; rewritten; rewritten with ``--unsafe``; something is left then, too; its file cannot be rewritten."""

Proof = Literal["case", "suggest", "none"]
PROOFS: tuple[Proof, ...] = ("case", "suggest", "none")
"""A case runs it; ``cases suggest`` would try to find one; neither, so that cases must be written or recorded."""


@dataclass(frozen=True)
class Kernel:
    """One kernel: ``findings`` are what ``rewrite`` leaves of it and what it names, ``left`` what ``--unsafe`` does.

    Both come with the paths of their files. ``cases`` counts those that run it; ``assumptions`` is how many the
    rewritten kernel makes.
    """

    name: str
    line: int
    state: State
    findings: tuple[tuple[str, Finding], ...]
    left: tuple[tuple[str, Finding], ...]
    assumptions: int
    cases: int
    proof: Proof

    @property
    def codes(self) -> Counter[str]:
        """How many findings each rule leaves."""
        return Counter(found.code for _, found in self.findings)


@dataclass(frozen=True)
class File:
    """One file with its kernels; ``elsewhere`` are the findings that no kernel of any file has."""

    path: str
    report: Report
    kernels: tuple[Kernel, ...] = ()
    elsewhere: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Assessment:
    """The files that have a kernel or something to do, or that failed; ``total`` counts all that were looked at."""

    files: tuple[File, ...]
    total: int
    states: Mapping[str, int] = field(default_factory=Counter)
    proofs: Mapping[str, int] = field(default_factory=Counter)
    applied: Mapping[str, int] = field(default_factory=Counter)


_Ranges = Sequence[tuple[str, range]]
"""Lines of files, by the name that codemods know them by."""


def assessment(reports: Sequence[Report], unsafe: Sequence[Report], cases: str | None) -> Assessment:
    """What the reports of ``rewrite``, without and with ``--unsafe``, say of each kernel.

    ``cases`` is a file of cases for all kernels; without it each has those beside it. Raises ``InputError`` for a file
    of cases that cannot be read.
    """
    trees = {source_name(report.path): tree for report in reports if (tree := _tree(report)) is not None}
    by_name = {source_name(report.path): (report, other) for report, other in zip(reports, unsafe, strict=True)}
    found: dict[str, list[Kernel]] = {}
    covered: dict[str, set[int]] = {}
    for (name, function), definitions in _reach(trees, by_name).items():
        ranges = [(path, _lines(definition)) for path, definition in definitions]
        for path, lines in ranges:
            covered.setdefault(path, set()).update(lines)
        found.setdefault(name, []).append(_kernel(function, name, ranges, by_name, trees[name], cases))
    files = tuple(
        File(report.path, report, tuple(sorted(found.get(name, ()), key=_line)), _elsewhere(report, covered.get(name)))
        for name, (report, _) in by_name.items()
        if name in found or report.findings or report.ignored or report.status in ("changed", "failed")
    )
    kernels = [kernel for file in files for kernel in file.kernels]
    applied: Counter[str] = Counter()
    for report in reports:
        applied.update(report.applied)
    states, proofs = Counter(kernel.state for kernel in kernels), Counter(kernel.proof for kernel in kernels)
    return Assessment(files, len(reports), states, proofs, applied)


def _line(kernel: Kernel) -> int:
    return kernel.line


def _tree(report: Report) -> ast.Module | None:
    source = report.source
    if b"nki" not in source:
        return None
    try:
        return parsed(source)[1]
    except FileError:
        return None


def _reach(
    trees: Mapping[str, ast.Module], by_name: Mapping[str, tuple[Report, Report]]
) -> dict[tuple[str, ast.FunctionDef], frozenset[tuple[str, Definition]]]:
    """The kernels of Beta 1 in files that import it, those of later versions in the others."""
    old = {name for name in trees if imports_beta1(by_name[name][0].source)}
    later = {item: found for item, found in reach(trees, NAMING).items() if item[0] not in old}
    return {item: found for item, found in reach(trees, BETA1).items() if item[0] in old} | later


def _lines(definition: Definition) -> range:
    return range(first_line(definition), (definition.end_lineno or definition.lineno) + 1)


def _kernel(
    function: ast.FunctionDef,
    name: str,
    ranges: _Ranges,
    by_name: Mapping[str, tuple[Report, Report]],
    tree: ast.Module,
    cases: str | None,
) -> Kernel:
    safe = {path: by_name[path][0] for path, _ in ranges}
    findings = _findings(ranges, safe)
    left = _findings(ranges, {path: by_name[path][1] for path in safe})
    state: State
    if any(report.status == "failed" for report in safe.values()):
        state = "failed"
    elif findings:
        state = "manual" if left else "review"
    else:
        state = "safe" if any(report.status == "changed" for report in safe.values()) else "done"
    path = safe[name].path
    called = KernelNames(tree).name_of(function)
    count = len(_cases(path, called, cases))
    is_guessed = not count and has_proposals(Path(path), tree, called)
    proof: Proof = "case" if count else "suggest" if is_guessed else "none"
    assumed = sum(asserted.line in lines for path, lines in ranges for asserted in safe[path].asserted)
    return Kernel(function.name, function.lineno, state, findings, left, assumed, count, proof)


def _findings(ranges: _Ranges, reports: Mapping[str, Report]) -> tuple[tuple[str, Finding], ...]:
    found = {
        (reports[path].path, each) for path, lines in ranges for each in reports[path].findings if each.line in lines
    }
    return tuple(sorted(found))


def _elsewhere(report: Report, covered: Iterable[int] | None) -> tuple[Finding, ...]:
    lines = frozenset(covered or ())
    return tuple(found for found in report.findings if found.line not in lines)


def _cases(path: str, kernel: str, cases: str | None) -> Sequence[object]:
    beside = os.path.join(os.path.dirname(path), CASES_NAME)
    return cases_at(beside if cases is None else cases, may_be_missing=cases is None).of(kernel, path)
