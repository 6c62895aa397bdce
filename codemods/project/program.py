"""The modules of one run: source, imports, functions, and what is planned for each.

What a file's imports and calls mean in the others is the :class:`Program`'s.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

import libcst as cst
from nki_migrate.runtime.spec.seen import SeenFunction

from ..expr.emission import Edits, Refuse, Said
from ..expr.evaluation import Evaluator
from ..expr.frames import Analysis
from ..expr.moves import Planned
from ..expr.values import Parameters, Value
from ..model import Assumption, Decision, Finding, Options
from ..syntax.module_level import definitions_around, module_definitions, module_statements, stand_ins
from ..syntax.names import Import, canonical, dotted, imports
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.nodes import bound_by, definition_names, inner_functions, written_names
from ..syntax.source import Source
from .draft import Draft
from .kernel_code import KERNEL_DECORATORS, KernelCode, decorator_name, kernel_code
from .links import links, links_between
from .vendor_kernels import Homes

Answer = TypeVar("Answer")

Position = tuple[str, int, int]
"""Path, line and column of a declaration."""

Resized = tuple[str, int, str]
"""Path, line of a function, and the name of an index vector there whose size has a name."""


class Module:
    """One module: its source, its imports, its functions, the edits planned so far and what they need.

    ``variants`` are the kinds of arguments that the calls of each function pass, ``shared`` the copy that serves each.
    ``to_list`` are the declarations that an earlier attempt could not rewrite with the style it had chosen for their
    blocks, ``blocked`` those that this attempt could not, each with the reason; ``resized`` and ``to_resize`` are the
    index vectors for which the same is true of their sizes. ``reviewed`` are the functions whose
    questions about the launch grid have an answer with ``--unsafe``, ``covered`` the lines under a finding about it,
    ``counts`` the names, by function, that ``--unsafe`` has given to places in a grid and to its sizes. ``homes`` are
    the modules that have the kernels which the module imports from ``neuronxcc``. ``support_home`` is the one that it
    imports functions of the rewrite from; empty: they stand in its own text. ``staying`` are the calls of
    functions of Beta 1 that the target has again.
    """

    def __init__(
        self,
        source: Source,
        options: Options,
        path: str,
        variants: dict[ast.FunctionDef, list[Parameters]],
        to_list: dict[Position, str] | None = None,
        shared: dict[ast.FunctionDef, list[int]] | None = None,
    ) -> None:
        self.source, self.options, self.path, self.variants = source, options, path, variants
        self.program = Program({path: self})
        self.reviewed: frozenset[str] = frozenset()
        self.covered: frozenset[int] = frozenset()
        self.counts: dict[str, frozenset[str]] = {}
        self.lost_writes: dict[ast.stmt, Refuse] = {}
        self.staying: set[ast.AST] = set()
        self.homes: Homes = {}
        self.calls: dict[ast.FunctionDef, list[Parameters]] = {}
        self.copies: dict[ast.FunctionDef, list[ast.FunctionDef]] = {}
        self.to_list = to_list or {}
        self.shared = shared or {}
        self.decisions: set[Decision] = set()
        self.blocked: dict[Position, str] = {}
        self.resized: frozenset[Resized] = frozenset()
        self.to_resize: set[Resized] = set()
        self.import_list = imports(source.tree)
        self.nested_imports = self._nested_imports()
        self.imports = self._imports()
        self.names = {node.id for node in of_kinds(source.tree, ast.Name)}
        definitions = module_definitions(source.tree)
        self.functions = {name: node for name, node in definitions.items() if isinstance(node, ast.FunctionDef)}
        self.classes = {name: node for name, node in definitions.items() if isinstance(node, ast.ClassDef)}
        self.inner_kernels = [(around, f) for around, f in inner_functions(source.tree) if self.is_kernel(f)]
        self.left: set[ast.FunctionDef] = set()
        self.bindings: dict[ast.AST, dict[str, list[ast.expr | None]]] = {}
        self.object_classes: dict[tuple[ast.FunctionDef, str], Any] = {}
        self.changed_by: dict[ast.FunctionDef, set[tuple[str, bool]]] = {}
        self.edits = Edits()
        self.findings: list[Finding] = []
        self.said: list[Said] = []
        self.assumptions: set[Assumption] = set()
        self.assumed: dict[ast.stmt, dict[str, str]] = {}
        self.kept: set[ast.stmt] = set()
        self.refused: dict[ast.AST, list[str]] = {}
        self.applied: Counter[str] = Counter()
        self.touched: set[str] = set()
        self.planned: list[Planned] = []
        self.own_objects: dict[str, list[ast.FunctionDef]] = {}
        self.inexact: dict[str, int] = {}
        self.needless: set[ast.stmt] = set()
        self.removed_comments: list[str] = []
        self.needed_imports: dict[str, str] = {}
        self.needed_names: dict[ast.ImportFrom, dict[str, str]] = {}
        self.from_imports: dict[str, str] = {}
        home = options.support_home(path)
        self.support_home = home.module if home is not None else ""
        self.support: dict[str, str] = {}
        self.support_names: dict[str, str] = {}
        self.captured: dict[ast.FunctionDef, dict[str, Value]] = {}
        self.lifting: set[ast.FunctionDef] = set()
        self.lifted: dict[ast.FunctionDef, tuple[str, list[str]]] = {}
        self.flattened: dict[ast.FunctionDef, str] = {}
        self.handed: dict[ast.FunctionDef, list[str]] = {}
        self.followed: dict[ast.FunctionDef, set[ast.Call]] = {}
        self.analyzed: dict[ast.FunctionDef, Analysis] = {}
        self.traced_once: set[ast.For] = set()
        self._concrete: cst.Module | None = None
        self._functions: dict[ast.FunctionDef | ast.AsyncFunctionDef, cst.FunctionDef] = {}
        self.environment: dict[str, Value] = {}
        self.definitions: dict[str, str] = {}
        self.dtypes: dict[str, str] = {}
        self.global_aliases: dict[str, ast.Assign] = {}
        self.globals = {
            target.id
            for node in module_statements(source.tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.taken = {*written_names(source.tree), *self.imports, *dir(builtins)}
        self.own_names = frozenset(self.taken)
        bound = {name for statement in source.tree.body for name in bound_by(statement)}
        self.module_level = bound | set(definitions) | set(self.imports) | set(dir(builtins))
        self.local: dict[ast.FunctionDef, set[str]] = {}

    def concrete(self) -> cst.Module:
        """The LibCST tree of the module's text (parsed once)."""
        if self._concrete is None:
            self._concrete = cst.parse_module(self.source.text)
        return self._concrete

    def forget_concrete(self) -> None:
        """Drop the LibCST tree, once the text is written: it is the largest thing that a module has."""
        self._concrete = None
        self._functions.clear()

    def concrete_function(self, function: ast.FunctionDef) -> cst.FunctionDef:
        """The LibCST node of a function of this module."""
        if not self._functions:
            pairs = zip(_functions_of(self.source.tree), _concrete_functions(self.concrete()), strict=True)
            self._functions = dict(pairs)
            for original, copies in self.copies.items():
                for copied in copies:
                    same = zip([copied, *_functions_of(copied)], [original, *_functions_of(original)], strict=True)
                    self._functions |= {new: self._functions[old] for new, old in same}
        return self._functions[function]

    def is_kernel(self, function: ast.FunctionDef) -> bool:
        """Is a function decorated with ``nki.jit`` or one of its forerunners?"""
        return any(self.decorator(d) in KERNEL_DECORATORS for d in function.decorator_list)

    def is_launchable(self, function: ast.FunctionDef) -> bool:
        """Can host code launch a function? (One in trace mode is only called by kernels.)"""
        launching = [d for d in function.decorator_list if self.decorator(d) in KERNEL_DECORATORS - {"nki.trace"}]
        return any(not _in_trace_mode(decorator) for decorator in launching)

    def decorator(self, node: ast.expr) -> str | None:
        """Canonical name of a decorator, called or not."""
        return decorator_name(self.imports, node)

    def host_name(self, node: ast.AST) -> str:
        """The canonical name of what a chain means; nothing for a name that is bound again anywhere."""
        chain = dotted(node)
        bound = self.imports.get(chain[0]) if chain is not None else None
        if chain is None or bound is None or chain[0] in self.rebound or bound.statement in self.nested_imports:
            return ""
        return canonical(".".join((bound.path, *chain[1])))

    def fresh(self, name: str) -> str:
        """A new name of the module: ``name``, with a number where anything in the module is called so."""
        chosen = numbered(name, self.taken)
        self.program.draft.add(self.taken, chosen)
        self.program.draft.add(self.module_level, chosen)
        return chosen

    def alias(self, root: str) -> str:
        """How this module writes ``nki.language``, ``nki.isa``, ...: its own alias, or a new import."""
        for item in self.imports.values():
            if (
                item.is_nki
                and item.statement not in self.nested_imports
                and canonical(item.path) == root
                and item.path.count(".") == (1 if root == "nki" else 2)
            ):
                return item.name
        return self.need_import(root, root)

    def need_import(self, path: str, name: str) -> str:
        """How this module writes a module that it is to import: as ``name``, or with a number."""
        if path not in self.needed_imports:
            self.program.draft.put(self.needed_imports, path, name if name not in self.taken else self.fresh(name))
        return self.needed_imports[path]

    @cached_property
    def seen(self) -> dict[tuple[int, int], SeenFunction]:
        """The functions of this module that cases entered, by line and column."""
        entered = {function.name: function for function in self.options.observed if function.file == self.path}
        places = definition_names(self.source.tree) if entered else {}
        return {place: entered[name] for place, name in places.items() if name in entered}

    @cached_property
    def rebound(self) -> set[str]:
        """Names that something else than an import binds, anywhere in the module."""
        return self._stored | set(self.functions)

    @cached_property
    def bound_again(self) -> set[str]:
        """Names that something binds besides one function, anywhere in the module."""
        functions = Counter(node.name for node in of_kinds(self.source.tree, ast.FunctionDef, ast.AsyncFunctionDef))
        return self._stored | set(self.imports) | {name for name, count in functions.items() if count > 1}

    @cached_property
    def _stored(self) -> set[str]:
        """Names that an assignment or a parameter binds."""
        stored = {n for n in of_kinds(self.source.tree, ast.Name) if isinstance(n.ctx, ast.Store)}
        names = {name.id for name in stored - stand_ins(self.source.tree)}
        return names | {n.arg for n in of_kinds(self.source.tree, ast.arg)}

    def package(self, path: str, name: str) -> str:
        """How this module writes a package that is not NKI: its own alias, or a new import as ``name``."""
        for item in self.import_list:
            if item.path == path and item.statement not in self.nested_imports:
                return item.name
        return self.need_import(path, name)

    def _nested_imports(self) -> set[ast.Import | ast.ImportFrom]:
        """The imports that are not there for all kernels.

        Where a module imports NKI in conditions alone, its kernels need those.
        """
        nested = {item.statement for item in self.import_list} - set(self.source.tree.body)
        ours = {item.statement for item in self.import_list if item.is_nki}
        return nested - ours.intersection(module_statements(self.source.tree)) if ours <= nested else nested

    def _imports(self) -> dict[str, Import]:
        """What imports bind names to: the last one, but for those that repeat an import at the top."""
        found: dict[str, Import] = {}
        for item in self.import_list:
            known = found.get(item.name)
            if known is None or known.statement in self.nested_imports or known.path != item.path:
                found[item.name] = item
        return found

    def touch(self, node: ast.AST) -> None:
        """Record that a rule changed the module-level function or class that ``node`` stands in."""
        around = definitions_around(self.source.tree).get(node)
        self.touched.add(getattr(node, "name", "") if around is None else around)

    def position(self, node: ast.expr) -> Position:
        return self.path, node.lineno, node.col_offset

    def decide(self, node: ast.expr, name: str, choice: str, reason: str) -> None:
        """Record what was chosen for the tensor that ``node`` declares."""
        self.decisions.add(Decision(node.lineno, name, choice, reason))

    def plan_tensor(self, planned: Planned) -> None:
        """Record what a declaration becomes."""
        self.program.draft.append(self.planned, planned)

    def report(self, refusal: Refuse, *, informs: bool = False) -> None:
        """Report what was left; ``informs``: what was written instead has the same meaning."""
        line = getattr(refusal.node, "lineno", 1)
        column = getattr(refusal.node, "col_offset", 0) + 1
        finding = Finding(line, column, refusal.code, refusal.applicability, refusal.message, refusal.help)
        self.refused.setdefault(refusal.node, []).append(f"{refusal.code} {refusal.message}")
        if not informs:
            self.said.append(Said(refusal.node, finding))
        if finding not in self.findings:
            self.findings.append(finding)


class Program:
    """The modules that are rewritten together, by path; ``evaluator`` answers what their expressions are."""

    def __init__(self, modules: dict[str, Module], evaluator: Evaluator | None = None) -> None:
        self.modules, self._evaluator = modules, evaluator
        self.draft = Draft()
        self._facts: dict[Callable[[Program], Any], Any] = {}
        trees = {path: module.source.tree for path, module in modules.items()}
        self._bound = links_between(trees)
        self.links = {path: links(bound) for path, bound in self._bound.items()}

    @cached_property
    def has_classes(self) -> bool:
        return any(module.classes for module in self.modules.values())

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
        found = (c for module in self.modules.values() for c in module.classes.values())
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
        function = home.functions.get(target)
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


def _in_trace_mode(decorator: ast.expr) -> bool:
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return any(k.arg == "mode" and isinstance(k.value, ast.Constant) and k.value.value == "trace" for k in keywords)


def _functions_of(node: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions in the order of the source."""
    found: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    for child in children(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(child)
        found += _functions_of(child)
    return found


def _concrete_functions(node: cst.CSTNode) -> list[cst.FunctionDef]:
    found: list[cst.FunctionDef] = []
    for child in _statements_in(node):
        if isinstance(child, cst.FunctionDef):
            found.append(child)
        found += _concrete_functions(child)
    return found


def _statements_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements that stand in a compound statement, and the clauses that hold more (``else``, handlers, cases)."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        part = getattr(node, name, None)
        if isinstance(part, cst.BaseSuite):
            part = part.body
        if isinstance(part, cst.CSTNode):
            yield part
        elif part:
            yield from (child for child in part if not isinstance(child, cst.SimpleStatementLine))


def program_of(sources: Mapping[str, Source], options: Options) -> Program:
    """The modules of some texts, by path, which know that they are rewritten together."""
    program = Program({path: Module(source, options, path, {}) for path, source in sources.items()})
    for module in program.modules.values():
        module.program = program
    return program
