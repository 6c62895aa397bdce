"""What must hold before a rewritten file may be written.

The checks trust nothing of the codemods but their findings: they parse, tokenize and resolve on their own. A file that
fails one is left as it was.
"""

from __future__ import annotations

import ast
import contextlib
import io
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from nki_migrate.codemods.emit.marks import with_comments
from nki_migrate.codemods.model import Options, Outcome
from nki_migrate.codemods.syntax.node_index import tree_of

from .remains import (
    Accounted,
    definitions,
    further_findings,
    is_partial,
    new_violations,
    refused_in_range,
    unaccounted_names,
)

Rewrite = Callable[[str, Options, str], Outcome]


def complete(before: str, outcome: Outcome, options: Options, reached: frozenset[str] = frozenset()) -> Outcome:
    """The outcome with a finding, and a mark, for every line that was left and that the Beta 2 compiler would refuse.

    ``reached`` are the names of definitions that kernels of other files use. What a version of a range refuses, if the
    output is to serve them all, has a finding and no mark.
    """
    outcome = _completed(before, outcome, options, reached)
    with contextlib.suppress(SyntaxError):  # the guard says so
        refused = refused_in_range(before, outcome, options, reached) if options.oldest else set()
        outcome = replace(outcome, findings=tuple(sorted({*outcome.findings, *refused})))
    return outcome


def _completed(before: str, outcome: Outcome, options: Options, reached: frozenset[str]) -> Outcome:
    if (outcome.source == before and not reached) or is_partial(options):
        return outcome
    try:
        found = further_findings(before, outcome, options.target, reached)
    except SyntaxError:
        return outcome  # the guard says so
    findings = tuple(sorted({*outcome.findings, *(finding for _, finding in found)}))
    if outcome.source == before:
        return replace(outcome, findings=findings)
    source, shifted = with_comments(outcome.source, found)
    moves = tuple(replace(m, new_lines=(shifted(m.new_lines[0]), shifted(m.new_lines[1]))) for m in outcome.moves)
    return replace(outcome, source=source, findings=findings, moves=moves)


def objection(before: str, outcome: Outcome, options: Options, filename: str, rewrite: Rewrite) -> str | None:
    """Why the outcome must not be written; ``None`` when nothing speaks against it."""
    found = list(_objections(before, outcome, options, filename, rewrite))
    return f"{found[0]} (and {len(found) - 1} more)" if len(found) > 1 else next(iter(found), None)


def _objections(before: str, outcome: Outcome, options: Options, filename: str, rewrite: Rewrite) -> Iterator[str]:
    after = outcome.source
    old = tree_of(before)
    if after == before:
        # Nothing is written, but a file with Beta 1 names must not pass for done.
        if not outcome.findings and not is_partial(options):
            yield from unaccounted_names(old, Accounted(old, before, outcome))
        return
    yield from general_objections(before, outcome, options, filename, rewrite)
    if not is_partial(options):
        try:
            new = tree_of(after)
        except (SyntaxError, ValueError):
            return  # said already
        accounted = Accounted(old, before, outcome)
        yield from unaccounted_names(new, accounted)
        yield from new_violations(before, new, options.target, accounted)


def general_objections(
    before: str, outcome: Outcome, options: Options, filename: str, rewrite: Rewrite
) -> Iterator[str]:
    """What speaks against writing the outcome in any kernel language."""
    after = outcome.source
    try:
        new = tree_of(after)
    except (SyntaxError, ValueError) as error:
        yield f"the rewritten file does not parse: {_place(error)}"
        return
    yield from _compile_objections(before, after, filename)
    yield from _lost_comments(before, outcome)
    yield from _changed_definitions(tree_of(before), new, outcome)
    again = rewrite(after, options, filename).source
    if again != after:
        yield f"a second rewrite changes it again, first in line {_first_difference(after, again)}"


def _compile_objections(before: str, after: str, filename: str) -> Iterator[str]:
    """What the compiler finds beyond the grammar (``return`` outside a function), unless the input had such errors."""
    try:
        compile(before, filename, "exec", dont_inherit=True)
    except SyntaxError:
        return
    try:
        compile(after, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        yield f"the rewritten file does not compile: {_place(error)}"


def _place(error: SyntaxError | ValueError) -> str:
    return f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)


def _lost_comments(before: str, outcome: Outcome) -> Iterator[str]:
    lost = _comments(before) - _comments(outcome.source) - Counter(text.rstrip() for text in outcome.removed_comments)
    if lost:
        yield f"the rewritten file has lost {lost.total()} comment(s), such as {min(lost)!r}"


def _comments(source: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return Counter(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)


def _changed_definitions(old: ast.Module, new: ast.Module, outcome: Outcome) -> Iterator[str]:
    """Functions and classes that no rule claims to have touched must be the same programs as before."""
    after = definitions(new)
    for name, nodes in definitions(old).items():
        if name in outcome.touched:
            continue
        if [ast.dump(node) for node in nodes] != [ast.dump(node) for node in after.get(name, [])]:
            yield f"{name} (line {nodes[0].lineno}) came out changed although no rule applies to it"


def _first_difference(first: str, second: str) -> int:
    lines, others = first.split("\n"), second.split("\n")
    for number, (line, other) in enumerate(zip(lines, others, strict=False), start=1):
        if line != other:
            return number
    return min(len(lines), len(others)) + 1
