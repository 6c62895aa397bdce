"""One file: what :mod:`nki_migrate.codemods.tilelang.module` knows of it, and the plans of its kernels."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from nki_migrate.runtime.ascend.plans import Program, Unreadable, planned
from nki_migrate.runtime.ascend.plans.names import Names
from nki_migrate.runtime.ascend.plans.planners import Planned
from nki_migrate.runtime.ascend.plans.sources import Kernel, jit_decorator, kernels_of
from nki_migrate.runtime.spec.ascend import TARGETS
from nki_migrate.runtime.spec.tilelang import LATEST

from ..model import Options
from ..syntax.drafts import Edit
from ..tilelang.module import Module
from .goals import Settings


@dataclass(frozen=True)
class Read:
    """A kernel with its statements, or why they cannot be followed."""

    kernel: Kernel
    program: Program | None
    problem: Unreadable | None


class AscendModule(Module):
    """A file that the rules of TileLang-Ascend read."""

    def __init__(self, text: str, options: Options, settings: Settings) -> None:
        super().__init__(text, LATEST, LATEST, options)
        self.settings = settings
        self.names_below = Names.of(self.tree)

    @cached_property
    def kernels(self) -> tuple[Read, ...]:
        """The kernels of the file, read."""
        return tuple(self._read(kernel) for kernel in kernels_of(self.tree, self.names_below, self.settings.given))

    def _read(self, kernel: Kernel) -> Read:
        try:
            return Read(kernel, kernel.program(self.names_below), None)
        except Unreadable as problem:
            return Read(kernel, None, problem)

    def outline(self, read: Read) -> Program | None:
        """The statements of a kernel whatever its sizes are: its buffers have their memories, and may have no size."""
        try:
            return read.program or read.kernel.program(self.names_below, sized=False)
        except Unreadable:
            return None

    def plan(self, read: Read, program: Program | None = None, mode: str | None = None) -> Planned:
        """The plan of a kernel that could be read."""
        chosen, settings = program or read.program, self.settings
        assert chosen is not None
        return planned(chosen, settings.target, mode or settings.mode, settings.planner, read.kernel.reuses)

    def in_kernel(self, node: ast.AST) -> Read | None:
        """The kernel that a node stands in."""
        for read in self.kernels:
            if self.start(read.kernel.function) <= self.start(node) < self.end(read.kernel.function):
                return read
        return None

    def body_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The block that a statement stands in."""
        parent = self.parents[statement]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return []

    def indent(self, statement: ast.stmt) -> str:
        """The white space in front of a statement that begins its line."""
        first = self.text.rfind("\n", 0, self.start(statement)) + 1
        return self.text[first : self.start(statement)]

    # --- edits of whole statements -----------------------------------------------------------------------------------

    def removal(self, statement: ast.stmt, also: frozenset[ast.stmt] = frozenset()) -> Edit | None:
        """The edit that takes a statement away; comments stay. ``None`` where it shares its line with another.

        ``also`` are statements that go at the same time: a block that loses all of its statements keeps ``pass``.
        """
        if not self.stands_alone(statement):
            return None
        start, end = self.start(statement), self.end(statement)
        block = self.body_of(statement)
        if statement is block[0] and all(other in also or other is statement for other in block):
            return Edit(start, end, "pass")
        comments = self.comments_in(statement)
        if comments:
            return Edit(start, end, f"\n{self.indent(statement)}".join(comments))
        line_end = self.text.find("\n", end)
        line_end = len(self.text) if line_end < 0 else line_end
        behind = self.text[end:line_end]
        if behind.strip():
            return Edit(start, end + len(behind) - len(behind.lstrip()), "")
        first = self.text.rfind("\n", 0, start) + 1
        return Edit(first, min(line_end + 1, len(self.text)), "")

    def comments_in(self, statement: ast.stmt) -> list[str]:
        """The comments inside of a statement of several lines."""
        lines = self.segment(statement).split("\n")[:-1]
        return [line[line.index("#") :].strip() for line in lines if "#" in line and not _in_text(line)]

    def unwrapped(self, statement: ast.With, header: str) -> list[Edit] | None:
        """The edits that put ``header`` in the place of a ``with`` and its body one level out; ``None`` if they cannot.

        An empty header takes the line away.
        """
        first = statement.body[0]
        if not self.stands_alone(first) or first.lineno == statement.lineno or self._has_long_text(statement):
            return None
        deeper = len(self.indent(first)) - len(self.indent(statement))
        start = self.start(statement)
        colon = self._colon(statement)
        comment = self.text[colon + 1 : self.text.find("\n", colon)].strip()
        edits = [Edit(start, colon + 1, header or "")]
        if not header:
            whole = Edit(self._line_start(statement), self.text.find("\n", colon) + 1, "")
            edits = [Edit(start, colon + 1, "")] if comment else [whole]
        at = self.text.find("\n", colon) + 1
        while at < self.end(statement):
            line_end = self.text.find("\n", at)
            line_end = len(self.text) if line_end < 0 else line_end
            line = self.text[at:line_end]
            if line.strip():
                edits.append(Edit(at, at + min(deeper, len(line) - len(line.lstrip())), ""))
            at = line_end + 1
        return edits

    def _line_start(self, node: ast.stmt) -> int:
        return self.text.rfind("\n", 0, self.start(node)) + 1

    def _colon(self, statement: ast.With) -> int:
        """The place of the colon that ends the head of a ``with``."""
        last = statement.items[-1]
        return self.text.index(":", self.end(last.optional_vars or last.context_expr))

    def _has_long_text(self, statement: ast.With) -> bool:
        """Is there a text over several lines, whose content depends on where its lines begin?"""
        texts = (n for n in ast.walk(statement) if isinstance(n, (ast.JoinedStr, ast.Constant)))
        return any(
            n.end_lineno != n.lineno for n in texts if isinstance(n, ast.JoinedStr) or isinstance(n.value, (str, bytes))
        )

    def inserted(self, at: int, text: str) -> Edit:
        """New text at a place."""
        return Edit(at, at, text)

    def spelled_in(self, node: ast.AST, name: str) -> str | None:
        """``name`` of the language as the file can write it where ``node`` stands."""
        scope = self.names.get(node)
        if scope is None:
            return None
        if scope.of(name) == {f"tilelang.language.{name}"}:
            return name
        return next((f"{alias}.{name}" for alias in self._aliases(scope)), None)

    def language_name(self, node: ast.AST, name: str) -> str:
        """``name`` of the language inside of a function of the file."""
        return self.spelled_in(node, name) or f"T.{name}"

    def root_name(self) -> str | None:
        """How the file calls the package ``tilelang``."""
        return next((name for name, path in self.names_below.known.items() if path == "tilelang"), None)

    def jit_of(self, factory: ast.FunctionDef) -> ast.expr | None:
        """The ``@tilelang.jit`` of a factory."""
        return jit_decorator(factory, self.names_below)

    def keeps_alignment(self, node: ast.AST, space: str, alignment: object) -> bool:
        """Does a buffer keep its alignment: by the planner, or because ASC004 gives its memory addresses?"""
        if isinstance(alignment, int) and TARGETS[self.settings.target].arenas[space].align % alignment == 0:
            return True
        read = self.in_kernel(node)
        return read is not None and read.program is not None and self.options.enabled("ASC004")

    def aligned_spaces(self, program: Program) -> set[str]:
        """The memories that have a buffer with an alignment that the planner does not keep by itself."""
        arenas = TARGETS[self.settings.target].arenas
        return {b.space for b in program.buffers if b.address is None and arenas[b.space].align % b.align}

    def is_moving(self, read: Read | None) -> bool:
        """Does ASC002 move lines of this kernel in this round?"""
        inside = set(ast.walk(read.kernel.function)) if read is not None else set()
        return any(draft.code == "ASC002" and draft.node in inside for draft in self.drafts)

    def has_calls(self, read: Read, *members: str) -> bool:
        """Does a kernel call one of these members of the language?"""
        inside = set(ast.walk(read.kernel.function))
        return any(call in inside for call, _ in self.calls(*members))

    def behind(self, statement: ast.stmt, text: str) -> Edit:
        """Lines behind a statement, as far indented."""
        return self.line_after(statement, text.replace("\n", f"\n{self.indent(statement)}"))

    def statements(self, *members: str) -> Iterator[tuple[ast.Expr, ast.Call, str]]:
        """The statements that are a call of one of these members of the language."""
        for call, name in self.calls(*members):
            parent = self.parents[call]
            if isinstance(parent, ast.Expr):
                yield parent, call, name

    def withs(self, *members: str) -> Iterator[tuple[ast.With, ast.withitem, ast.Call, str]]:
        """The ``with`` statements whose only item is a call of one of these members."""
        for call, name in self.calls(*members):
            item = self.parents[call]
            if isinstance(item, ast.withitem):
                statement = self.parents[item]
                if isinstance(statement, ast.With):
                    yield statement, item, call, name


def _in_text(line: str) -> bool:
    """Does a ``#`` of a line stand between quotes?"""
    before = line[: line.index("#")]
    return before.count('"') % 2 == 1 or before.count("'") % 2 == 1
