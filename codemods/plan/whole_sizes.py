"""Sizes that are divided with ``/``, ``x.reshape((rows, columns / 2, 2))``: whole numbers, ``columns // 2``.

Kernels of Beta 1 run with such floats; Beta 2 wants an integer. Both are one number where the quotient is whole. Where
it is not, the emulator drops what is behind the point, as ``//`` does: no document says what Beta 1 does, so a note
says that the quotient is taken to be whole. Only what is a size as a whole: ``(i + 1) * (columns / 2)`` is another
number where the half is not whole.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from ..model import Asserted, Options
from ..project.program import Module
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.module_level import module_statements
from ..syntax.node_index import of_kinds
from ..syntax.nodes import assignment_counts, is_name
from ..syntax.source import Source
from .edited_text import EditedText, edited_where
from .line_origins import Edit, edited

_MAKERS = {"nl.ndarray", "nl.zeros", "nl.ones", "nl.full", "nl.rand", "nl.empty"}
_COUNTED = {"nl.affine_range", "nl.sequential_range", "nl.static_range", "nl.ds", "nl.arange", "nl.par_dim"}
_SHAPED = {"reshape", "broadcast_to"}
"""Methods of tensors that take a shape."""


def whole_sizes(sources: Mapping[str, Source], options: Options) -> dict[str, EditedText]:
    """Modules by path, with such sizes in kernel code as whole numbers."""
    return edited_where(sources, options, lambda source: options.enabled(CODE) and _may_have(source), _result)


def _may_have(source: Source) -> bool:
    return any(
        isinstance(n.op, ast.Div) for f in of_kinds(source.tree, ast.FunctionDef) for n in of_kinds(f, ast.BinOp)
    )


def _result(module: Module) -> EditedText:
    edits: dict[Edit, None] = {}
    asserted: dict[tuple[str, str], Asserted] = {}
    for outer in module_statements(module.source.tree):
        if isinstance(outer, ast.FunctionDef) and outer in module.program.kernel_code:
            for node in sorted(_divided(outer, module.symbols.host_name), key=lambda node: node.lineno):
                edit = _edit(module.source, node)
                if edit is not None:
                    edits[edit] = None
                    whole = f"{ast.unparse(ast.BinOp(node.left, ast.Mod(), node.right))} == 0"
                    asserted.setdefault((outer.name, whole), Asserted(node.lineno, outer.name, whole, _WHY))
    applied = Counter({CODE: len(edits)}) if edits else Counter()
    touched = {function for function, _ in asserted}
    return EditedText(edited(module.source, list(edits)), [], applied, touched, asserted=[*asserted.values()])


_WHY = "rewritten for sizes that are whole numbers"


def _divided(function: ast.FunctionDef, meant: Callable[[ast.expr], str]) -> Iterator[ast.BinOp]:
    """The divisions that are sizes, and those that a name stands for which is nothing but a size.

    ``meant`` gives the name of NKI's that a function has.
    """
    if not any(isinstance(n.op, ast.Div) for n in of_kinds(function, ast.BinOp)):
        return
    sizes = list(_sizes(function, meant))
    yield from (size for size in sizes if isinstance(size, ast.BinOp) and _is_division(size))
    counts = assignment_counts(function)
    for statement in of_kinds(function, ast.Assign):
        target, value = statement.targets[0], statement.value
        once = isinstance(target, ast.Name) and len(statement.targets) == counts[target.id] == 1
        if once and isinstance(target, ast.Name) and isinstance(value, ast.BinOp) and _is_division(value):
            uses = [n for n in of_kinds(function, ast.Name) if n.id == target.id and n is not target]
            if uses and all(any(use is size for size in sizes) for use in uses):
                yield value


def _is_division(node: ast.BinOp) -> bool:
    """Is an expression a division of what may be whole numbers that are not negative?"""
    floats = any(isinstance(n.value, float) for n in of_kinds(node, ast.Constant))
    negative = any(isinstance(n.op, ast.USub) for n in of_kinds(node, ast.UnaryOp))
    return isinstance(node.op, ast.Div) and not floats and not negative


def _sizes(function: ast.FunctionDef, meant: Callable[[ast.expr], str]) -> Iterator[ast.expr]:
    """The expressions of a function that are sizes: of shapes, of loops, and bounds of slices."""
    for call in of_kinds(function, ast.Call):
        name = meant(call.func)
        if name in _COUNTED or is_name(call.func, "range"):
            yield from call.args
        elif name in _MAKERS:
            yield from _shape([*call.args[:1], *(k.value for k in call.keywords if k.arg == "shape")])
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _SHAPED:
            yield from _shape([*call.args, *(k.value for k in call.keywords if k.arg == "shape")])
    for bounds in of_kinds(function, ast.Slice):
        yield from (b for b in (bounds.lower, bounds.upper, bounds.step) if b is not None)


def _shape(given: list[ast.expr]) -> Iterator[ast.expr]:
    for each in given:
        yield from each.elts if isinstance(each, ast.Tuple | ast.List) else [each]


def _edit(source: Source, division: ast.BinOp) -> Edit | None:
    """``//`` for the ``/`` of a division; ``None`` where a comment stands between its sides."""
    (_, end), (start, _) = source.span(division.left), source.span(division.right)
    between = source.text[end:start]
    at = end + between.index("/")
    return None if "#" in between else Edit(at, at + 1, "//")
