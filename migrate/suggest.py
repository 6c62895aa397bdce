"""Cases that run, found from the source, from calls, and from what errors ask for.

Facts of the source (:mod:`.suggest_facts`) give proposals (:mod:`.suggest_proposals`), calls give more
(:mod:`.suggest_calls`); a worker runs them, and what fails is repaired (:mod:`.suggest_repairs`) in the order of
:mod:`.suggest_search`. :mod:`.suggest_cover` makes of one case that runs those that show the kernel.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nki_migrate.codemods.syntax.module_level import where_installed
from nki_migrate.runtime.cases import Case, MemberSpec, ObjectSpec
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.messages import Kernels, Probe, Request
from nki_migrate.runtime.pool import Pool

from .errors import InputError
from .judging import Limits
from .nki_versions import at_version
from .output import plural
from .progress import StatusLine
from .suggest_calls import called_cases
from .suggest_clock import Clock
from .suggest_cover import covering
from .suggest_extents import with_extents
from .suggest_factories import Factory, factories, held_by_classes, made_elsewhere
from .suggest_facts import parameters
from .suggest_host import host_cases
from .suggest_objects import with_fields_of
from .suggest_proposals import options_of, proposed_cases
from .suggest_search import Ask, Search, constants, elements, searched, without_mixing

_RUN_SECONDS = 6.0
"""A case that takes longer is too large to be a good one."""
_COVERING = 0.35
"""The part of a kernel's time that makes one case that runs into those that show the kernel."""


TAKES_TILES = "it seems to take tiles of the kernels that call it"
"""The reason of a function that is decorated like a kernel and is a part of others."""
HELPS = "it returns no tensor to its caller, and is a part of another kernel"
"""The reason of one that gives numbers, or writes to tiles of the kernel that calls it."""
_WANTS_TILE = r"address space '(?:psum\|sbuf|sbuf\|psum|sbuf|psum)', but got a tile in 'hbm'|to be a tile, got"
_NO_OUTPUT = "has no output"
_ALWAYS = 8
"""Runs that fail alike at one line before that is said not to depend on the arguments."""
_OTHERS = 6
_STARTS = 200
_HEAVY = 1 << 23
"""Elements of a case that runs where no smaller one does."""
_LIGHT = 1 << 21
"""Elements of a case that runs before others are looked for: a benchmark's own sizes may take all the time."""


@dataclass(frozen=True)
class Budget:
    """For one file: seconds in all (:mod:`.suggest_clock`), the limits of one run, the NKI version to run as.

    An empty ``target`` is the version that the file shows.
    """

    seconds: float
    limits: Limits
    target: str = ""


@dataclass(frozen=True)
class Suggestion:
    """The cases of one kernel; without any, the reason. ``tried`` counts the proposals that ran.

    ``unseen`` has a line for each side of a condition that none of the cases takes. ``is_known``: the kernel had cases.
    """

    kernel: str
    cases: tuple[Case, ...]
    tried: int
    reason: str = ""
    unseen: tuple[str, ...] = ()
    is_known: bool = False


class NoKernel(InputError):
    """A file has no kernel, or not the one that was asked for; ``hints``: it has some that no case can call."""

    def __init__(self, message: str, *, hints: bool) -> None:
        super().__init__(message)
        self.hints = hints


def suggestions(
    workers: Pool,
    file: str,
    kernels: Sequence[str],
    budget: Budget,
    status: StatusLine | None = None,
    known: Collection[str] = (),
) -> Iterator[Suggestion]:
    """The cases of each kernel of a file (or of those named); those that are ``known`` have cases, and are not asked.

    What runs for one is tried for the next ones, too. ``status`` shows which kernel is worked on, and how many
    proposals have run. Raises :class:`NoKernel`, and :class:`InputError` for a file that does not load.
    """
    if not os.path.isfile(file):
        raise InputError(f"{file}: no such file")
    reply = workers.submit(Request("kernels", file)).result()
    if isinstance(reply, Failure):
        raise InputError(f"{reply.file}:{reply.line}: {reply.message}" if reply.line else reply.message)
    names = [k.name for k in reply.kernels if not k.sub_kernel] if isinstance(reply, Kernels) else []
    tree = ast.parse(Path(file).read_bytes(), file)
    made = factories(tree)
    names += [name for name in made if name not in names]
    unknown = sorted(set(kernels) - set(names))
    if unknown or not names:
        asked = f" '{unknown[0]}'" if unknown else ""
        inner = "".join(f"; {line}" for line in made_elsewhere(tree).values())
        raise NoKernel(f"{file} has no kernel{asked}: it has {', '.join(names) or 'none'}{inner}", hints=bool(inner))
    found = _Work(workers, Path(file), where_installed(tree), budget, Clock(workers.width), status, made)
    return found.besides([name for name in names if not kernels or name in kernels], known)


def has_proposals(path: Path, tree: ast.Module, kernel: str) -> bool:
    """Would :func:`suggestions` try anything for a kernel of a file, or for a function of it that makes one?"""
    tree = where_installed(tree)
    factory = factories(tree).get(kernel)
    named = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == kernel)
    definition = factory.whole if factory is not None else next(named, None)
    if definition is None:
        return False
    called = called_cases(path, tree, definition) if factory is None else host_cases(path, tree, definition, factory)
    return next(itertools.chain(proposed_cases(path, tree, definition), called), None) is not None


@dataclass
class _Work:
    """The search in one file, which ends when ``clock`` comes to the seconds of ``budget``."""

    workers: Pool
    path: Path
    tree: ast.Module
    budget: Budget
    clock: Clock
    status: StatusLine | None = None
    factories: Mapping[str, Factory] = field(default_factory=dict)
    ran: int = 0
    renamed: dict[str, ast.FunctionDef | None] = field(default_factory=dict)

    def besides(self, kernels: Sequence[str], known: Collection[str]) -> Iterator[Suggestion]:
        """Those that are ``known`` to have cases, and what is found for the others."""
        yield from (Suggestion(name, (), 0, is_known=True) for name in kernels if name in known)
        yield from self.suggestions([name for name in kernels if name not in known])

    def suggestions(self, kernels: Sequence[str]) -> Iterator[Suggestion]:
        """First a case for each kernel, what runs for one being tried for the next; then those that show it."""
        known: list[Case] = []
        searches: dict[str, Search] = {}
        for number, name in enumerate(kernels):
            left = len(kernels) - number
            searches[name] = search = self._search(name, known, self._deadline(left, _COVERING), alone=left == 1)
            known += [search.found[0]] if search.found else []
        for search in searches.values():
            self._run_longer(search)
        left = sum(search.found is not None for search in searches.values())
        for name, search in searches.items():
            if search.found is None:
                yield Suggestion(name, (), search.tried, self._reason(name, search))
                continue
            deadline = self._deadline(left)
            left -= 1
            case = search.found[0]
            others = [*self._options(case), *itertools.islice(_other_objects(case, self._starts(name, ())), _OTHERS)]
            ask = self._ask(deadline, conditions=True)
            covered = covering(search.found, others[: 2 * _OTHERS], ask, self.clock.over(deadline))
            yield Suggestion(name, self._named(covered.cases), search.tried, unseen=covered.unseen)

    def _named(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """The cases with names, and with the version that was asked for.

        Files of one folder share a file of cases and may define kernels of one name.
        """
        said = (replace(self._made(case), target=self.budget.target) for case in cases)
        return tuple(replace(case, name=f"suggested {n} ({self.path.name})") for n, case in enumerate(said, 1))

    def _deadline(self, kernels: int, kept: float = 0.0) -> float:
        """When the first of so many kernels should be done; a part of the time is kept for what comes later."""
        now = self.clock.seconds
        left = max((1 - kept) * self.budget.seconds - now, 0.0)
        return now + (left if kernels == 1 else 2 * left / (kernels + 1))

    def _made(self, case: Case) -> Case:
        """A case of a factory, with what is its own and what is its kernel's; any other as it is."""
        return self.factories[case.kernel].parted(case) if case.kernel in self.factories else case

    def _definition(self, kernel: str) -> ast.FunctionDef | None:
        if kernel in self.factories:
            return self.factories[kernel].whole
        functions = [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]
        own = next((function for function in functions if function.name == kernel), None)
        if own is None and kernel not in self.renamed:
            known = held_by_classes(self.tree).get(kernel) or self._decorated_by_hand(kernel, functions)
            self.renamed[kernel] = known and ast.FunctionDef(**{**vars(known), "name": kernel})
        return own or self.renamed[kernel]

    def _decorated_by_hand(self, kernel: str, functions: Sequence[ast.FunctionDef]) -> ast.FunctionDef | None:
        """The function behind ``kernel = nki.jit(function)``."""
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == kernel:
                value = statement.value
                given = ast.unparse(value.args[0]) if isinstance(value, ast.Call) and value.args else ""
                return next((function for function in functions if function.name == given), None)
        return None

    def _search(self, kernel: str, known: Sequence[Case], deadline: float, *, alone: bool) -> Search:
        definition = self._definition(kernel)
        if definition is None:
            return Search()
        starts, ask = self._starts(kernel, known), self._ask(deadline, alone=alone)
        search = searched(
            starts, constants(self.tree, definition), ask, self.clock.over(deadline), options_of(definition)
        )
        if search.found is not None:
            search.found = without_mixing(search.found, ask)
        return search

    def _starts(self, kernel: str, known: Sequence[Case]) -> Iterator[Case]:
        """Calls, what runs for other kernels, and what the source says."""
        definition = self._definition(kernel)
        if definition is not None:
            proposed = _lighter_first(proposed_cases(self.path, self.tree, definition))
            factory = self.factories.get(kernel)
            called = called_cases(self.path, self.tree, definition) if factory is None else iter(())
            hosts = host_cases(self.path, self.tree, definition, factory)
            reached = with_extents(proposed_cases(self.path, self.tree, definition), definition, self.tree)
            told = list({repr(c): c for c in itertools.chain(called, hosts, reached)}.values())
            yield from (case for case in told if elements(case) <= _LIGHT)
            yield from _adapted(known, definition)
            yield from itertools.islice(proposed, 2)
            yield from (case for case in told if elements(case) > _LIGHT)
            yield from proposed

    def _ask(self, deadline: float, *, conditions: bool = False, alone: bool = False) -> Ask:
        """Runs cases, each for as long as a good one takes at most; ``alone``: no other kernel waits for the time."""

        def ask(cases: Sequence[Case], *, patient: bool = False) -> list[Probe | Failure]:
            limits = self.budget.limits
            self._show(cases)
            end = self.budget.seconds if patient and alone else deadline
            left = end - self.clock.seconds if patient else min(end - self.clock.seconds, _RUN_SECONDS)
            seconds = max(min(limits.seconds, left), 1.0)
            asked = [
                self.workers.submit(
                    Request(
                        "probe",
                        str(self.path),
                        at_version(replace(self._made(case), target=self.budget.target), str(self.path)),
                        "gen3",
                        seconds,
                        limits.memory,
                        conditions=conditions,
                    )
                )
                for case in cases
            ]
            replies = [reply for future in asked if isinstance(reply := future.result(), (Probe, Failure))]
            self.clock.add([reply.seconds for reply in replies])
            return replies

        return ask

    def _show(self, cases: Sequence[Case]) -> None:
        """Say which kernel's proposals run now, how many have run for the file, and how much time is left."""
        if self.status and cases:
            left = max(self.budget.seconds - self.clock.seconds, 0.0)
            done = plural(self.ran, "proposal")
            self.status.write(f"cases suggest: {cases[0].kernel}; {done} tried, at most {left:.0f} s left")
        self.ran += len(cases)

    def _run_longer(self, search: Search) -> None:
        """The first case of a kernel without any that took too long, with most of the time that the others left."""
        if search.found is None and search.stopped and not self.clock.over(self.budget.seconds)():
            case = search.stopped[0]
            (reply,) = self._ask(self._deadline(1, _COVERING / 2))([case], patient=True)
            search.tried += 1
            search.found = (case, reply) if isinstance(reply, Probe) and reply.outputs else None

    def _options(self, case: Case) -> Iterator[Case]:
        """``case`` with another value of each parameter that it leaves at its default."""
        definition = self._definition(case.kernel)
        for name, values in options_of(definition).items() if definition else ():
            for value in values[:1] if name not in case.args else ():
                yield replace(case, args={**case.args, name: value})

    def _gives_nothing(self, kernel: str) -> bool:
        """Does a kernel neither make a tensor in HBM nor store to one?"""
        text = ast.unparse(self._definition(kernel) or ast.Pass())
        return re.search(r"hbm|\bstore\(|dma_copy\(", text) is None

    def _reason(self, kernel: str, search: Search) -> str:
        if self._definition(kernel) is None:
            return f"its definition is not in {self.path}: record its launches (nki-migrate record)"
        late = f"the {self.budget.seconds:g} seconds were over (--seconds); " if search.out_of_time else ""
        caller = _calling_kernel(self.tree, kernel)
        said = "" if search.obstacle is None else search.obstacle[1].message
        if caller and (_NO_OUTPUT in said or self._gives_nothing(kernel)):
            return f"{HELPS}: '{caller}' calls it"
        if search.stopped:
            what = f"a run was stopped before its end, with {_tensors(search.stopped[0])}"
            return f"{what}: it may need more time (--seconds)"
        if search.obstacle is None or self._writes(kernel):
            return late + _obstacle(search)
        return "it writes to no tensor in HBM: its body seems to be missing"

    def _writes(self, kernel: str) -> bool:
        """May a kernel write to a tensor in HBM, itself or in what it calls?"""
        definition = self._definition(kernel) or ast.Pass()
        calls = [node.func for node in ast.walk(definition) if isinstance(node, ast.Call)]
        own = any(isinstance(called, ast.Name) for called in calls)
        parts = (node for node in ast.walk(definition) if isinstance(node, ast.Subscript))
        own = own or any(isinstance(part.ctx, ast.Store) for part in parts)
        named = any(re.search(r"store|dma|put|send|copy", ast.unparse(called)) for called in calls)
        return own or named


def _calling_kernel(tree: ast.Module, name: str) -> str:
    """A function of the file that calls another one that is decorated like a kernel; empty if there is none."""
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name != name)
    for function in functions:
        calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
        names = {called.id for called in calls if isinstance(called, ast.Name)}
        if name in names and any("nki" in ast.unparse(decorator) for decorator in function.decorator_list):
            return function.name
    return ""


def _lighter_first(cases: Iterator[Case]) -> Iterator[Case]:
    """Cases, those that have much data behind the others; after so many of those there are no others."""
    heavy: list[Case] = []
    for case in cases:
        if elements(case) <= _HEAVY or len(heavy) >= _STARTS:
            yield case
        else:
            heavy.append(case)
    yield from heavy


def _adapted(known: Sequence[Case], kernel: ast.FunctionDef) -> Iterator[Case]:
    """What runs for other kernels of the file, with the arguments that this one has."""
    names = parameters(kernel)
    required = names[: len(names) - len(kernel.args.defaults)]
    for case in reversed(known):
        args: Mapping[str, object] = {name: case.args[name] for name in names if name in case.args}
        if args and all(name in args for name in required):
            yield replace(case, kernel=kernel.name, name="", args=args)


def _other_objects(case: Case, starts: Iterator[Case]) -> Iterator[Case]:
    """``case`` with the other objects and members that are proposed for its arguments."""
    seen = {repr(case.args)}
    for start in itertools.islice(starts, _STARTS):
        objects = {
            name: with_fields_of(value, case.args[name])
            for name, value in start.args.items()
            if isinstance(value, (ObjectSpec, MemberSpec)) and name in case.args
        }
        other = replace(case, args={**case.args, **objects})
        if repr(other.args) not in seen:
            seen.add(repr(other.args))
            yield other


def _obstacle(search: Search) -> str:
    """Why no case was found: the failure of the proposal that came farthest, with the line that could not be met."""
    if search.obstacle is None and search.tried:
        return "it ran, but returned no tensor"
    if search.obstacle is None and search.out_of_time:
        return "nothing was tried"
    if search.obstacle is None:
        return "nothing in its source tells its arguments: record its launches (nki-migrate record)"
    case, failure = search.obstacle
    line = linecache.getline(failure.file, failure.line).strip()
    place = f"{os.path.basename(failure.file)}:{failure.line}" if failure.line else os.path.basename(failure.file)
    quoted = f" (`{line}`)" if line else ""
    endings = search.endings if _NO_OUTPUT in failure.message else [(failure.file, failure.line, failure.message)]
    for file, number, message in endings:
        asking = linecache.getline(file, number).strip()
        if re.search(_WANTS_TILE, message) and _takes_tiles(asking, case):
            return f"{TAKES_TILES}, which no launch can give: see {os.path.basename(file)}:{number} (`{asking}`)"
    if search.alike >= _ALWAYS:
        alike = f"all {search.alike} proposals that ended there failed alike, so no argument seems to change it"
        return f"none passed {place}{quoted}: {failure.message}; {alike}; one had {_tensors(case)}"
    return f"the best of them ended at {place}{quoted}: {failure.message}; with {_tensors(case)}"


def _tensors(case: Case) -> str:
    """The tensors of a case, with their shapes."""
    shapes = (f"{name} {list(spec.shape)}" for name, spec in case.args.items() if hasattr(spec, "shape"))
    return ", ".join(shapes) or "no tensors"


def _takes_tiles(line: str, case: Case) -> bool:
    """Does the line compute with an argument itself, which a launch can only put in HBM?"""
    words = set(re.findall(r"\w+", line.partition("#")[0]))
    return any(name in words for name in case.args)
