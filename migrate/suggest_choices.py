"""Texts and sequences that arguments may be: what the code compares them with, what its text lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from .suggest_docstrings import docstrings, documented_lines
from .suggest_expressions import Unknown, evaluated
from .suggest_facts import parameters


def choices(tree: ast.Module, kernel: ast.FunctionDef) -> dict[str, list[object]]:
    """The texts and sequences that parameters are compared with, or that an annotation or the docstring lists.

    Functions of the file that have a parameter of the same name count, too: they are given it.
    """
    found: dict[str, list[object]] = {}
    names = set(parameters(kernel))
    used = {node.id for node in ast.walk(kernel) if isinstance(node, ast.Name)}
    others = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in used and n is not kernel]
    for function in (kernel, *others):
        for node in ast.walk(function):
            if isinstance(node, ast.Compare):
                for name, value in _compared(node, names):
                    found.setdefault(name, []).append(value)
    for name, values in (*_listed(kernel), *_documented(tree, kernel)):
        found.setdefault(name, []).extend(values)
    return {name: list(dict.fromkeys(values)) for name, values in found.items()}


def _compared(node: ast.Compare, names: Iterable[str]) -> Iterator[tuple[str, object]]:
    """``mode == "fast"``, ``mode in ("fast", "exact")``, ``order == [1, 0]``."""
    for operator, one, other in zip(node.ops, (node.left, *node.comparators), node.comparators, strict=False):
        for named, given in ((one, other), (other, one)):
            if not isinstance(named, ast.Name) or named.id not in names:
                continue
            try:
                value = evaluated(given, {})
            except Unknown:
                continue
            among = isinstance(operator, (ast.In, ast.NotIn)) and isinstance(value, tuple)
            for each in value if among and isinstance(value, tuple) else (value,):
                if isinstance(each, str) or (isinstance(each, tuple) and each and not among):
                    yield named.id, each


def _listed(kernel: ast.FunctionDef) -> Iterator[tuple[str, Sequence[object]]]:
    """``mode: Literal["fast", "exact"]``."""
    for argument in (*kernel.args.posonlyargs, *kernel.args.args, *kernel.args.kwonlyargs):
        text = ast.unparse(argument.annotation) if argument.annotation is not None else ""
        if "Literal[" in text:
            yield argument.arg, re.findall(r"'([^']*)'", text)


def _documented(tree: ast.Module, kernel: ast.FunctionDef) -> Iterator[tuple[str, Sequence[object]]]:
    """``mode: one of "fast" and "exact"``, where the line says that it is a text."""
    for name, line in documented_lines(docstrings(tree, kernel), parameters(kernel)).items():
        if re.search(r"\b(str|string|one of)\b", line):
            values = re.findall(r"[\"'`]([\w\-. ]+)[\"'`]", line)
            if values:
                yield name, values
