"""Which kernels of a tree get a case out of the box, and which are proved with it after their migration.

    python tests/bench/cases.py TREE... [--only WORD] [--seconds N] [--json FILE]

For each file of TREE that has kernels of Beta 1: ``nki-migrate cases suggest``, with at most ``--seconds``; the whole
tree rewritten with ``--unsafe``; and those cases run in both versions, as ``verify --migrate --unsafe`` does. A line
for each kernel: *proved*, *different*, *undecided*, *error*, or *no case*, with the reason, or *helper*: it seems to
take tiles of other kernels, so that no launch is a case. Then counts of kernels and of files. Nothing of TREE is
changed or kept.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nki_migrate.case_text import case_toml
from nki_migrate.codemods import Options
from nki_migrate.discover import found_files
from nki_migrate.errors import InputError
from nki_migrate.judging import Limits, Pair
from nki_migrate.planning import Choice
from nki_migrate.rewriting import rewrite_reports
from nki_migrate.runtime.cells import SUFFIX, source
from nki_migrate.runtime.compare import Verdict, worst
from nki_migrate.runtime.messages import Kernels, Request
from nki_migrate.runtime.pool import Pool, pool
from nki_migrate.runtime.spec.versions import DEFAULT
from nki_migrate.sides import Side
from nki_migrate.suggest import HELPS, TAKES_TILES, Budget, Suggestion, suggestions
from nki_migrate.suggest_factories import factories, made_elsewhere
from nki_migrate.verdicts import CaseResult
from nki_migrate.verify import Settings, evidence
from nki_migrate.verify_migrated import rewritten_side

_MARKER = b"neuronxcc"
_LIMITS = Limits(60.0, 8 << 30)
_WORDS = {
    Verdict.EQUAL: "proved",
    Verdict.DIFFERENT: "different",
    Verdict.UNDECIDED: "undecided",
    Verdict.ERROR: "error",
}


@dataclass(frozen=True)
class Row:
    """A kernel: its file from the tree, the outcome, how many cases and proposals, why it is not proved."""

    file: str
    kernel: str
    outcome: str
    cases: int
    tried: int
    reason: str = ""

    def line(self) -> str:
        counted = f"{self.cases} of {self.tried}"
        return f"{self.outcome:10}{counted:>10}  {self.file}::{self.kernel}  {self.reason[:300]}".rstrip()


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", type=Path, nargs="+", metavar="TREE")
    parser.add_argument("--only", default="", help="files with this word in their path")
    parser.add_argument("--seconds", type=float, default=20.0, help="for the suggestions of one file")
    parser.add_argument("--json", type=Path, help="write all rows to this file")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    rows: list[Row] = []
    for tree in options.trees:
        print(f"# {tree}", flush=True)
        for row in _rows(tree.resolve(), options):
            rows.append(row)
            print(row.line(), flush=True)
    print(_summary(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


def _rows(tree: Path, options: argparse.Namespace) -> Iterator[Row]:
    named = (p for p in tree.rglob("*") if p.suffix in (".py", SUFFIX) and p.is_file())
    files = sorted(p for p in named if options.only in str(p) and _MARKER in p.read_bytes())
    side: Side | None = None
    with pool(options.jobs) as workers:
        for file in files:
            name = str(file.relative_to(tree.parent))
            yield from _inner(name, file)
            if not _has_kernels(workers, file):
                continue
            started = time.monotonic()
            try:
                found = list(suggestions(workers, str(file), (), Budget(options.seconds, _LIMITS)))
            except InputError as error:
                yield Row(name, "", "error", 0, 0, str(error))
                continue
            side = side or rewritten_side(
                rewrite_reports(found_files([str(tree)]), Options(unsafe=True), jobs=2), DEFAULT.name
            )
            suggested = time.monotonic()
            yield from _judged(name, file, found, side, options)
            print(f"# {suggested - started:.0f} s, verified in {time.monotonic() - suggested:.0f} s", flush=True)


def _inner(name: str, file: Path) -> Iterator[Row]:
    """The kernels that functions of a file make: they are counted, and have no case."""
    try:
        tree = ast.parse(source(str(file), file.read_bytes()))
    except SyntaxError:
        return
    for kernel, reason in made_elsewhere(tree).items():
        yield Row(name, kernel, "no case", 0, 0, reason)


def _has_kernels(workers: Pool, file: Path) -> bool:
    """Does the file define kernels of Beta 1, or fail to load and look as if it did?"""
    reply = workers.submit(Request("kernels", str(file), seconds=60)).result()
    try:
        tree = ast.parse(source(str(file), file.read_bytes()))
    except SyntaxError:
        return False
    if isinstance(reply, Kernels):
        own = any(kernel.dialect == "beta1" and not kernel.sub_kernel for kernel in reply.kernels)
        return own or bool(factories(tree))
    statements = tree.body
    decorators = [ast.unparse(d) for s in statements if isinstance(s, ast.FunctionDef) for d in s.decorator_list]
    return any(re.match(r"(\w+\.)?nki[._](jit|trace|baremetal|benchmark)", text) for text in decorators)


def _judged(
    name: str, file: Path, found: Sequence[Suggestion], side: Side, options: argparse.Namespace
) -> Iterator[Row]:
    """A row for each kernel of a file, verified by the cases that were found."""
    results: dict[str, list[CaseResult]] = {}
    problem = ""
    with tempfile.TemporaryDirectory(prefix="cases-") as directory:
        path = Path(directory) / "cases.toml"
        path.write_text("\n".join(case_toml(case, path.parent) for each in found for case in each.cases))
        settings = Settings(choice=Choice(str(path), frozenset(), "beta2"), limits=_LIMITS, jobs=options.jobs)
        try:
            if any(each.cases for each in found):
                for result in evidence([Pair(str(file), str(file), new=side)], settings, name).results:
                    results.setdefault(result.kernel, []).append(result)
        except InputError as error:
            problem = str(error)
    for each in found:
        own = results.get(each.kernel, [])
        if not each.cases:
            outcome = "helper" if TAKES_TILES in each.reason or HELPS in each.reason else "no case"
            yield Row(name, each.kernel, outcome, 0, each.tried, each.reason)
        elif not own:
            yield Row(name, each.kernel, "error", len(each.cases), each.tried, problem or "nothing was verified")
        else:
            verdict = worst([result.verdict for result in own])
            reason = "" if verdict is Verdict.EQUAL else "; ".join(dict.fromkeys(_remarks(own)))
            yield Row(name, each.kernel, _WORDS[verdict], len(each.cases), each.tried, reason)


def _remarks(results: Iterable[CaseResult]) -> Iterator[str]:
    for result in results:
        for problem in result.problems:
            place = f" ({Path(problem.file).name}:{problem.line})" if problem.line else ""
            yield f"{problem.side}: {problem.message}{place}"
        for level in result.levels:
            if level.verdict is not Verdict.EQUAL:
                yield f"{level.level}: {level.differences[0].message if level.differences else level.summary}"


def _summary(rows: Sequence[Row]) -> str:
    """Counts of kernels and of files by outcome; a file is what the worst of its kernels is."""
    order = ("helper", "proved", "different", "undecided", "error", "no case")
    kernels = Counter(row.outcome for row in rows)
    by_file: dict[str, str] = {}
    for row in rows:
        known = by_file.get(row.file, "helper")
        by_file[row.file] = max(known, row.outcome, key=order.index)
    files = Counter(by_file.values())
    lines = [f"{'':12}{'kernels':>8}{'files':>8}"]
    lines += [f"{word:12}{kernels[word]:8}{files[word]:8}" for word in order]
    lines.append(f"{'in all':12}{sum(kernels.values()):8}{sum(files.values()):8}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
