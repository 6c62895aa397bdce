"""The modules of one run: source, imports, functions, and what is planned for each.

What a file's imports and calls mean in the others is the :class:`Program`'s.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

from nki_migrate.runtime.spec.seen import SeenFunction

from ..expr.emission import Refuse, Said
from ..expr.evaluation import Evaluator
from ..expr.moves import Planned
from ..model import Decision, Finding, Options
from ..syntax.codes import NAMESPACE
from ..syntax.module_level import definitions_around
from ..syntax.names import canonical, dotted
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import definition_names, written_names
from ..syntax.source import Source
from .concrete_tree import ConcreteTree
from .draft import Draft
from .kernel_code import KernelCode, kernel_code
from .links import links, links_between
from .module_plan import Environment, ModulePlan, OutputNames, Position, Premises, Summaries
from .symbols import symbols
from .walks import Step, Unit, Walks

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


class Module:
    """One module in one round: its text, what is known of it before, and what the round finds out, plans and names.

    ``symbols`` is what its text binds, the same in all rounds, ``environment`` what the names of its level are.
    ``whole`` is all that is planned, ``plan`` that of the function under way, or all where there is none. See
    :mod:`.module_plan` for the others. The :class:`Program` that it is put in is its ``program``.
    """

    program: Program

    def __init__(self, source: Source, options: Options, path: str, premises: Premises | None = None) -> None:
        self.source, self.options, self.path = source, options, path
        self.premises = premises or Premises()
        self.symbols = symbols(source.tree)
        self.environment = Environment()
        self.summaries = Summaries()
        self.whole = self.plan = ModulePlan()
        home = options.support_home(path)
        self.names = OutputNames(
            set(self.symbols.written), set(self.symbols.module_level), home.module if home is not None else ""
        )
        self.concrete = ConcreteTree(source)

    def fresh(self, name: str) -> str:
        """A new name of the module: ``name``, with a number where anything in the module is called so."""
        return self.program.asked(_fresh, self, name)

    def fresh_in(self, function: ast.FunctionDef, name: str) -> str:
        """A new name of a function: ``name``, with a number where it, or the level of the module, has used it."""
        return self.program.asked(_fresh_in, self, function, name)

    def unused_in(self, function: ast.FunctionDef, name: str) -> str:
        """``name``, or the next one with a number that neither a function nor the level of the module has used."""
        return self.program.asked(_unused_in, self, function, name)

    def local_names(self, function: ast.FunctionDef) -> set[str]:
        """The names that a function of the module's level has, nested functions and all."""
        return self.names.local.setdefault(function, set(written_names(function)))

    def alias(self, root: str) -> str:
        """How this module writes ``nki.language``, ``nki.isa``, ...: its own alias, or a new import."""
        for item in self.symbols.imports.values():
            if (
                item.is_nki
                and item.statement not in self.symbols.nested_imports
                and canonical(item.path) == root
                and item.path.count(".") == (1 if root == "nki" else 2)
            ):
                return item.name
        return self.need_import(root, root)

    def need_import(self, path: str, name: str) -> str:
        """How this module writes a module that it is to import: as ``name``, or with a number."""
        return self.program.asked(_needed_import, self, path, name)

    @cached_property
    def seen(self) -> dict[tuple[int, int], SeenFunction]:
        """The functions of this module that cases entered, by line and column."""
        entered = {function.name: function for function in self.options.observed if function.file == self.path}
        places = definition_names(self.source.tree) if entered else {}
        return {place: entered[name] for place, name in places.items() if name in entered}

    def package(self, path: str, name: str) -> str:
        """How this module writes a package that is not NKI: its own alias, or a new import as ``name``."""
        for item in self.symbols.import_list:
            if item.path == path and item.statement not in self.symbols.nested_imports:
                return item.name
        return self.need_import(path, name)

    @property
    def stops_where_left(self) -> bool:
        """Do the kernels of the output stop where something is left?

        Not where it still imports Beta 1, which the next run reads, nor in a step of several.
        """
        return self.options.marks and self.options.enabled(NAMESPACE)

    def touch(self, node: ast.AST) -> None:
        """Record that a rule changed the module-level function or class that ``node`` stands in."""
        around = definitions_around(self.source.tree).get(node)
        self.plan.touched.add(getattr(node, "name", "") if around is None else around)

    def position(self, node: ast.expr | ast.stmt) -> Position:
        return self.path, node.lineno, node.col_offset

    def decide(self, node: ast.expr, name: str, choice: str, reason: str) -> None:
        """Record what was chosen for the tensor that ``node`` declares."""
        self.plan.decisions.add(Decision(node.lineno, name, choice, reason))

    def plan_tensor(self, planned: Planned) -> None:
        """Record what a declaration becomes."""
        self.program.draft.append(self.plan.tensors, planned)

    def report(self, refusal: Refuse, *, informs: bool = False) -> None:
        """Report what was left; ``informs``: what was written instead has the same meaning."""
        line = getattr(refusal.node, "lineno", 1)
        column = getattr(refusal.node, "col_offset", 0) + 1
        finding = Finding(line, column, refusal.code, refusal.applicability, refusal.message, refusal.help)
        self.plan.refused.setdefault(refusal.node, []).append(f"{refusal.code} {refusal.message}")
        if not informs:
            self.plan.said.append(Said(refusal.node, finding))
        if finding not in self.plan.findings:
            self.plan.findings.append(finding)


def _fresh(module: Module, name: str) -> str:
    chosen = numbered(name, module.names.taken)
    module.program.draft.add(module.names.taken, chosen)
    module.program.draft.add(module.names.module_level, chosen)
    return chosen


def _fresh_in(module: Module, function: ast.FunctionDef, name: str) -> str:
    chosen = _unused_in(module, function, name)
    module.program.draft.add(module.local_names(function), chosen)
    module.program.draft.add(module.names.taken, chosen)
    return chosen


def _unused_in(module: Module, function: ast.FunctionDef, name: str) -> str:
    return numbered(name, module.local_names(function) | module.names.module_level)


def _needed_import(module: Module, path: str, name: str) -> str:
    needed = module.names.needed_imports
    if path not in needed:
        chosen = name if name not in module.names.taken else module.fresh(name)
        module.program.draft.put(needed, path, chosen)
    return needed[path]


class Program:
    """The modules that are rewritten together, by path; ``evaluator`` answers what their expressions are.

    ``walks`` are what earlier rounds found of their functions, ``unit`` is the function that is walked.
    """

    def __init__(
        self, modules: dict[str, Module], evaluator: Evaluator | None = None, walks: Walks | None = None
    ) -> None:
        self.modules, self._evaluator = modules, evaluator
        self.walks = walks or Walks()
        self.unit: Unit | None = None
        for module in modules.values():
            module.program = self
        self.draft = Draft()
        self._facts: dict[Callable[[Program], Any], Any] = {}
        trees = {path: module.source.tree for path, module in modules.items()}
        self._bound = links_between(trees)
        self.links = {path: links(bound) for path, bound in self._bound.items()}

    @cached_property
    def has_classes(self) -> bool:
        return any(module.symbols.classes for module in self.modules.values())

    def asked(
        self,
        question: Callable[Concatenate[Module, Asked], Answer],
        module: Module,
        /,
        *args: Asked.args,
        **kwargs: Asked.kwargs,
    ) -> Answer:
        """The answer to a question about what functions share. A statement that is refused has not asked it."""
        answer: Answer = self._recorded(Step(question, module.path, args, stays=False))
        return answer

    def told(
        self,
        question: Callable[Concatenate[Module, Asked], Answer],
        module: Module,
        /,
        *args: Asked.args,
        **kwargs: Asked.kwargs,
    ) -> Answer:
        """The answer to a question whose effects stay where the statement that asks it is refused."""
        answer: Answer = self._recorded(Step(question, module.path, args, stays=True))
        return answer

    def _recorded(self, step: Step) -> Any:
        unit, self.unit = self.unit, None
        try:
            if unit is None:
                return self.answer(step, Draft() if step.stays else self.draft)
            answer, take_back = unit.asked(step, self.answer)
        finally:
            self.unit = unit
        if not step.stays:
            self.draft.when_refused(take_back)
        return answer

    def answer(self, step: Step, draft: Draft) -> Any:
        """What a question answers now; ``draft`` takes its effects back."""
        around, self.draft = self.draft, draft
        try:
            return step.question(self.modules[step.path], *step.arguments)
        finally:
            self.draft = around

    def share(self) -> None:
        """The function under way changes what other functions see: it is walked in each round."""
        if self.unit is not None:
            self.unit.is_repeatable = False

    def fact(self, question: Callable[[Program], Answer]) -> Answer:
        """The answer to a question about all modules, found once."""
        if question not in self._facts:
            self._facts[question] = question(self)
        answer: Answer = self._facts[question]
        return answer

    @cached_property
    def bases(self) -> set[tuple[str, str]]:
        """The classes that others derive from: their file, and their name there."""
        return {
            self.origin(module, base)
            for module in self.modules.values()
            for node in of_kinds(module.source.tree, ast.ClassDef)
            for base in node.bases
        }

    @cached_property
    def decorated_methods(self) -> set[str]:
        """The names of methods with decorators, of any class."""
        found = (c for module in self.modules.values() for c in module.symbols.classes.values())
        return {s.name for c in found for s in c.body if isinstance(s, ast.FunctionDef) and s.decorator_list}

    @cached_property
    def kernel_code(self) -> KernelCode:
        """What of these modules is kernel code, and why."""
        return kernel_code({path: module.source.tree for path, module in self.modules.items()})

    @cached_property
    def assigned_attributes(self) -> set[str]:
        """The attributes that any code assigns to, or deletes."""
        nodes = (node for module in self.modules.values() for node in walk(module.source.tree))
        return {n.attr for n in nodes if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)}

    def function(self, module: Module, node: ast.expr) -> tuple[Module, ast.FunctionDef] | None:
        """The function of another module that a name or ``module.name`` means."""
        chain = dotted(node)
        if chain is None or len(chain[1]) > 1:
            return None
        return self._resolved(module, chain[0], chain[1][0] if chain[1] else "", set())

    def _resolved(
        self, module: Module, name: str, attribute: str, seen: set[tuple[str, str]]
    ) -> tuple[Module, ast.FunctionDef] | None:
        """Follows names that modules hand on."""
        link = self.links[module.path].get(name)
        if link is None or bool(attribute) == bool(link.name) or (module.path, name) in seen:
            return None
        home, target = self.modules[link.path], link.name or attribute
        function = home.symbols.functions.get(target)
        if function is not None:
            return home, function
        return self._resolved(home, target, "", {*seen, (module.path, name)})

    def origin(self, module: Module, node: ast.AST) -> tuple[str, str]:
        """The file and the name there that a name, or ``module.name``, means; its own file for what is not imported."""
        chain = dotted(node)
        if chain is None:
            return module.path, ""
        name, attributes = chain
        link = self.links[module.path].get(name)
        if link is None:
            return module.path, "" if attributes else name
        if link.name:
            return link.path, "" if attributes else link.name
        return link.path, attributes[0] if len(attributes) == 1 else ""

    def users(self, module: Module, name: str) -> Iterator[tuple[Module, str]]:
        """The other modules that import ``name`` of a module, and what they call it."""
        for path, bound in self._bound.items():
            for local, link in bound:
                if (link.path, link.name) == (module.path, name):
                    yield self.modules[path], local
                elif (link.path, link.name) == (module.path, ""):
                    yield self.modules[path], f"{local}.{name}"

    @property
    def evaluator(self) -> Evaluator:
        assert self._evaluator is not None, "these modules are not analysed"
        return self._evaluator


def numbered(name: str, taken: Container[str]) -> str:
    """``name``, or the next one with a number that is not among ``taken``."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def program_of(sources: Mapping[str, Source], options: Options) -> Program:
    """The modules of some texts, by path, which know that they are rewritten together."""
    return Program({path: Module(source, options, path) for path, source in sources.items()})
