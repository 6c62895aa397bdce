"""Nested functions that one statement calls, written out in its place: they name a step of the kernel.

    def finish(t, tile):                        for t in nl.affine_range(tiles):
        result = nl.exp(tile)                       tile = nl.load(x[t])
        nl.store(out[t], result)                    result = nl.exp(tile)
                                                    nl.store(out[t], result)
    for t in nl.affine_range(tiles):
        tile = nl.load(x[t])
        finish(t, tile)

Beta 2 has no functions in functions, and one that moves to the module needs a parameter for each name of the kernel
that it reads. A closure reads the values that these have when it is called, and so does its body in that place. One
that reads no name of the kernel moves as it is (rule NKI003), and so does one that several statements call.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from ...model import Options
from ...project.program import Module
from ...syntax.codes import NESTED_FUNCTIONS as CODE
from ...syntax.module_level import module_statements
from ...syntax.node_index import of_kinds
from ...syntax.nodes import inner_functions
from ...syntax.source import Source
from ..edited_text import EditedText, arranged, edited_where
from ..line_origins import (
    Edit,
    Line,
    between,
    comments_in,
    dedented,
    edited,
    end_of_header,
    inside_strings,
    last_line,
    margin_of,
    top_of,
)
from .owner import Owner, Step


def in_place(sources: Mapping[str, Source], options: Options) -> dict[str, EditedText]:
    """Modules by path, with the bodies of such functions where they are called; one call may hide another."""
    return edited_where(sources, options, lambda source: options.enabled(CODE) and _has_inner(source), _result)


def _has_inner(source: Source) -> bool:
    return any(not function.decorator_list for _, function in inner_functions(source.tree))


def _result(module: Module) -> EditedText:
    source = module.source
    touched: set[str] = set()
    steps: list[Step] = []
    for outer in module_statements(source.tree):
        if isinstance(outer, ast.FunctionDef) and outer in module.program.kernel_code:
            found = [step for owner in of_kinds(outer, ast.FunctionDef) for step in Owner(source, owner).steps()]
            steps += found
            touched |= {outer.name} if found else set()
    lines = edited(source, [edit for step in steps for edit in _edits(source, step)])
    gone: set[int] = set()
    above: dict[int, list[Line]] = {}
    calls = {step.call.lineno for step in steps}
    for step in steps:
        first, last = _extent(source, step.function)
        gone |= {*range(first, last + 1), *_lines(step.call)}
        above[step.call.lineno] = _apart(source, step.call, _block(source, step, lines), calls)
    applied = Counter({CODE: len(steps)}) if steps else Counter()
    return EditedText(arranged(lines, gone, above, (0, [])), [], applied, touched)


def _lines(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _extent(source: Source, function: ast.FunctionDef) -> tuple[int, int]:
    """The first and the last line of a function, with the comments right above it, and those that end it."""
    return top_of(source, function), last_line(source, function)


def _edits(source: Source, step: Step) -> Iterator[Edit]:
    """The names of a function's body, and what stands for its ``return``."""
    for statement in step.body:
        for name in of_kinds(statement, ast.Name):
            if step.names.get(name.id, name.id) != name.id:
                yield Edit(*source.span(name), step.names[name.id])
        if isinstance(statement, ast.Return) and step.result != "return":
            start = source.span(statement)[0]
            yield Edit(start, start + len("return"), step.result)


def _block(source: Source, step: Step, lines: list[Line]) -> list[Line]:
    """The lines that take the place of a call: comments, parameters that need a name, and the body."""
    function, margin = step.function, margin_of(source, step.call)
    own, strings = margin_of(source, function.body[0]), inside_strings(source.text)
    first, end = _body_lines(source, step)
    above = [*_said_above(source, function), *comments_in(source, _lines(step.call))]
    for name, value in step.bound.items():
        text = source.segment(value)
        above.append((step.call.lineno, f"{step.names[name]} = {ast.unparse(value) if chr(10) in text else text}"))
    inner = [
        line if line.origin in strings else dedented(line, own).indented(margin) for line in between(lines, first, end)
    ]
    below = comments_in(source, range(end + 1, _extent(source, function)[1] + 1))
    block = [*(Line(margin + text, n) for n, text in above), *inner, *(Line(margin + text, n) for n, text in below)]
    while not block[-1].text.strip():
        block.pop()
    return block


def _body_lines(source: Source, step: Step) -> tuple[int, int]:
    """The first and the last line of what is left of a function's body."""
    function = step.function
    first = end_of_header(source, function) + 1
    if ast.get_docstring(function, clean=False) is not None:
        first = (function.body[0].end_lineno or first) + 1
    last = function.body[-1]
    return first, last.lineno - 1 if last not in step.body else _extent(source, function)[1]


def _said_above(source: Source, function: ast.FunctionDef) -> list[tuple[int, str]]:
    """The comments above a function and in its header, and its doc string as comments, with their lines."""
    begin = end_of_header(source, function)
    doc = ast.get_docstring(function) or ""
    said = comments_in(source, range(top_of(source, function), function.lineno))
    said += comments_in(source, range(function.lineno, begin + 1))
    return [*said, *((begin + 1, f"# {text}".rstrip()) for text in doc.split("\n") if doc)]


def _apart(source: Source, call: ast.stmt, block: list[Line], calls: Collection[int]) -> list[Line]:
    """A block of several lines with empty ones around it, where other statements stand next to it."""
    lines, last = source.text.split("\n"), call.end_lineno or call.lineno
    before = lines[call.lineno - 2].strip()
    behind = lines[last].strip() if last < len(lines) and last + 1 not in calls else ""
    margin = margin_of(source, call)
    opened = before.endswith(":") or before.startswith("#") or not before
    ended = not behind or not lines[last].startswith(margin + behind[:1])
    if len(block) == 1:
        return block
    above = [] if opened else [Line("", call.lineno)]
    return [*above, *block, *([] if ended else [Line("", last)])]
