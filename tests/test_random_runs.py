"""The bench of the slow random tests takes every test whose examples it can multiply, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(p for p in TESTS.glob("test_*.py") if "from examples import examples\n" in p.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_test_has_the_mark_if_and_only_if_its_examples_can_be_multiplied(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    counts = {"examples"}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and names(statement) & counts:
            counts |= names(statement)
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    marked = {t.name for t in tests if "pytest.mark.random" in map(ast.unparse, t.decorator_list)}
    assert marked
    assert marked == {t.name for t in tests if names(t) & counts}


def names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
