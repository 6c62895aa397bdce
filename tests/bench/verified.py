"""The public Beta 1 kernels of checkouts, migrated, and the old against the new on the emulator.

    python tests/bench/verified.py CHECKOUT... [--only WORD] [--seconds N] [--slow] [--json FILE] [--keep DIR] [-v]
                                         [--allocation sbuf-manager] [--blocks fold|loop|list]

CHECKOUT is aws-neuron/nki-samples, or ``nki/examples`` of aws-neuron-sdk at v2.26.1. The launches are those of
``beta1_kernels.py``, recorded as ``nki-migrate record`` does; a copy of each checkout is rewritten as a whole (with
``--unsafe``: what is under review is to be proved, too) and compared as ``nki-migrate verify`` does. A line for each
case of ``beta1_cases``: the verdicts on layout, operands and numbers, the number of instructions, what differs and what
was declared; or why the new kernel does not run, with the findings in the functions that it ran. ``-v`` shows the whole
proof of what is not equal, ``--keep`` leaves copies, cases and rewritten files in DIR. 1 if a number differs that no
division explains which a rule declares.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from absent import packages_in
from beta1_kernels import UNDER, cases_of, functions_of, loaded, note_calls
from launchers import Launchers, beside
from nki_migrate.codemods import Options
from nki_migrate.codemods.model import Finding
from nki_migrate.configuration import ALLOCATIONS, BLOCKS
from nki_migrate.discover import found_files
from nki_migrate.errors import InputError
from nki_migrate.judging import Limits, Pair
from nki_migrate.planning import Choice
from nki_migrate.record import Refused, kept
from nki_migrate.reports import Report
from nki_migrate.rewriting import rewrite_reports
from nki_migrate.runtime.compare import LEVELS, Verdict, worst
from nki_migrate.runtime.recording import DIRECTORY, KEEP_DATA
from nki_migrate.sides import Side
from nki_migrate.verdicts import CaseResult, result_text
from nki_migrate.verify import Settings, evidence
from nki_migrate.verify_migrated import rewritten_side
from real_kernels import _in_a_process


def main(argv: list[str]) -> int:
    """Record under ``nki-migrate emulate``, rewrite, verify; print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, nargs="+", metavar="CHECKOUT")
    parser.add_argument(
        "--only", default="", help="cases with this word in their file or kernel, and the files that run"
    )
    parser.add_argument("--slow", action="store_true", help="also the cases that take minutes")
    parser.add_argument("--seconds", type=int, default=300, help="time limit of one run of a kernel")
    parser.add_argument("--json", type=Path, help="write all rows to this file")
    parser.add_argument("--keep", type=Path, help="leave copies and cases in this directory")
    parser.add_argument("--allocation", choices=ALLOCATIONS, default="address", help="as for rewrite")
    parser.add_argument("--blocks", choices=BLOCKS, default="auto", help="as for rewrite")
    parser.add_argument("-v", "--verbose", action="store_true", help="the whole proof of what is not equal")
    options = parser.parse_args(argv)
    if UNDER not in os.environ:
        command = [sys.executable, "-m", "nki_migrate", "emulate", "--", sys.executable, __file__, *argv]
        return subprocess.run(command, env={**os.environ, UNDER: "1"}, check=False).returncode
    with contextlib.ExitStack() as stack:
        scratch = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="verified-")))
        rows = list(_rows(scratch.resolve(), options))
    print(_totals(rows))
    if options.json:
        options.json.write_text(json.dumps([row.as_json() for row in rows], indent=2))
    return int(any(row.verdict == "NUMBERS" for row in rows))


@dataclass
class Row:
    """One case: where it was recorded and what ran there, its launches, and what became of them."""

    file: str
    kernels: tuple[str, ...]
    why: str = ""
    ran: set[tuple[str, str]] = field(default_factory=set)
    launches: list[dict[str, Any]] = field(default_factory=list)
    results: list[CaseResult] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The worst verdict of each level over all launches; empty where nothing was compared."""
        if self.why or any(len(result.levels) < len(LEVELS) or result.problems for result in self.results):
            return {}
        return {
            level.level: worst([r.levels[i].verdict for r in self.results])
            for i, level in enumerate(self.results[0].levels)
        }

    @property
    def ulps(self) -> int:
        return max((result.ulps for result in self.results), default=0)

    @property
    def declared(self) -> bool:
        """Does a rule declare that it divides otherwise? Nothing bounds what a kernel computes from a quotient."""
        notes = (note for r in self.results for level in r.levels if level.level == "operands" for note in level.notes)
        return any("a reciprocal and a multiplication" in note for note in notes)

    @property
    def pinned(self) -> int:
        """How many tiles of the old kernel have an address."""
        return sum(tile.pinned for result in self.results for tile in result.tiles[0])

    @property
    def verdict(self) -> str:
        """One word for the table."""
        found = self.verdicts
        if not found:
            return "not run"
        if found["numbers"] is not Verdict.EQUAL:
            return "inexact" if found["operands"] is Verdict.EQUAL and self.declared else "NUMBERS"
        if self.pinned and set(found.values()) != {Verdict.EQUAL}:
            return "PLACES"
        return "equal" if set(found.values()) == {Verdict.EQUAL} else "numbers"

    def remarks(self) -> Iterator[str]:
        """What differs or was declared, or why nothing was compared."""
        if self.why:
            yield self.why
        for problem in dict.fromkeys(problem for result in self.results for problem in result.problems):
            place = f" ({Path(problem.file).name}:{problem.line})" if problem.line else ""
            yield f"{problem.side}: {problem.message}{place}"
        for level in (level for result in self.results for level in result.levels if self.verdicts):
            if level.verdict is not Verdict.EQUAL:
                yield f"{level.level}: {level.differences[0].message if level.differences else level.summary}"
            elif level.level != "layout":
                yield from level.notes
        if not self.verdicts and self.left:
            yield "left by hand: " + "; ".join(self.left)

    def line(self) -> str:
        remarks = "".join(f"\n{'':18}{text}" for text in dict.fromkeys(self.remarks()))
        verdicts = "/".join(verdict.value for verdict in self.verdicts.values()) or "-"
        counted = [_instructions(result) for result in self.results]
        facts = f"{verdicts}; {len(self.results)} launches, {self.pinned} tiles pinned, {counted} instructions"
        within = f" within {self.ulps} ULP" if self.ulps else ""
        return (
            f"{self.verdict:8}{self.seconds:6.1f} s  {self.file}::{', '.join(self.kernels)}  {facts}{within}{remarks}"
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "kernels": self.kernels,
            "verdict": self.verdict,
            "levels": {level: verdict.value for level, verdict in self.verdicts.items()},
            "launches": len(self.launches),
            "instructions": [_instructions(result) for result in self.results],
            "pinned": self.pinned,
            "ulps": self.ulps,
            "remarks": list(dict.fromkeys(self.remarks())),
            "seconds": round(self.seconds, 1),
        }


def _instructions(result: CaseResult) -> int | None:
    """How many instructions are the same, if all are."""
    found = [re.match(r"(\d+) instruction", level.summary) for level in result.levels if level.level == "operands"]
    return int(found[0][1]) if found and found[0] else None


def _rows(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    """The rows of all checkouts, each printed as soon as it is known."""
    (scratch / "absent").mkdir(parents=True)
    packages_in(scratch / "absent")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(scratch / "absent"), os.environ.get("PYTHONPATH", "")])
    for number, checkout in enumerate(options.checkouts):
        copy = scratch / str(number) / checkout.resolve().name
        _copy(checkout, copy)
        print(f"# {checkout}", flush=True)
        rows = list(_recorded(copy, scratch / str(number), options))
        launchers = Launchers()
        for row in rows:
            row.launches = [launchers.launched(launch) for launch in row.launches]
        launchers.write()
        start = time.monotonic()
        chosen = [str(copy)] if not options.only else sorted({p for row in rows for p in _files(row, copy)})
        chosen_options = Options(unsafe=True, allocation=options.allocation, blocks=options.blocks)
        reports = rewrite_reports(found_files(chosen), chosen_options, jobs=2)
        print(f"# rewritten in {time.monotonic() - start:.0f} s", flush=True)
        if options.keep:
            _write(reports, copy, scratch / str(number) / "rewritten")
        side = rewritten_side(reports)
        for index, row in enumerate(rows):
            if not row.why:
                _verify(row, scratch / str(number) / f"{index}.toml", side, options)
                row.left = list(_left(row, copy, reports))
            print(row.line(), flush=True)
            if options.verbose and row.verdict not in ("equal", "slow"):
                print("\n".join(result_text(result) for result in row.results), flush=True)
            yield row


def _files(row: Row, copy: Path) -> Iterator[str]:
    """The files that a case ran, and those of its launches."""
    yield from (str(copy) + file for file, _ in row.ran)
    yield from (launch["file"] for launch in row.launches)


def _copy(checkout: Path, copy: Path) -> None:
    """The checkout as its kernels run, with our kernels around the parts of larger ones."""
    from beta1_cases import mended
    from beta1_cases.wrappers import LAUNCHED

    shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns(".git", "__pycache__"))
    for path in sorted(copy.rglob("*.py")):
        text = mended(path)
        if text != path.read_text():
            path.write_text(text)
        ours = LAUNCHED / beside(path).name
        if ours.exists():
            shutil.copyfile(ours, beside(path))


def _write(reports: Sequence[Report], copy: Path, target: Path) -> None:
    """The rewritten checkout."""
    shutil.copytree(copy, target)
    for report in reports:
        (target / Path(report.path).relative_to(copy)).write_bytes(report.after)


# --- the launches ----------------------------------------------------------------------------------------------------


def _recorded(copy: Path, scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    """A row for each case, with the launches that it made."""
    from beta1_cases import contributed, flash, moe, paged, team, tutorials  # noqa: F401  (they register their cases)

    for file in sorted({file for file, _, _ in functions_of(copy)}):
        for case in cases_of(file, options.only):
            row = Row(file, case.kernels)
            if case.slow and not options.slow:
                row.why = "takes minutes: --slow"
            else:
                data = Path(tempfile.mkdtemp(prefix=f"{Path(file).stem}-", dir=scratch))
                found = _in_a_process(lambda c=case, f=file, d=data: _ran(copy, f, c, d), options.seconds)
                row.ran = found.get("ran", set())
                row.launches = [json.loads(path.read_text()) for path in sorted(data.glob("*.json"))]
                for launch in row.launches:
                    launch["data"] = str(data)
                if "ran" not in found or not row.launches:
                    row.why = f"before: {found.get('error') or found['verdict'] or 'nothing was launched'}"
            yield row


def _ran(copy: Path, file: str, case: Any, data: Path) -> dict[str, Any]:
    """Run a case, its launches recorded in ``data``: what ran."""
    os.environ |= {DIRECTORY: str(data), KEEP_DATA: "1"}
    ran: set[tuple[str, str]] = set()
    module = loaded(copy, file)
    note_calls(str(copy), ran)
    try:
        with contextlib.redirect_stdout(None):
            list(case.run(module))
    finally:
        note_calls(None, set())
    return {"verdict": "", "ran": ran}


# --- before and after ------------------------------------------------------------------------------------------------


def _verify(row: Row, path: Path, side: Side, options: argparse.Namespace) -> None:
    """Compare all launches of a row; ``path`` is where its cases are written."""
    start = time.monotonic()
    cases, refused = kept(row.launches, Path(row.launches[0]["data"]), path)
    row.why = "; ".join(f"launch: {item.reason}" for item in sorted(refused, key=_reason))
    pairs = [Pair(file, file, new=side) for file in dict.fromkeys(case.source for case in cases)]
    choice = Choice(str(path), frozenset(case.kernel for case in cases), "beta2")
    settings = Settings(choice=choice, limits=Limits(float(options.seconds)), jobs=2)
    try:
        row.results = evidence(pairs, settings, row.file).results if cases else []
    except InputError as error:
        row.why = str(error)
    row.seconds = time.monotonic() - start


def _reason(item: Refused) -> tuple[str, str]:
    return item.kernel, item.reason


def _left(row: Row, copy: Path, reports: Iterable[Report]) -> Iterator[str]:
    """The manual findings in the functions that the case ran, and the files that could not be rewritten."""
    files = {file for file, _ in row.ran} | {str(beside(Path(file))) for file, _ in row.ran}
    for report in reports:
        file = "/" + str(Path(report.path).relative_to(copy))
        if file not in files:
            continue
        if report.status == "failed":
            yield f"{Path(file).name}: {report.reason}"
        functions = {name for other, name in row.ran if other == file}
        for finding in _manual(report):
            if _function_at(report, finding.line) in functions | {""}:
                yield f"{finding.code} {Path(file).name}:{finding.line} {finding.message}"


def _manual(report: Report) -> list[Finding]:
    """The findings that are a person's to mend, without those that go when another one does."""
    manual = (finding for finding in report.findings if finding.applicability == "manual")
    return [finding for finding in manual if not finding.follows]


def _function_at(report: Report, line: int) -> str:
    """The innermost function with ``line`` of the old file; empty outside of all."""
    import ast

    found = [
        node
        for node in ast.walk(ast.parse(report.before))
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or line)
    ]
    return max(found, key=lambda node: node.lineno).name if found else ""


def _totals(rows: Sequence[Row]) -> str:
    counted = Counter(row.verdict for row in rows)
    told = {
        "equal": "equal in layout, operands and numbers",
        "numbers": "equal in numbers, not in operands or layout, with no address pinned",
        "PLACES": "equal in numbers, not at the addresses that they pin",
        "inexact": "different in numbers computed from a division that a rule declares inexact",
        "NUMBERS": "different in numbers",
        "not run": "not compared",
    }
    launches = sum(len(row.results) for row in rows if row.verdicts)
    return f"{len(rows)} cases, {launches} launches compared: " + "; ".join(
        f"{counted[v]} {t}" for v, t in told.items()
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
