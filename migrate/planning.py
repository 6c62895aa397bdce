"""What there is to verify: the kernels of each pair of files, and the cases that run them."""

from __future__ import annotations

import ast
import difflib
import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nki_migrate.runtime.cases import Case, CaseError, CaseFile, read_cases
from nki_migrate.runtime.cells import SUFFIX
from nki_migrate.runtime.compare import Failure, Verdict
from nki_migrate.runtime.messages import Kernel, Kernels, Reply

from .discover import found_files
from .errors import InputError
from .judging import Pair, problem_of
from .sides import Side
from .suggest_factories import factories
from .verdicts import CaseResult, Problem

CASES_NAME = "cases.toml"


@dataclass(frozen=True)
class Inventory:
    """A pair of files and the kernels they define."""

    pair: Pair
    old: Reply
    new: Reply

    @functools.cached_property
    def unchanged(self) -> bool:
        """Are the file and all that its loading reads the same on both sides of a revision?

        An import that a function makes happens too late to be seen: then nothing is known to be unchanged.
        """
        if not self.pair.old.version.tree or not isinstance(self.old, Kernels) or not isinstance(self.new, Kernels):
            return False
        before, after = _loaded(self.pair.old, self.old), _loaded(self.pair.new, self.new)
        sources = (text for path, text in before.items() if path.endswith(".py"))
        return before == after and not any(map(_imports_late, sources))

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return self.old.kernels if isinstance(self.old, Kernels) else ()

    @property
    def new_kernels(self) -> tuple[Kernel, ...]:
        return self.new.kernels if isinstance(self.new, Kernels) else ()

    def result(self, kernel: str, *problems: Problem, case: str = "") -> CaseResult:
        """A result that needs no run."""
        pair = self.pair
        return CaseResult(pair.before, pair.after, kernel, case, problems=problems, labels=pair.labels)


def _loaded(side: Side, kernels: Kernels) -> dict[str, bytes]:
    """The content of the files that were read when a file was loaded, by the user's names."""
    return {os.path.realpath(side.known(path)): side.content(path) for path in kernels.reads.files}


def _imports_late(source: bytes) -> bool:
    tree = ast.parse(source)
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return (
        b"import_module" in source
        or b"__import__" in source
        or any(isinstance(node, (ast.Import, ast.ImportFrom)) for function in functions for node in ast.walk(function))
    )


@dataclass(frozen=True)
class Wish:
    """A case to run for a pair of files."""

    pair: Pair
    case: Case


@dataclass(frozen=True)
class Choice:
    """Which cases count: those of the file ``cases`` (else those beside each kernel), of ``kernels`` (else of all).

    ``target`` is the dialect that new kernels must have, if any. ``may_go``: is it all right for a kernel to be gone?
    """

    cases: str | None = None
    kernels: frozenset[str] = frozenset()
    target: str = ""
    may_go: bool = False


ALL = Choice()


# --- which files -----------------------------------------------------------------------------------------------------


def file_pairs(before: str, after: str, excludes: Callable[[str], bool] | None = None) -> Iterator[Pair]:
    """The files of ``before`` with those of the same relative paths under ``after``, but what ``excludes`` names."""
    for path in (before, after):
        if not os.path.exists(path):
            raise InputError(f"{path}: no such file or directory")
    if os.path.isdir(before) != os.path.isdir(after):
        raise InputError(f"{before} and {after}: verify takes two files or two directories")
    if not os.path.isdir(before):
        yield Pair(before, after)
        return
    for path in python_files([before], excludes):
        if may_have_kernels(path):
            yield Pair(path, os.path.join(after, os.path.relpath(path, before)))


def python_files(paths: Iterable[str], excludes: Callable[[str], bool] | None = None) -> Iterator[str]:
    """The Python files and notebooks below ``paths``, of directories without what ``excludes`` names."""
    for found in found_files(paths, excludes):
        if found.path.endswith((".py", SUFFIX)) and not found.skipped and not found.failed:
            yield found.path


def may_have_kernels(path: str) -> bool:
    """Bytes first: a file that never says ``nki`` is not worth a process."""
    with open(path, "rb") as stream:
        return b"nki" in stream.read()


# --- which cases -----------------------------------------------------------------------------------------------------


def check_kernels(wanted: Iterable[str], inventories: Sequence[Inventory], before: str) -> None:
    """Raise :class:`InputError` for a kernel that no file defines, unless a file did not load."""
    known = [kernel.name for inventory in inventories for kernel in inventory.kernels]
    broken = any(isinstance(inventory.old, Failure) for inventory in inventories)
    for name in wanted:
        if name not in known and not broken:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known) or 'none'}"
            raise InputError(f"{before} has no kernel '{name}': {hint}")


def planned(inventories: Sequence[Inventory], choice: Choice) -> Iterator[Wish | CaseResult]:
    """The wishes, and the results that need no run: kernels without a case, bad cases, files that do not load."""
    sources: dict[str, CaseFile] = {}
    named: dict[str, set[str]] = {}
    for inventory in inventories:
        path = str(Path(inventory.pair.before).with_name(CASES_NAME)) if choice.cases is None else choice.cases
        if path not in sources:
            sources[path] = cases_at(path, may_be_missing=choice.cases is None)
        source, names = sources[path], named.setdefault(path, set())
        names.update(kernel.name for kernel in inventory.kernels)
        if isinstance(inventory.old, Failure):
            names.update(case.kernel for case in source.cases)
            yield inventory.result("", problem_of("before", inventory.old, inventory.pair.old))
        for kernel in inventory.kernels:
            if not choice.kernels or kernel.name in choice.kernels:
                yield from _planned_kernel(inventory, kernel, source, choice)
        for case in _made(inventory, source, choice):
            names.add(case.kernel)
            yield Wish(inventory.pair, case)
        yield from _made_without_case(inventory, source, choice)
    loaded = {inventory.pair.before for inventory in inventories}
    for path, names in named.items():
        elsewhere = _defined_beside(loaded, {case.kernel for case in sources[path].cases} - names)
        yield from _unplanned(sources[path], names | elsewhere, choice)


def _planned_kernel(
    inventory: Inventory, kernel: Kernel, source: CaseFile, choice: Choice
) -> Iterator[Wish | CaseResult]:
    new = next((other for other in inventory.new_kernels if other.name == kernel.name), None)
    if new is None and choice.may_go and isinstance(inventory.new, Kernels):
        return
    left = new is not None and choice.target and new.dialect == "beta1" and not kernel.sub_kernel
    if left and new is not None:
        place = inventory.pair.after, new.line
        advice = "nki-migrate rewrite shows what was left and why"
        problem = Problem("after", Verdict.UNDECIDED, "the rewrite left it in Beta 1", *place, advice, "rewritten")
        yield inventory.result(kernel.name, problem)
        return
    mine = source.of(kernel.name, inventory.pair.before)
    bad = [case for case in source.bad if case.kernel == kernel.name]
    if not mine and not bad and not kernel.sub_kernel and not inventory.unchanged:
        advice = f'describe one in {source.path}: [[case]], kernel = "{kernel.name}", and its arguments in [case.args]'
        advice += f" (nki-migrate cases suggest --write {inventory.pair.before} looks for some)"
        where = inventory.pair.before, kernel.line
        yield inventory.result(kernel.name, Problem("case", Verdict.UNDECIDED, NO_CASE, *where, advice))
    for broken in bad:
        yield inventory.result(kernel.name, Problem("case", Verdict.ERROR, broken.message), case=broken.name)
    for case in mine:
        yield Wish(inventory.pair, case)


NO_CASE = "no case says how to run it"


def _made(inventory: Inventory, source: CaseFile, choice: Choice) -> Iterator[Case]:
    """The cases of functions of a file that make kernels: each says so itself."""
    path = inventory.pair.before
    mine = [case for case in source.cases if case.make is not None and case.is_for(path)]
    mine = [case for case in mine if not choice.kernels or case.kernel in choice.kernels]
    defined = {name for name in {case.kernel for case in mine} if _defines(path, name)}
    yield from (case for case in mine if case.kernel in defined)


def _made_without_case(inventory: Inventory, source: CaseFile, choice: Choice) -> Iterator[CaseResult]:
    """The functions of a file that make a kernel and return it, and that no case calls."""
    path = inventory.pair.before
    text = Path(path).read_bytes() if _is_readable(Path(path)) and path.endswith(".py") else b""
    if inventory.unchanged or not _INNER_KERNEL.search(text) or isinstance(inventory.old, Failure):
        return
    known = {case.kernel for case in _made(inventory, source, choice)}
    for name, factory in factories(ast.parse(text)).items():
        if name not in known and (not choice.kernels or name in choice.kernels):
            advice = (
                f'describe one in {source.path}: [[case]], kernel = "{name}", what it gets in [case.make], and its '
            )
            advice += f"kernel in [case.args] (nki-migrate cases suggest --write {path} looks for some)"
            where = path, factory.kernel.lineno
            yield inventory.result(name, Problem("case", Verdict.UNDECIDED, NO_CASE, *where, advice))


_INNER_KERNEL = re.compile(rb"^[ \t]+@.*\b(jit|benchmark|baremetal|profile|trace)\b", re.MULTILINE)


def _defines(path: str, name: str, *, inside: bool = False) -> bool:
    """Does a file define a function of this name at its top, or ``inside`` something else?"""
    text = Path(path).read_bytes().decode(errors="replace") if _is_readable(Path(path)) else ""
    margin = r"[ \t]+" if inside else ""
    return re.search(rf"^{margin}def {re.escape(name)}\b", text, re.MULTILINE) is not None


def _defined_beside(loaded: set[str], names: set[str]) -> set[str]:
    """Those of ``names`` that a file beside BEFORE defines: cases are shared by the files of a directory."""
    siblings = {path for file in loaded for path in Path(file).parent.glob("*.py") if str(path) not in loaded}
    texts = [path.read_bytes().decode(errors="replace") for path in sorted(siblings) if names and _is_readable(path)]
    return {name for name in names if any(re.search(rf"^def {re.escape(name)}\b", t, re.MULTILINE) for t in texts)}


def _is_readable(path: Path) -> bool:
    """Not a broken link, nor a pipe, which would never end."""
    return path.is_file() and os.access(path, os.R_OK)


def _unplanned(source: CaseFile, names: set[str], choice: Choice) -> Iterator[CaseResult]:
    """Cases that belong to no kernel of BEFORE. Bad cases whose kernel exists were reported with it."""
    if choice.kernels:
        return
    for case in source.cases:
        if case.kernel not in names and not case.source:
            near = difflib.get_close_matches(case.kernel, sorted(names), 1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(sorted(names)) or 'none'}"
            message = f"{case.place}: BEFORE has no kernel '{case.kernel}': {hint}"
            problem = Problem("case", Verdict.ERROR, message)
            yield CaseResult(source.path, "", case.kernel, case.name, problems=(problem,))
    for broken in source.bad:
        if broken.kernel not in names:
            problem = Problem("case", Verdict.ERROR, broken.message)
            yield CaseResult(source.path, "", broken.kernel or "", broken.name, problems=(problem,))


def _cases_of(inventory: Inventory, choice: Choice) -> Iterator[Case]:
    """The cases for the kernels of one file, good and bad."""
    source = _case_file(inventory, choice)
    yield from (case for case in source.cases if case.is_for(inventory.pair.before))
    yield from (Case(bad.kernel or "", bad.name, source.path) for bad in source.bad)


def _case_file(inventory: Inventory, choice: Choice) -> CaseFile:
    """The file with the cases for the kernels of one file."""
    path = str(Path(inventory.pair.before).with_name(CASES_NAME)) if choice.cases is None else choice.cases
    return cases_at(path, may_be_missing=choice.cases is None)


def cases_at(path: str, *, may_be_missing: bool) -> CaseFile:
    """The cases at ``path``, none when the file may be missing and is."""
    if may_be_missing and not os.path.exists(path):
        return CaseFile(path)
    try:
        return read_cases(path)
    except CaseError as error:
        raise InputError(str(error)) from None


# --- what was not compared -------------------------------------------------------------------------------------------


def notes(inventories: Sequence[Inventory], choice: Choice) -> Iterator[str]:
    """What was not compared, said rather than passed over."""
    if choice.kernels:
        return
    for inventory in inventories:
        new = {kernel.name for kernel in inventory.new_kernels}
        only_new = _only_new(inventory, choice)
        if only_new:
            yield f"{inventory.pair.after}: only in AFTER, compared with nothing: {', '.join(only_new)}"
        gone = [kernel.name for kernel in inventory.kernels if kernel.name not in new]
        if gone and choice.may_go and isinstance(inventory.new, Kernels):
            yield f"{inventory.pair.before}: only in BEFORE, compared with nothing: {', '.join(gone)}"
        idle = _idle(inventory, choice)
        if idle:
            label = inventory.pair.old.label
            yield f"{inventory.pair.before}: as at {label}, and without a case, so not run: {', '.join(idle)}"
        inlined = [kernel.name for kernel in inventory.kernels if kernel.sub_kernel]
        if inlined:
            yield f"{inventory.pair.before}: verified as parts of the kernels that call them: {', '.join(inlined)}"


def _only_new(inventory: Inventory, choice: Choice) -> list[str]:
    """The kernels of the new file that the old one has not; those of functions that a case calls are compared."""
    old = {kernel.name for kernel in inventory.kernels}
    names = [kernel.name for kernel in inventory.new_kernels if kernel.name not in old]
    made = bool(names) and any(_made(inventory, _case_file(inventory, choice), choice))
    return [name for name in names if not (made and _defines(inventory.pair.before, name, inside=True))]


def _idle(inventory: Inventory, choice: Choice) -> list[str]:
    """The kernels of an unchanged file that no case runs."""
    if not inventory.unchanged:
        return []
    described = {case.kernel for case in _cases_of(inventory, choice)}
    return [k.name for k in inventory.kernels if k.name not in described and not k.sub_kernel]


def undecided(result: CaseResult, message: str) -> CaseResult:
    """``result`` with one more reason that it could not be decided."""
    return replace(result, problems=(*result.problems, Problem("case", Verdict.UNDECIDED, message)))
