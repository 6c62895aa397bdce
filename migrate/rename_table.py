"""The table of in-house names in a configuration: each stands for a function of NKI."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from nki_migrate.runtime.spec import beta1, beta2

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def wanted(value: Any) -> str:
    """What the table of in-house names must be; empty where it is."""
    if not isinstance(value, dict) or not all(isinstance(api, str) for api in value.values()):
        return 'a table of in-house names, each with a function of NKI: "acme.nki.load" = "neuronxcc.nki.language.load"'
    for name, api in value.items():
        if not _DOTTED.fullmatch(name):
            return f"a table of dotted names ({name!r} is none: write acme.nki.load, as it is imported)"
        if (beta1.canonical(api) == api and api not in beta2.SYMBOLS) or beta1.canonical(api) not in _KNOWN:
            close = get_close_matches(api, _apis(), n=1, cutoff=0.0)
            return f"a table of functions of NKI ({api!r} is none: did you mean {close[0]!r}?)"
    return ""


_KNOWN = frozenset((*beta1.SYMBOLS, *beta2.SYMBOLS))


def _apis() -> list[str]:
    """The functions of NKI by their whole names."""
    roots = {"nki": "neuronxcc.nki", "nl": "neuronxcc.nki.language", "nisa": "neuronxcc.nki.isa"}
    split = (name.split(".", 1) for name in beta1.SYMBOLS)
    return [*(f"{roots[root]}.{rest[0]}" for root, *rest in split if root in roots and rest), *beta2.SYMBOLS]
