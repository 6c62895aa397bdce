"""One file at one version of NKI: which names are NKI's, and how the file spells others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from nki_migrate.runtime.spec import beta2

from ..model import Options
from ..syntax.call_text import CallText, call_text
from ..syntax.drafts import Sheet
from ..syntax.mark_text import WHOLE, is_whole
from ..syntax.name_scopes import OTHER, Names, dotted, imported, is_star
from ..syntax.node_index import of_kinds
from .names import is_ours, star

MAKERS = frozenset(f"nki.language.{name}" for name in ("ndarray", "zeros", "ones", "full", "rand"))
"""The functions that make a tensor."""


class Rung(Sheet):
    """A file that the rules of the ladder read."""

    def __init__(self, text: str, options: Options) -> None:
        super().__init__(text, options, star)
        self._qualified: dict[ast.AST, str] = {}
        self._kinds: dict[tuple[type[ast.AST], ...], tuple[ast.AST, ...]] = {}
        self._texts: dict[ast.Call, CallText | None] = {}
        self._inside: dict[frozenset[ast.FunctionDef], Inside] = {}

    def inside(self, kernel_code: frozenset[ast.FunctionDef]) -> Inside:
        """What stands in the functions of the file that are kernel code."""
        if kernel_code not in self._inside:
            self._inside[kernel_code] = Inside(self, kernel_code)
        return self._inside[kernel_code]

    def of_kinds(self, kinds: tuple[type[ast.AST], ...]) -> tuple[ast.AST, ...]:
        """The nodes of these types, outer ones first, in the order of the text."""
        if kinds not in self._kinds:
            found = sorted(pair for kind in kinds for pair in self._by_kind.get(kind, ()))
            self._kinds[kinds] = tuple(self.nodes[place] for place in found)
        return self._kinds[kinds]

    @cached_property
    def _by_kind(self) -> dict[type[ast.AST], list[int]]:
        """Where in :attr:`nodes` those of a type stand."""
        found: dict[type[ast.AST], list[int]] = {}
        for place, node in enumerate(self.nodes):
            found.setdefault(node.__class__, []).append(place)
        return found

    @cached_property
    def left(self) -> frozenset[ast.AST]:
        """What stands in functions of which an earlier rewrite has left all as it was: it is of no version of NKI."""
        functions = self.of_kinds((ast.FunctionDef,)) if WHOLE in self.text else ()
        return frozenset(n for f in functions if isinstance(f, ast.FunctionDef) and is_whole(f) for n in ast.walk(f))

    @cached_property
    def definitions(self) -> dict[str, ast.FunctionDef | ast.ClassDef]:
        """The functions and classes of the module, by name."""
        return {s.name: s for s in self.tree.body if isinstance(s, (ast.FunctionDef, ast.ClassDef))}

    @cached_property
    def all_calls(self) -> tuple[ast.Call, ...]:
        return tuple(node for node in self.of_kinds((ast.Call,)) if isinstance(node, ast.Call))

    @cached_property
    def appended(self) -> dict[tuple[ast.AST | None, str], list[tuple[ast.expr, int]]]:
        """By function and name of a list: what is appended to it, and how many levels down, itself being the first."""
        found: dict[tuple[ast.AST | None, str], list[tuple[ast.expr, int]]] = {}
        for call in self.all_calls:
            callee = call.func
            if not (isinstance(callee, ast.Attribute) and callee.attr == "append" and call.args):
                continue
            grown, levels = callee.value, 1
            while isinstance(grown, ast.Subscript):
                grown, levels = grown.value, levels + 1
            if isinstance(grown, ast.Name):
                found.setdefault((self.function(call), grown.id), []).append((call.args[0], levels))
        return found

    @cached_property
    def read(self) -> tuple[ast.Name | ast.Attribute, ...]:
        """The names and attributes that the file reads, outer ones first, in the order of the text."""
        kinds = (ast.Name, ast.Attribute)
        return tuple(n for n in self.nodes if isinstance(n, kinds) and isinstance(n.ctx, ast.Load))

    @cached_property
    def values(self) -> tuple[tuple[ast.expr, str], ...]:
        """Functions of NKI where they are neither callee nor annotation, with their qualified names."""
        annotations = [n.annotation for n in self.nodes if isinstance(n, (ast.arg, ast.AnnAssign)) and n.annotation]
        annotations += [n.returns for n in self.nodes if isinstance(n, ast.FunctionDef) and n.returns]
        named = {node for annotation in annotations for node in ast.walk(annotation)}
        found = []
        for node in self.read:
            if node in named:
                continue
            above = self.parents.get(node)
            is_callee = isinstance(above, ast.Call) and above.func is node
            if not is_callee and not isinstance(above, ast.Attribute) and (name := self.qualified(node)):
                found.append((node, name))
        return tuple(found)

    @cached_property
    def value_nodes(self) -> frozenset[ast.expr]:
        """The nodes of :attr:`values`."""
        return frozenset(node for node, _ in self.values)

    @cached_property
    def _aliased(self) -> dict[str, list[ast.expr]]:
        """What names of the module are assigned: ``engine = nisa.engine``."""
        found: dict[str, list[ast.expr]] = {}
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            found.setdefault(name.id, []).append(statement.value)
        return found

    def qualified(self, node: ast.AST) -> str:
        """``nki.isa.dma_copy`` for an expression that means it, by whatever name; empty for all that is not NKI's."""
        if node not in self._qualified:
            self._qualified[node] = self._path(node)
        return self._qualified[node]

    def _path(self, node: ast.AST) -> str:
        parts = dotted(node)
        if parts is None or node not in self.names:
            return ""
        paths = self.names[node].of(parts[0])
        if paths == {OTHER} and len(self._aliased.get(parts[0], ())) == 1 and self._owner_is_module(node, parts[0]):
            value = self._aliased[parts[0]][0]
            known = self.qualified(value) if dotted(value) not in (None, [parts[0]]) else ""
            return ".".join((known, *parts[1:])) if known else ""
        if len(paths) != 1 or OTHER in paths:
            return ""
        path = ".".join((next(iter(paths)), *parts[1:]))
        return beta2.canonical(path) if is_ours(path) else ""

    def literal(self, name: ast.Name) -> ast.Constant | None:
        """The literal that a name of the module is bound to, once and for all."""
        if self.constant(name) is ... or not self._owner_is_module(name, name.id):
            return None
        values = self._aliased.get(name.id, [])
        is_global = any(isinstance(n, ast.Global) and name.id in n.names for n in self.nodes)
        return values[0] if len(values) == 1 and isinstance(values[0], ast.Constant) and not is_global else None

    def _owner_is_module(self, node: ast.AST, name: str) -> bool:
        scope: Names | None = self.names[node]
        while scope is not None and name not in scope.bound:
            scope = scope.outer
        return scope is not None and isinstance(scope.block, ast.Module)

    def spelled(self, at: ast.AST, name: str) -> str | None:
        """The qualified ``name`` as the file can write it where ``at`` stands; ``None`` if it has no name for it."""
        whole = scope = self.names[at]
        at_scope: Names | None = scope
        best = ""
        while at_scope is not None:
            for bound in at_scope.bound:
                paths = whole.of(bound)
                path = beta2.canonical(next(iter(paths))) if len(paths) == 1 else OTHER
                if (name == path or name.startswith(f"{path}.")) and is_ours(path):
                    text = bound + name[len(path) :]
                    best = text if not best or len(text) < len(best) else best
            at_scope = at_scope.outer
        return best or None

    def makers_in(self, function: ast.AST) -> list[ast.Call]:
        """The calls inside of a function that make a tensor, in the order of the text."""
        return self._makers.get(function, [])

    @cached_property
    def _makers(self) -> dict[ast.AST, list[ast.Call]]:
        found: dict[ast.AST, list[ast.Call]] = {}
        for call, _ in self.calls_of(*MAKERS):
            function = self.function(call)
            while function is not None:
                found.setdefault(function, []).append(call)
                function = self.function(function)
        return found

    def calls_of(self, *names: str) -> Iterator[tuple[ast.Call, str]]:
        """The calls of these qualified names, outer ones first, in the order of the text."""
        found = [(place, call, name) for name in names for place, call in self._called.get(name, ())]
        for _, call, name in sorted(found, key=lambda each: each[0]):
            yield call, name

    @cached_property
    def _called(self) -> dict[str, list[tuple[int, ast.Call]]]:
        """The calls of each qualified name, with their places among all calls."""
        found: dict[str, list[tuple[int, ast.Call]]] = {}
        for place, call in enumerate(self.all_calls):
            found.setdefault(self.qualified(call.func), []).append((place, call))
        return found

    def text_of(self, call: ast.Call) -> CallText | None:
        """The arguments of a call in its text."""
        if call not in self._texts:
            self._texts[call] = call_text(self, call)
        return self._texts[call]

    @property
    def is_nki(self) -> bool:
        """Does the file import NKI (0.2 or later), and nothing of Beta 1?"""
        return self.has_nki and not any(p == "neuronxcc" or p.startswith("neuronxcc.") for p in self._imported)

    @property
    def has_nki(self) -> bool:
        """Does the file import NKI (0.2 or later), whatever else?"""
        return any(map(is_ours, self._imported))

    @cached_property
    def _imported(self) -> set[str]:
        """The paths that imports bind to names, and the modules of NKI of which one imports everything."""
        found = of_kinds(self.tree, ast.Import, ast.ImportFrom)
        paths = {path for statement in found for _, path in imported(statement)}
        stars = (star(statement.module or "") for statement in found if is_star(statement))
        return paths | {given[0] for given in stars if given is not None}


class Inside:
    """The nodes of a file that stand in its functions ``kernel_code``: in the body, or in the signature of one."""

    def __init__(self, rung: Rung, kernel_code: frozenset[ast.FunctionDef]) -> None:
        self._rung, self._kernel_code = rung, kernel_code
        self._functions: dict[ast.AST, bool] = {}
        self._nodes: dict[tuple[type[ast.AST], ...], tuple[ast.AST, ...]] = {}

    def has(self, node: ast.AST) -> bool:
        function = node if isinstance(node, ast.FunctionDef) else self._rung.function(node)
        if function is None:
            return False
        if function not in self._functions:
            outer = self._rung.function(function)
            inside = outer is not None and self.has(outer)
            self._functions[function] = inside or function in self._kernel_code
        return self._functions[function]

    def nodes(self, kinds: tuple[type[ast.AST], ...]) -> tuple[ast.AST, ...]:
        """The nodes of these types, outer ones first."""
        if kinds not in self._nodes:
            found = self._rung.of_kinds(kinds) if self._kernel_code else ()
            self._nodes[kinds] = tuple(node for node in found if self.has(node))
        return self._nodes[kinds]
