"""NKI Beta 2 (``nki`` 0.2, SDK 2.28) and NKI 0.3 (SDK 2.29) as data: every public name, keyed by its qualified name.

Keys are qualified names: ``nki.isa.nc_matmul``, ``nki.language.float32``, ``nki.isa.engine.tensor``. The tables hold
what the documentation shows and what the front end of leanprover/KLR takes beyond it;
:class:`~.beta2_symbols.Parameter` tells the two apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import beta2_isa, beta2_language
from .beta2_language import (
    BUFFERS,
    DICT_METHODS,
    DTYPES,
    LIST_METHODS,
    MATH_FUNCTIONS,
    PYTHON_BUILTINS,
    RANGES,
    TENSOR,
)
from .beta2_symbols import Parameter, Symbol, function, parameters

__all__ = [
    "BUFFERS",
    "DICT_METHODS",
    "DTYPES",
    "LIST_METHODS",
    "MATH_FUNCTIONS",
    "PYTHON_BUILTINS",
    "RANGES",
    "SYMBOLS",
    "SYMBOLS_03",
    "TARGETS",
    "TENSOR",
    "Parameter",
    "Symbol",
    "call_problems",
    "canonical",
    "function",
    "parameters",
    "symbol",
    "table",
]

TARGETS = ("0.2", "0.3")

ALIASES = {"nki.isa.constants": "nki.isa", "nki.tensor": "nki.meta.tensor"}
"""Modules that offer the names of another one."""

SYMBOLS: dict[str, Symbol] = {**beta2_language.SYMBOLS, **beta2_isa.SYMBOLS}
"""NKI 0.2."""

SYMBOLS_03: dict[str, Symbol] = {
    **{name: entry for name, entry in SYMBOLS.items() if name not in beta2_language.REMOVED_03 | beta2_isa.REMOVED_03},
    **beta2_language.CHANGED_03,
    **beta2_isa.CHANGED_03,
}
"""NKI 0.3."""


def table(target: str = "0.2") -> dict[str, Symbol]:
    """The names of ``target``, one of :data:`TARGETS`."""
    return {"0.2": SYMBOLS, "0.3": SYMBOLS_03}[target]


def canonical(name: str) -> str:
    """``name`` under the module that owns it: ``nki.isa.constants.dge_mode`` is ``nki.isa.dge_mode``."""
    for alias, module in ALIASES.items():
        if name.startswith(alias + "."):
            return module + name[len(alias) :]
    return name


def symbol(name: str, target: str = "0.2") -> Symbol | None:
    """What is known of the qualified ``name``; ``None`` for a name that ``target`` does not have."""
    return table(target).get(canonical(name)) or table(target).get(name)


def call_problems(
    entry: Symbol, positional: int, keywords: Iterable[str], name: str = "", none: Iterable[str] = ()
) -> tuple[str, ...]:
    """What the front end says to a call of the function ``entry`` with that many positional arguments and these "
    "keywords.

    ``none`` names the parameters whose value is the literal ``None`` (``mask=None`` is legal). Empty for a legal call.
    """
    order = entry.parameters or ()
    given, none = list(keywords), frozenset(none)
    suffix = f" in builtin function '{name}'" if name else ""
    problems: list[str] = []
    if positional > len(order):
        problems.append("too many arguments given (varargs not supported)")
    by_position = {p.name: p for p in order[:positional]}
    for keyword in given:
        parameter = entry.parameter(keyword)
        if parameter is None and not entry.keywords:
            problems.append(f"unexpected keyword argument '{keyword}'{suffix}")
        elif parameter is not None and parameter.refused and keyword not in none:
            problems.append(f"{keyword} parameter is not supported")
        elif keyword in by_position:
            problems.append(f"argument '{keyword}' is given by position and by keyword")
    problems += [
        f"{p.name} parameter is not supported" for p in by_position.values() if p.refused and p.name not in none
    ]
    for required in entry.required():
        if required not in by_position and required not in given:
            problems.append(
                f"argument '{required}' not supplied" if not name else f"argument '{required}' not found,{suffix}"
            )
    return tuple(problems)
