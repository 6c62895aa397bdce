"""What one entry of the Beta 2 table says, and the short notation that the tables are written in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Parameter:
    """One parameter of a Beta 2 function.

    ``default`` is source text, ``None`` where the documentation shows none. ``required`` is what the front end wants: a
    few parameters are required by the documentation only. ``documented`` is false for what the front end takes beyond
    the documentation. A ``refused`` parameter (``mask``) exists but takes nothing but ``None``.
    """

    name: str
    default: str | None = None
    required: bool = True
    documented: bool = True
    refused: bool = False


@dataclass(frozen=True)
class Symbol:
    """One public name of Beta 2.

    ``kind`` is ``module``, ``function``, ``token``, ``dtype``, ``buffer``, ``enum``, ``member``, ``class``,
    ``attribute`` or ``object``. ``parameters`` are in the order in which the front end binds positional arguments
    (destination first), ``None`` for what cannot be called; ``keywords`` tells whether any other keyword is taken
    too. ``roles`` says where a name may stand as an operand: ``operator`` (``op=`` of the arithmetic instructions),
    ``activation`` (``op=`` of ``nki.isa.activation``), ``range`` (iterable of a ``for``). ``since`` is the SDK
    release that brought the name; ``note`` says what is special about it; ``unavailable`` is the reason why an
    existing name cannot be used in a kernel.
    """

    kind: str
    parameters: tuple[Parameter, ...] | None = None
    roles: frozenset[str] = frozenset()
    since: str = "2.27"
    documented: bool = True
    keywords: bool = False
    value: int | str | None = None
    note: str = ""
    unavailable: str = ""

    @property
    def is_callable(self) -> bool:
        return self.parameters is not None

    def parameter(self, name: str) -> Parameter | None:
        """The parameter called ``name``."""
        return next((p for p in self.parameters or () if p.name == name), None)

    def without_refused(self) -> Symbol:
        """This function without the parameters that take nothing."""
        return replace(self, parameters=tuple(p for p in self.parameters or () if not p.refused))

    def with_renamed(self, old: str, new: str) -> Symbol:
        """This function with its parameter ``old`` under the name ``new``."""
        order = tuple(replace(p, name=new) if p.name == old else p for p in self.parameters or ())
        return replace(self, parameters=order)

    def accepted(self) -> tuple[str, ...]:
        """Names of the parameters that take a value, in positional order."""
        return tuple(p.name for p in self.parameters or () if not p.refused)

    def required(self) -> tuple[str, ...]:
        """Names of the parameters that the front end wants, in positional order."""
        return tuple(p.name for p in self.parameters or () if p.required)


def function(
    signature: str, *, since: str = "2.27", documented: bool = True, note: str = "", roles: Iterable[str] = ()
) -> Symbol:
    """A function, from a signature in the notation of :func:`parameters`."""
    found = parameters(signature)
    keywords = any(p.name.startswith("**") for p in found)
    kept = tuple(p for p in found if not p.name.startswith("**"))
    return Symbol("function", kept, frozenset(roles), since, documented, keywords, note=note)


def parameters(signature: str) -> tuple[Parameter, ...]:
    """Read ``"dst, op, scale=1.0, offset~0, +engine=None, !mask, **kwargs"``.

    A plain name is required, ``=`` gives a default; ``~`` gives a default that the front end has and the documentation
    does not; ``+`` marks a parameter that only the front end knows, ``!`` one that takes nothing but ``None``.
    """
    found: list[Parameter] = []
    for text in filter(None, (part.strip() for part in _split(signature))):
        if text.startswith("!"):
            found.append(Parameter(text[1:], "None", False, False, True))
            continue
        documented = not text.startswith("+")
        name, _, default = text.lstrip("+").partition("=")
        if "~" in name:
            found.append(Parameter(name.partition("~")[0].strip(), None, False, documented))
        else:
            found.append(Parameter(name.strip(), default.strip() or None, not default, documented))
    return tuple(found)


def enum(name: str, members: dict[str, int | str], **undocumented: str) -> dict[str, Symbol]:
    """An enumeration and its members, by qualified name; ``undocumented`` members are known to the front end only."""
    table = {name: Symbol("enum")}
    table.update({f"{name}.{member}": Symbol("member", value=value) for member, value in members.items()})
    for member, value in undocumented.items():
        table[f"{name}.{member}"] = Symbol("member", value=value, documented=False)
    return table


def _split(signature: str) -> list[str]:
    """Cut at the commas outside of brackets."""
    parts, depth = [""], 0
    for character in signature:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def kept_positions(old: Symbol, new: Symbol) -> int:
    """How many positional arguments, from the first on, bind alike in two versions of a function.

    A parameter that only has another name is bound alike: neither version has the other's name elsewhere.
    """
    order, newer = ([p.name for p in entry.parameters or ()] for entry in (old, new))
    for at, (name, later) in enumerate(zip(order, newer, strict=False)):
        if name != later and (name in newer or later in order):
            return at
    return min(len(order), len(newer))
