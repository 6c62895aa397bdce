"""NKI from Beta 2 (``nki`` 0.2) on as data: every public name of each version, keyed by its qualified name.

Keys are qualified names: ``nki.isa.nc_matmul``, ``nki.language.float32``, ``nki.isa.engine.tensor``. The tables hold
what the documentation shows and what the front end of leanprover/KLR takes beyond it;
:class:`~.beta2_symbols.Parameter` tells the two apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from . import beta2_isa, beta2_language
from .beta2_language import (
    BUFFERS,
    DICT_METHODS,
    DTYPES,
    LIBRARIES,
    LIBRARY_CLASSES,
    LIST_METHODS,
    MATH_FUNCTIONS,
    PYTHON_BUILTINS,
    RANGES,
    TENSOR,
)
from .beta2_later import DELTAS, TENSOR_03, TENSOR_DELTAS, Delta
from .beta2_symbols import Parameter, Symbol, function, parameters
from .changes import CHANGES
from .versions import OLDEST, V03, VERSIONS, Version, version

__all__ = [
    "BUFFERS",
    "DICT_METHODS",
    "DTYPES",
    "LIBRARIES",
    "LIBRARY_CLASSES",
    "LIST_METHODS",
    "MATH_FUNCTIONS",
    "PYTHON_BUILTINS",
    "RANGES",
    "SYMBOLS",
    "TENSOR",
    "CallFault",
    "Parameter",
    "Symbol",
    "call_faults",
    "call_problems",
    "canonical",
    "function",
    "parameters",
    "symbol",
    "table",
    "tensor",
]

ALIASES = {"nki.isa.constants": "nki.isa", "nki.tensor": "nki.meta.tensor"}
"""Modules that offer the names of another one."""

SYMBOLS: dict[str, Symbol] = {**beta2_language.SYMBOLS, **beta2_isa.SYMBOLS}
"""NKI 0.2."""

_REMOVED_03 = beta2_language.REMOVED_03 | beta2_isa.REMOVED_03
_WITHOUT_MASK = {
    name: entry.without_refused()
    for name, entry in SYMBOLS.items()
    if name not in _REMOVED_03 and any(parameter.refused for parameter in entry.parameters or ())
}
"""What 0.3 took ``mask`` from."""
_DELTAS = {
    V03: Delta({**_WITHOUT_MASK, **beta2_language.CHANGED_03, **beta2_isa.CHANGED_03}, _REMOVED_03),
    **DELTAS,
}


def _columns(first: dict[str, Symbol], deltas: dict[Version, Delta]) -> dict[Version, dict[str, Symbol]]:
    """The table of each version: that of the one before, without what it removed, with what it changed and renamed."""
    found, last = {OLDEST: first}, first
    for at in VERSIONS[1:]:
        delta = deltas.get(at, Delta())
        last = {name: entry for name, entry in last.items() if name not in delta.removed} | delta.changed
        for name, new in (pair for row in CHANGES if row.since == at for pair in row.renamed):
            function, _, old = name.partition(":")
            if function in last:
                last[function] = last[function].with_renamed(old, new)
        found[at] = last
    return found


_TABLES = _columns(SYMBOLS, _DELTAS)
_TENSORS = _columns(TENSOR, {V03: TENSOR_03, **TENSOR_DELTAS})


def table(target: Version | str) -> dict[str, Symbol]:
    """The names of ``target``."""
    return _TABLES[version(target)]


def tensor(target: Version | str) -> dict[str, Symbol]:
    """The methods and attributes that a tensor has in ``target``."""
    return _TENSORS[version(target)]


def canonical(name: str) -> str:
    """``name`` under the module that owns it: ``nki.isa.constants.dge_mode`` is ``nki.isa.dge_mode``."""
    for alias, module in ALIASES.items():
        if name.startswith(alias + "."):
            return module + name[len(alias) :]
    return name


@lru_cache(maxsize=4096)
def symbol(name: str, target: Version | str) -> Symbol | None:
    """What is known of the qualified ``name``; ``None`` for a name that ``target`` does not have."""
    return table(target).get(canonical(name)) or table(target).get(name)


@dataclass(frozen=True)
class CallFault:
    """What is wrong with one argument of a call.

    ``kind`` is ``"surplus"`` (more positional arguments than parameters), ``"unexpected"`` (no such parameter),
    ``"refused"`` (a parameter that takes nothing: ``mask``), ``"twice"`` (by position and by keyword) or ``"missing"``.
    ``keyword`` is the index of the argument among the keywords, ``None`` if it is none of them.
    """

    kind: Literal["surplus", "unexpected", "refused", "twice", "missing"]
    name: str
    keyword: int | None = None


def call_faults(
    entry: Symbol, positional: int, keywords: Sequence[str], none: Iterable[str] = ()
) -> Iterator[CallFault]:
    """What is wrong with a call of ``entry`` with that many ``positional`` arguments and these ``keywords``.

    ``none`` names the parameters whose value is the literal ``None`` (``mask=None`` is legal).
    """
    order, none = entry.parameters or (), frozenset(none)
    by_position = {parameter.name: parameter for parameter in order[:positional]}
    if positional > len(order):
        yield CallFault("surplus", "")
    for index, keyword in enumerate(keywords):
        parameter = entry.parameter(keyword)
        if parameter is None and not entry.keywords:
            yield CallFault("unexpected", keyword, index)
        elif parameter is not None and parameter.refused and keyword not in none:
            yield CallFault("refused", keyword, index)
        elif keyword in by_position:
            yield CallFault("twice", keyword, index)
    for parameter in by_position.values():
        if parameter.refused and parameter.name not in none:
            yield CallFault("refused", parameter.name)
    for required in entry.required():
        if required not in by_position and required not in keywords:
            yield CallFault("missing", required)


def call_problems(
    entry: Symbol, positional: int, keywords: Sequence[str], name: str = "", none: Iterable[str] = ()
) -> tuple[str, ...]:
    """The faults of a call (:func:`call_faults`) in the words of the front end, which calls the function ``name``."""
    suffix = f" in builtin function '{name}'" if name else ""
    texts = {
        "surplus": "too many arguments given (varargs not supported)",
        "unexpected": f"unexpected keyword argument '{{}}'{suffix}",
        "refused": "{} parameter is not supported",
        "twice": "argument '{}' is given by position and by keyword",
        "missing": f"argument '{{}}' not found,{suffix}" if name else "argument '{}' not supplied",
    }
    return tuple(texts[fault.kind].format(fault.name) for fault in call_faults(entry, positional, keywords, none))
