"""What one entry of the Beta 1 table says, and the short notation that the tables are written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FATES = ("mapped", "unchanged", "refused")

MASK = "Clamp the subscripts of every operand to the valid part, or put the instruction under an `if`."
DTYPE = "The destination has this data type: allocate it so."
KEYWORDS = "Beta 2 refuses keywords that it does not know: delete them."
SPLIT = "Split the work into several instructions by hand."


@dataclass(frozen=True)
class Parameter:
    """One parameter of a Beta 1 function.

    ``kind`` is ``positional`` (positional or keyword), ``keyword`` (keyword only), ``varargs`` or ``varkeywords``;
    ``default`` is source text, ``None`` for a required parameter. ``target`` is the keyword that takes the value in
    Beta 2, empty where no single keyword does; ``note`` then says what becomes of it.
    """

    name: str
    kind: str
    default: str | None = None
    fate: str = "unchanged"
    target: str = ""
    note: str = ""


@dataclass(frozen=True)
class Symbol:
    """One public name of Beta 1.

    ``kind`` is ``function``, ``decorator``, ``method``, ``class``, ``enum``, ``member``, ``attribute``, ``dtype``,
    ``buffer``, ``object`` or ``module``. ``fate`` says whether Beta 2 has a spelling: ``unchanged`` (the same name),
    ``mapped`` (``target`` names what it is written with; empty where plain Python replaces it, as ``note`` says) or
    ``refused`` (``note`` says what to do by hand).
    """

    kind: str
    parameters: tuple[Parameter, ...] = ()
    fate: str = "unchanged"
    target: tuple[str, ...] = ()
    note: str = ""

    def parameter(self, name: str) -> Parameter | None:
        """The parameter called ``name``; ``None`` when only ``**kwargs`` would take it."""
        return next((p for p in self.parameters if p.name == name and p.kind in ("positional", "keyword")), None)


def mapped(
    signature: str, *target: str, keywords: Mapping[str, str] | None = None, note: str = "", kind: str = "function"
) -> Symbol:
    """A symbol that Beta 2 spells otherwise.

    ``keywords`` says what becomes of parameters that do not keep their name: another name or, with a blank, a note.
    ``mask``, ``dtype`` and ``**kwargs`` have notes of their own unless ``keywords`` names them.
    """
    table = {"mask": MASK, "dtype": DTYPE, **(keywords or {})}
    return Symbol(kind, tuple(_mapped(p, table) for p in parameters(signature)), "mapped", target, note)


def unchanged(signature: str, target: str, note: str = "", kind: str = "function") -> Symbol:
    """A symbol that has the same name and the same parameters in Beta 2."""
    return Symbol(kind, tuple(_mapped(p, {}) for p in parameters(signature)), "unchanged", (target,), note)


def refused(signature: str, note: str, kind: str = "function") -> Symbol:
    """A symbol without a counterpart; ``note`` says what to do by hand."""
    entries = tuple(Parameter(p.name, p.kind, p.default, "refused", "", note) for p in parameters(signature))
    return Symbol(kind, entries, "refused", (), note)


def parameters(signature: str) -> tuple[Parameter, ...]:
    """The parameters of ``"a, b=0, *, c=None, **kwargs"``, in order, all ``unchanged``."""
    found: list[Parameter] = []
    kind = "positional"
    for text in filter(None, (part.strip() for part in _split(signature))):
        if text == "*":
            kind = "keyword"
        elif text.startswith("*"):
            found.append(Parameter(text.lstrip("*"), "varkeywords" if text.startswith("**") else "varargs"))
        else:
            name, equals, default = text.partition("=")
            found.append(Parameter(name.strip(), kind, default.strip() if equals else None, "unchanged", name.strip()))
    return tuple(found)


def _split(signature: str) -> list[str]:
    """Cut at the commas outside of parentheses."""
    parts, depth = [""], 0
    for character in signature:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _mapped(parameter: Parameter, table: Mapping[str, str]) -> Parameter:
    """``parameter`` with the fate that ``table`` gives it."""
    name, kind, default = parameter.name, parameter.kind, parameter.default
    if kind == "varkeywords":
        return Parameter(name, kind, default, "refused", "", KEYWORDS)
    if kind == "varargs" or name not in table:
        return parameter
    entry = table[name]
    if " " in entry:
        return Parameter(name, kind, default, "mapped", "", entry)
    return Parameter(name, kind, default, "unchanged" if entry == name else "mapped", entry)
