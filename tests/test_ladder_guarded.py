"""The ladder reads a file whose imports of NKI are guarded as it reads the file without the guard: what stands in for
NKI where it is not installed is none of what kernels mean.
"""

from __future__ import annotations

import ast
import textwrap

import pytest
from nki_migrate.codemods import Options, Outcome, rewrite
from nki_migrate.golden import LADDER_GOLDENS

GUARDS = {
    "None instead": "try:\n{imports}\nexcept ImportError:\n    {names} = None\n",
    "None before": "{names} = None\ntry:\n{imports}\nexcept ImportError:\n    pass\n",
    "a class instead": "try:\n{imports}\nexcept ImportError:\n\n    class {name}:\n        jit = staticmethod(print)\n",
    "a module of tests instead": 'try:\n{imports}\nexcept ImportError:\n    {name} = fake("nki")\n',
    "a condition": "if HAS_NKI:\n{imports}\nelse:\n    {names} = None\n",
}


def parts(text: str) -> tuple[str, str, str]:
    """The text before the imports of NKI, these, and the text behind them."""
    lines = text.split("\n")
    body = ast.parse(text).body
    ours = [
        s for s in body if isinstance(s, (ast.Import, ast.ImportFrom)) and ast.unparse(s).split()[1].startswith("nki")
    ]
    first, last = ours[0].lineno - 1, ours[-1].end_lineno or 0
    return "\n".join(lines[:first]), "\n".join(lines[first:last]), "\n".join(lines[last:])


def guarded(text: str, guard: str) -> str:
    before, imports, after = parts(text)
    names = [
        alias.asname or alias.name.split(".")[0]
        for s in ast.parse(imports).body
        if isinstance(s, (ast.Import, ast.ImportFrom))
        for alias in s.names
    ]
    shown = guard.format(imports=textwrap.indent(imports, "    "), names=" = ".join(names), name=names[0])
    return f"{before}\n{shown}{after}"


def definitions(text: str) -> list[str]:
    """The functions and classes of a module."""
    return [ast.unparse(s) for s in ast.parse(text).body if isinstance(s, (ast.FunctionDef, ast.ClassDef))]


def made(text: str, options: dict[str, object]) -> Outcome:
    return rewrite(text, Options(**options))  # type: ignore[arg-type]  # options of a golden


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("name", sorted(LADDER_GOLDENS))
def test_a_guard_around_the_imports_changes_nothing(name: str, guard: str) -> None:
    golden = LADDER_GOLDENS[name]
    plain = made(golden.before, dict(golden.options))
    found = made(guarded(golden.before, GUARDS[guard]), dict(golden.options))
    assert definitions(found.source) == definitions(plain.source)
    assert [f.message for f in found.findings] == [f.message for f in plain.findings]
    assert found.applied == plain.applied
