"""Packages with rules: what is known of them without loading one."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from contextlib import suppress
from pathlib import Path

from nki_migrate.codemods.model import PLUGINS

from .cache import digest_of


def plugins_digest() -> str:
    """The identity of all rules of other packages: their names, versions, and the sources beside them."""
    facts = []
    for entry in importlib.metadata.entry_points(group=PLUGINS):
        facts.append(f"{entry.name} {entry.value} {entry.dist.version if entry.dist else ''}")
        with suppress(Exception):  # importing the package that a rule is in may fail: loading the rule says so
            spec = importlib.util.find_spec(entry.module)
            if spec is not None and spec.origin is not None:
                sources = sorted(Path(spec.origin).parent.glob("*.py"))
                facts += [f"{path.name}:{digest_of(path.read_bytes())}" for path in sources]
    return digest_of("\n".join(sorted(facts)).encode(errors="surrogateescape")) if facts else ""
