"""The edits of one program: questions become names, bodies loops, grids arguments."""

from __future__ import annotations

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO

from ...expr.emission import Refuse
from ...model import Options
from ...project.kernel_code import kernels_of
from ...project.program import Module, Program, program_of
from ...syntax.codes import LAUNCH_GRID as CODE
from ...syntax.node_index import of_kinds, walk
from ...syntax.source import Source
from ..edited_text import EditedText
from ..line_origins import Edit, edited, lines_of
from ..places import brackets, further_arguments, further_parameters
from .idempotence import obstacle
from .launches import Launch, nc_count
from .loops import Names, has_defaults, with_loops
from .plan import Handed, Looped, Plan, free_name, grid_parameter, names_in, plan
from .questions import Asked, Call
from .sizes import about_cores, factor, grid_text, is_written_out, size_text


@dataclass
class Relaunched(EditedText):
    """One module with its grids rewritten.

    ``reviewed`` are the functions whose questions about the grid ``--unsafe`` answers, ``counts`` the names that it
    gave, in each of them, to the place in the grid and to the grid.
    """

    reviewed: frozenset[str] = frozenset()
    counts: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def covered(self) -> frozenset[int]:
        """1-based lines of :attr:`text` that findings are about."""
        places = {finding.line for finding in self.findings}
        return frozenset(number for number, line in enumerate(self.lines, start=1) if line.origin in places)


_GRIDS = re.compile(r"\b(program_id|num_programs|program_ndim|nc)\b")


def relaunched(sources: Mapping[str, Source], options: Options) -> dict[str, Relaunched]:
    """Modules that import from each other, by path, after this rule."""
    if not _are_concerned(sources):
        return {path: Relaunched(lines_of(source.text)) for path, source in sources.items()}
    program = program_of(sources, options)
    if not options.enabled(CODE):
        return _kept(program, plan(program), options)
    return _Rewriting(program, plan(program), options.unsafe).result()


def _kept(program: Program, found: Plan, options: Options) -> dict[str, Relaunched]:
    """Modules whose kernels keep their launch grids, because the rule is not to be applied, each of them said."""
    message, help = options.disabled(CODE)
    for module, function in (kernel.function for kernel in found.kernels):
        what = f"'{function.name}' keeps its launch grid, which Beta 2 does not have: {message}"
        module.report(Refuse(function, CODE, what, help))
    return {path: Relaunched(lines_of(m.source.text), m.plan.findings) for path, m in program.modules.items()}


def _are_concerned(sources: Mapping[str, Source]) -> bool:
    """May there be a launch grid: does some code ask for one, or is a kernel launched on one?"""
    kernels = {re.escape(name) for source in sources.values() for name in kernels_of(source.tree)}
    launch = re.compile(rf"\b({'|'.join(sorted(kernels))})\b\s*\[|\]\s*\(|\bbenchmark\b") if kernels else _GRIDS
    return any(_GRIDS.search(source.text) or launch.search(source.text) for source in sources.values())


class _Rewriting:
    """All edits of one program."""

    def __init__(self, program: Program, found: Plan, unsafe: bool) -> None:
        self.program, self.plan, self.modules, self.unsafe = program, found, program.modules, unsafe
        self.edits: dict[str, list[Edit]] = {path: [] for path in self.modules}
        self.applied = dict.fromkeys(self.modules, 0)
        self.names: dict[ast.FunctionDef, Names] = {}
        self.items: list[Looped | Handed] = [*found.kernels, *found.helpers]
        self.helpers = {helper.function[1]: helper for helper in found.helpers}
        self.grid = grid_parameter([item.function[1] for item in self.items])

    def result(self) -> dict[str, Relaunched]:
        for module, function, refusal in self.plan.refused:
            message = f"'{function.name}' keeps its launch grid, which Beta 2 does not have: {refusal.message}"
            module.report(Refuse(refusal.node, CODE, message, refusal.help))
        for module, call in self.plan.unseen:
            message = "a kernel that loops over its launch grid calls a function that these files do not show"
            help = (
                "rewrite the folder that has it in the same run, or see that it does not ask: it would see one program"
            )
            module.report(Refuse(call, CODE, message, help))
        for launch in self.plan.core_launches:
            self._launch_on_cores(launch)
        for launch in self.plan.alike:
            self._launch_once(launch)
        if self.unsafe and self.grid is not None:
            self._rewrite(self.grid)
        else:
            self._report()
        return {path: self._finished(module) for path, module in self.modules.items()}

    def _finished(self, module: Module) -> Relaunched:
        """A module with all edits that were planned."""
        lines = with_loops(
            module, edited(module.source, self.edits[module.path]), self.items if self.names else [], self.names
        )
        mine = [item.function[1] for item in self.items if item.function[0] is module]
        reviewed = frozenset(function.name for function in mine) if self.grid else frozenset[str]()
        applied = Counter({CODE: self.applied[module.path]} if self.applied[module.path] else {})
        counts = {f.name: frozenset({*self.names[f].ids.values(), self.names[f].grid}) for f in mine if f in self.names}
        return Relaunched(lines, module.plan.findings, applied, module.plan.touched, reviewed, counts)

    def _note(self, module: Module, node: ast.AST) -> None:
        self.applied[module.path] += 1
        module.touch(node)

    # --- what is only reported ---------------------------------------------------------------------------------------

    def _report(self) -> None:
        taken = (
            "" if self.grid else "rename what is called grid and launch_grid: the parameter needs one of these names"
        )
        for kernel in self.plan.kernels:
            function, count = kernel.function[1], kernel.axes
            axes = "one axis" if count == 1 else f"{count} axes"
            sizes = ", ".join(f"n{axis}" for axis in range(count)) + ("," if count == 1 else "")
            self._review(
                kernel.function[0],
                function,
                f"'{function.name}' runs on a launch grid of {axes}; the grid of Beta 2 is a number of cores (1 or 2)",
                taken
                or f"--unsafe makes it loop over the grid, a parameter: {function.name}(..., {self.grid}=({sizes})); "
                "launches that these files do not show fail until they pass it",
            )
        for helper in self.plan.helpers:
            function = helper.function[1]
            self._review(
                helper.function[0],
                function,
                f"'{function.name}' asks for its place in a launch grid, which Beta 2 does not have",
                taken
                or "--unsafe adds parameters for it: callers that these files do not show fail until they pass it",
            )
        for launch in self.plan.launches:
            message = f"'{launch.kernel[1].name}' is launched on a grid, which Beta 2 does not have"
            for line in range(launch.subscript.lineno, (launch.subscript.end_lineno or 0) + 1):
                place = ast.Pass(lineno=line, col_offset=launch.subscript.col_offset)
                self._review(launch.module, place, message, taken or "--unsafe passes the grid as an argument")

    def _review(self, module: Module, node: ast.AST, message: str, help: str) -> None:
        module.report(Refuse(node, CODE, message, help, "review" if self.grid else "manual"))

    # --- functions ---------------------------------------------------------------------------------------------------

    def _rewrite(self, grid: str) -> None:
        for item in self.items:
            self.names[item.function[1]] = self._named(item, grid)
        for item in self.items:
            self._answer(item)
        for call in self.plan.calls:
            if call.caller[1] in self.names and call.callee[1] in self.helpers:
                self._hand_on(call)
        axes = {kernel.function[1]: kernel.axes for kernel in self.plan.kernels}
        for launch in self.plan.launches:
            self._relaunch(launch, axes[launch.kernel[1]])

    def _named(self, item: Looped | Handed, grid: str) -> Names:
        """A function's own names for its places, where a plain assignment at its top gives them."""
        function = item.function[1]
        axes = range(item.axes) if isinstance(item, Looped) else item.axes
        own: dict[int, tuple[str, ast.stmt]] = {}
        lines = Counter(n for s in function.body for n in range(s.lineno, (s.end_lineno or s.lineno) + 1))
        for statement in function.body if len(function.body) > 1 else ():
            name, axis = _own_name(self.plan.asked[function], statement)
            alone = statement.lineno == statement.end_lineno and lines[statement.lineno] == 1
            if axis is not None and axis in axes and axis not in own and alone and _bound_once(function, name):
                own[axis] = name, statement
        taken = names_in(function)
        ids = {axis: own[axis][0] if axis in own else free_name(f"program_{axis}", taken) for axis in axes}
        return Names(ids, grid, tuple(statement for _, statement in own.values()))

    def _answer(self, item: Looped | Handed) -> None:
        """Questions become names, and the function gets its parameters."""
        module, function = item.function
        names = self.names[function]
        dropped = {node for statement in names.assigned for node in walk(statement)}
        for question in self.plan.asked[function]:
            if question.call not in dropped:
                self._answer_one(module, function, question, names)
        ids = [] if isinstance(item, Looped) else list(names.ids.values())
        further = [*ids, *([names.grid] if isinstance(item, Looped) or item.sizes else [])]
        texts = [f"{name}=None" if has_defaults(function) else name for name in further]
        at, text = further_parameters(module.source, function, texts)
        self.edits[module.path].append(Edit(at, at, text))
        self._note(module, function)

    def _answer_one(self, module: Module, function: ast.FunctionDef, question: Asked, names: Names) -> None:
        """The places of what stands in a format string are not its own in every Python: it is found by its text."""
        strings = (node for node in of_kinds(function, ast.JoinedStr))
        string = next((s for s in strings if any(node is question.call for node in walk(s))), None)
        edits, source = self.edits[module.path], module.source
        if string is None:
            edits.append(Edit(*source.span(question.call), _answer_text(question, names)))
            return
        tokens = tokenize.generate_tokens(StringIO(ast.unparse(question.call)).readline)
        pattern = re.compile(r"\s*".join(re.escape(token.string) for token in tokens if token.string.strip()))
        for found in pattern.finditer(source.text, *source.span(string)):
            edit = Edit(*found.span(), _answer_text(question, names))
            edits += [edit] if edit not in edits else []

    def _hand_on(self, call: Call) -> None:
        """``helper(x)`` becomes ``helper(x, batch=batch)``."""
        helper, mine, theirs = self.helpers[call.callee[1]], self.names[call.caller[1]], self.names[call.callee[1]]
        pairs = [(theirs.ids[axis], mine.ids[axis]) for axis in helper.axes]
        pairs += [(theirs.grid, mine.grid)] if helper.sizes else []
        self._pass(call.caller[0], call.node, [f"{name}={value}" for name, value in pairs])

    def _pass(self, module: Module, call: ast.Call, texts: Sequence[str]) -> None:
        """Further arguments for a call."""
        at, text = further_arguments(module.source, call, texts)
        self.edits[module.path].append(Edit(at, at, text))
        module.touch(call)

    # --- launches ----------------------------------------------------------------------------------------------------

    def _launch_on_cores(self, launch: Launch) -> None:
        """``kernel[nl.nc(2)]`` is ``kernel[2]``: the same cores in both versions, which refuse others than 1 and 2."""
        module = launch.module
        counts = [nc_count(module, size) for size in launch.sizes or ()]
        is_named = launch.cores is not None and counts == [0]
        if (counts in ([1], [2]) or is_named) and not self._is_read_elsewhere(launch):
            self._count_cores(launch)
            self._note(module, launch.subscript)

    def _launch_once(self, launch: Launch) -> None:
        """``kernel[n](x)`` becomes ``kernel(x)``, where all programs do the same."""
        module, name = launch.module, launch.kernel[1].name
        unproved = obstacle(self.program, launch.kernel)
        if self.unsafe or not unproved:
            self.edits[module.path].append(Edit(*brackets(module.source, launch.subscript), ""))
            self._note(module, launch.subscript)
            return
        message = (
            f"'{name}' is launched on a grid, and never asks for its place in it; the grid of Beta 2 is 1 or 2 cores"
        )
        help = f"--unsafe launches it once: right if it reads nothing that it has written itself ({unproved})"
        module.report(Refuse(launch.subscript, CODE, message, help, "review"))

    def _count_cores(self, launch: Launch) -> None:
        """What the sizes of a launch say of cores, as numbers."""
        sizes = launch.sizes or ()
        for node in (node for size in sizes for node in about_cores(launch.module, size)):
            text = size_text(launch.module, node) if node in sizes else factor(launch.module, node)
            edit = Edit(*launch.module.source.span(node), text)
            if edit not in self.edits[launch.module.path]:
                self.edits[launch.module.path].append(edit)
                launch.module.touch(node)

    def _is_read_elsewhere(self, launch: Launch) -> bool:
        """Does anything but launches of these kernels read the tuple that a launch names? Beta 1 may still get it."""
        grid, module = launch.subscript.slice, launch.module
        if not isinstance(grid, ast.Name) or is_written_out(launch):
            return False
        found = self.plan
        known = {one.subscript.slice for one in (*found.launches, *found.core_launches, *found.alike)}
        reads = (n for n in self._around(module, grid) if isinstance(n, ast.Name) and n.id == grid.id)
        return any(isinstance(n.ctx, ast.Load) and n not in known for n in reads)

    def _around(self, module: Module, node: ast.AST) -> list[ast.AST]:
        """What stands in the outermost function that a node stands in, or in the module."""
        functions = [list(walk(f)) for f in of_kinds(module.source.tree, ast.FunctionDef)]
        return next((nodes for nodes in functions if node in nodes), list(walk(module.source.tree)))

    def _relaunch(self, launch: Launch, axes: int) -> None:
        """``kernel[a, b](x)`` becomes ``kernel(x, grid=(a, b))``."""
        module, name = launch.module, launch.kernel[1].name
        if not launch.calls:
            message = f"'{name}' gets its grid here, and its arguments elsewhere"
            module.report(Refuse(launch.subscript, CODE, message, f"launch it as {name}(..., {self.grid}=...)"))
            return
        cores = f"[{launch.cores.count}]" if launch.cores is not None else ""
        self.edits[module.path].append(Edit(*brackets(module.source, launch.subscript), cores))
        for call in launch.calls:
            self._pass(module, call, [f"{self.grid}={grid_text(launch, axes)}"])
        if not is_written_out(launch) and not self._is_read_elsewhere(launch):
            self._count_cores(launch)
        self._note(module, launch.subscript)


def _own_name(asked: list[Asked], statement: ast.stmt) -> tuple[str, int | None]:
    """The name and axis of ``name = nl.program_id(axis)``."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        for question in asked:
            if question.call is statement.value and question.name == "nl.program_id" and question.axes:
                return statement.targets[0].id, question.axes[0]
    return "", None


def _bound_once(function: ast.FunctionDef, name: str) -> bool:
    nodes = list(walk(function))
    bound = sum(isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in nodes)
    return bound == 1 and not any(isinstance(n, ast.arg) and n.arg == name for n in nodes)


def _answer_text(question: Asked, names: Names) -> str:
    if question.name == "nl.program_id":
        return names.ids[(question.axes or (0,))[0]]
    if question.name == "nl.program_ndim":
        return f"len({names.grid})"
    axes = question.axes if question.axes is not None else sorted(names.ids)
    sizes = [f"{names.grid}[{axis}]" for axis in axes]
    return sizes[0] if len(sizes) == 1 else f"({' * '.join(sizes)})"
