"""Is source legal Beta 2? Static, on the syntax tree; no user code runs.

The front end of Beta 2 is a compiler of its own, not Python: it refuses much of the language, and it takes some
things and compiles something else. :func:`check_source` finds the kernels of a file and everything that they reach,
and judges these; host code is plain Python.

Source: ``reference/beta2.md`` section 4, from the front end of leanprover/KLR (``interop/klr/gather.c`` reads the
syntax, ``KLR/NKI/Simplify.lean`` and ``Annotations.lean`` turn it into NKI's own, ``KLR/Trace`` executes it).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from ..spec.versions import DEFAULT, Version, version
from . import (
    rules_calls,
    rules_containers,
    rules_definitions,
    rules_dynamic,
    rules_expressions,
    rules_ladder,
    rules_library,
    rules_loops,
    rules_names,
    rules_next,
    rules_operands,
    rules_shapes,
    rules_statements,
    rules_tensors,
    rules_values,
)
from .model import RuleDoc, Violation
from .names import module_of
from .project import kernel_names
from .reach import reached
from .walk import CODES, violations

RULE_MODULES = (
    rules_definitions,
    rules_statements,
    rules_expressions,
    rules_names,
    rules_library,
    rules_calls,
    rules_operands,
    rules_tensors,
    rules_containers,
    rules_loops,
    rules_dynamic,
    rules_values,
    rules_next,
    rules_ladder,
    rules_shapes,
)
"""The modules that hold the rules; importing them fills :data:`CODES`."""

__all__ = ["CODES", "RULE_MODULES", "RuleDoc", "Violation", "check_source", "check_sources", "check_tree"]


def check_source(
    source: str, filename: str = "<string>", *, target: Version | str = DEFAULT, also: Iterable[str] = ()
) -> tuple[Violation, ...]:
    """What the front end refuses in ``source``, in the order of the lines.

    Parameters
    ----------
    source, filename:
        The text of one file and its name (for errors).
    target:
        The NKI version to judge by.
    also:
        Names of further module-level functions and classes that are kernel code: those that kernels of other files
        call.

    Raises
    ------
    SyntaxError
        ``source`` is not Python.
    ValueError
        There is no such target.
    """
    return check_tree(ast.parse(source, filename), target=target, also=also)


def check_tree(tree: ast.Module, *, target: Version | str = DEFAULT, also: Iterable[str] = ()) -> tuple[Violation, ...]:
    """:func:`check_source` for a tree that is there already."""
    module, at = module_of(tree), version(target)
    return tuple(sorted({found for item in reached(module, also) for found in violations(module, item, at)}))


def check_sources(sources: Mapping[str, str], *, target: Version | str = DEFAULT) -> dict[str, tuple[Violation, ...]]:
    """:func:`check_source` for the files of a repository, keyed by path: kernels reach code across files.

    Raises
    ------
    SyntaxError
        One of ``sources`` is not Python; its ``filename`` says which.
    """
    trees = {path: ast.parse(source, path) for path, source in sources.items()}
    names = kernel_names(trees)
    return {path: check_tree(tree, target=target, also=names[path]) for path, tree in trees.items()}
