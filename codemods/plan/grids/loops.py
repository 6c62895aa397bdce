"""The lines of a kernel that loops over its grid, and of a function that gets its place in it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...analysis.carried_names import carried_names
from ...project.program import Module
from ...syntax.nodes import bound_by, default_values, named_parameters, positional_parameters
from ..line_origins import Line, between, comments, inside_strings
from .body import Unit, units_of
from .plan import Handed, Looped, free_name, names_in


@dataclass(frozen=True)
class Names:
    """What a function calls its place in the grid, by axis, and the grid; the assignments that named the places."""

    ids: dict[int, str]
    grid: str
    assigned: tuple[ast.stmt, ...] = ()


def with_loops(
    module: Module, lines: list[Line], items: Iterable[Looped | Handed], names: dict[ast.FunctionDef, Names]
) -> list[Line]:
    """The lines of a module whose kernels loop. ``lines`` are those in which questions are names already."""
    mine = sorted((i for i in items if i.function[0] is module), key=lambda i: -i.function[1].lineno)
    if not mine:
        return lines
    language, missing = _language(module)
    strings = inside_strings(module.source.text)
    for item in mine:
        units = units_of(module, item.function[1])
        known = names[item.function[1]]
        new = (
            _looped(item, known, lines, strings, language) if isinstance(item, Looped) else _handed(item, known, lines)
        )
        lines = _replaced(lines, units[0].first, units[-1].last, new)
    if missing and any(isinstance(item, Looped) for item in mine):
        top = [item.statement for item in module.symbols.import_list if item.statement in module.source.tree.body]
        at = max(statement.end_lineno or 0 for statement in top)
        lines = _replaced(lines, at + 1, at, [Line(missing, at)])
    return lines


def _replaced(lines: list[Line], first: int, last: int, new: list[Line]) -> list[Line]:
    """The lines with others in the place of lines ``first`` to ``last`` of the input."""
    return [*(line for line in lines if line.origin < first), *new, *(line for line in lines if line.origin > last)]


def _looped(kernel: Looped, names: Names, lines: list[Line], strings: frozenset[int], language: str) -> list[Line]:
    body, margin = kernel.body, _margin(lines, kernel.function[1])
    dropped = [unit for unit in body.inside if unit.statements[0] in names.assigned]
    inside = _lines_of([unit for unit in body.inside if unit not in dropped], lines)
    outside = _lines_of(body.outside, lines)
    at = inside[0].origin if inside else kernel.function[1].lineno
    result = [] if kernel.has_own_check else [Line(f"{margin}assert len({names.grid}) == {kernel.axes}", at)]
    result += outside
    if inside and result and not inside[0].text.strip():
        result.append(Line("", at))
    given = _given(kernel)
    result += [Line(f"{margin}{saved} = {name}", at) for name, saved in given.items()]
    result += [comment for unit in dropped for comment in _comments(_lines_of([unit], lines), margin)]
    for axis in range(kernel.axes):
        steps = _steps(kernel, axis, names.grid, language)
        result.append(Line(f"{margin * (axis + 1)}for {names.ids[axis]} in {language}affine_range({steps}):", at))
    by = margin * kernel.axes
    result += [Line(f"{by}{margin}{name} = {saved}", at) for name, saved in given.items()]
    result += [line if line.origin in strings else line.indented(by) for line in _without_blank_top(inside)]
    return [*result, *_lines_of(body.tail, lines)]


def _given(kernel: Looped) -> dict[str, str]:
    """Names that a program reads and then binds anew: each program starts with what they were before all of them."""
    function = kernel.function[1]
    arguments = named_parameters(function)
    before = {argument.arg for argument in arguments} | {
        name for unit in kernel.body.outside for s in unit.statements for name in bound_by(s)
    }
    inside = [statement for unit in kernel.body.inside for statement in unit.statements]
    programs = ast.For(target=ast.Tuple([]), iter=ast.Tuple([]), body=inside, orelse=[])
    carried = carried_names(programs, function)
    return {name: free_name(f"{name}_given", names_in(function)) for name in carried if name in before}


def _handed(helper: Handed, names: Names, lines: list[Line]) -> list[Line]:
    """Without the assignments that named the places. Places that a call may leave out are asserted."""
    module, function = helper.function
    units, margin = units_of(module, function), _margin(lines, function)
    result: list[Line] = []
    if names.ids and has_defaults(function):
        test = " and ".join(f"{name} is not None" for name in names.ids.values())
        result.append(Line(f"{margin}assert {test}", units[0].first))
    for unit in units:
        own = _lines_of([unit], lines)
        result += _comments(own, margin) if unit.statements[0] in names.assigned else own
    return result


def _lines_of(units: Iterable[Unit], lines: list[Line]) -> list[Line]:
    return [line for unit in units for line in between(lines, unit.first, unit.last)]


def has_defaults(function: ast.FunctionDef) -> bool:
    """Must a further parameter that comes last have a default?"""
    return any(argument in default_values(function) for argument in positional_parameters(function))


def _steps(kernel: Looped, axis: int, grid: str, language: str) -> str:
    """What a loop counts: all programs of its axis, or those of this core."""
    size, cores = f"{grid}[{axis}]", kernel.cores
    if cores is None or cores.axis != axis:
        return size
    core, count = f"{language}program_id(0)", f"{language}num_programs(0)"
    if cores.in_turns:
        return f"{core}, {size}, {count}"
    return f"{core} * {size} // {count}, ({core} + 1) * {size} // {count}"


def _language(module: Module) -> tuple[str, str]:
    """How a module writes ``nl.``, and the import that it needs for that."""
    for item in module.symbols.import_list:
        known = item.path == "neuronxcc.nki.language" and item.name not in module.symbols.rebound
        if known and item.statement not in module.symbols.nested_imports:
            return f"{item.name}.", ""
    name = module.fresh("nl")
    return f"{name}.", f"import neuronxcc.nki.language as {name}"


def _margin(lines: list[Line], function: ast.FunctionDef) -> str:
    """How far the statements of a function are indented."""
    first = next(line for line in lines if line.origin == function.body[0].lineno)
    return first.text[: len(first.text) - len(first.text.lstrip())]


def _comments(lines: list[Line], margin: str) -> Iterator[Line]:
    """The comments of lines that go."""
    for line in lines:
        yield from (Line(margin + comment, line.origin) for comment in comments(line.text.strip()))


def _without_blank_top(lines: list[Line]) -> list[Line]:
    while lines and not lines[0].text.strip():
        lines = lines[1:]
    return lines
