"""Variants of a function that are written alike: one copy serves them all.

Each variant's text is right for what its calls pass. Where two texts are the same but for the names that the rewrite
gave, one of them is right for both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ..expr.emission import Edits, New
from ..expr.frames import Analysis
from ..project.program import Module
from ..syntax.node_index import indexed, of_kinds, walk
from .variants import copy_of

Variant = tuple[ast.FunctionDef, int]
"""A function, and the number of one of its variants."""

_NAME = re.compile(r"[A-Za-z_]\w*")


def copies_needed(modules: Iterable[Module]) -> dict[ast.FunctionDef, list[int]]:
    """Which copy serves each variant of the functions that have several, once all of them are rewritten.

    Functions in functions have no copies: calls with other kinds of arguments are left.
    """
    homes = {
        f: module
        for module in modules
        for f in module.summaries.calls
        if len(module.premises.variants.get(f, ())) > 1 and f not in _nested(module.source.tree)
    }
    found = {function: list(range(len(module.premises.variants[function]))) for function, module in homes.items()}
    while True:
        names = {module: _copies_by_name(module, homes, found) for module in homes.values()}
        shared = {function: _shared(module, function, names[module]) for function, module in homes.items()}
        if shared == found:
            return found
        found = shared


@indexed
def _nested(tree: ast.Module) -> frozenset[ast.FunctionDef]:
    """The functions of a module that stand in other functions."""
    functions = of_kinds(tree, ast.FunctionDef)
    return frozenset(inner for f in functions for inner in of_kinds(f, ast.FunctionDef) if inner is not f)


def _shared(module: Module, function: ast.FunctionDef, names: dict[str, str]) -> list[int]:
    """The number of the first variant with the same text, counted over the different ones."""
    texts: list[object] = []
    numbers = []
    for number in range(len(module.premises.variants[function])):
        text = _written(module, copy_of(module, function, number), names)
        numbers.append(texts.index(text) if text in texts else len(texts))
        texts += [] if text in texts else [text]
    return numbers


def _copies_by_name(
    module: Module, homes: dict[ast.FunctionDef, Module], shared: dict[ast.FunctionDef, list[int]]
) -> dict[str, str]:
    """What stands for the names of functions' copies in a module: the copy that serves them."""
    found: dict[str, str] = {}
    for function, home in homes.items():
        for number, copied in enumerate(home.summaries.copies.get(function, []), start=1):
            name = home.plan.edits.renamed[copied]
            local = [names[name] for names in module.names.needed_names.values() if name in names]
            served = f"{function.name} {shared[function][number]}" if number < len(shared[function]) else name
            found.update(dict.fromkeys(local if home is not module else [name], served))
        if home is module:
            found[function.name] = f"{function.name} 0"
    return found


def _written(module: Module, node: ast.FunctionDef, names: dict[str, str]) -> object:
    """All that is planned for one variant: its edits, what was left of it, what it returns and writes to PSUM."""
    given: dict[str, str] = {}
    analysis = module.summaries.analyzed.get(node, Analysis({}, None))
    parts = [_plain(module, part, names, given) for part in _edits(module, module.plan.edits, node)]
    return parts, repr(analysis.returned), repr(analysis.groups), analysis.parameters if not parts else None


def _edits(module: Module, edits: Edits, node: ast.FunctionDef) -> list[str]:
    found: list[str] = []
    for place, child in enumerate(walk(node)):
        texts = [edits.expressions[child]] if child in edits.expressions else []
        if isinstance(child, ast.stmt):
            for planned in (edits.replaced, edits.before, edits.after, edits.prologue):
                texts += _texts(planned, child)
        if isinstance(child, ast.If) and child in edits.dead:
            texts += ["without", edits.dead[child][0], edits.dead[child][1].text]
        if isinstance(child, ast.FunctionDef):
            texts += edits.parameters.get(child, [])
        texts += module.plan.refused.get(child, [])
        texts += ["kept"] if child in module.plan.kept else []
        texts += ["dropped"] if child in edits.dropped_decorators else []
        found += [f"{place}: {text}" for text in texts]
    return found


def _texts(planned: dict[ast.stmt, list[New]], node: ast.stmt) -> list[str]:
    return [f"{new.guard}: {new.text}" for new in planned[node]] + ["end"] if node in planned else []


def _plain(module: Module, text: str, names: dict[str, str], given: dict[str, str]) -> str:
    """``text`` with numbers for the names that the rewrite gave, in the order in which they come."""

    def spelled(match: re.Match[str]) -> str:
        name = match.group()
        if name in names:
            return names[name]
        if name not in module.names.taken or name in module.symbols.written:
            return name
        return given.setdefault(name, f"?{len(given)}")

    return _NAME.sub(spelled, text)
