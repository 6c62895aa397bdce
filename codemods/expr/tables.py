"""What the rules ask of the tables in ``runtime/spec``."""

from __future__ import annotations

from nki_migrate.runtime.spec import beta1, beta2
from nki_migrate.runtime.spec.dtypes import NUMPY_SPELLINGS
from nki_migrate.runtime.spec.kept_functions import KEPT
from nki_migrate.runtime.spec.operators import ACTIVATION, ALU, canonical
from nki_migrate.runtime.spec.versions import V02, version

from ..model import Options
from ..syntax.names import BETA2

CREATIONS = {
    "nl.ndarray": None,
    "nl.zeros": "0",
    "nl.ones": "1",
    "nl.full": None,
    "nl.empty_like": None,
    "nl.zeros_like": "0",
}
"""What creates a tensor, and what it fills it with."""


def parameters(name: str) -> tuple[str, ...]:
    """Parameters of a Beta 1 function in order, keyword-only ones last."""
    symbol = beta1.symbol(name)
    if symbol is None:
        return ()
    return tuple(p.name for p in symbol.parameters if p.kind in ("positional", "keyword"))


def required_parameters(name: str) -> tuple[str, ...]:
    """Parameters of a Beta 1 function that have no default."""
    symbol = beta1.symbol(name)
    if symbol is None:
        return ()
    return tuple(p.name for p in symbol.parameters if p.kind in ("positional", "keyword") and p.default is None)


def positional_limit(name: str) -> int | None:
    """How many arguments a Beta 1 function takes by position; ``None`` for any number, and where nothing says."""
    symbol = beta1.symbol(name)
    if symbol is None or any(p.kind == "varargs" for p in symbol.parameters):
        return None
    return sum(p.kind == "positional" for p in symbol.parameters)


def signature(name: str) -> str:
    """A Beta 1 function with its parameters, as the documents have it: ``nl.load(src, *, mask, dtype)``."""
    symbol = beta1.symbol(name)
    kinds = [(p.name, p.kind) for p in symbol.parameters] if symbol is not None else []
    by_position = [parameter for parameter, kind in kinds if kind == "positional"]
    by_keyword = [parameter for parameter, kind in kinds if kind == "keyword"]
    return f"{name}({', '.join([*by_position, *(['*'] if by_keyword else []), *by_keyword])})"


def is_parameter(name: str, keyword: str) -> bool:
    """Does a document, or a public kernel, pass ``keyword`` to the Beta 1 function ``name``?"""
    return beta1.parameter(name, keyword) is not None


def beta2_has(name: str) -> bool:
    """Does Beta 2 have the canonical Beta 1 ``name`` under the same name, with the same meaning?"""
    symbol = beta1.symbol(name)
    return symbol is not None and symbol.fate == "unchanged"


def is_refused(name: str) -> bool:
    """Does the canonical Beta 1 ``name`` have no counterpart in Beta 2, whatever it is called with?"""
    symbol = beta1.symbol(name)
    return symbol is not None and symbol.fate == "refused"


def is_function(name: str) -> bool:
    """Is the canonical ``name`` something to call (or an allocator): no data type, constant or memory?"""
    symbol = beta1.symbol(name)
    return name.startswith("ncc.") or (symbol is not None and symbol.kind == "function")


def beta2_lacks(name: str) -> bool:
    """Has Beta 2, which is NKI 0.2, nothing under the canonical Beta 1 ``name``, or only something else?"""
    symbol = beta1.symbol(name)
    root, _, rest = name.partition(".")
    here = beta2.symbol(f"{BETA2.get(root, root)}.{rest}", V02)
    return (symbol is not None and symbol.fate == "refused") or here is None


def has_again(options: Options, name: str) -> bool:
    """Does every version that the output serves have a function of Beta 1, which 0.2 lacks, again?"""
    since = KEPT.get(name)
    return since is not None and version(options.oldest or options.target) >= since


def refusal_note(name: str) -> str:
    """What to do by hand about a Beta 1 name that has no rewrite."""
    symbol = beta1.symbol(name)
    if symbol is not None and symbol.note:
        return symbol.note
    if symbol is not None and symbol.target:
        return f"write it with {' or '.join(symbol.target)}"
    return "Beta 2 has nothing of that name"


def dtype_name(qualified: str) -> str | None:
    """The ``nl`` name of a numpy data type: ``np.float32`` is ``float32``."""
    root, _, rest = qualified.partition(".")
    return NUMPY_SPELLINGS.get(rest) if root == "np" else None


def operator_token(qualified: str) -> str | None:
    """The ALU token that Beta 2 wants for ``np.add``, ``nl.max``...; ``None`` where it has none."""
    root, _, rest = qualified.partition(".")
    token = canonical(rest)
    return token if root in ("np", "nl") and token in ALU else None


def activation_token(qualified: str) -> str | None:
    """The activation function that Beta 2 wants for ``np.exp``, ``nl.silu``...; ``None`` where it has none."""
    root, _, rest = qualified.partition(".")
    token = canonical(rest)
    return token if root in ("np", "nl") and token in ACTIVATION else None
