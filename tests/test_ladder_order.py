"""What a run says does not depend on the order of a set: rules of the ladder ask files in the order that they come."""

from __future__ import annotations

from typing import Any

import pytest
from nki_migrate.codemods import Options, rewrite_together
from nki_migrate.codemods.ladder import driver


def test_files_are_asked_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = {f"{name}.py": f"import nki.language as nl\n\n{name} = nl.sbuf\n" for name in "hgfedcbaijkl"}
    asked: list[str] = []
    real = driver._round

    def noted(facts: Any, *rest: Any) -> Any:
        asked.append(facts.rung.text)
        return real(facts, *rest)

    monkeypatch.setattr(driver, "_round", noted)
    rewrite_together(sources, Options(source="0.2"))
    assert asked[: len(sources)] == list(sources.values())
    assert len(asked) % len(sources) == 0
