"""The files of one run that import from each other: kernel code, and who calls what."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..model import Options
from ..project.kernel_code import Evidence, KernelCode, kernel_code
from ..project.links import Link, each_link, links
from ..syntax.node_index import of_kinds
from .names import NAMING
from .rung import Inside, Rung

Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Program:
    """Files (:class:`Rung`), by path, at one version."""

    rungs: Mapping[str, Rung]
    _links: dict[str, dict[str, Link]] = field(default_factory=dict)
    _kernel_functions: dict[Rung, Inside] = field(default_factory=dict)
    _together: dict[ast.FunctionDef, tuple[tuple[str, ast.FunctionDef], ...]] = field(default_factory=dict)

    @cached_property
    def kernel_code(self) -> KernelCode:
        """What is kernel code, with the evidence."""
        return kernel_code({path: rung.tree for path, rung in self.rungs.items()}, NAMING)

    def kind(self, function: ast.AST) -> str:
        """``decorated``, ``launched``, ``traced`` or ``called``; empty for host code."""
        return self.kernel_code.kind(function) if isinstance(function, ast.FunctionDef) else ""

    def is_kernel(self, function: ast.AST) -> bool:
        """Is a function launched from the host, not a helper?"""
        return self.kind(function) in ("decorated", "launched")

    def evidence(self, function: ast.FunctionDef) -> Evidence | None:
        return self.kernel_code.evidence.get(function)

    def in_kernel_code(self, rung: Rung, node: ast.AST) -> bool:
        """Does a node stand in kernel code: in the body, or in the signature of such a function?"""
        return self._inside(rung).has(node)

    def nodes_in_kernel_code(self, path: str, kinds: tuple[type[ast.AST], ...]) -> tuple[ast.AST, ...]:
        """The nodes of these types that stand in the kernel code of a file, outer ones first."""
        return self._inside(self.rungs[path]).nodes(kinds)

    def _inside(self, rung: Rung) -> Inside:
        if rung not in self._kernel_functions:
            functions = (f for f in of_kinds(rung.tree, ast.FunctionDef) if f in self.kernel_code)
            self._kernel_functions[rung] = rung.inside(frozenset(functions))
        return self._kernel_functions[rung]

    def meant(self, path: str, node: ast.expr) -> tuple[str, Definition] | None:
        """The function or class of these files that a name, or ``module.name``, means, and its file."""
        rung = self.rungs[path]
        parts = _chain(node)
        if not 1 <= len(parts) <= 2:
            return None
        if len(parts) == 1 and parts[0] in rung.definitions:
            return path, rung.definitions[parts[0]]
        link = self.links(path).get(parts[0])
        if link is None or (len(parts) == 2) == bool(link.name):
            return None
        found = self.rungs[link.path].definitions.get(link.name or parts[-1])
        return (link.path, found) if found is not None else None

    def links(self, path: str) -> dict[str, Link]:
        """What the imports of a file bind to things of the other files."""
        if path not in self._links:
            self._links[path] = links(each_link(self.rungs[path].tree, path, self.rungs.keys()))
        return self._links[path]

    @cached_property
    def calls(self) -> Mapping[ast.FunctionDef, tuple[tuple[str, ast.Call], ...]]:
        """The calls of each function in these files, launches included, each with its file."""
        found: dict[ast.FunctionDef, list[tuple[str, ast.Call]]] = {}
        for path, rung in self.rungs.items():
            for call in rung.all_calls:
                callee = call.func.value if isinstance(call.func, ast.Subscript) else call.func
                meant = self.meant(path, callee)
                if meant is not None and isinstance(meant[1], ast.FunctionDef):
                    found.setdefault(meant[1], []).append((path, call))
        return {function: tuple(calls) for function, calls in found.items()}

    @cached_property
    def _callees(self) -> Mapping[ast.FunctionDef, frozenset[tuple[str, ast.FunctionDef]]]:
        """The functions of these files that each one calls."""
        found: dict[ast.FunctionDef, set[tuple[str, ast.FunctionDef]]] = {}
        home = {f: path for path, rung in self.rungs.items() for f in rung.nodes if isinstance(f, ast.FunctionDef)}
        for callee, calls in self.calls.items():
            for path, call in calls:
                caller = self.rungs[path].function(call)
                if isinstance(caller, ast.FunctionDef):
                    found.setdefault(caller, set()).add((home[callee], callee))
        return {caller: frozenset(callees) for caller, callees in found.items()}

    def _reached(self, kernel: ast.FunctionDef) -> frozenset[tuple[str, ast.FunctionDef]]:
        """The functions that run in a kernel, itself left out."""
        found: set[tuple[str, ast.FunctionDef]] = set()
        ahead = [kernel]
        while ahead:
            new = self._callees.get(ahead.pop(), frozenset()) - found
            found |= new
            ahead += [function for _, function in new]
        return frozenset(found)

    @cached_property
    def _kernels(self) -> tuple[frozenset[tuple[str, ast.FunctionDef]], ...]:
        """What each kernel runs, itself among it."""
        kernels = ((p, f) for p, rung in self.rungs.items() for f in of_kinds(rung.tree, ast.FunctionDef))
        return tuple(self._reached(f) | {(path, f)} for path, f in kernels if self.is_kernel(f))

    def together(self, function: ast.FunctionDef) -> tuple[tuple[str, ast.FunctionDef], ...]:
        """The functions that some kernel runs besides ``function``, each with its file, in the order of the files."""
        if function not in self._together:
            found: set[tuple[str, ast.FunctionDef]] = set()
            for everything in self._kernels:
                if any(each is function for _, each in everything):
                    found |= everything
            rest = [(path, each) for path, each in found if each is not function]
            self._together[function] = tuple(sorted(rest, key=lambda item: (item[0], item[1].lineno)))
        return self._together[function]

    @cached_property
    def referenced(self) -> frozenset[ast.FunctionDef]:
        """Functions that are used otherwise than by a call: passed on, stored, wrapped."""
        found: set[ast.FunctionDef] = set()
        for path, rung in self.rungs.items():
            for node in rung.read:
                meant = self.meant(path, node)
                if meant is None or not isinstance(meant[1], ast.FunctionDef):
                    continue
                above = rung.parents[node]
                launched = isinstance(above, ast.Subscript) and above.value is node
                call = rung.parents[above] if launched else above
                if not (isinstance(call, ast.Call) and call.func is (above if launched else node)):
                    found.add(meant[1])
        return frozenset(found)


def program_of(texts: Mapping[str, str], options: Options, before: Program | None = None) -> Program:
    """The files ``texts``, by path; what is as it was ``before`` is not read again.

    Raises ``SyntaxError`` when one does not parse.
    """
    old = before.rungs if before is not None else {}
    rungs = {p: old[p] if p in old and old[p].text == text else Rung(text, options) for p, text in texts.items()}
    return before if before is not None and rungs == old else Program(rungs)


def _chain(node: ast.expr) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []
