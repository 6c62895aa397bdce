"""Whether source is legal in a version of TileLang, as far as that can be told without running it."""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.tilelang import LATEST, canonical

from ..model import Finding, Options
from ..syntax.drafts import Draft
from .driver import NKI, planned
from .registry import RULES

STYLE = ("TLG003", "TLG004", "TLG007")
"""Rules whose older form the newest version takes, too, and takes for the same."""


def check(text: str, filename: str, version: str, options: Options | None = None) -> list[Finding]:
    """What ``version`` refuses, or takes for something else without a word. Raises ``SyntaxError``.

    A construct that a rule would rewrite is a finding of that rule; ``filename`` is where the text stands.
    """
    version = LATEST if version in ("", NKI) else canonical(version)
    module = planned(text, version, version, Options())
    found = [finding for finding in module.findings if finding.code not in STYLE]
    for draft in module.drafts:
        if draft.code not in STYLE and not _is_style(draft):
            line, column = draft.node.lineno, draft.node.col_offset + 1  # type: ignore[attr-defined]  # nodes with places
            message = f"{module.segment(draft.node).splitlines()[0]}: {RULES[draft.code].summary}"
            found.append(Finding(line, column, draft.code, "manual", message, "nki-migrate rewrite writes it"))
    return sorted(set(found))


def _is_style(draft: Draft) -> bool:
    """Is it a form of ``alloc_var`` that every version takes: any but a scope before an initial value by name?"""
    node = draft.node
    if draft.code != "TLG001" or not isinstance(node, ast.Call):
        return False
    return not (len(node.args) > 1 and any(each.arg == "init" for each in node.keywords))
