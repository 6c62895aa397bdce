"""NKV046 transpose-engines: ``engine`` of ``nc_transpose`` goes where it is not the engine that ran.

Why: up to 0.3 ``nc_transpose`` ignored it: into PSUM the Tensor Engine ran, into SBUF the Vector Engine. 0.4 obeys it:
the Vector Engine takes up to 32 x 32, the Tensor Engine does not write to SBUF.

Safe: without it the engine is still found by the destination. An engine that did run stays.
"""

from __future__ import annotations

import ast

from ...syntax.call_text import Argument, CallText
from ..answers import Answer, Left, Said, rewritten, unknown
from ..facts import Facts
from ..statements import root_name

CODE = "NKV046"
GOLDENS = ("ladder_engines",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.nc_transpose"})
_HELP = "give tensor for PSUM, vector for SBUF and up to 32 x 32, or no engine"
_RAN = {"psum": "tensor", "sbuf": "vector"}
"""The engine that writes to a memory."""


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Take away an engine that had been ignored. An engine for PSUM may be obeyed already, where nothing tells."""
    told = _told(facts, node)
    if told is None or facts.is_migrated:
        return None  # Beta 1 obeyed it
    text, argument, engine, memory = told
    if not facts.is_certain and (engine, memory) != ("tensor", "sbuf"):
        return None
    if not memory or engine not in _RAN.values():
        given = facts.arguments(node)
        name = root_name(given["dst"]) if "dst" in given else "dst"
        said = Said((f"'{name}'",), "{} is in the memory of its engine", "{} are in the memories of their engines")
        return unknown(said, f"nc_transpose obeys engine from NKI {facts.new} on", _HELP)
    return rewritten(text.removed(argument)) if engine != _RAN.get(memory) else None


def parts(facts: Facts, node: ast.Call) -> Left | None:
    """Is the engine that is asked for another one than that which ran up to 0.3?"""
    told = _told(facts, node)
    if told is None or not told[3] or _RAN.get(told[3]) == told[2]:
        return None
    return Left("engine of nc_transpose was ignored, and is obeyed", _HELP)


def _told(facts: Facts, node: ast.Call) -> tuple[CallText, Argument, str, str] | None:
    """A transpose with an engine: its text, that argument, its name (empty if not known), and the memory of ``dst``."""
    text = facts.text_of(node) if facts.called(node) == "nki.isa.nc_transpose" else None
    given = facts.arguments(node) if text is not None else {}
    asked = given.get("engine")
    argument = next((item for item in text.arguments if item.value is asked), None) if text is not None else None
    if text is None or argument is None or asked is None:
        return None
    engine = facts.qualified(asked).removeprefix("nki.isa.").removeprefix("engine.").removesuffix("_engine")
    if engine == "unknown" or (isinstance(asked, ast.Constant) and asked.value is None):
        return None
    return text, argument, engine, facts.tensor(given["dst"]).buffer if "dst" in given else ""
