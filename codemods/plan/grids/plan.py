"""Which kernels loop over their grids, which functions they hand their places on to, and what stands in the way."""

from __future__ import annotations

import ast
import itertools
import posixpath
from collections import defaultdict
from dataclasses import dataclass, field

from nki_migrate.runtime.spec.grids import GRID_PARAMETERS

from ...expr.emission import Refuse
from ...project.program import Module, Program
from ...syntax.codes import LAUNCH_GRID as CODE
from ...syntax.node_index import walk
from .body import Body, split
from .launches import Cores, Launch, launches
from .questions import (
    Asked,
    Call,
    Function,
    asked_by_methods,
    calls_of,
    functions_of,
    is_library,
    named_by,
    named_otherwise,
    on_device,
    out_of_sight,
    questions,
)


@dataclass(frozen=True)
class Looped:
    """A kernel that is to loop over its grid: over so many axes, its body in parts, the cores that share the work."""

    function: Function
    axes: int
    body: Body
    cores: Cores | None
    has_own_check: bool


@dataclass(frozen=True)
class Handed:
    """A function that is to get its place in the grid as parameters: on these axes, and with the grid's sizes?"""

    function: Function
    axes: tuple[int, ...]
    sizes: bool


@dataclass
class Plan:
    """What a program's grids become. ``refused`` says why a function stays as it is.

    ``core_launches`` are on numbers of cores, ``alike`` those whose programs all do the same, ``unseen`` calls of
    functions that may ask what no file here shows.
    """

    kernels: list[Looped] = field(default_factory=list)
    helpers: list[Handed] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    asked: dict[ast.FunctionDef, list[Asked]] = field(default_factory=dict)
    refused: list[tuple[Module, ast.FunctionDef, Refuse]] = field(default_factory=list)
    core_launches: list[Launch] = field(default_factory=list)
    alike: list[Launch] = field(default_factory=list)
    unseen: list[tuple[Module, ast.Call]] = field(default_factory=list)


def plan(program: Program) -> Plan:
    """Read a program's grids."""
    return _Reading(program).plan()


@dataclass(frozen=True)
class _Need:
    axes: frozenset[int]
    sizes: bool

    def __or__(self, other: _Need) -> _Need:
        return _Need(self.axes | other.axes, self.sizes or other.sizes)

    def __bool__(self) -> bool:
        return bool(self.axes) or self.sizes


class _Reading:
    """One program while its grids are read."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.functions = functions_of(program)
        self.homes = {function: module for module, function in self.functions}
        self.found = Plan()
        self.problems: dict[ast.FunctionDef, Refuse] = {}
        for module, function in self.functions:
            asked = program.draft.attempt(questions, module, function)
            if isinstance(asked, Refuse):
                self.problems[function] = asked
            else:
                self.found.asked[function] = asked
        self.found.calls = [call for function in self.functions for call in calls_of(program, function)]
        self.named = named_otherwise(program)
        self.device = on_device(program, self.found.calls)
        self.plain = {c.callee[1] for c in self.found.calls if c.caller[1] not in self.device}
        self.calls: dict[ast.FunctionDef, list[Call]] = defaultdict(list)
        self.callers: dict[ast.FunctionDef, list[Call]] = defaultdict(list)
        for call in self.found.calls:
            if call.caller[1] in self.device or is_library(*call.caller):
                self.calls[call.caller[1]].append(call)
                self.callers[call.callee[1]].append(call)
        self.launches: dict[ast.FunctionDef, list[Launch]] = defaultdict(list)
        for launch in launches(program):
            self.launches[launch.kernel[1]].append(launch)
        self.needs = self._needs()

    def _needs(self) -> dict[ast.FunctionDef, _Need]:
        """What each function needs to know of the grid, for itself and for those that it calls."""
        needs = {function: _own_need(self.found.asked.get(function, [])) for _, function in self.functions}
        while True:
            grown = dict(needs)
            for function, calls in self.calls.items():
                for call in calls:
                    grown[function] |= needs[call.callee[1]]
            if grown == needs:
                return needs
            needs = grown

    # --- kernels -----------------------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        roots = [f for f in self.functions if f[0].symbols.is_launchable(f[1]) and not self.callers[f[1]]]
        self.roots = {function for _, function in roots}
        axes = {function: self._axes(function, self.launches[function]) for function in self.roots}
        self.of_cores = {f for function in axes if not axes[function] for f in self._reached(function)}
        for kernel in roots:
            if axes[kernel[1]]:
                self._plan_kernel(kernel, axes[kernel[1]], self.launches[kernel[1]])
            else:
                alike = self._does_not_ask(kernel[1])
                for launch in self.launches[kernel[1]]:
                    kind = self.found.alike if alike and launch.sizes is None else self.found.core_launches
                    kind.append(launch)
        self._plan_helpers()
        return self.found

    def _axes(self, function: ast.FunctionDef, launched: list[Launch]) -> int:
        """Over how many axes a kernel is to loop; 0 for one whose grid is the number of cores, or that has none."""
        reached = self._reached(function)
        asked = [question for f in reached for question in self.found.asked.get(f, [])]
        rank = max(*_ranks(asked, launched), 0, _asserted_rank(self.found.asked, reached))
        if rank > 1:
            return rank
        beyond = [launch for launch in launched if not launch.is_cores_only]
        if any(launch.sizes is not None and isinstance(launch.sizes[0], ast.Constant) for launch in beyond):
            return 1
        side_by_side = any(f in self.problems for f in reached)
        works = bool(asked) and not side_by_side and all(question.name == "nl.program_id" for question in asked)
        return 1 if works and (beyond or not (launched or function in self.plain)) else 0

    def _does_not_ask(self, function: ast.FunctionDef) -> bool:
        """Do all programs of a kernel do the same, whatever their number?"""
        reached = self._reached(function)
        asking = any(self.found.asked.get(f) or f in self.problems for f in reached)
        return (
            self._hidden(function) is None and not asking and not any(out_of_sight(self.homes[f], f) for f in reached)
        )

    def _asks_for_axes(self, function: ast.FunctionDef) -> bool:
        """Does a function, or one that it calls, ask about another axis than the first?"""
        reached = self._reached(function)
        asked = [question for f in reached for question in self.found.asked.get(f, [])]
        return any(max(q.axes or (0,)) > 0 for q in asked) or _asserted_rank(self.found.asked, reached) > 1

    def _reached(self, function: ast.FunctionDef) -> list[ast.FunctionDef]:
        found = [function]
        for reached in found:
            found += [c.callee[1] for c in self.calls[reached] if c.callee[1] not in found]
        return found

    def _plan_kernel(self, kernel: Function, axes: int, launched: list[Launch]) -> None:
        module, function = kernel
        problem = self._problem(function) or self._hidden(function)
        looped = problem if problem is not None else self.program.draft.attempt(self._looped, kernel, axes, launched)
        if isinstance(looped, Refuse):
            self.found.refused.append((module, function, looped))
            return
        for reached in self._reached(function):
            home = self.homes[reached]
            self.found.unseen += [(home, call) for call in out_of_sight(home, reached)]
        self.found.kernels.append(looped)
        self.found.launches += launched

    def _looped(self, kernel: Function, axes: int, launched: list[Launch]) -> Looped:
        """A kernel with its loops. Raises :class:`Refuse` where its body cannot stand in them."""
        module, function = kernel
        asking = {c.node for f in self._reached(function) for c in self.calls[f] if self.needs[c.callee[1]]}
        own = {question.call for question in self.found.asked[function]}
        body = split(self.program, module, function, own | asking)
        checked = bool(_asserted_rank(self.found.asked, [function]))
        return Looped(kernel, axes, body, _cores(function, launched), checked)

    def _problem(self, function: ast.FunctionDef) -> Refuse | None:
        """Why a function, or what it reaches, cannot say, or get, its place in the grid; ``None`` where all can."""
        found = (self._problem_of(function, reached) for reached in self._reached(function))
        return next((problem for problem in found if problem is not None), None)

    def _problem_of(self, function: ast.FunctionDef, reached: ast.FunctionDef) -> Refuse | None:
        problem = self.problems.get(reached)
        helper = bool(self.needs[reached]) and reached not in self.roots
        if problem is None and helper and reached in self.named:
            message = f"'{reached.name}' asks for the launch grid, and is named otherwise than to call it"
            problem = Refuse(reached, CODE, message, "call it by its name")
        elif problem is None and helper and reached in self.of_cores:
            message = f"'{reached.name}' asks for the launch grid, and kernels that are launched on cores call it, too"
            problem = Refuse(reached, CODE, message, "write one function for each kind of kernel")
        elif problem is None and reached is not function and self._asks_for_all(reached):
            message = f"'{reached.name}' asks for the number of all programs, whatever the axes are"
            problem = Refuse(reached, CODE, message, "write nl.num_programs with its axes")
        if problem is None:
            return None
        return Refuse(problem.node if reached is function else function, CODE, problem.message, problem.help)

    def _hidden(self, function: ast.FunctionDef) -> Refuse | None:
        """What may ask on behalf of a kernel and gets no place, so that all would be 0; ``None`` where nothing may."""
        for module, call in asked_by_methods(self.program):
            message = f"a method asks for the launch grid (line {call.lineno} of {posixpath.basename(module.path)})"
            return Refuse(function, CODE, message, "give the method its place as an argument")
        called = self._reached(function)
        named = list(called)
        for other in named:
            named += sorted(named_by(self.program, (self.homes[other], other)) - {*named}, key=lambda f: f.name)
        for other in named:
            if other not in called and (self.found.asked.get(other) or other in self.problems):
                message = f"'{other.name}' asks for the launch grid, and is named otherwise than to call it"
                return Refuse(function, CODE, message, "call it by its name")
        return None

    def _asks_for_all(self, function: ast.FunctionDef) -> bool:
        return any(q.name == "nl.num_programs" and q.axes is None for q in self.found.asked[function])

    # --- helpers -----------------------------------------------------------------------------------------------------

    def _plan_helpers(self) -> None:
        """Functions that kernels with loops call, and those of a library whose kernels stand elsewhere."""
        planned = {kernel.function[1] for kernel in self.found.kernels}
        wanted = {f for function in planned for f in self._reached(function)} - planned
        for module, function in self.functions:
            alone = is_library(module, function) and not self.callers[function]
            if alone and self._asks_for_axes(function):
                problem = self._problem(function)
                if problem is None and self._asks_for_all(function):
                    problem = Refuse(function, CODE, "it asks for the number of all programs", "write the axes")
                if problem is None:
                    wanted |= set(self._reached(function))
                else:
                    self.found.refused.append((module, function, problem))
        for module, function in self.functions:
            need = self.needs[function]
            if function in wanted and need:
                self.found.helpers.append(Handed((module, function), tuple(sorted(need.axes)), need.sizes))


def _own_need(asked: list[Asked]) -> _Need:
    axes = {axis for question in asked if question.name == "nl.program_id" for axis in question.axes or ()}
    return _Need(frozenset(axes), any(question.name != "nl.program_id" for question in asked))


def _ranks(asked: list[Asked], launched: list[Launch]) -> list[int]:
    """How many axes a grid has by each question and each launch that tells it."""
    axes = [axis + 1 for question in asked for axis in question.axes or ()]
    return axes + [len(launch.sizes) for launch in launched if launch.sizes is not None]


def _asserted_rank(asked: dict[ast.FunctionDef, list[Asked]], functions: list[ast.FunctionDef]) -> int:
    """``n`` of ``assert nl.program_ndim() == n``."""
    ranks = [0]
    for function in functions:
        dims = {question.call for question in asked.get(function, []) if question.name == "nl.program_ndim"}
        for node in walk(function):
            test = node.test if isinstance(node, ast.Assert) else None
            if isinstance(test, ast.Compare) and test.left in dims and isinstance(test.ops[0], ast.Eq):
                right = test.comparators[0]
                ranks += [right.value] if isinstance(right, ast.Constant) and type(right.value) is int else []
    return max(ranks)


def _cores(function: ast.FunctionDef, launched: list[Launch]) -> Cores | None:
    """The cores that a kernel's launches ask for."""
    asked = {launch.cores for launch in launched} - {None}
    unclear = next((launch for launch in launched if not launch.clear), None)
    if unclear is not None or len({cores.axis for cores in asked if cores is not None}) > 1:
        message = (
            f"a launch of '{function.name}' asks for physical cores in a way that Beta 2's number of cores does not say"
        )
        raise Refuse(
            function, CODE, message, "launch on one number of cores (1 or 2), and loop over the grid in the kernel"
        )
    return min(asked, key=lambda cores: not (cores and cores.in_turns), default=None)


def grid_parameter(functions: list[ast.FunctionDef]) -> str | None:
    """A name for the grid that none of the functions uses; ``None`` where all are taken."""
    taken = {name for function in functions for name in names_in(function)}
    return next((name for name in GRID_PARAMETERS if name not in taken), None)


def names_in(function: ast.FunctionDef) -> set[str]:
    """All names that stand in a function."""
    nodes = list(walk(function))
    names = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.arg for n in nodes if isinstance(n, ast.arg)}
    return names | {n.name for n in nodes if isinstance(n, ast.FunctionDef)}


def free_name(name: str, taken: set[str]) -> str:
    """``name``, with a number where it is taken."""
    names = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
    return next(candidate for candidate in names if candidate not in taken)
