"""The bench of the slow tests takes every test whose examples it can multiply, and all that plain pytest leaves out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from examples import sampled

TESTS = Path(__file__).parent
FILES = sorted(p for p in TESTS.glob("test_*.py") if "\nfrom examples import examples" in p.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_test_whose_examples_can_be_multiplied_has_the_mark(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    counts = {"examples"}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and names(statement) & counts:
            counts |= names(statement)
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    marked = {t.name for t in tests if "pytest.mark.random" in map(ast.unparse, t.decorator_list)}
    multiplied = {t.name for t in tests if names(t) & counts}
    assert multiplied and multiplied <= marked


def test_values_are_all_there_and_of_one_in_four_plain_pytest_runs_the_test() -> None:
    values = sampled("a topic", range(10))
    plain = [value for value in values if isinstance(value, int)]
    others = [value.values[0] for value in values if not isinstance(value, int)]
    assert sorted([*plain, *others]) == [*range(10)] and len(plain) in (2, 3)
    assert all(value.marks == (pytest.mark.random,) for value in values if not isinstance(value, int))


def names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
