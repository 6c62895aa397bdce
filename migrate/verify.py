"""``nki-migrate verify``: run the kernels of BEFORE and AFTER on the emulator, compare them at three levels.

Kernels are paired by name, files of two directories by their relative path. A kernel is verified by its cases; one
without a case is *undecided*, with what to do. The exit code is 0 only if everything is equal; 2 if anything is
undecided or in error, whatever else was found; else 1: a difference is the last word only when all else was decided.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import click
from nki_migrate.runtime.cases import Case, CaseError, CaseFile, read_cases
from nki_migrate.runtime.compare import (
    LEVELS,
    Failure,
    LevelVerdict,
    Run,
    Verdict,
    compare_layout,
    compare_numbers,
    compare_operands,
    compare_with_reference,
    worst,
)
from nki_migrate.runtime.compare.verdict import MAX_DIFFERENCES
from nki_migrate.runtime.pool import Pool, pool
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.runtime.worker import Kernel, Kernels, Reference, Reply, Request

from .discover import found_files
from .errors import InputError
from .layout import distinct_tiles
from .surfaces import proof_as
from .verdicts import CaseResult, Problem, Proof, as_text

_COMPARISONS = {"layout": compare_layout, "operands": compare_operands, "numbers": compare_numbers}
_CASES_NAME = "cases.toml"


def run(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    cases: str | os.PathLike[str] | None = None,
    kernels: Sequence[str] = (),
    level: str | None = None,
    hardware: str | None = None,
    output_format: str = "text",
) -> int:
    """Verify, print the proof, return the exit code. Raises :class:`InputError` for arguments that cannot be used."""
    proof = proved(before, after, cases, kernels, level, hardware)
    click.echo(as_text(proof) if output_format == "text" else proof_as(output_format, proof))
    return proof.exit_code


def proved(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    cases: str | os.PathLike[str] | None = None,
    kernels: Sequence[str] = (),
    level: str | None = None,
    hardware: str | None = None,
    jobs: int | None = None,
) -> Proof:
    """The results of all cases, in the order of files, kernels and cases.

    ``level`` is the last level to compare (default: all three). ``hardware`` overrides the cases' own; without either
    it is gen3. ``kernels`` restricts the kernels; an unknown one raises :class:`InputError`.
    """
    levels = LEVELS[: LEVELS.index(level) + 1] if level else LEVELS
    files = list(_file_pairs(os.fspath(before), os.fspath(after)))
    with pool(jobs) as workers:
        asked = [(old, new, _kernels_in(workers, old), _kernels_in(workers, new)) for old, new in files]
        inventories = [_Inventory(old, new, a.result(), b.result()) for old, new, a, b in asked]
        _check_kernels(kernels, inventories, os.fspath(before))
        plan = list(_planned(inventories, cases, frozenset(kernels)))
        started = [_started(workers, item, levels, hardware) if isinstance(item, _Task) else item for item in plan]
        results = [item.result() if isinstance(item, _Running) else item for item in started]
    if not results:
        raise InputError(f"{before}: no kernel found: a kernel is a function decorated with nki.jit")
    return Proof(tuple(results), tuple(_notes(inventories, frozenset(kernels))))


# --- what there is to verify -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Inventory:
    """A pair of files and the kernels they define."""

    before: str
    after: str
    old: Reply
    new: Reply

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return self.old.kernels if isinstance(self.old, Kernels) else ()


@dataclass(frozen=True)
class _Task:
    """One case to run on both sides."""

    before: str
    after: str
    case: Case


def _file_pairs(before: str, after: str) -> Iterator[tuple[str, str]]:
    for path in (before, after):
        if not os.path.exists(path):
            raise InputError(f"{path}: no such file or directory")
    if os.path.isdir(before) != os.path.isdir(after):
        raise InputError(f"{before} and {after}: verify takes two files or two directories")
    if not os.path.isdir(before):
        yield before, after
        return
    for found in found_files([before]):
        if found.path.endswith(".py") and not found.skipped and not found.failed and _may_have_kernels(found.path):
            yield found.path, os.path.join(after, os.path.relpath(found.path, before))


def _may_have_kernels(path: str) -> bool:
    """Bytes first: a file that never says ``nki`` is not worth a process."""
    with open(path, "rb") as stream:
        return b"nki" in stream.read()


def _kernels_in(workers: Pool, file: str) -> Future[Reply]:
    return workers.submit(Request("kernels", file))


def _check_kernels(wanted: Sequence[str], inventories: Sequence[_Inventory], before: str) -> None:
    known = [kernel.name for inventory in inventories for kernel in inventory.kernels]
    for name in wanted:
        broken = [i.old for i in inventories if isinstance(i.old, Failure)]
        if name not in known and not broken:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known) or 'none'}"
            raise InputError(f"{before} has no kernel '{name}': {hint}")


def _planned(
    inventories: Sequence[_Inventory], cases: str | os.PathLike[str] | None, wanted: frozenset[str]
) -> Iterator[_Task | CaseResult]:
    """The tasks, and the results that need no run: kernels without a case, bad cases, files that do not load."""
    sources: dict[str, CaseFile] = {}
    named: dict[str, set[str]] = {}
    for inventory in inventories:
        path = os.fspath(cases) if cases is not None else str(Path(inventory.before).with_name(_CASES_NAME))
        if path not in sources:
            sources[path] = _cases_at(path, may_be_missing=cases is None)
        source, names = sources[path], named.setdefault(path, set())
        names.update(kernel.name for kernel in inventory.kernels)
        if isinstance(inventory.old, Failure):
            names.update(case.kernel for case in source.cases)
            yield _unloadable(inventory, inventory.old)
        for kernel in inventory.kernels:
            if not wanted or kernel.name in wanted:
                yield from _planned_kernel(inventory, kernel, source)
    loaded = {inventory.before for inventory in inventories}
    for path, names in named.items():
        elsewhere = _defined_beside(loaded, {case.kernel for case in sources[path].cases} - names)
        yield from _unplanned(sources[path], names | elsewhere, wanted)


def _planned_kernel(inventory: _Inventory, kernel: Kernel, source: CaseFile) -> Iterator[_Task | CaseResult]:
    mine = source.of(kernel.name)
    bad = [case for case in source.bad if case.kernel == kernel.name]
    if not mine and not bad and not kernel.sub_kernel:
        advice = f'describe one in {source.path}: [[case]], kernel = "{kernel.name}", and its arguments in [case.args]'
        problem = Problem(
            "case", Verdict.UNDECIDED, "no case says how to run it", inventory.before, kernel.line, advice
        )
        yield CaseResult(inventory.before, inventory.after, kernel.name, problems=(problem,))
    for broken in bad:
        problem = Problem("case", Verdict.ERROR, broken.message)
        yield CaseResult(inventory.before, inventory.after, kernel.name, broken.name, problems=(problem,))
    for case in mine:
        yield _Task(inventory.before, inventory.after, case)


def _unloadable(inventory: _Inventory, failure: Failure) -> CaseResult:
    return CaseResult(inventory.before, inventory.after, problems=(_problem("before", failure),))


def _defined_beside(loaded: set[str], names: set[str]) -> set[str]:
    """Those of ``names`` that a file beside BEFORE defines: cases are shared by the files of a directory."""
    siblings = {path for file in loaded for path in Path(file).parent.glob("*.py") if str(path) not in loaded}
    texts = [path.read_bytes().decode(errors="replace") for path in sorted(siblings) if names]
    return {name for name in names if any(re.search(rf"^def {re.escape(name)}\b", t, re.MULTILINE) for t in texts)}


def _unplanned(source: CaseFile, names: set[str], wanted: frozenset[str]) -> Iterator[CaseResult]:
    """Cases that belong to no kernel of BEFORE. Bad cases whose kernel exists were reported with it."""
    for case in source.cases:
        if case.kernel not in names and not wanted:
            near = difflib.get_close_matches(case.kernel, sorted(names), 1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(sorted(names)) or 'none'}"
            message = f"{case.place}: BEFORE has no kernel '{case.kernel}': {hint}"
            problem = Problem("case", Verdict.ERROR, message)
            yield CaseResult(source.path, "", case.kernel, case.name, problems=(problem,))
    for broken in source.bad:
        if broken.kernel not in names and not wanted:
            problem = Problem("case", Verdict.ERROR, broken.message)
            yield CaseResult(source.path, "", broken.kernel or "", broken.name, problems=(problem,))


def _cases_at(path: str, *, may_be_missing: bool) -> CaseFile:
    """The cases at ``path``, none when the file may be missing and is."""
    if may_be_missing and not os.path.exists(path):
        return CaseFile(path)
    try:
        return read_cases(path)
    except CaseError as error:
        raise InputError(str(error)) from None


def _notes(inventories: Sequence[_Inventory], wanted: frozenset[str]) -> Iterator[str]:
    """What was not compared, said rather than passed over."""
    for inventory in inventories:
        if wanted:
            continue
        old = {kernel.name for kernel in inventory.kernels}
        new = inventory.new.kernels if isinstance(inventory.new, Kernels) else ()
        only_new = [kernel.name for kernel in new if kernel.name not in old]
        if only_new:
            yield f"{inventory.after}: only in AFTER, compared with nothing: {', '.join(only_new)}"
        inlined = [kernel.name for kernel in inventory.kernels if kernel.sub_kernel]
        if inlined:
            yield f"{inventory.before}: verified as parts of the kernels that call them: {', '.join(inlined)}"


# --- running and judging one case ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Running:
    """A case whose runs were submitted."""

    task: _Task
    levels: Sequence[str]
    hardware: str
    before: Future[Reply]
    after: Future[Reply]
    reference: Future[Reply] | None

    def result(self) -> CaseResult:
        expected = None if self.reference is None else self.reference.result()
        return judged(self.task.case, self.levels, self.before.result(), self.after.result(), expected).at(
            self.task.before, self.task.after, self.hardware
        )


def _started(workers: Pool, task: _Task, levels: Sequence[str], hardware: str | None) -> _Running:
    target = hardware or task.case.hardware or DEFAULT_TARGET
    before = workers.submit(Request("run", task.before, task.case, target))
    after = workers.submit(Request("run", task.after, task.case, target))
    wanted = task.case.reference is not None and "numbers" in levels
    reference = workers.submit(Request("reference", task.before, task.case, target)) if wanted else None
    return _Running(task, levels, target, before, after, reference)


def judged(case: Case, levels: Sequence[str], before: Reply, after: Reply, expected: Reply | None) -> CaseResult:
    """The verdicts of one case. A side that did not run decides every level; a reference is judged on its own."""
    problems = [
        _problem(side, reply)
        for side, reply in (("before", before), ("after", after), ("reference", expected))
        if isinstance(reply, Failure)
    ]
    if not isinstance(before, Run) or not isinstance(after, Run):
        verdict = worst([problem.verdict for problem in problems if problem.side != "reference"])
        sides = " and ".join(p.side for p in problems if p.side != "reference")
        failed = [LevelVerdict(level, verdict, f"not compared: {sides} did not run to the end") for level in levels]
        return CaseResult("", "", case.kernel, case.name, levels=tuple(failed), problems=tuple(problems))
    verdicts = [_COMPARISONS[level](before, after) for level in levels]
    reference = []
    if isinstance(expected, Reference):
        reference = [_agreement("before", Verdict.ERROR, before, expected, case)]
        reference.append(_agreement("after", Verdict.DIFFERENT, after, expected, case))
    return CaseResult(
        "",
        "",
        case.kernel,
        case.name,
        levels=tuple(verdicts),
        problems=tuple(problems),
        reference=tuple(reference),
        tiles=(tuple(distinct_tiles(before)), tuple(distinct_tiles(after))),
        seconds=before.seconds + after.seconds,
    )


def _agreement(side: str, otherwise: Verdict, run: Run, expected: Reference, case: Case) -> LevelVerdict:
    """One side against the NumPy reference. The old kernel must agree with its own: else the case is in error."""
    differences = compare_with_reference(
        run, [packed.array() for packed in expected.outputs], rtol=case.rtol, atol=case.atol
    )
    if not differences:
        return LevelVerdict(side, Verdict.EQUAL, f"agrees within rtol {case.rtol:g} and atol {case.atol:g}")
    summary = "does not agree with its own reference" if side == "before" else "does not agree with the reference"
    return LevelVerdict(side, otherwise, summary, tuple(differences[:MAX_DIFFERENCES]), len(differences))


def _problem(side: str, failure: Failure) -> Problem:
    verdict = Verdict.UNDECIDED if failure.undecided else Verdict.ERROR
    return Problem(side, verdict, failure.message, failure.file, failure.line, failure.help)
