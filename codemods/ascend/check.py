"""What is wrong with the memory of the kernels of a file, and what in it exists only in the seed's document."""

from __future__ import annotations

from nki_migrate.runtime.spec.ascend import TARGETS

from ..model import Finding, Options
from .driver import planned
from .goals import Settings, settings_of
from .problems import findings
from .registry import RULES

_SEED = frozenset(code for code in RULES if "ASC001" <= code <= "ASC011")


def check(text: str, filename: str, version: str, options: Options | None = None) -> list[Finding]:
    """The findings on one text: plans with problems, and calls that TileLang-Ascend does not have.

    ``version`` may be a target's name (``910b``, ``950``); anything else stands for that of ``options``. Raises
    ``SyntaxError``.
    """
    options = options or Options()
    settings = settings_of(options)
    if version in TARGETS:
        settings = Settings("fork", version, settings.mode, settings.planner, settings.given)
    module = planned(
        text, Options(), Settings("fork", settings.target, settings.mode, settings.planner, settings.given)
    )
    found = [finding for finding in module.findings if finding.code in _SEED]
    for draft in module.drafts:
        if draft.code in _SEED:
            line, column = draft.node.lineno, draft.node.col_offset + 1  # type: ignore[attr-defined]  # nodes with places
            message = f"{module.segment(draft.node).splitlines()[0]}: {RULES[draft.code].summary}"
            found.append(Finding(line, column, draft.code, "manual", message, "nki-migrate rewrite writes it"))
    for read in module.kernels:
        found += findings(module, read)
    return sorted(set(found))
