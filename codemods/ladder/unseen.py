"""Calls that a rule cannot read: arguments behind ``*`` and ``**``, functions of NKI that are used as values.

A rule names the functions whose calls it is about, or whose hidden arguments it cannot do without (``CALLS``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType

from nki_migrate.runtime.spec import beta2

from ..syntax.call_text import hides_arguments
from .answers import Said, Unknown, unknown
from .facts import Facts

_HELP = "write the call with all of its arguments, or see to it by hand"


def unseen(facts: Facts, module: ModuleType, node: ast.AST) -> Unknown | None:
    """What is taken for true of a call whose arguments, or whose place, cannot be seen."""
    names: frozenset[str] = getattr(module, "CALLS", frozenset())
    if isinstance(node, ast.Call):
        name = facts.called(node)
        if name not in names or not hides_arguments(node):
            return None
        hidden = f"'*' and '**' give {_short(name)} nothing that {{}} is about"
        return unknown(Said((module.CODE,), hidden, hidden.replace(" is ", " are ")), _why(facts), _HELP)
    name = facts.qualified(node) if names else ""
    if name in names and _is_value(facts, node):
        entry = beta2.symbol(name, facts.new)
        other = f"calls of {_short(name)} by another name are not what {{}} is about"
        said = Said((module.CODE,), other, other.replace(" is ", " are "))
        return unknown(said, _why(facts), _HELP, is_note=entry is not None and bool(entry.roles))  # a token, most often
    return None


def values_of(facts: Facts, module: ModuleType) -> Iterator[ast.AST]:
    """Where the functions of a rule are used otherwise than by a call that names them."""
    names: frozenset[str] = getattr(module, "CALLS", frozenset())
    if names:
        for node, name in facts.rung.values:
            is_other = name in names and not isinstance(node, module.NODES)
            if is_other and facts.in_kernel_code(node) and _is_value(facts, node):
                yield node


def _is_value(facts: Facts, node: ast.AST) -> bool:
    above = facts.rung.parents.get(node)
    while isinstance(above, ast.IfExp):
        above = facts.rung.parents.get(above)
    call = facts.rung.parents.get(above) if isinstance(above, ast.keyword) else above
    is_operator = call is not None and facts.called(call).startswith("nki.isa.")
    decorates = isinstance(above, ast.FunctionDef | ast.ClassDef)  # its one argument is by position
    return not is_operator and not decorates and node in facts.rung.value_nodes


def _why(facts: Facts) -> str:
    return f"NKI {facts.new} changed it"


def _short(name: str) -> str:
    return name.replace("nki.isa.", "nisa.").replace("nki.language.", "nl.").replace("nki.collectives.", "ncc.")
