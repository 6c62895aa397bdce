"""The public Beta 1 kernels of checkouts on the emulator, kernel by kernel, against NumPy.

    python tests/bench/beta1_kernels.py CHECKOUT... [--only WORD] [--slow] [--seconds N] [--no-hazards]

CHECKOUT is aws-neuron/nki-samples, or ``nki/examples`` of aws-neuron-sdk at v2.26.1. Every function at the top level
of a file that is a kernel, or that a kernel calls with tiles, gets a line: the case of ``beta1_cases`` that ran it and
what came out, the kernel that it was reached through, or why it did not run. Each case runs in a process of its own,
recorded, and the hazards of its runs are counted; ``--slow`` adds the cases that take minutes. torch and the like are
replaced by empty modules where they are not installed. 1 if a kernel disagrees or nothing says why it did not run.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from absent import missing, stand_in

UNDER = "NKI_MIGRATE_BETA1_KERNELS"
PRIVATE = ("neuronxcc.nki._private", "neuronxcc.nki.nccl", "neuronxcc.nki.language.iterators", "_tiled_offloaded")


def main(argv: list[str]) -> int:
    """Run the kernels under ``nki-migrate emulate``; print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, nargs="+", metavar="CHECKOUT")
    parser.add_argument("--only", default="", help="cases with this word in their file or kernel")
    parser.add_argument("--slow", action="store_true", help="also the cases that take minutes")
    parser.add_argument("--seconds", type=int, default=300, help="time limit of one case")
    parser.add_argument("--no-hazards", dest="hazards", action="store_false", help="neither record nor look for any")
    options = parser.parse_args(argv)
    if UNDER not in os.environ:
        command = [sys.executable, "-m", "nki_migrate", "emulate", "--", sys.executable, __file__, *argv]
        return subprocess.run(command, env={**os.environ, UNDER: "1"}, check=False).returncode
    failed = False
    for checkout in options.checkouts:
        failed |= not _all_said(checkout.resolve(), options)
    return 1 if failed else 0


@dataclass
class Row:
    """What became of one case: its comparisons, the functions of the checkout that ran, the hazards found."""

    verdict: str
    told: str = ""
    seconds: float = 0.0
    ran: set[tuple[str, str]] = field(default_factory=set)
    hazards: list[str] = field(default_factory=list)


def _all_said(checkout: Path, options: argparse.Namespace) -> bool:
    """Run the cases of ``checkout`` and print its table; is every kernel right, or is it said why it does not run?"""
    from beta1_cases import contributed, flash, moe, paged, team, tutorials  # noqa: F401  (they register their cases)

    functions = list(functions_of(checkout))
    reached: dict[tuple[str, str], str] = {}
    driven: dict[tuple[str, str], Row] = {}
    print(f"# {checkout}", flush=True)
    for file in sorted({file for file, _, _ in functions}):
        for case in cases_of(file, options.only):
            row = _run(checkout, file, case, options)
            for name in case.kernels:
                driven[file, name] = row
                reached.update({key: f"{file}::{name}" for key in row.ran if key not in reached})
            print(_line(row.verdict, row.seconds, f"{file}::{', '.join(case.kernels)}", row.told), flush=True)
    others = [(file, name, why) for file, name, why in functions if (file, name) not in driven]
    print("\n# functions without a case of their own")
    unsaid = [f"{file}::{name}" for file, name, why in others if not why and (file, name) not in reached]
    for file in sorted({file for file, _, _ in others}):
        through: dict[str, list[str]] = {}
        for name, why in ((name, why) for other, name, why in others if other == file):
            key = f"reached through {reached[file, name]}" if (file, name) in reached else why or "NO CASE"
            through.setdefault(key, []).append(name)
        for told, names in through.items():
            print(f"{file}: {', '.join(names)}\n{'':18}{told}")
    counts = Counter(row.verdict for row in driven.values())
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())), end="; ")
    print(f"{sum((f, n) in reached for f, n, _ in others)} reached through them, {len(unsaid)} unaccounted for\n")
    return set(counts) <= {"agrees", "slow"} and not unsaid


def _line(verdict: str, seconds: float, name: str, told: str) -> str:
    return f"{verdict:8}{f'{seconds:.1f} s' if seconds else '':>8}  {name}  {told}"


# --- the functions of a checkout -------------------------------------------------------------------------------------


def functions_of(checkout: Path) -> Iterator[tuple[str, str, str]]:
    """(file, name, private API that it needs) of the functions at top level that use NKI."""
    for path in sorted(checkout.rglob("*.py")):
        text = path.read_text()
        file = "/" + str(path.relative_to(checkout))
        if "neuronxcc" not in text or file.startswith("/test/"):
            continue
        tree = ast.parse(text)
        private = _private_names(tree)
        defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for name, node in defined.items():
            if _uses_nki(node):
                yield file, name, _why_not(file, name) or _needs(node, private, defined, set())


def _why_not(file: str, name: str) -> str:
    from beta1_cases import NOT_RUN

    return next((why for (path, other), why in NOT_RUN.items() if file.endswith(path) and name == other), "")


def _private_names(tree: ast.Module) -> dict[str, str]:
    """Names that a file imports from private modules, anywhere in it."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(PRIVATE):
            found.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        elif isinstance(node, ast.Import):
            found.update({a.asname: a.name for a in node.names if a.asname and a.name.startswith(PRIVATE)})
    return found


def _uses_nki(node: ast.FunctionDef) -> bool:
    roots = {n.value.id for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
    calls = {n.func.attr for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    decorated = any("nki" in ast.unparse(d) or ast.unparse(d) == "trace" for d in node.decorator_list)
    host = calls & {"baremetal", "benchmark", "profile", "random_sample", "rand"} and not decorated
    return bool(decorated or roots & {"nl", "nisa", "ni"}) and not host


def _needs(node: ast.FunctionDef, private: dict[str, str], defined: dict[str, Any], seen: set[str]) -> str:
    """The private API that a function needs, itself or through functions of its file; ``""`` for none."""
    seen.add(node.name)
    for used in ast.walk(node):
        if isinstance(used, ast.Attribute) and used.attr.startswith(PRIVATE[-1]):
            return f"needs the private nisa.{used.attr}"
        if isinstance(used, ast.Name) and used.id in private:
            return f"needs the private {private[used.id]}"
    for used in ast.walk(node):
        if isinstance(used, ast.Name) and used.id in defined and used.id not in seen:
            told = _needs(defined[used.id], private, defined, seen)
            if told:
                return f"{told}, through {used.id}" if "through" not in told else told
    return ""


# --- one case --------------------------------------------------------------------------------------------------------


def cases_of(file: str, only: str = "") -> list[Any]:
    """The cases of a file of a checkout, those with the word ``only`` in its path or their kernel."""
    from beta1_cases import CASES

    return [c for c in CASES if file.endswith(c.path) and any(only in f"{file}::{name}" for name in c.kernels)]


def _run(checkout: Path, file: str, case: Any, options: argparse.Namespace) -> Row:
    """The row of a case, computed in a process of its own."""
    from real_kernels import _in_a_process

    if case.slow and not options.slow:
        return Row("slow", "with --slow")
    start = time.monotonic()
    found = _in_a_process(lambda: {"verdict": "row", "row": _judged(checkout, file, case, options)}, options.seconds)
    row: Row = found["row"] if "row" in found else Row("error", str(found.get("error") or found["verdict"]))
    row.seconds = time.monotonic() - start
    return row


def _judged(checkout: Path, file: str, case: Any, options: argparse.Namespace) -> Row:
    row = Row("agrees")
    module = loaded(checkout, file)
    if options.hazards:
        _record(row.hazards)
    if not case.slow:
        note_calls(str(checkout), row.ran)
    told = []
    try:
        with contextlib.redirect_stdout(None):
            for compared in case.run(module):
                if not compared.agrees:
                    row.verdict = "DIFFERS"
                told.append(f"{compared.what}: {compared.error:.2g} of {compared.allowed:.2g}")
    finally:
        note_calls(None, set())
    told += [f"\n{'':18}{hazard}" for hazard in row.hazards]
    row.told = "; ".join(told)
    return row


def loaded(checkout: Path, file: str) -> ModuleType:
    """The functions of ``file``, with its folder and the checkout's packages on the path."""
    from beta1_cases import mended

    path = checkout / file[1:]
    sys.path[:0] = [str(path.parent), str(checkout / "src")]
    stand_in(*missing())
    name = path.stem
    if path.is_relative_to(checkout / "src"):
        return importlib.import_module(".".join(path.relative_to(checkout / "src").with_suffix("").parts))
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = str(path)
    tree = ast.parse(mended(path))
    # What comes behind the last function is the file's own run of its kernels.
    while tree.body and not isinstance(tree.body[-1], (ast.FunctionDef, ast.ClassDef)):
        tree.body.pop()
    exec(compile(tree, str(path), "exec"), vars(module))
    return module


def _record(hazards: list[str]) -> None:
    """From now on, launches are recorded and their hazards collected."""
    from nki_migrate.runtime.beta1 import execution as launching
    from nki_migrate.runtime.compare import Run, trace_of
    from nki_migrate.runtime.hazards import find

    run = launching.run

    def recorded(kernel: Any, bound: Any, grid: Any, target: Any, **options: Any) -> Any:
        result = run(kernel, bound, grid, target, **{**options, "record": True})
        for hazard in find(Run((), tuple(trace_of(machine) for machine in result.machines)), target):
            lines = ", ".join(str(place.line) for place in (hazard.first, hazard.second))
            hazards.append(f"{hazard.kind} (lines {lines}): {hazard.message}")
        return result

    launching.run = recorded  # type: ignore[assignment]


def note_calls(below: str | None, ran: set[tuple[str, str]]) -> None:
    """Collect (file, function) of what is called in files below a folder; ``None`` stops it."""

    def noted(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if code.co_filename.startswith(str(below)):
            ran.add((code.co_filename[len(str(below)) :], code.co_name))

    trace = noted if below is not None else None
    sys.settrace(trace)
    threading.settrace(trace)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
