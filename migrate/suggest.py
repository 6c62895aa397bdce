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
from dataclasses import dataclass, replace
from pathlib import Path

from nki_migrate.runtime.cases import Case, MemberSpec, ObjectSpec
from nki_migrate.runtime.cells import is_notebook, source
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.messages import Kernels, Probe, Request
from nki_migrate.runtime.pool import Pool

from .errors import InputError
from .judging import Limits
from .kernel_names import KernelNames
from .nki_versions import at_version
from .output import plural
from .progress import StatusLine
from .suggest_calls import called_cases
from .suggest_clock import Clock
from .suggest_cover import covering
from .suggest_docstrings import described
from .suggest_extents import with_extents
from .suggest_factories import made_elsewhere
from .suggest_facts import parameters
from .suggest_host import host_cases
from .suggest_numbers import named_numbers
from .suggest_objects import with_fields_of
from .suggest_proposals import default_values, options_of, proposed_cases
from .suggest_room import without_room
from .suggest_search import (
    WANTS_TILE,
    Ask,
    Hunt,
    Search,
    Share,
    constants,
    elements,
    is_stop,
    outermost_steps,
    with_varied_integers,
    with_written_outputs,
    without_mixing,
)

_RUN_SECONDS = 6.0
"""A case that takes longer is too large to be a good one."""
_SKETCH_SECONDS = 2.0
"""A sketch cuts loops short: one that takes longer is that of a case which is too large, too."""
_COVERING = 0.35
"""The part of a kernel's time that makes one case that runs into those that show the kernel."""


TAKES_TILES = "it seems to take tiles of the kernels that call it"
"""The reason of a function that is decorated like a kernel and is a part of others."""
HELPS = "it returns no tensor to its caller, and is a part of another kernel"
"""The reason of one that gives numbers, or writes to tiles of the kernel that calls it."""
_DESTINATION = "destination of an assignment"
_NO_OUTPUT = "has no output"
_LOCAL = "Failed to infer tile from tensor"
"""The failure of a kernel that returns a tensor of SBUF with block dimensions."""
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
    text = source(file, Path(file).read_bytes())
    tree = described(text, file)
    if is_notebook(file):
        lines = text.decode().splitlines(keepends=True)
        linecache.cache[os.path.abspath(file)] = (len(text), None, lines, file)
    known_names = KernelNames(tree)
    names += [name for name in known_names.factories if name not in names]
    unknown = sorted(set(kernels) - set(names))
    if unknown or not names:
        asked = f" '{unknown[0]}'" if unknown else ""
        inner = "".join(f"; {line}" for line in made_elsewhere(tree).values())
        raise NoKernel(f"{file} has no kernel{asked}: it has {', '.join(names) or 'none'}{inner}", hints=bool(inner))
    found = _Work(workers, Path(file), known_names, budget, Clock(workers.width), status)
    return found.besides([name for name in names if not kernels or name in kernels], known)


def has_proposals(path: Path, tree: ast.Module, kernel: str) -> bool:
    """Would :func:`suggestions` try anything for a kernel of a file, or for a function of it that makes one?"""
    names = KernelNames(tree)
    called = names.called(kernel)
    if called is None:
        return False
    proposed = proposed_cases(path, names.tree, called.definition)
    if called.factory is not None:
        given = host_cases(path, names.tree, called.definition, called.factory)
    else:
        given = called_cases(path, names.tree, called.definition)
    return next(itertools.chain(proposed, given), None) is not None


@dataclass
class _Work:
    """The search in one file, which ends when ``clock`` comes to the seconds of ``budget``."""

    workers: Pool
    path: Path
    names: KernelNames
    budget: Budget
    clock: Clock
    status: StatusLine | None = None
    ran: int = 0

    def besides(self, kernels: Sequence[str], known: Collection[str]) -> Iterator[Suggestion]:
        """Those that are ``known`` to have cases, and what is found for the others."""
        yield from (Suggestion(name, (), 0, is_known=True) for name in kernels if name in known)
        yield from self.suggestions([name for name in kernels if name not in known])

    def suggestions(self, kernels: Sequence[str]) -> Iterator[Suggestion]:
        """First a case for each kernel, what runs for one being tried for the next; then those that show it."""
        searches = self._searches(kernels)
        for search in searches.values():
            self._run_longer(search)
        left = sum(search.found is not None for search in searches.values())
        named = named_numbers(self.names.tree)
        for name, search in searches.items():
            if search.found is None:
                yield Suggestion(name, (), search.tried, self._reason(name, search))
                continue
            deadline = self._deadline(left)
            left -= 1
            case = search.found[0]
            others = [*self._options(case), *itertools.islice(_other_objects(case, self._starts(name, ())), _OTHERS)]
            ask = self._ask(deadline, conditions=True)
            covered = covering(search.found, others[: 2 * _OTHERS], ask, self.clock.over(deadline), named)
            cases = [with_written_outputs(case, ask) for case in covered.cases]
            yield Suggestion(name, self._named(cases), search.tried, unseen=covered.unseen)

    def _searches(self, kernels: Sequence[str]) -> dict[str, Search]:
        """What the searches for the kernels come to, in two rounds: each has an equal part of half of the time, so that
        none has nothing left, and those without a case share the rest. One whose cases took too long comes behind those
        that a few quick runs may do.

        What is a part of other kernels comes last: it can seldom be launched, and they show it.
        """
        known: list[Case] = []
        parts = {name for name in kernels if _calling_kernel(self.names.tree, name)}
        hunts = {name: self._hunt(name, known) for name in sorted(kernels, key=lambda name: name in parts)}
        rounds = (False, True) if len(hunts) > 1 else (True,)
        for is_last in rounds:
            waiting = [name for name, hunt in hunts.items() if not hunt.is_over]
            waiting.sort(key=lambda name: bool(hunts[name].search.stopped))
            end = (1 - _COVERING) * self.budget.seconds * (1.0 if is_last else 0.5)
            for number, name in enumerate(waiting):
                now, left = self.clock.seconds, len(waiting) - number
                share = max(end - now, 0.0) / left
                deadline = now + (2 * left / (left + 1) * share if is_last else share)
                alone = left == 1 and is_last
                ask, over = self._ask(deadline, alone=alone), self.clock.over(deadline)
                late, ended = self.clock.over((now + deadline) / 2), self.clock.over(self.budget.seconds)
                hunts[name].go_on(ask, Share(over, late, ended if alone else over), is_last=is_last)
                self._keep(hunts[name].search, known, ask)
        return {name: hunts[name].search for name in kernels}

    def _keep(self, search: Search, known: list[Case], ask: Ask) -> None:
        """Note a case that was found, in types that no matmul mixes, for the kernels behind it."""
        if search.found is not None:
            search.found = with_varied_integers(without_mixing(search.found, ask), ask)
            known.append(search.found[0])

    def _hunt(self, kernel: str, known: Sequence[Case]) -> Hunt:
        definition = self.names.definition(kernel)
        if definition is None:
            return Hunt(iter(()), ())
        sizes = constants(self.names.tree, definition)
        starts, outermost = self._starts(kernel, known), outermost_steps(definition)
        return Hunt(starts, sizes, options_of(definition), outermost)

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
        called = self.names.called(case.kernel)
        return called.factory.parted(case) if called is not None and called.factory is not None else case

    def _starts(self, kernel: str, known: Sequence[Case]) -> Iterator[Case]:
        """Calls, what runs for other kernels, and what the source says."""
        called = self.names.called(kernel)
        if called is not None:
            tree, definition, factory = self.names.tree, called.definition, called.factory
            made, again, once_more = itertools.tee(proposed_cases(self.path, tree, definition), 3)
            proposed = _lighter_first(made)
            calls = called_cases(self.path, tree, definition) if factory is None else iter(())
            hosts = host_cases(self.path, tree, definition, factory)
            reached = with_extents(again, definition, tree)
            first = next(once_more, None)
            whole = (_completed(case, first, definition) for case in itertools.chain(calls, hosts, reached))
            told = list({repr(c): c for c in whole}.values())
            yield from (case for case in told if elements(case) <= _LIGHT)
            yield from _adapted(known, definition)
            yield from itertools.islice(proposed, 2)
            yield from (case for case in told if elements(case) > _LIGHT)
            yield from proposed

    def _ask(self, deadline: float, *, conditions: bool = False, alone: bool = False) -> Ask:
        """Runs cases, each for as long as a good one takes at most; ``alone``: no other kernel waits for the time."""

        def ask(cases: Sequence[Case], *, patient: bool = False, sketch: bool = False) -> list[Probe | Failure]:
            limits = self.budget.limits
            self._show(cases)
            end = self.budget.seconds if patient and alone else deadline
            most = limits.seconds if patient else _SKETCH_SECONDS if sketch else _RUN_SECONDS
            left = min(end - self.clock.seconds, most)
            seconds = max(min(limits.seconds, left), 1.0)
            asked = [
                self._without_room(case)
                or self.workers.submit(
                    Request(
                        "probe",
                        str(self.path),
                        at_version(replace(self._made(case), target=self.budget.target), str(self.path)),
                        "gen3",
                        seconds,
                        limits.memory,
                        conditions=conditions,
                        sketch=sketch,
                    )
                )
                for case in cases
            ]
            ended = (each if isinstance(each, Failure) else each.result() for each in asked)
            replies = [reply for reply in ended if isinstance(reply, (Probe, Failure))]
            self.clock.add([reply.seconds for reply in replies])
            return replies

        return ask

    def _without_room(self, case: Case) -> Failure | None:
        """The failure of a case whose sizes a kernel cannot have; it need not run."""
        definition = self.names.definition(case.kernel)
        if definition is None:
            return None
        return without_room(
            replace(case, file=os.path.abspath(self.path)), definition, self.names.tree, default_values(definition)
        )

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
        """``case`` with other values of the parameters that it leaves at their default: all numbers, then each."""
        definition = self.names.definition(case.kernel)
        options = options_of(definition) if definition else {}
        others = {name: values for name, values in options.items() if name not in case.args}
        numbers = {name: values[0] for name, values in others.items() if type(values[0]) in (int, float)}
        if len(numbers) > 1:
            yield replace(case, args={**case.args, **numbers})
        for name, value in ((name, value) for name, values in others.items() for value in values):
            yield replace(case, args={**case.args, name: value})

    def _gives_nothing(self, kernel: str) -> bool:
        """Does a kernel neither make a tensor in HBM nor store to one?"""
        text = ast.unparse(self.names.definition(kernel) or ast.Pass())
        return re.search(r"\b(?:shared_|private_)?hbm\b|\bstore\(|dma_copy\(", text) is None

    def _reason(self, kernel: str, search: Search) -> str:
        if self.names.definition(kernel) is None:
            return f"its definition is not in {self.path}: record its launches (nki-migrate record)"
        late = f"the {self.budget.seconds:g} seconds were over (--seconds); " if search.out_of_time else ""
        caller = _calling_kernel(self.names.tree, kernel)
        said = "" if search.obstacle is None else search.obstacle[1].message
        if caller and (_NO_OUTPUT in said or self._gives_nothing(kernel)):
            return f"{HELPS}: '{caller}' calls it"
        if _LOCAL in said and self._gives_nothing(kernel):
            return f"{HELPS}: it returns a tensor of its own memory"
        stopped = _stopped(search)
        if stopped and (search.obstacle is None or is_stop(search.obstacle[1])):
            return stopped
        if search.obstacle is None or self._writes(kernel) or stopped:
            return late + "; ".join(filter(None, [_obstacle(search), stopped]))
        return "it writes to no tensor in HBM: its body seems to be missing"

    def _writes(self, kernel: str) -> bool:
        """May a kernel write to a tensor in HBM, itself or in what it calls?"""
        definition = self.names.definition(kernel) or ast.Pass()
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


def _completed(case: Case, other: Case | None, kernel: ast.FunctionDef) -> Case:
    """A case that a call tells in part, with what ``other`` has for the parameters that it must have."""
    names = parameters(kernel)
    required = names[: len(names) - len(kernel.args.defaults)]
    missing = {n: other.args[n] for n in required if n not in case.args and n in other.args} if other else {}
    return replace(case, args={**case.args, **missing}) if missing else case


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


def _stopped(search: Search) -> str:
    """That a run took too long; empty if none did."""
    if not search.stopped:
        return ""
    tensors = _tensors(search.stopped[0])
    return f"a run was stopped before its end, with {tensors}: it may need more time (--seconds)"


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
        asked = asking.partition("=")[0] if _DESTINATION in message else asking
        if re.search(WANTS_TILE, message) and _takes_tiles(asked, case):
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
    """Does a line, or its target, use an argument itself, which a launch can only put in HBM?"""
    words = set(re.findall(r"\w+", line.partition("#")[0]))
    return any(name in words for name in case.args)
