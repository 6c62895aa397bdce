"""Targets that hold more than names: ``a, (b, c)``, ``[a, b]``, ``a[0], b``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from .node_index import of_kinds

Display = ast.Tuple | ast.List
"""A tuple or list that is written element by element."""

Given = ast.expr | list[ast.expr]
"""What an element of a target gets; a starred one gets a list."""


def is_of_names(target: ast.expr) -> bool:
    """Is a target one that Beta 2 takes: no tuple or list, or a tuple of names (one of which may be starred)?"""
    if not isinstance(target, Display):
        return True
    return isinstance(target, ast.Tuple) and len(names_of(target)) == len(target.elts)


def is_starred(target: ast.expr) -> bool:
    """Is an element of a tuple or list starred?"""
    return isinstance(target, Display) and any(isinstance(e, ast.Starred) for e in target.elts)


def names_of(target: ast.Tuple | ast.List) -> list[str]:
    """The names among the elements of a target, in order, a starred one among them."""
    elements = (e.value if isinstance(e, ast.Starred) else e for e in target.elts)
    return [element.id for element in elements if isinstance(element, ast.Name)]


def tuple_of(texts: Sequence[str]) -> str:
    """A tuple on either side of an assignment, as text."""
    return f"({texts[0]},)" if len(texts) == 1 else ", ".join(texts)


def stem_of(element: ast.expr) -> str:
    """What the name is called that takes the place of an element."""
    return "parts" if isinstance(element, Display) else "element"


def one_level(
    elements: Sequence[ast.expr], text: Callable[[ast.expr], str], new: Callable[[ast.expr], str]
) -> tuple[list[str], list[str]] | None:
    """Names in the places of ``elements``, and the statements that bind what else is there, in Python's order.

    ``new`` gives the name in the place of an element, ``text`` the text of one. ``None`` where there is no such order
    for them, or an element is an empty tuple.
    """
    names: list[str] = []
    behind: list[str] = []
    late: set[str] = set()
    for element in elements:
        own = element.value if isinstance(element, ast.Starred) else element
        if isinstance(own, ast.Name) and own.id not in late:
            names.append(text(element))
            continue
        if isinstance(element, ast.Starred):
            return None
        late |= {name.id for name in of_kinds(element, ast.Name)}
        name = new(element)
        names.append(name)
        if isinstance(element, Display):
            inner = one_level(element.elts, text, new) if element.elts else None
            if inner is None:
                return None
            behind += [f"{tuple_of(inner[0])} = {name}", *inner[1]]
        else:
            behind.append(f"{text(element)} = {name}")
    return names, behind


def paired(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, Given]] | None:
    """Each element of a target with what a display of as many elements gives it, a starred one with several.

    ``None`` where ``value`` is no such display.
    """
    if not isinstance(target, Display) or not isinstance(value, Display) or is_starred(value):
        return None
    given: list[Given] = [*value.elts]
    stars = [place for place, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
    if stars and len(target.elts) <= len(given) + 1:
        start, stop = stars[0], len(given) - (len(target.elts) - stars[0] - 1)
        given[start:stop] = [value.elts[start:stop]]
    if len(given) != len(target.elts):
        return None
    pairs: list[tuple[ast.expr, Given]] = []
    for element, part in zip(target.elts, given, strict=True):
        if isinstance(element, ast.Starred):
            pairs.append((element.value, part))
        else:
            assert isinstance(part, ast.expr)
            pairs += paired(element, part) or [(element, part)]
    return pairs
