"""The emulator offers every documented name of Beta 1, with the parameters and the defaults of the documents."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime.beta1.modules import MODULES
from nki_migrate.runtime.beta1.tensor import Tile
from nki_migrate.runtime.spec import beta1

PATHS = {
    "nki": "neuronxcc.nki",
    "nl": "neuronxcc.nki.language",
    "nisa": "neuronxcc.nki.isa",
    "ncc": "neuronxcc.nki.compiler",
    "ncc.sbuf": "neuronxcc.nki.compiler.sbuf",
    "ncc.psum": "neuronxcc.nki.compiler.psum",
}
CALLABLE = sorted(
    name for name, symbol in beta1.DOCUMENTED.items() if symbol.kind in ("function", "decorator") and symbol.parameters
)


def offered(name: str) -> Any:
    """What the emulator has under the canonical ``name``; ``KeyError`` when there is nothing."""
    if name.startswith("nki.tensor."):
        return getattr(Tile, name.removeprefix("nki.tensor."))
    root = max((r for r in PATHS if name == r or name.startswith(f"{r}.")), key=len)
    found: Any = MODULES[PATHS[root]]
    for part in filter(None, name[len(root) :].split(".")):
        members = vars(found) if not isinstance(found, type) else dict(inspect.getmembers(found))
        found = members[part] if part in members else getattr(found, part)
    return found


@pytest.mark.parametrize("name", sorted(beta1.DOCUMENTED))
def test_every_documented_name_is_offered(name: str) -> None:
    assert offered(name) is not None or beta1.DOCUMENTED[name].kind == "attribute"


def default_of(text: str) -> Any:
    """The value of a documented default, where it says more than that it is not given."""
    try:
        return ast.literal_eval(text)
    except ValueError:
        root = text.partition(".")[0]
        return {"np.float32": np.float32, "np.uint8": np.uint8, "np.amax": np.amax, "bool": bool}.get(text) or (
            offered(text) if root in PATHS else offered(f"nisa.{text}")
        )


@pytest.mark.parametrize("name", CALLABLE)
def test_parameters_and_defaults(name: str) -> None:
    function = offered(name)
    own = inspect.signature(function).parameters
    catches = {p.kind for p in own.values()}
    for position, documented in enumerate(beta1.DOCUMENTED[name].parameters):
        if documented.kind == "varkeywords":
            assert inspect.Parameter.VAR_KEYWORD in catches, name
            continue
        if documented.name not in own:
            needed = inspect.Parameter.VAR_POSITIONAL if documented.kind != "keyword" else inspect.Parameter.VAR_KEYWORD
            assert needed in catches, f"{name}({documented.name})"
            continue
        parameter = own[documented.name]
        if documented.kind == "positional":
            assert parameter.kind is not inspect.Parameter.KEYWORD_ONLY, f"{name}({documented.name})"
            assert list(own).index(documented.name) == position, f"{name}({documented.name})"
        if documented.default is None:
            assert (
                parameter.default is inspect.Parameter.empty or documented.kind == "varargs"
            ), f"{name}({documented.name})"
        else:
            assert parameter.default is not inspect.Parameter.empty, f"{name}({documented.name})"


@pytest.mark.parametrize("name", CALLABLE)
def test_defaults_are_those_of_the_documents(name: str) -> None:
    own = inspect.signature(offered(name)).parameters
    for documented in beta1.DOCUMENTED[name].parameters:
        if documented.default is None or documented.name not in own:
            continue
        given = own[documented.name].default
        expected = default_of(documented.default)
        # An engine or a mode that is left to the emulator may be spelled None.
        assert given == expected or (given is None and "unknown" in documented.default), f"{name}({documented.name})"
