"""Reports on the modules that notebooks' cells are, as reports on the notebooks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from nki_migrate.codemods.model import Finding
from nki_migrate.runtime.cells import foreign, is_notebook

from .discover import Found
from .errors import FileError
from .notebooks import Notebook, notebook
from .reports import Report, bytes_at, parsed
from .surfaces.outcomes import NOTEBOOK

_BETA1 = re.compile(r"\bneuronxcc\s*(?:\.|import)\s*nki\b")
_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(\s*\[)?")


def in_cells(report: Report, file: Found, *, is_rewrite: bool = False) -> Report:
    """The report on a ``file`` that is a notebook, and was read as a module; any other report as it is.

    ``is_rewrite``: what magics have of Beta 1, which nothing rewrites, is found, too.
    """
    if not is_notebook(report.path) or report.status == "skipped" or not report.before:
        return report
    try:
        data = bytes_at(report.path) if file.data is None else file.data
        found = notebook(data)
        module = found.script.text.encode()
    except OSError as error:
        return replace(report, before=b"").failed(f"cannot read: {error.strerror or error}")
    except FileError:
        return report  # it says so
    if module != report.before:
        changed = "not rewritten: the file changed while it was being rewritten: run again"
        return report if report.before == data else replace(report, before=data).failed(changed)
    left = set(_left(found, report)) if is_rewrite else set()
    told = replace(_told(_with_hint(report, found), found), before=data, after=data)
    told = replace(told, findings=tuple(sorted({*told.findings, *left})))
    if told.status != "changed":
        return told
    try:
        return replace(told, after=found.with_script(report.after.decode()))
    except FileError as error:
        return told.failed(f"not rewritten: {error}")


def _with_hint(report: Report, found: Notebook) -> Report:
    """The report on a module that is not rewritten, with what a notebook may have and a module hardly does."""
    twice = _defined_twice(found) if report.status == "failed" else {}
    if not twice:
        return report
    name, numbers = next(iter(twice.items()))
    cells = " and ".join(map(str, numbers))
    return replace(report, reason=f"{report.reason} ('{name}' is defined in cells {cells}: give each its own name)")


def _defined_twice(found: Notebook) -> dict[str, list[int]]:
    """The functions and classes that several cells define, and those cells."""
    cells: dict[str, list[int]] = {}
    for node in ast.parse(found.script.text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            cells.setdefault(node.name, []).append(found.script.place(node.lineno).cell)
    return {name: numbers for name, numbers in cells.items() if len(set(numbers)) > 1}


def _told(report: Report, found: Notebook) -> Report:
    """The report with texts that name lines of cells instead of the module's."""
    told = found.script.told
    return replace(
        report,
        reason=told(report.reason) if report.reason else report.reason,
        findings=tuple(replace(f, message=told(f.message), help=told(f.help)) for f in report.findings),
        ignored=tuple(replace(f, message=told(f.message), help=told(f.help)) for f in report.ignored),
        asserted=tuple(replace(each, why=told(each.why)) for each in report.asserted),
        decisions=tuple(replace(each, reason=told(each.reason)) for each in report.decisions),
    )


def _left(found: Notebook, report: Report) -> Iterator[Finding]:
    """What of Beta 1 stands in magics, and in cells that are not the notebook's Python."""
    names, launched = _names(report)
    help = "change it by hand: only Python cells, without the lines that IPython reads, are rewritten"
    for line, text in found.script.magic_lines:
        used = [name for name, opening in _NAME.findall(text) if name in names or (opening and name in launched)]
        if foreign(text):
            what = f"this cell is for %%{foreign(text)}, and has Beta 1 source" if _BETA1.search(text) else ""
        elif text.rstrip(" \t;").endswith("?"):  # it asks for documentation
            what = ""
        elif used:
            what = f"this line is IPython's, and names '{used[0]}', which Beta 1 has or which is launched"
        else:
            what = "this line is IPython's, and is Beta 1" if _BETA1.search(text) else ""
        if what:
            yield Finding(line, 1, NOTEBOOK, "manual", f"{what}: it is left as it is", help)


def _names(report: Report) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a module imports from Beta 1, and the functions that it defines if some were rewritten."""
    tree = parsed(report.before)[1]
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            mine = [alias for alias in node.names if alias.name.split(".")[0] == "neuronxcc"]
            imported.update((alias.asname or alias.name).split(".")[0] for alias in mine)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "neuronxcc":
            imported.update(alias.asname or alias.name for alias in node.names)
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return frozenset(imported), frozenset(functions if report.status == "changed" else ())


def parts(report: Report) -> Iterator[tuple[str, bytes, bytes]]:
    """What a diff is shown of: a file with its old and new bytes; of a notebook each cell that changes, by its name."""
    if not is_notebook(report.path):
        yield report.path, report.before, report.after
        return
    for old, new in zip(notebook(report.before).cells, notebook(report.after).cells, strict=True):
        if old.source != new.source:
            sides = (f"{cell.source}\n".encode() if cell.source else b"" for cell in (old, new))
            yield f"{report.path}:cell {old.number}", *sides
