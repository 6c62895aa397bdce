"""What trees tell by themselves, found once: analysis asks the same of one function some thousand times.

The trees of a run do not change while they are analysed. What changes one (:func:`.syntax.replace_node` and the passes
that name arguments) calls :func:`trees_changed`. What was found is kept as long as somebody is inside of
:func:`trees_kept`: a rewrite, and the work on a group of files.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, overload
from weakref import WeakValueDictionary

from nki_migrate.runtime.spec.grammar import children, nodes_of

__all__ = ["children", "indexed", "indexed_together", "of_kinds", "tree_of", "trees_changed", "trees_kept", "walk"]

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
Root = TypeVar("Root", bound=ast.AST)
A = TypeVar("A", bound=ast.AST)
B = TypeVar("B", bound=ast.AST)
C = TypeVar("C", bound=ast.AST)

_answers: dict[tuple[Hashable, ...], tuple[object, Any]] = {}
"""Answers by question, identity of the nodes (which the entry keeps alive), and further arguments."""


def indexed(question: Callable[Concatenate[Root, Asked], Answer]) -> Callable[Concatenate[Root, Asked], Answer]:
    """A question about one tree, and hashable arguments, that is answered once. Nobody may change its answer."""

    @wraps(question)
    def ask(node: Root, /, *args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
        key = (question, id(node), *args, *kwargs.values())
        entry = _answers.get(key)
        if entry is None:
            entry = _answers[key] = node, question(node, *args, **kwargs)
        answer: Answer = entry[1]
        return answer

    return ask


def indexed_together(
    question: Callable[Concatenate[Mapping[str, ast.Module], Asked], Answer],
) -> Callable[Concatenate[Mapping[str, ast.Module], Asked], Answer]:
    """A question about the trees of several files, by path, that is answered once. Nobody may change its answer."""

    @wraps(question)
    def ask(trees: Mapping[str, ast.Module], /, *args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
        key = (question, *((path, id(tree)) for path, tree in trees.items()), *args, *kwargs.values())
        entry = _answers.get(key)
        if entry is None:
            entry = _answers[key] = dict(trees), question(trees, *args, **kwargs)
        answer: Answer = entry[1]
        return answer

    return ask


def tree_of(text: str) -> ast.Module:
    """The tree of a module's text, parsed once while it is used: for what reads it, and never changes it.

    Raises ``SyntaxError`` when it does not parse, ``ValueError`` for a null byte, ``RecursionError``, ``MemoryError``.
    """
    tree = _trees.get(text)
    if tree is None:
        tree = _trees[text] = ast.parse(text)
    _recent.append(tree)
    return tree


_trees: WeakValueDictionary[str, ast.Module] = WeakValueDictionary()
_recent: deque[ast.Module] = deque(maxlen=64)
"""Trees that somebody asked for a moment ago, and may ask for again."""


def trees_changed() -> None:
    """A tree has changed, or some are needed no more: what was found in trees is forgotten."""
    _answers.clear()


@contextmanager
def trees_kept() -> Iterator[None]:
    """Trees, and what is found in them, are kept in here; nothing of it is when the outermost of these ends."""
    global _keeping
    _keeping += 1
    try:
        yield
    finally:
        _keeping -= 1
        if not _keeping:
            trees_changed()
            _recent.clear()


_keeping = 0


def walk(node: ast.AST) -> Sequence[ast.AST]:
    """``node`` and all nodes below it, breadth first, as :func:`ast.walk` gives them but for contexts."""
    return _indexed_walk(node)


@overload
def of_kinds(node: ast.AST, first: type[A], /) -> Sequence[A]: ...
@overload
def of_kinds(node: ast.AST, first: type[A], second: type[B], /) -> Sequence[A | B]: ...
@overload
def of_kinds(node: ast.AST, first: type[A], second: type[B], third: type[C], /) -> Sequence[A | B | C]: ...
def of_kinds(node: ast.AST, /, *kinds: type[ast.AST]) -> Sequence[ast.AST]:
    """The nodes of :func:`walk` that are of one of ``kinds``."""
    return _indexed_kinds(node, *kinds)


def _walked(node: ast.AST) -> Sequence[ast.AST]:
    return tuple(nodes_of(node))


_indexed_walk = indexed(_walked)


@indexed
def _indexed_kinds(node: ast.AST, *kinds: type[ast.AST]) -> Sequence[ast.AST]:
    if len(kinds) == 1 and not kinds[0].__subclasses__():
        return _by_kind(node).get(kinds[0], ())
    return tuple(found for found in walk(node) if isinstance(found, kinds))


@indexed
def _by_kind(node: ast.AST) -> Mapping[type[ast.AST], Sequence[ast.AST]]:
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for each in walk(node):
        found.setdefault(type(each), []).append(each)
    return found
