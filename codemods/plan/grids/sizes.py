"""The sizes of a launch grid, as the text of a tuple."""

from __future__ import annotations

import ast

from ...project.program import Module
from ...syntax.format import tuple_text
from ...syntax.node_index import children
from .launches import Launch


def grid_text(launch: Launch, axes: int) -> str:
    """The tuple of a launch's sizes, on one line. A name that holds one stays."""
    module, grid = launch.module, launch.subscript.slice
    if launch.sizes is None or not is_written_out(launch):
        text = _one_line(module.source.segment(grid))
        return text if axes > 1 or launch.sizes is not None else f"({text},)"
    texts = [size_text(module, size) for size in launch.sizes]
    return tuple_text(texts)


def is_written_out(launch: Launch) -> bool:
    """Do the sizes stand in the launch itself, not in a tuple that it names?"""
    grid = launch.subscript.slice
    return launch.sizes is not None and (not isinstance(grid, ast.Name) or grid in launch.sizes)


def about_cores(module: Module, size: ast.expr) -> list[ast.expr]:
    """The outermost ``nl.nc`` and ``nl.spmd_dim`` of a size."""
    if isinstance(size, ast.Call) and module.symbols.host_name(size.func) in ("nl.nc", "nl.spmd_dim"):
        return [size]
    parts = [part for part in children(size) if isinstance(part, ast.expr)]
    return [found for part in parts for found in about_cores(module, part)]


def size_text(module: Module, size: ast.expr) -> str:
    """One size: ``nl.nc(2)`` is 2, ``nl.spmd_dim(a, b)`` a product, and a literal 0 ran one program."""
    if isinstance(size, ast.Constant) and size.value == 0:
        return "1"
    name = module.symbols.host_name(size.func) if isinstance(size, ast.Call) else ""
    if isinstance(size, ast.Call) and name == "nl.nc":
        return size_text(module, size.args[0])
    if isinstance(size, ast.Call) and name == "nl.spmd_dim":
        return " * ".join(factor(module, part) for part in size.args)
    return _one_line(module.source.segment(size, [(node, factor(module, node)) for node in about_cores(module, size)]))


def factor(module: Module, node: ast.expr) -> str:
    text = size_text(module, node)
    tree = ast.parse(text, mode="eval").body
    return text if isinstance(tree, ast.Name | ast.Constant | ast.Attribute | ast.Call | ast.Subscript) else f"({text})"


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.split("\n"))
