"""The versions of NKI as a table: SDK releases, what each changed, and which rule of the ladder does it."""

from __future__ import annotations

import json
from typing import Any

from nki_migrate.runtime.spec.change import Change
from nki_migrate.runtime.spec.changes import CHANGES
from nki_migrate.runtime.spec.versions import VERSIONS


def versions_rows() -> list[dict[str, Any]]:
    """One row a version, with its changes."""
    return [
        {
            "version": item.name,
            "sdk": list(item.releases),
            "date": item.date,
            "changes": [_row(change) for change in CHANGES if change.since == item],
        }
        for item in VERSIONS
    ]


def _row(change: Change) -> dict[str, Any]:
    keys = ("name", "what", "kind", "rule", "applicability", "reason", "before", "after", "source")
    return {key: getattr(change, key) for key in keys}


def versions_json() -> str:
    """The rows as JSON."""
    return json.dumps(versions_rows(), indent=2)


def versions_text() -> str:
    """The rows for people: a version, and below it a line for each change."""
    names = [len(change.name) for change in CHANGES]
    lines: list[str] = []
    for row in versions_rows():
        lines.append(f"NKI {row['version']}  SDK {', '.join(row['sdk'])}  {row['date']}")
        for change in row["changes"]:
            rule = change["rule"] or "-"
            kind = change["kind"] if change["rule"] is None else change["applicability"]
            what = change["what"] if change["rule"] else f"{change['what']} ({change['reason']})"
            lines.append(f"  {rule:<7}{kind:<11}{change['name'].ljust(max(names))}  {what}")
    lines.append("nki-migrate explain CODE shows a rule with an example; - is a change that no rule writes, and why.")
    return "\n".join(lines)
