"""What is Beta 1 in a file that imports Beta 2: what an earlier rewrite has left, or all but its imports.

It is found again until someone resolves it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import lru_cache

from nki_migrate.runtime.spec import beta1, beta2
from nki_migrate.runtime.spec.versions import OLDEST, Version, version

from ..emit.mark_groups import lines_behind
from ..emit.marks import marked
from ..expr.tables import beta2_has, beta2_lacks, refusal_note
from ..ladder.beta1_forms import of_beta1
from ..ladder.program import Program, program_of
from ..model import NOT_THE_SAME, Finding, Options
from ..project.namespaces import namespaces
from ..syntax.codes import UNSUPPORTED as CODE
from ..syntax.mark_text import WORD
from ..syntax.names import BETA2, Import, canonical, dotted, imports
from ..syntax.nodes import first_line, parents_of

_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:\w[\w.]*[ \t]*(?:as[ \t]+\w+[ \t]*)?,[ \t]*)*nki\b", re.MULTILINE)
_ROOTS = {module: root for root, module in BETA2.items()}


def may_have_backlog(text: str) -> bool:
    """Does a text import Beta 2, or hold a mark? Only then it needs to be parsed."""
    return WORD in text or _IMPORT.search(text) is not None


def importing_beta2(sources: Mapping[str, str], options: Options) -> Program:
    """The files that import Beta 2, or hold a mark."""
    return program_of({path: text for path, text in sources.items() if may_have_backlog(text)}, options)


def written_in_beta1(program: Program, sources: Mapping[str, str], options: Options) -> dict[str, Finding]:
    """The files of ``program`` that import Beta 2 alone and are written in Beta 1, each with its finding.

    There is none if the user says of what version they are. A module ``nki`` among ``sources`` is none of NKI's.
    """
    found = {}
    for path, rung in program.rungs.items() if not options.source else ():
        shown = of_beta1(program, path)
        imported = namespaces(rung.tree, path, sources) if shown is not None else None
        if shown is not None and imported is not None and imported.beta2 and not imported.is_both:
            found[path] = shown.finding(imported.beta2)
    return found


def backlog(text: str, tree: ast.Module, target: Version | str) -> list[Finding]:
    """The marks in a file, and the names of Beta 1 in it that have none: of ``neuronxcc``, or of modules of Beta 2.

    Of the names of Beta 2's modules those count that Beta 1 had there, and neither Beta 2 nor ``target`` has. A module
    without marks that imports both may serve both: it tells nothing. Other modules of ``neuronxcc`` are of no language:
    what is used of them is left.
    """
    findings = marked(text, tree)
    covered = {finding.line for finding in findings} | lines_behind(tree)
    imported = imports(tree)
    bound = {item.name: item for item in imported}
    if not findings and any(item.path.startswith("neuronxcc.nki") for item in imported):
        return []
    left = _names_left(tree, bound, version(target))
    used = {chain[0] for node, _ in left if (chain := dotted(node)) is not None}
    for item in imported:
        if _beta1_name(item.path).startswith("neuronxcc.") and item.name not in used:
            findings.append(_finding(item.statement, item.path))
    parents = parents_of(tree) if left else {}
    for node, name in left:
        if not _is_covered(_statement(parents, node), node, covered):
            findings.append(_finding(node, name))
    return sorted(findings)


def _finding(node: ast.stmt | ast.expr, name: str) -> Finding:
    place = node.lineno, node.col_offset + 1
    return Finding(*place, CODE, "manual", f"{name} {NOT_THE_SAME}", refusal_note(name))


def _is_covered(statement: ast.stmt, node: ast.expr, marked_lines: set[int]) -> bool:
    """Is a statement marked, or the body of the function that ``node`` decorates?"""
    body = range(statement.lineno, (statement.end_lineno or 0) + 1) if node.lineno < statement.lineno else range(0)
    return first_line(statement) in marked_lines or any(line in body for line in marked_lines)


@lru_cache(maxsize=4096)
def _beta1_name(path: str) -> str:
    """The canonical name of what a dotted path means, where only Beta 1 has that; else nothing."""
    if path.startswith("neuronxcc."):
        name = canonical(path)
        root, _, rest = name.partition(".")
        known = {*BETA2, "ncc", "nccl"} if root != "neuronxcc" else {root} if "." in rest else set()
        return name if rest and root in known and not beta2_has(name) else ""
    module = next((m for m in sorted(_ROOTS, reverse=True) if path.startswith(f"{m}.") and "." in m), "")
    module = module or ("nki" if path.startswith("nki.") else "")
    name = f"{_ROOTS[module]}.{path[len(module) + 1:]}" if module else ""
    return name if name and beta1.symbol(name) is not None and beta2_lacks(name) else ""


def _names_left(tree: ast.Module, bound: dict[str, Import], target: Version) -> list[tuple[ast.expr, str]]:
    """Chains of attributes on imported names, whole, that only Beta 1 has, and what each means."""
    inner: set[ast.expr] = set()
    chains: list[ast.expr] = []
    stored: set[str] = set()
    for node in ast.walk(tree):  # from the outside to the inside: a chain comes before its parts
        if isinstance(node, ast.Attribute):
            inner.add(node.value)
            if node not in inner:
                chains.append(node)
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                stored.add(node.id)
            elif node.id in bound and node not in inner:
                chains.append(node)
        elif isinstance(node, ast.arg):
            stored.add(node.arg)
    found = []
    for node in chains:
        chain = dotted(node)
        item = bound.get(chain[0]) if chain is not None and chain[0] not in stored else None
        path = ".".join((item.path, *chain[1])) if chain is not None and item is not None else ""
        if _beta1_name(path) and not _is_later_again(path, target):
            found.append((node, _beta1_name(path)))
    return found


def _is_later_again(path: str, target: Version) -> bool:
    """Is a path one of ``nki`` that 0.2 has not, and ``target`` has?"""
    return target > OLDEST and not path.startswith("neuronxcc.") and beta2.symbol(path, target) is not None


def _statement(parents: dict[ast.AST, ast.AST], node: ast.AST) -> ast.stmt:
    while not isinstance(node, ast.stmt):
        node = parents[node]
    return node
