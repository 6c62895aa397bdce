"""New statements are written by their text alone: it stands in a block as what LibCST reads of it would."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import libcst as cst
import pytest
from examples import sampled
from nki_migrate.codemods.emit.parsed_statements import Written, statements_of
from nki_migrate.codemods.syntax.comments import Statement
from nki_migrate.codemods.syntax.format import formatted

GOLDENS = sorted((Path(__file__).parent.parent / "golden").glob("*/after.py"))
MODULE = cst.parse_module("")


def in_blocks(statements: Sequence[Statement]) -> str:
    """The text of statements in a loop in a condition."""
    loop = cst.For(cst.Name("i"), cst.Name("n"), cst.IndentedBlock(statements))
    return MODULE.with_changes(body=[cst.If(cst.Name("c"), cst.IndentedBlock([loop]))]).code


def written(text: str) -> bool:
    """Is a text written as it is? It says the same as what LibCST reads of it, and the same tree."""
    statements = statements_of(text, MODULE.config_for_parsing)
    assert in_blocks(statements) == in_blocks(list(cst.parse_module(text).body))
    parts = [part for s in statements if isinstance(s, cst.SimpleStatementLine) for part in s.body]
    found = [part.node for part in parts if isinstance(part, Written)]
    assert not found or list(map(ast.dump, found)) == list(map(ast.dump, ast.parse(text).body))
    return bool(found)


@pytest.mark.parametrize("path", sampled("written_statements", GOLDENS), ids=lambda path: path.parent.name)
def test_statements_of_goldens_stand_in_blocks_as_libcst_has_them(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    simple = (node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body"))
    texts = sorted({ast.unparse(node) for node in simple})
    assert sum(written(formatted(text, width)) for text in texts for width in (100, 40)) > 1


@pytest.mark.parametrize(
    ("text", "is_written"),
    [
        ("x = 1\n", True),
        ("x = 1\ny = 2\n", True),
        ("x = 1\ny = f(\n    1,\n    2,\n)\n", True),
        ("x = 1\n\ny = 2\n", False),
        ("y = f(\n    1,\n\n    2,\n)\n", False),
        ("x = 1; y = 2\n", False),
        ("x = 1;\n", True),
        ("x = 1  # one\n", False),
        ("# one\nx = 1\n", False),
        ("x = '''a\n  b'''\n", False),
        ("x = f('a' 'b',\n  f'c{x}')\n", True),
        ("x = f'''{x}\n  b'''\n", False),
        ("x = 1 + \\\n    2\n", False),
        ("if x:\n    y = 1\n", False),
        ("x = 1\nif x:\n    y = 1\n", False),
        ("pass\n", False),
        ("\n", False),
    ],
)
def test_what_is_no_simple_statement_on_lines_of_its_own_is_read(text: str, is_written: bool) -> None:
    assert written(text) == is_written
