"""What ``nki-migrate rewrite`` does to the kernels below a folder, per file and per rule.

    python tests/bench/scoreboard.py DIR... [--unsafe] [--files] [--json FILE]

For each rule: sites that were rewritten, and sites that were left under a finding (*review*: ``--unsafe`` rewrites
them, *manual*). For each file that the tool looked into: does the result parse, is it legal Beta 2 (with ``--files``
also *left*: not legal, but only where a rule's finding stands), does a second rewrite change nothing, is no finding
left. A finding about an index vector that is kept only because another statement was left alone is counted apart: it
goes when that statement is rewritten.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from nki_migrate.codemods import Options, rewrite
from nki_migrate.discover import found_files
from nki_migrate.rewriting import rewrite_reports
from nki_migrate.runtime.legality import check_source

PRIVATE = ("_private", "neuronxcc.starfish", "_tiled_offloaded", "neuronxcc.nki.compiler.backends")
_DONE = ("changed", "unchanged")


@dataclass
class Row:
    """One file. ``rewritten``, ``review``, ``manual`` and ``consequences`` count sites by rule code."""

    path: str
    status: str
    private: bool
    parses: bool = True
    legal: bool = False
    only_left: bool = True
    """Does a rule's finding stand wherever the result is not legal? (Where none does, the checker's own stands.)"""
    stable: bool = True
    rewritten: dict[str, int] = field(default_factory=dict)
    review: Counter[str] = field(default_factory=Counter)
    manual: Counter[str] = field(default_factory=Counter)
    consequences: Counter[str] = field(default_factory=Counter)

    @property
    def complete(self) -> bool:
        """Is nothing left for a person?"""
        return self.status in _DONE and not self.review and not self.manual


def rows(folders: list[str], options: Options) -> list[Row]:
    """A row for each file that uses NKI Beta 1."""
    found = []
    for report in rewrite_reports(found_files(folders), options, jobs=2):
        if report.status == "skipped":
            continue
        before, after = report.before.decode("utf-8", "replace"), report.after.decode("utf-8", "replace")
        row = Row(report.path, report.status, any(word in before for word in PRIVATE))
        row.rewritten = dict(report.applied)
        for finding in report.findings:
            kind = row.review if finding.applicability == "review" else row.manual
            (row.consequences if finding.follows else kind)[finding.code] += 1
        try:
            ast.parse(after)
            row.legal = not list(check_source(after, target=options.target))
            row.only_left = not any(finding.code.startswith("NKL") for finding in report.findings)
            row.stable = rewrite(after, options, report.path).source == after or report.status != "changed"
        except SyntaxError:
            row.parses = False
        found.append(row)
    return found


def table(found: list[Row], *, files: bool) -> str:
    """The scoreboard as text."""
    lines = []
    if files:
        lines.append(f"{'left':>5} {'done':>5}  {'legal':5}  file")
        for row in sorted(found, key=lambda row: row.path):
            left = row.review.total() + row.manual.total()
            done = sum(row.rewritten.values())
            legal = "yes" if row.legal else "left" if row.only_left else "no"
            lines.append(f"{left:5} {done:5}  {legal:5}  {row.path}")
        lines.append("")
    lines.append(f"{'rule':8} {'rewritten':>9} {'review':>7} {'manual':>7} {'consequence':>11}")
    totals = [Counter[str]() for _ in range(4)]
    for row in found:
        for total, part in zip(totals, (row.rewritten, row.review, row.manual, row.consequences), strict=True):
            total.update(part)
    for code in sorted(set().union(*totals)):
        lines.append(f"{code:8} {totals[0][code]:9} {totals[1][code]:7} {totals[2][code]:7} {totals[3][code]:11}")
    done, review, manual, consequences = (total.total() for total in totals)
    lines.append(f"{'all':8} {done:9} {review:7} {manual:7} {consequences:11}")
    seen = done + review + manual
    lines.append(f"\n{seen} sites: {done / max(seen, 1):.1%} rewritten, {review / max(seen, 1):.1%} under review")
    for name, part in (("files", found), ("files without private APIs", [row for row in found if not row.private])):
        counts = ", ".join(
            f"{sum(check(row) for row in part)} {what}"
            for what, check in (
                ("parse", lambda row: row.parses),
                ("stable", lambda row: row.stable),
                ("legal", lambda row: row.legal),
                ("complete", lambda row: row.complete),
                ("without a manual finding", lambda row: row.status in _DONE and not row.manual),
                ("failed", lambda row: row.status == "failed"),
            )
        )
        lines.append(f"{len(part)} {name}: {counts}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="DIR")
    parser.add_argument("--unsafe", action="store_true", help="apply rewrites under review too")
    parser.add_argument("--files", action="store_true", help="a line for each file")
    parser.add_argument("--json", type=Path, help="write all rows to this file")
    asked = parser.parse_args()
    found = rows(asked.folders, Options(unsafe=asked.unsafe))
    print(table(found, files=asked.files))
    if asked.json:
        asked.json.write_text(json.dumps([vars(row) for row in found], indent=2))


if __name__ == "__main__":
    main()
