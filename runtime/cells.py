"""What the code cells of a notebook define: the module that its kernels run in.

Nothing else of a notebook runs: the imports, functions, classes and plain constants of its cells, one after the other,
in a module. Cells for something else than Python, lines that IPython reads and Python does not, and statements that
compute are left out; each line has the number that it has in all code cells together.

Source: https://nbformat.readthedocs.io/en/latest/format_description.html,
https://ipython.readthedocs.io/en/stable/interactive/reference.html.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Callable, Iterator

SUFFIX = ".ipynb"
_MAKER = re.compile(r"(?:\w+\.)*(?:nki_)?(?:jit|trace|baremetal|benchmark|profile)")
_DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)

_CODE = re.compile(
    r"""[rbfuRBFU]{0,2}(?P<quote>\"{3}|'{3})(?:\\.|(?!(?P=quote)).)*(?P=quote)  # a string of several lines
    | [rbfuRBFU]{0,2}(?P<short>["'])(?:\\.|(?!(?P=short))[^\n\\])*(?P=short)
    | \#[^\n]* | \\\n | [\[({] | [\])}] | \n | [^\s\[\](){}"'\#\\]+ | .""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"([ \t]*)([%!?/,;](?:[^\n]*\\\n)*[^\n]*)")
_ASSIGNED = re.compile(r"([ \t]*[\w., \t*\[\]]+?=[ \t]*)([%!](?:[^\n]*\\\n)*[^\n]*)")
_HELP = re.compile(r"([ \t]*)(%{0,2}[A-Za-z_*][\w.*\[\]]*\?{1,2}[ \t]*;?[ \t]*)(?=\n|$)")
_MAGIC_LINES = (_ESCAPED, _ASSIGNED, _HELP)
"""Lines that no Python has: with an escape in front, assigned from one, with a question mark behind."""

_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_PYTHON_CELLS = frozenset({"capture", "prun", "time", "timeit"})
"""Cell magics whose cell is Python in the notebook's namespace."""


def is_notebook(file: str) -> bool:
    """Is it a notebook's, by its name?"""
    return file.endswith(SUFFIX)


def foreign(source: str) -> str:
    """The magic of a cell that the notebook's own Python does not run; empty for any other cell."""
    found = _CELL_MAGIC.match(source)
    return found[1] if found and found[1] not in _PYTHON_CELLS else ""


def masked(source: str, mask: Callable[[str], str]) -> str:
    """A cell's source with a ``mask`` in the place of each magic: of all that IPython reads and Python does not."""
    parts, at, depth, begins = [], 0, 0, True
    while at < len(source):
        found = next(filter(None, (line.match(source, at) for line in _MAGIC_LINES)), None) if begins else None
        if found is not None:
            parts += [found[1], mask(found[2])]
            at, begins = found.end(), False
            continue
        token = _CODE.match(source, at)
        assert token is not None  # it takes any character
        text = token[0]
        depth += (text in "[({") - (text in "])}") if len(text) == 1 else 0
        begins = text == "\n" and depth <= 0
        parts.append(text)
        at = token.end()
    return "".join(parts)


def source(file: str, data: bytes) -> bytes:
    """The Python source of a file: its content, or what the cells of a notebook define."""
    return definitions(data).encode() if is_notebook(file) else data


def definitions(data: bytes) -> str:
    """The source of the definitions of a notebook. Raises ``SyntaxError`` for what is no notebook."""
    try:
        cells = json.loads(data)["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise SyntaxError("this is no notebook of format 4") from None
    lines: list[str] = []
    known = set(dir(builtins))
    for text in texts:
        lines += [*_defining(text, known), ""]  # between two cells a rewrite has a line
    return "\n".join(lines) + "\n"


def _defining(cell: str, known: set[str]) -> Iterator[str]:
    """The lines of a cell, those empty that define nothing; ``known`` are the names defined so far, and grow."""
    text = masked(cell, lambda magic: f"get_ipython({chr(10) * magic.count(chr(10))})")
    lines = text.split("\n")
    try:
        body = [] if foreign(cell) else ast.parse(text).body
    except (SyntaxError, ValueError):
        body = []
    kept: set[int] = set()
    for statement in body:
        if _defines(statement, known):
            kept.update(_numbers(statement))
            known.update(_bound(statement))
    yield from (line if number in kept else "" for number, line in enumerate(lines, 1))


def _defines(statement: ast.stmt, known: set[str]) -> bool:
    """Does a statement define names, and compute at most with constants and with what is defined?"""
    if isinstance(statement, ast.Try):
        return all(isinstance(each, (ast.Import, ast.ImportFrom)) for each in statement.body)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        nodes = list(ast.walk(statement))
        read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        computes = any(isinstance(node, ast.Await) or _calls(node) for node in nodes)
        return read <= known and not computes
    return isinstance(statement, _DEFINING)


def _calls(node: ast.AST) -> bool:
    """Is a node a call that makes no kernel of a function, as ``nki_jit(function)`` and ``nki.jit()(function)`` do?"""
    if not isinstance(node, ast.Call):
        return False
    maker = node.func.func if isinstance(node.func, ast.Call) else node.func
    return _MAKER.fullmatch(ast.unparse(maker)) is None


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _numbers(statement: ast.stmt) -> range:
    """The lines of a statement."""
    decorators = statement.decorator_list if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else []
    return range(min([statement.lineno, *(d.lineno for d in decorators)]), (statement.end_lineno or 0) + 1)
