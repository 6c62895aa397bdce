"""Which expression does an instruction of the bytecode belong to? Its span (first and last line and column) says it.

Python 3.11 and later say so (``co_positions``). Python 3.10 keeps only lines, so the file is compiled once more with a
number of its own in place of the line of every node: the instructions of both compilations are the same, and the
second one's "lines" tell the nodes. Where the two differ (pytest rewrites ``assert``, for one), nothing is told for
the lines that differ.
"""

from __future__ import annotations

import ast
import copy
import dis
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FrameType

Span = tuple[int | None, int | None, int | None, int | None]
COMPREHENSION_CODES = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

_UNKNOWN: Span = (None, None, None, None)
_PLACES = ("lineno", "end_lineno", "col_offset", "end_col_offset")
_NOT_COMPARED = ("NOP", "EXTENDED_ARG", "JUMP_FORWARD", "JUMP_ABSOLUTE")
"""What the optimizer drops or adds depending on lines."""


def span_of(node: ast.AST) -> Span:
    """Where ``node`` is in its file, as ``co_positions`` has it."""
    first, last, column, end = (getattr(node, name, None) for name in _PLACES)
    return first, last, column, end


def span_at(frame: FrameType, tree: ast.Module) -> Span:
    """The span of the instruction that runs in ``frame``, whose file is ``tree``; four ``None`` when not known."""
    code = frame.f_code
    if hasattr(code, "co_positions"):
        return next(islice(code.co_positions(), frame.f_lasti // 2, None), _UNKNOWN)
    return counted_span(frame, tree)


def compiled_from(tree: ast.Module, code: CodeType) -> None:
    """Remember that ``code``, and the code inside it, was compiled from ``tree`` and not from its file."""
    if not hasattr(code, "co_positions"):
        for inner in _codes(code):
            _TREES[id(inner)] = (inner, tree)


_TREES: dict[int, tuple[CodeType, ast.Module]] = {}
"""By ``id`` of the code, which is kept alive."""


# --- without co_positions --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Match:
    """A function, lambda or comprehension (at ``owner``) that a code may be of, and the spans of its instructions.

    ``exact`` tells whether all instructions are the same.
    """

    owner: Span
    spans: dict[int, Span]
    exact: bool


class _Numbered:
    """``tree`` compiled with numbers for lines. ``spans`` and ``lines`` say what a number stands for."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.spans: list[Span] = [_UNKNOWN, _UNKNOWN]
        self.lines = [0, 1]  # what a module does by itself is on line 1
        numbered = copy.deepcopy(tree)
        called = {id(node.func): span_of(node) for node in ast.walk(numbered) if isinstance(node, ast.Call)}
        for node in dict.fromkeys(ast.walk(numbered)):  # a rewritten operator has its operands several times
            if hasattr(node, "lineno"):
                self._number(node, called.get(id(node)))
        self.codes: dict[tuple[str, int], list[CodeType]] = {}
        for code in _codes(compile(numbered, "<numbered>", "exec", dont_inherit=True)):
            self.codes.setdefault((code.co_name, self._first_line(code)), []).append(code)

    def _number(self, node: ast.AST, call: Span | None) -> None:
        """Give ``node`` its number; an attribute has one more, for its end line, which a method's call is on."""
        span = span_of(node)
        first, last = span[0] or 0, span[1] or 0
        number = self._next(span, first)
        end = self._next(call or span, last) if isinstance(node, ast.Attribute) else number
        vars(node).update(lineno=number, end_lineno=end)

    def _next(self, span: Span, line: int) -> int:
        self.spans.append(span)
        self.lines.append(line)
        return len(self.spans) - 1

    def _first_line(self, code: CodeType) -> int:
        return 0 if code.co_name == "<module>" else self.lines[code.co_firstlineno]

    def matches(self, code: CodeType) -> list[_Match]:
        """What ``code`` may have been compiled from; more than one only where all are exact."""
        line = 0 if code.co_name == "<module>" else code.co_firstlineno
        wanted = _by_line(code, None)
        found = [self._match(wanted, numbered) for numbered in self.codes.get((code.co_name, line), ())]
        return found if len(found) == 1 else [match for match in found if match.exact]

    def _match(self, wanted: _ByLine, numbered: CodeType) -> _Match:
        known = _by_line(numbered, self.lines)
        spans: dict[int, Span] = {}
        exact = wanted.keys() == known.keys()
        for line, instructions in wanted.items():
            others = known.get(line, [])
            if [key for _, _, key in instructions] != [key for _, _, key in others]:
                exact = False
                continue
            pairs = zip(instructions, others, strict=True)
            spans.update({o: self.spans[number] for (offsets, _, _), (_, number, _) in pairs for o in offsets})
        return _Match(self.spans[numbered.co_firstlineno], spans, exact)


_ByLine = dict[int, list[tuple[range, int, str]]]


def _by_line(code: CodeType, lines: list[int] | None) -> _ByLine:
    """Offsets, line (or number) and operation of the instructions of ``code``, by line: ``lines`` of the number.

    One that a long jump or many constants extend has the offsets of its ``EXTENDED_ARG``, where the frame says it is.
    """
    found: _ByLine = {}
    at, first = 0, 0
    for instruction in dis.get_instructions(code):
        at = instruction.starts_line or at
        if instruction.opname not in _NOT_COMPARED:
            entry = (range(first, instruction.offset + 2, 2), at, _operation(instruction))
            found.setdefault(at if lines is None else lines[at], []).append(entry)
        if instruction.opname != "EXTENDED_ARG":
            first = instruction.offset + 2
    return found


def _operation(instruction: dis.Instruction) -> str:
    """The operation with what it operates on, but for the target of a jump and the kind of a condition's jump."""
    if instruction.opcode in dis.hasjabs or instruction.opcode in dis.hasjrel:
        return "JUMP_IF" if "JUMP_IF" in instruction.opname else instruction.opname
    value = instruction.argval
    return f"{instruction.opname} {value.co_name if isinstance(value, CodeType) else repr(value)}"


def counted_span(frame: FrameType, tree: ast.Module) -> Span:
    """:func:`span_at` from the lines of the bytecode alone."""
    code = frame.f_code
    key = (id(code), id(tree))
    if key not in _MATCHES:
        _MATCHES[key] = (code, tree, _numbered(_TREES.get(id(code), (code, tree))[1]).matches(code))
    matches = _MATCHES[key][2]
    if len(matches) > 1 and code.co_name in COMPREHENSION_CODES and frame.f_back is not None:
        # Equal comprehensions on one line, which may even share their code: the caller runs one of them.
        around = counted_span(frame.f_back, tree)
        matches = [match for match in matches if _within(match.owner, around)]
    return matches[0].spans.get(frame.f_lasti, _UNKNOWN) if len(matches) == 1 else _UNKNOWN


_MATCHES: dict[tuple[int, int], tuple[CodeType, ast.Module, list[_Match]]] = {}
_NUMBERED: dict[int, _Numbered] = {}
"""By ``id`` of a code or tree, which is kept alive."""


def _numbered(tree: ast.Module) -> _Numbered:
    if id(tree) not in _NUMBERED:
        _NUMBERED[id(tree)] = _Numbered(tree)
    return _NUMBERED[id(tree)]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _within(inner: Span, outer: Span) -> bool:
    first, last, column, end = (place or 0 for place in inner)
    around_first, around_last, around_column, around_end = (place or 0 for place in outer)
    return (around_first, around_column) <= (first, column) and (last, end) <= (around_last, around_end)
