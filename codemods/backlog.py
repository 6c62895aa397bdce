"""What an earlier rewrite has left in a file that imports Beta 2 by now: found again until someone resolves it."""

from __future__ import annotations

import ast
import re

from nki_migrate.runtime.spec import beta1

from .marks import WORD, marked
from .model import Finding
from .names import BETA2, canonical, dotted, imports
from .rules.unsupported import CODE
from .syntax import first_line
from .tables import beta2_has, beta2_lacks, refusal_note

_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:\w[\w.]*[ \t]*(?:as[ \t]+\w+[ \t]*)?,[ \t]*)*nki\b", re.MULTILINE)
_ROOTS = {module: root for root, module in BETA2.items()}


def may_have_backlog(text: str) -> bool:
    """Does a text import Beta 2, or hold a mark? Only then it needs to be parsed."""
    return WORD in text or _IMPORT.search(text) is not None


def backlog(text: str, tree: ast.Module) -> list[Finding]:
    """The marks in a file, and the names of Beta 1 in it that have none: of ``neuronxcc``, or of modules of Beta 2.

    Of the names of Beta 2's modules those count that Beta 1 had there, and Beta 2 has not. A module without marks that
    imports both may serve both: it tells nothing.
    """
    findings = marked(text, tree)
    covered = {finding.line for finding in findings}
    imported = imports(tree)
    bound = {item.name: item for item in imported}
    if not findings and any(item.is_nki for item in imported):
        return []
    nodes = list(ast.walk(tree))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    stored |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    for statement, node in _chains(tree):
        chain = dotted(node)
        item = bound.get(chain[0]) if chain is not None and chain[0] not in stored else None
        if chain is None or item is None or _is_covered(statement, node, covered):
            continue
        name = _beta1_name(".".join((item.path, *chain[1])))
        if name:
            place = node.lineno, node.col_offset + 1
            message = f"{name} is not the same in Beta 2"
            findings.append(Finding(*place, CODE, "manual", message, refusal_note(name)))
    return sorted(findings)


def _is_covered(statement: ast.stmt, node: ast.expr, marked_lines: set[int]) -> bool:
    """Is a statement marked, or the body of the function that ``node`` decorates?"""
    body = range(statement.lineno, (statement.end_lineno or 0) + 1) if node.lineno < statement.lineno else range(0)
    return first_line(statement) in marked_lines or any(line in body for line in marked_lines)


def _beta1_name(path: str) -> str:
    """The canonical name of what a dotted path means, where only Beta 1 has that; else nothing."""
    if path.startswith("neuronxcc."):
        name = canonical(path)
        root, _, rest = name.partition(".")
        return name if rest and root in {*BETA2, "ncc", "nccl"} and not beta2_has(name) else ""
    module = next((m for m in sorted(_ROOTS, reverse=True) if path.startswith(f"{m}.") and "." in m), "")
    module = module or ("nki" if path.startswith("nki.") else "")
    name = f"{_ROOTS[module]}.{path[len(module) + 1:]}" if module else ""
    return name if name and beta1.symbol(name) is not None and beta2_lacks(name) else ""


def _chains(tree: ast.Module) -> list[tuple[ast.stmt, ast.expr]]:
    """Chains of attributes on names, whole, each with the statement that it is in."""
    found: list[tuple[ast.stmt, ast.expr]] = []
    pending: list[tuple[ast.stmt | None, ast.AST]] = [(None, tree)]
    while pending:
        statement, node = pending.pop()
        statement = node if isinstance(node, ast.stmt) else statement
        if isinstance(node, ast.expr) and dotted(node) is not None and statement is not None:
            found.append((statement, node))
            continue
        pending.extend((statement, child) for child in ast.iter_child_nodes(node))
    return found
