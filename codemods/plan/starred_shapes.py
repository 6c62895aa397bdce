"""Shapes in tuples, ``(2, *x.shape)``, are tuples that are added: ``(2,) + x.shape``.

Beta 2 has no starred expressions. A shape, or a slice of one, is a tuple, so that its elements need not be counted.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby

from ..model import Options
from ..project.program import Module
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.nodes import is_shape
from ..syntax.source import Source
from .edited_text import EditedText, edited_where
from .line_origins import Edit, definitions_around, edited

_PLAIN = (ast.Call, ast.keyword, ast.Return, ast.AnnAssign)
"""What a sum needs no parentheses in."""


def added(sources: Mapping[str, Source], options: Options) -> dict[str, EditedText]:
    """Modules by path, whose kernel code adds the shapes that it has in tuples."""
    return edited_where(sources, options, lambda source: options.enabled(CODE) and _may_have(source.tree), _result)


def _may_have(tree: ast.Module) -> bool:
    return bool(of_kinds(tree, ast.Starred)) and any(_starred(tree))


def _starred(node: ast.AST) -> Iterator[tuple[ast.AST, ast.Tuple]]:
    """The tuples with shapes among their elements, each with what it stands in: nothing else is starred there."""
    for around in walk(node):
        for part in children(around):
            if isinstance(part, ast.Tuple) and isinstance(part.ctx, ast.Load) and _is_of_shapes(part):
                is_bound = isinstance(around, ast.Assign) and not all(isinstance(t, ast.Name) for t in around.targets)
                if not is_bound and not isinstance(around, ast.Subscript):
                    yield around, part


def _is_of_shapes(node: ast.Tuple) -> bool:
    stars = [each.value for each in node.elts if isinstance(each, ast.Starred)]
    return bool(stars) and all(is_shape(star) or _is_slice(star) for star in stars)


def _is_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and is_shape(node.value) and isinstance(node.slice, ast.Slice)


def _result(module: Module) -> EditedText:
    source = module.source
    functions = [f for f in of_kinds(source.tree, ast.FunctionDef) if f in module.program.kernel_code]
    found = {part: around for function in functions for around, part in _starred(function)}
    texts = of_kinds(source.tree, ast.JoinedStr)  # what stands in one has no places
    nested = {inner for part in (*found, *texts) for inner in walk(part) if inner is not part}
    edits: list[Edit] = []
    touched: set[str] = set()
    for part, around in sorted(found.items(), key=lambda item: (item[0].lineno, item[0].col_offset)):
        if part not in nested:
            text = _sum(source, part)
            is_plain = isinstance(around, (*_PLAIN, ast.Assign)) or " + " not in text
            edits.append(Edit(*source.span(part), text if is_plain else f"({text})"))
            touched |= definitions_around(source, part)
    return EditedText(edited(source, edits), [], Counter({CODE: len(edits)}) if edits else Counter(), touched)


def _sum(source: Source, node: ast.Tuple) -> str:
    """The tuple as a sum of its shapes, and of tuples of what stands between them."""
    parts: list[str] = []
    for is_shape_, elements in groupby(node.elts, lambda each: isinstance(each, ast.Starred)):
        if is_shape_:
            parts += [source.segment(each.value) for each in elements if isinstance(each, ast.Starred)]
        else:
            texts = [source.segment(each) for each in elements]
            parts.append(f"({', '.join(texts)})" if len(texts) > 1 else f"({texts[0]},)")
    return " + ".join(parts)
