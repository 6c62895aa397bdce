"""What a rewritten file says of every finding that is left in it, for who runs the file, and for who rewrites it again.

Kernel code in which something was left is half rewritten: it would run to other numbers, or fail somewhere else. So it
stops where the construct stands, ``assert False, "nki-migrate NKI004: ..."``: that is legal Beta 2, and ends the trace
with the code and the reason. Other code has a comment there, ``# nki-migrate NKI007: ...``. Imports of ``neuronxcc``
speak for themselves. One mark tells what only follows from it, too (:mod:`.mark_groups`); what is kept for no marked
statement has a comment. Who has resolved a finding takes its mark away.

Source: next-codemod, whose markers fail the build until someone has resolved them.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter

from ..expr.emission import New, Said
from ..model import KEPT, Finding
from ..project.program import Module
from ..rules.registry import RULES
from ..syntax.logical_lines import LogicalLines
from ..syntax.mark_text import MARK, WHOLE, WORD, mark_in, mark_of
from ..syntax.node_index import walk
from ..syntax.nodes import blocks
from .mark_groups import Group, followed, grouped, read, with_what_comes_of_them

# --- marks that are written ------------------------------------------------------------------------------------------


def plan(module: Module) -> None:
    """Plan the mark of each finding of a module; rules that nobody asked for have none in code that no kernel runs."""
    places = _Places(module)
    stops: list[tuple[ast.stmt, Finding]] = []
    kept: list[tuple[ast.stmt, Finding]] = []
    comments: list[tuple[ast.stmt, Finding]] = []
    for said in sorted(module.plan.said, key=lambda said: said.finding):
        place = places.of(said) if not isinstance(said.node, ast.Import | ast.ImportFrom) else None
        if place is not None:
            runs = place.is_kernel_code and said.stops
            found = kept if runs and said.finding.message.endswith(KEPT) else stops if runs else comments
            found.append((place.statement, said.finding))
    groups, alone = grouped(stops, kept, places.blocks)
    _stop(module, groups)
    enabled = [pair for pair in sorted(comments + alone, key=itemgetter(1)) if module.options.enabled(pair[1].code)]
    for (statement, finding), group in reversed(with_what_comes_of_them(enabled, places.blocks).items()):
        above = module.plan.edits.comments.setdefault(statement, [])
        comment = f"# {mark_of(finding.code, finding.message)}{group.text}"
        if comment not in above:
            above.insert(0, comment)


def _stop(module: Module, groups: Mapping[tuple[ast.stmt, Finding], Group]) -> None:
    """Plan the marks that stop kernels, each in front of its statement, with what else it says."""
    tops = {_first_of(function) for function in module.plan.left}
    for (statement, finding), group in reversed([*groups.items()]):
        text = mark_of(finding.code, finding.message) + group.text
        whole = WHOLE if statement in tops else ""
        stop = New(f"assert False, {json.dumps(text + whole, ensure_ascii=False)}", as_is=True)
        before = module.plan.edits.before.setdefault(statement, [])
        if stop not in before:
            before.insert(0, stop)
            module.touch(statement)


@dataclass(frozen=True)
class _Place:
    """The statement in front of which a mark stands, and whether kernels run it."""

    statement: ast.stmt
    is_kernel_code: bool


class _Places:
    """The place of each node of a module, and of the variants of its functions."""

    def __init__(self, module: Module) -> None:
        self._source = module.source
        self._kernel_code = {*module.summaries.analyzed, *module.plan.left}
        self._found: dict[ast.AST, _Place] = {}
        self.blocks: dict[ast.stmt, list[ast.stmt]] = {}
        """The statements beside each one of a function, itself included."""
        copies = [copied for several in module.summaries.copies.values() for copied in several]
        for statement in [*module.source.tree.body, *copies]:
            self._statement(statement, False)

    def of(self, said: Said) -> _Place | None:
        """The place of what a finding is about, by its line where a rule made it up; ``None`` for an empty line."""
        if said.node in self._found:
            return self._found[said.node]
        line = said.finding.line
        around = [n for n in self._found if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or n.lineno)]
        closest = max(around, key=lambda statement: statement.lineno, default=None)
        return self._found[closest] if closest is not None else None

    def _statement(self, statement: ast.stmt, inside: bool, place: _Place | None = None) -> None:
        """Note the places of a statement (``place`` for an ``elif``: that of its ``if``) and of all that is in it."""
        place = place or _Place(statement, inside)
        is_function = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(statement, ast.FunctionDef) and statement in self._kernel_code:
            place, inside = _Place(_first_of(statement), True), True
        elif is_function and inside:
            inside = False  # a nested function that stays where it is: who defines it stops
            self._found.update(dict.fromkeys(walk(statement), place))
            return
        self._found.update(dict.fromkeys(walk(statement), place))
        for block in blocks(statement):
            self.blocks.update(dict.fromkeys(block, block))
            for child in block:
                self._statement(child, inside, place if self._is_elif(statement, child) else None)

    def _is_elif(self, statement: ast.stmt, child: ast.stmt) -> bool:
        if not (isinstance(statement, ast.If) and statement.orelse == [child]):
            return False
        return self._source.text.startswith("elif", self._source.span(child)[0])


def _first_of(function: ast.FunctionDef) -> ast.stmt:
    """The first statement of a function behind its docstring."""
    first = function.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(function.body) > 1
    return function.body[1] if is_text else first


def with_comments(text: str, found: Iterable[tuple[int, Finding]]) -> tuple[str, Callable[[int], int]]:
    """A text with a comment above the statement of each finding, and where its lines have gone.

    The findings come with their lines in the text.
    """
    lines_of_code = LogicalLines(text)
    comments: dict[int, list[str]] = {}
    for line, finding in found:
        place = lines_of_code.statement(line)
        mark = f"# {mark_of(finding.code, finding.message)}"
        if mark not in comments.setdefault(place, []):
            comments[place].append(mark)
    lines: list[str] = []
    for number, line_text in enumerate(text.split("\n"), start=1):
        margin = line_text[: len(line_text) - len(line_text.lstrip())]
        lines += [*(margin + comment for comment in comments.get(number, ())), line_text]

    def shifted(line: int) -> int:
        return line + sum(len(above) for place, above in comments.items() if place <= line)

    return "\n".join(lines), shifted


# --- marks that are read ---------------------------------------------------------------------------------------------

# A half of a kernel does not tell any more what its tensors were: --unsafe rewrites the original alone.
_ORIGINAL = "; what the first run called [review]: nki-migrate undo (or git), then rewrite --unsafe on the original"
_ASSERTION = f"do it by hand, then remove the assertion in front of it{_ORIGINAL}"
_COMMENT = f"do it by hand, then remove the comment in front of it{_ORIGINAL}"


def marked(text: str, tree: ast.Module) -> list[Finding]:
    """The findings that an earlier rewrite has left marks of, each at the line behind its mark."""
    if WORD not in text:
        return []
    found: dict[int, tuple[str, str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and (mark := mark_in(node)):
            found[node.lineno] = (mark[1], mark[2].removesuffix(WHOLE), _ASSERTION)
    for line, comment in _comments(text):
        mark = MARK.fullmatch(comment)
        if mark is not None:
            found[line] = (mark[1], mark[2], _COMMENT)
    lines = text.split("\n")
    findings = []
    for line, (code, message, help) in found.items():
        place = next(n for n in range(line + 1, len(lines) + 2) if n not in found)
        column = len(lines[place - 1]) - len(lines[place - 1].lstrip()) if place <= len(lines) else 0
        review = code in RULES and RULES[code].applicability == "review"
        applicability = "review" if review else "manual"
        message, group = read(message)
        findings.append(Finding(min(place, len(lines)), column + 1, code, applicability, message, help))
        findings += followed(tree, place, code, group)
    return sorted(findings)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """The comments of a text that stand on lines of their own, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            yield token.start[0], token.string.lstrip("# ")
