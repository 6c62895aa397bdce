"""The rules of TileLang-Ascend, in the order in which they run, and what ``check`` finds."""

from __future__ import annotations

from types import ModuleType

from ..model import Rule
from . import seed_table
from .problems import DOCUMENTS
from .rules import (
    absent_calls,
    aliases,
    assignments,
    auto_shapes,
    block_buffers,
    developer,
    mainline,
    observers,
    pins,
    pools,
    releases,
    scoped_buffers,
    streams,
    unpins,
    workspaces,
)

MODULES: tuple[ModuleType, ...] = (
    auto_shapes,
    block_buffers,
    scoped_buffers,
    releases,
    pools,
    aliases,
    workspaces,
    assignments,
    streams,
    observers,
    absent_calls,
    pins,
    unpins,
    developer,
    mainline,
)


def _rule(module: ModuleType) -> Rule:
    headline, _, rest = (module.__doc__ or "").partition("\n")
    code, _, title = headline.partition(" ")
    name, _, summary = title.partition(": ")
    return Rule(code, name, getattr(module, "APPLICABILITY", "safe"), summary, rest.strip(), tuple(module.GOLDENS))


RULES: dict[str, Rule] = {module.CODE: _rule(module) for module in MODULES} | {
    code: Rule(code, name, "manual", summary, text)
    for code, name, summary, text in (
        (seed_table.CODE, seed_table.NAME, seed_table.SUMMARY, seed_table.as_text()),
        *DOCUMENTS,
    )
}
