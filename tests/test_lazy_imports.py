"""An import within a function spares a command's start something that takes time; any other stands at the top."""

from lazy_imports import Lazy, lazy_imports

FEW = 4
"""Modules of ours that are not worth it."""
AT_EVERY_START = {"pytest_plugin.py": "pytest imports it at every start, whatever the project is"}


def spares(lazy: Lazy) -> bool:
    return bool(lazy.packages) or len(lazy.modules) > FEW or lazy.path.name in AT_EVERY_START


def test_an_import_within_a_function_spares_a_start() -> None:
    found = list(lazy_imports())
    assert len(found) > 20
    assert [str(lazy) for lazy in found if not spares(lazy)] == []
