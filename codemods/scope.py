"""One function while it is read and rewritten: what its names are, and what has been decided so far."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst
from nki_migrate.runtime.spec.seen import SeenFunction

from . import algebra
from .emission import Edits, New, Refuse, assertion
from .facts.values import Api, Axis, Declaration, Function, Hbm, Parameters, Tile, Value
from .kernel_code import KERNEL_DECORATORS, decorator_name
from .model import Assumption, Decision, Finding, Options
from .moves import Planned
from .names import BETA2, Import, canonical, dotted, imports
from .node_index import of_kinds, walk
from .program import Program
from .rules.psum_accumulation import FirstMatmul, Groups, Written
from .shipped import Homes
from .source import Source
from .syntax import bound_by, definition_names, definitions_around, inner_functions, written_names

if TYPE_CHECKING:
    from .facts.classes import Class
    from .joints import Joint
    from .pinned import Pinned
    from .staircase import Staircase

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
    the modules that have the kernels which the module imports from ``neuronxcc``.
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
        self.nested_imports = {item.statement for item in self.import_list} - set(source.tree.body)
        self.imports = self._imports()
        self.names = {node.id for node in of_kinds(source.tree, ast.Name)}
        self.functions = {node.name: node for node in source.tree.body if isinstance(node, ast.FunctionDef)}
        self.classes = {node.name: node for node in source.tree.body if isinstance(node, ast.ClassDef)}
        self.inner_kernels = [(around, f) for around, f in inner_functions(source.tree) if self.is_kernel(f)]
        self.left: set[ast.FunctionDef] = set()
        self.bindings: dict[ast.AST, dict[str, list[ast.expr | None]]] = {}
        self.object_classes: dict[tuple[ast.FunctionDef, str], Class | None] = {}
        self.changed_by: dict[ast.FunctionDef, set[tuple[str, bool]]] = {}
        self.edits = Edits()
        self.findings: list[Finding] = []
        self.assumptions: set[Assumption] = set()
        self.assumed: dict[ast.stmt, dict[str, str]] = {}
        self.kept: set[ast.stmt] = set()
        self.refused: dict[ast.AST, list[str]] = {}
        self.applied: Counter[str] = Counter()
        self.touched: set[str] = set()
        self.planned: list[Planned] = []
        self.own_objects: dict[str, list[ast.FunctionDef]] = {}
        self.inexact: dict[str, int] = {}
        self.index_vectors: set[ast.stmt] = set()
        self.removed_comments: list[str] = []
        self.needed_imports: dict[str, str] = {}
        self.needed_names: dict[ast.ImportFrom, dict[str, str]] = {}
        self.from_imports: dict[str, str] = {}
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
            for node in source.tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.taken = {*written_names(source.tree), *self.imports, *dir(builtins)}
        self.own_names = frozenset(self.taken)
        self.module_level = {n for s in source.tree.body for n in bound_by(s)} | set(self.imports) | set(dir(builtins))
        self.local: dict[ast.FunctionDef, set[str]] = {}

    def concrete(self) -> cst.Module:
        """The LibCST tree of the module's text (parsed once)."""
        if self._concrete is None:
            self._concrete = cst.parse_module(self.source.text)
        return self._concrete

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
        chosen = _numbered(name, self.taken)
        self.taken.add(chosen)
        self.module_level.add(chosen)
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
        if root not in self.needed_imports:
            self.needed_imports[root] = root if root not in self.taken else self.fresh(root)
        return self.needed_imports[root]

    @cached_property
    def seen(self) -> dict[tuple[int, int], SeenFunction]:
        """The functions of this module that cases entered, by line and column."""
        entered = {function.name: function for function in self.options.observed if function.file == self.path}
        places = definition_names(self.source.tree) if entered else {}
        return {place: entered[name] for place, name in places.items() if name in entered}

    @cached_property
    def rebound(self) -> set[str]:
        """Names that something else than an import binds, anywhere in the module."""
        nodes = list(walk(self.source.tree))
        names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return names | {n.arg for n in nodes if isinstance(n, ast.arg)} | set(self.functions)

    def package(self, path: str, name: str) -> str:
        """How this module writes a package that is not NKI: its own alias, or a new import as ``name``."""
        for item in self.import_list:
            if item.path == path and item.statement not in self.nested_imports:
                return item.name
        self.needed_imports.setdefault(path, name if name not in self.taken else self.fresh(name))
        return self.needed_imports[path]

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

    def report(self, refusal: Refuse) -> None:
        line = getattr(refusal.node, "lineno", 1)
        column = getattr(refusal.node, "col_offset", 0) + 1
        finding = Finding(line, column, refusal.code, refusal.applicability, refusal.message, refusal.help)
        self.refused.setdefault(refusal.node, []).append(f"{refusal.code} {refusal.message}")
        if finding not in self.findings:
            self.findings.append(finding)


def kernels_of(tree: ast.Module) -> set[str]:
    """The names of the kernels that a module defines."""
    imported = {item.name: item for item in imports(tree)}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {
        f.name for f in functions if any(decorator_name(imported, d) in KERNEL_DECORATORS for d in f.decorator_list)
    }


def _numbered(name: str, taken: Container[str]) -> str:
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
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(child)
        found += _functions_of(child)
    return found


def _concrete_functions(node: cst.CSTNode) -> list[cst.FunctionDef]:
    found: list[cst.FunctionDef] = []
    for child in node.children:
        if isinstance(child, cst.FunctionDef):
            found.append(child)
        found += _concrete_functions(child)
    return found


@dataclass(frozen=True)
class Analysis:
    """A function that was walked: the kinds of its parameters then, and of its result, and what it writes to PSUM."""

    parameters: dict[str, Value]
    returned: Value | None
    groups: Groups = field(default_factory=dict)


@dataclass(frozen=True)
class Loop:
    """An enclosing loop: its variable, whether Beta 1 traced its body only once, and whether it runs on the device."""

    variable: str
    statement: ast.For | ast.While | ast.With
    traced_once: bool
    dynamic: bool = False


@dataclass
class Scope:
    """The function being rewritten."""

    module: Module
    function: ast.FunctionDef
    decorated: bool
    on_device: bool = False
    env: dict[str, Value] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    itemsizes: dict[str, str] = field(default_factory=dict)
    loops: tuple[Loop, ...] = ()
    out: list[New] = field(default_factory=list)
    guards: tuple[str, ...] = ()
    clamps: dict[int, Clamp] = field(default_factory=dict)
    stairs: Staircase | None = None
    assigned: Counter[str] = field(default_factory=Counter)
    multiples: list[tuple[str, str]] = field(default_factory=list)
    sizes: dict[str, str] = field(default_factory=dict)
    interpreted: dict[ast.Call, Value | None] = field(default_factory=dict)
    unpacking: dict[ast.Call, list[tuple[Module, ast.FunctionDef, ast.Call]]] = field(default_factory=dict)
    has_loose: bool = False
    resized: dict[str, str] = field(default_factory=dict)
    psum_writes: dict[Declaration, list[Written]] = field(default_factory=dict)
    copied: dict[tuple[str, ast.stmt | None], str] = field(default_factory=dict)
    first_matmuls: dict[Declaration, FirstMatmul] = field(default_factory=dict)
    branch: tuple[int, ...] = ()
    block: list[ast.stmt] = field(default_factory=list)
    current: ast.stmt | None = None
    called: dict[ast.expr, tuple[str, Value]] = field(default_factory=dict)
    given: dict[ast.expr, str] = field(default_factory=dict)
    kept: list[ast.AST] = field(default_factory=list)
    direct: bool = False
    returned: Value | None = None
    outer: Scope | None = None
    nested: list[Function] = field(default_factory=list)
    dropped: dict[ast.stmt, set[str]] = field(default_factory=dict)
    pinned: list[Pinned] = field(default_factory=list)
    traced_once: set[ast.For] = field(default_factory=set)
    captured: set[str] = field(default_factory=set)
    flags: dict[str, bool] = field(default_factory=dict)
    under: dict[str, dict[str, tuple[Value, Value]]] = field(default_factory=dict)
    unknown_results: set[str] = field(default_factory=set)
    none_at_first: set[str] = field(default_factory=set)
    untold: set[str] = field(default_factory=set)
    joints: list[Joint] = field(default_factory=list)
    joined: dict[str, set[str]] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        return self.module.source

    @property
    def nl(self) -> str:
        return self.module.alias("nl")

    @property
    def nisa(self) -> str:
        return self.module.alias("nisa")

    @property
    def outermost(self) -> ast.FunctionDef:
        """The module-level function that this one stands in."""
        return self.outer.outermost if self.outer is not None else self.function

    def walk_function(
        self, node: ast.FunctionDef, parameters: dict[str, Value] | None = None, home: Module | None = None
    ) -> Analysis:
        """Rewrite another function (once) of this module or of its ``home``, given what its parameters are."""
        from .functions import walk_function

        return walk_function(home or self.module, node, parameters or {}, caller=self)

    def qualified(self, node: ast.AST) -> str | None:
        """Canonical name of what an attribute chain or name refers to, through imports and local aliases."""
        chain = dotted(node)
        if chain is None:
            return None
        name, attributes = chain
        value = self.env.get(name)
        if isinstance(value, Api):
            return ".".join((value.name, *attributes))
        if value is not None:
            return None
        bound = self.module.imports.get(name)
        return canonical(".".join((bound.path, *attributes))) if bound else None

    def fresh(self, name: str) -> str:
        """A new local name: ``name``, with a number where this function (or the module) has used it."""
        chosen = self.unused(name)
        self.module.local[self.outermost].add(chosen)
        self.module.taken.add(chosen)
        return chosen

    def unused(self, name: str) -> str:
        """``name``, or the next one with a number that this function (or the module) has not used."""
        local = self.module.local.setdefault(self.outermost, set(written_names(self.outermost)))
        return _numbered(name, local | self.module.module_level)

    def apply(self, code: str, node: ast.AST) -> None:
        """Record that a rule is applied; raise :class:`Refuse` when the user deselected it."""
        if not self.module.options.enabled(code):
            raise Refuse(node, code, f"the rule {code} is not selected", f"select it with --select {code}")
        self.module.applied[code] += 1

    def emit(self, text: str) -> None:
        alone = len(self.guards) == 1
        self.out.append(New(text, " and ".join(g if alone or " or " not in g else f"({g})" for g in self.guards)))

    def constant(self, text: str) -> int | None:
        return algebra.constant(text, self.definitions)

    def equal(self, a: str, b: str) -> bool:
        return algebra.equal(a, b, self.definitions)

    def assert_equal(self, a: str, b: str, why: str) -> None:
        """The kernel asserts that two sizes are equal where the source does not tell, whatever a mask says."""
        if not self.equal(a, b):
            self.assert_that(f"{a} == {b}", why)

    def assert_that(self, condition: str, what: str) -> None:
        """The kernel asserts once what it is rewritten for, whatever a mask says: later statements rely on it."""
        check = New(assertion(condition, what))
        if check not in self.out:
            self.out.append(check)

    def assume(self, condition: str, why: str) -> None:
        """Beta 2 itself refuses what the statement at hand is not rewritten for: nothing need be asserted, but said."""
        if self.current is not None:
            self.module.assumed.setdefault(self.current, {})[condition] = why

    def canonical(self, text: str) -> str:
        """A number as text that is the same for all its spellings."""
        return algebra.show(algebra.normal(text, self.definitions))

    def same_dtype(self, a: str | None, b: str | None) -> bool:
        """Are two data types provably the same? Names that are assigned once are looked up."""
        return a is not None and b is not None and (a == b or self.resolved_dtype(a) == self.resolved_dtype(b))

    def resolved_dtype(self, text: str) -> str:
        """What a data type under a name is, or that of a tensor under a name, as far as the source tells."""
        seen: set[str] = set()
        while text not in seen:
            seen.add(text)
            text = self.dtypes.get(text) or self._dtype_of(text) or text
        return text

    def _dtype_of(self, text: str) -> str | None:
        """What ``tile.dtype`` is, where one statement binds ``tile``."""
        name = text.removesuffix(".dtype")
        value = self.env.get(name) if name != text and self.assigned.get(name) == 1 else None
        return value.dtype if isinstance(value, Tile | Hbm) else None

    def beta2(self, qualified: str) -> str:
        """``nl.load`` as this module would write it after the imports are rewritten."""
        root, _, rest = qualified.partition(".")
        alias = self.module.alias(root) if root in BETA2 else root
        return f"{alias}.{rest}" if rest else alias

    def guard(self, conditions: tuple[str, ...]) -> None:
        """What is emitted from here on, up to the end of the mask that it belongs to, runs under ``conditions``."""
        self.guards = (*self.guards, *(c for c in conditions if c not in self.guards))


@dataclass(frozen=True)
class Clamp:
    """A mask cuts one position of the iteration space: ``size`` (a name) elements from ``start`` on are left."""

    axis: Axis
    position: int
    ndim: int
    size: str
    loose: bool = False
    start: str = "0"


def is_tile(value: Value | None) -> bool:
    return isinstance(value, Tile) and not value.blocks
