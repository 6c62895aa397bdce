"""What a rewrite has left: Beta 1 names and illegal constructs, and whether a diagnostic accounts for each."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from nki_migrate.codemods.ladder import origins
from nki_migrate.codemods.model import Finding, Options, Outcome
from nki_migrate.codemods.syntax.mark_text import WORD, is_comment_mark, is_mark
from nki_migrate.codemods.syntax.node_index import tree_of, walk
from nki_migrate.codemods.syntax.nodes import blocks, first_line
from nki_migrate.codemods.syntax.shared_lines import line_matcher
from nki_migrate.runtime.spec.grammar import children, statements
from nki_migrate.runtime.spec.versions import RANGE, Version, shown, versions_of

if TYPE_CHECKING:
    from nki_migrate.runtime.legality import Violation

ROOT = "neuronxcc"
_MODULE_NAME = re.compile(rf"{ROOT}(\.\w+)+")
_COMPILER = re.compile(rf"{ROOT}(\.__\w+__)?")  # the graph compiler and its version are no part of NKI
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(tree: ast.Module) -> dict[str, list[_Definition]]:
    """The module-level functions and classes by name (a name may be defined more than once)."""
    named: dict[str, list[_Definition]] = {}
    for node in tree.body:
        if isinstance(node, _Definition):
            named.setdefault(node.name, []).append(node)
    return named


class Accounted:
    """The lines of the output that are under a diagnostic.

    A finding accounts for the statement that it is in (for a compound statement: for its header), and for the whole
    function or class when no rule touched it. Findings are in lines of the input; a line of the output stands for the
    input's line that has the same text, or, where both were rewritten, for the lines that it replaces. What stands
    behind a mark that stops a kernel, or right below a comment that is one, is under the finding that the mark says.
    """

    def __init__(self, old: ast.Module, before: str, outcome: Outcome) -> None:
        self.outcome = outcome
        self._old = old
        self._before = before

    def __contains__(self, line: int) -> bool:
        return line in self._lines

    @cached_property
    def touched(self) -> frozenset[str]:
        """The definitions of the output that rules changed or made."""
        new = definitions(tree_of(self.outcome.source))
        return self.outcome.touched | (new.keys() - definitions(self._old).keys())

    @cached_property
    def _lines(self) -> frozenset[int]:
        """1-based lines of the output."""
        covered = self._input_lines()
        old = [line.strip() for line in self._before.split("\n")]
        new = [line.strip() for line in self.outcome.source.split("\n")]
        texts = {old[line - 1] for line in covered}
        lines: set[int] = set()
        for tag, i1, i2, j1, j2 in self.opcodes:
            if tag == "equal":
                lines.update(j1 + i - i1 + 1 for i in range(i1, i2) if i + 1 in covered)
            elif any(i + 1 in covered for i in range(i1, i2)):
                lines.update(range(j1 + 1, j2 + 1))
            else:  # a nested function that moved keeps its text
                lines.update(j + 1 for j in range(j1, j2) if new[j] in texts)
        return frozenset(lines.union(*self._behind_marks()))

    def _behind_marks(self) -> Iterator[range]:
        """The lines of each statement behind marks which stop a kernel in front of it, or below the comment of one."""
        tree = tree_of(self.outcome.source)
        lines = self.outcome.source.split("\n")
        for block in (block for node in walk(tree) for block in blocks(node)) if WORD in self.outcome.source else ():
            stopped = False
            for statement in block:
                is_stop = isinstance(statement, ast.Assert) and is_mark(statement)
                above = first_line(statement) - 2
                if (stopped and not is_stop) or (above >= 0 and is_comment_mark(lines[above])):
                    yield _extent(statement)
                stopped = is_stop

    @cached_property
    def opcodes(self) -> list[tuple[str, int, int, int, int]]:
        """How the stripped lines of the output came from those of the input."""
        old = [line.strip() for line in self._before.split("\n")]
        new = [line.strip() for line in self.outcome.source.split("\n")]
        return line_matcher(old, new).get_opcodes()

    def input_line(self, line: int) -> int | None:
        """The input's line that a line of the output still is, by its text; ``None`` for a line that a rule wrote."""
        for tag, i1, _i2, j1, j2 in self.opcodes:
            if j1 < line <= j2 and tag == "equal":
                return i1 + line - j1
        text = self.outcome.source.split("\n")[line - 1].strip()
        old = [candidate.strip() for candidate in self._before.split("\n")]
        return old.index(text) + 1 if text in old else None

    def _input_lines(self) -> set[int]:
        places = {finding.line for finding in self.outcome.findings}
        covered = places | self.outcome.left
        for node in statements(self._old):
            extent = _extent(node)
            if not places.isdisjoint(extent):
                covered.update(extent)
        for nodes in (nodes for name, nodes in definitions(self._old).items() if name not in self.outcome.touched):
            for node in nodes:
                whole = range(first_line(node), (node.end_lineno or node.lineno) + 1)
                if not places.isdisjoint(whole):
                    covered.update(whole)
        return covered


def _extent(node: ast.stmt) -> range:
    """The lines of a simple statement, or of a compound statement's header with its decorators."""
    body: list[ast.stmt] | None = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    end = first_line(body[0]) if isinstance(body[0], ast.stmt) else node.lineno + 1
    return range(first_line(node), max(end, node.lineno + 1))


def unaccounted_names(tree: ast.Module, accounted: Accounted) -> Iterator[str]:
    """Beta 1 names that are left in the output without a diagnostic, as sentences."""
    imports = _Imports(tree)
    uses = sorted(imports.uses())
    for line, name, _binding in uses:
        if line not in accounted:
            yield f"the Beta 1 name {name} is left (line {line} of the output) without a diagnostic"
    needed = {binding for line, _name, binding in uses if line in accounted}
    for line, module, binding in imports.bindings:
        if module != ROOT and line not in accounted and binding not in needed:
            yield f"the import of {module} is left (line {line} of the output) without a diagnostic"


class _Imports:
    """The names that a module binds to something of Beta 1, and where it uses them."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self.bindings: list[tuple[int, str, str]] = []  # line, what is imported, the name that it is bound to
        others: set[str] = set()
        for node in statements(tree):
            for line, module, name in _imported(node):
                if module.split(".")[0] == ROOT:
                    self.bindings.append((line, module, name))
                else:
                    others.add(name)
        # Of a name that is bound to either version (try: ... except ImportError: ...) no use tells which one it means.
        self._certain = {name for _line, _module, name in self.bindings} - others

    def uses(self) -> Iterator[tuple[int, str, str]]:
        """Line, dotted name and binding of each use.

        A module's name in a string (``import_module("neuronxcc.nki")``) is one, without a binding.
        """
        found = self._uses(self._tree, self._certain)
        yield from ((line, name, binding) for line, name, binding in found if not _COMPILER.fullmatch(name))

    def _uses(self, node: ast.AST, names: set[str]) -> Iterator[tuple[int, str, str]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            names = names - set(_parameters(node))  # a helper's parameter may well be called nl
        for child in children(node):
            dotted = _dotted(child)
            if isinstance(child, ast.expr) and dotted is not None:
                binding = dotted.split(".")[0]
                if binding in names:
                    yield child.lineno, dotted, binding
            elif isinstance(child, ast.Constant) and isinstance(child.value, str):
                if _MODULE_NAME.fullmatch(child.value):
                    yield child.lineno, repr(child.value), ""
            else:
                yield from self._uses(child, names)


def _imported(node: ast.AST) -> Iterator[tuple[int, str, str]]:
    """The line of an import statement, what it imports, and the name that it binds."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield node.lineno, alias.name, alias.asname or alias.name.split(".")[0]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        for alias in node.names:
            yield node.lineno, f"{node.module}.{alias.name}", alias.asname or alias.name


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[str]:
    arguments = function.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
        if argument is not None:
            yield argument.arg


def _dotted(node: ast.AST) -> str | None:
    """``a.b.c`` for such an expression, else ``None``."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        value = _dotted(node.value)
        return None if value is None else f"{value}.{node.attr}"
    return None


def further_findings(before: str, outcome: Outcome, target: str, reached: frozenset[str]) -> list[tuple[int, Finding]]:
    """Lines that the rewrite left as they were, that no finding covers, and that are not legal Beta 2.

    Each with its line in the output.
    """
    accounted = Accounted(tree_of(before), before, outcome)
    found = []
    for violation in _violations(accounted, target, reached):
        line = accounted.input_line(violation.line)
        if line is not None:
            column = max(violation.column, 1)
            finding = Finding(line, column, violation.code, "manual", violation.message, violation.help)
            found.append((violation.line, finding))
    return found


def refused_in_range(before: str, outcome: Outcome, options: Options, reached: frozenset[str]) -> set[Finding]:
    """What is not legal in all versions from ``options.oldest`` to the target: there they part.

    What the target refuses as well is no more than the findings tell already, unless it stood in the input.
    """
    versions = versions_of(f"{options.oldest}{RANGE}{options.target}")
    refused: dict[Violation, list[Version]] = {}
    for at in versions:
        for violation in illegal(outcome.source, at.name, reached):
            refused.setdefault(violation, []).append(at)
    at_newest = {_place(violation) for violation, having in refused.items() if versions[-1] in having}
    lines = origins.matched(before, outcome.source)
    told = {(finding.line, finding.code) for finding in outcome.findings}
    found = set()
    for v, having in refused.items():
        line = lines[v.line - 1]
        help = f"{v.help} What is written here is for NKI {versions[-1]} and those before it that take it."
        if _place(v) in at_newest:
            if versions[-1] not in having or (line, v.code) in told or is_partial(options):
                continue
            help = v.help
        message = f"NKI {shown(having)}: {v.message}"
        found.add(Finding(line, max(v.column, 1), v.code, "manual", message, help))
    return found


def is_partial(options: Options) -> bool:
    """Was only a part of the rules asked for? Then Beta 1 names are left because the user wants it so."""
    return bool(options.select or options.ignore)


def _place(violation: Violation) -> tuple[int, int, str]:
    return violation.line, violation.column, violation.code


def new_violations(before: str, new: ast.Module, target: str, accounted: Accounted) -> Iterator[str]:
    """What is not legal Beta 2 in the output without a diagnostic, as sentences."""
    for violation in _unaccounted(before, new, target, accounted):
        yield f"not legal Beta 2 (line {violation.line} of the output): {violation.code} {violation.message}"


def _unaccounted(before: str, new: ast.Module, target: str, accounted: Accounted) -> Iterator[Violation]:
    """Violations of the output without a diagnostic.

    Illegal lines that the input had too, in functions that no rule touched, are not the rewrite's doing.
    """
    after = accounted.outcome.source
    known = Counter(_signature(violation, before) for violation in illegal(before, target))
    rewritten = [node for name, nodes in definitions(new).items() if name in accounted.touched for node in nodes]
    for violation in _violations(accounted, target):
        signature = _signature(violation, after)
        inherited = known[signature] > 0
        known[signature] -= 1
        if inherited and not any(first_line(node) <= violation.line <= (node.end_lineno or 0) for node in rewritten):
            continue
        yield violation


def _violations(accounted: Accounted, target: str, reached: frozenset[str] = frozenset()) -> Iterator[Violation]:
    """What is not legal Beta 2 in the output, but for the lines that have a diagnostic."""
    found = illegal(accounted.outcome.source, target, reached)
    return (violation for violation in found if violation.line not in accounted)


@lru_cache(maxsize=64)
def illegal(source: str, target: str, reached: frozenset[str] = frozenset()) -> tuple[Violation, ...]:
    """What the legality check says of a text, found once: two guards ask it of most outputs."""
    from nki_migrate.runtime.legality import check_tree

    return check_tree(tree_of(source), target=target, also=reached)


def _signature(violation: Violation, source: str) -> tuple[str, str]:
    """A violation by its code and the text of its line: lines move."""
    return violation.code, source.split("\n")[violation.line - 1].strip()
