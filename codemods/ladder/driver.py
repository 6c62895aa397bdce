"""Files at any version in, files at a later one out: one rung after another, on the text that the last one left."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TypeGuard

from nki_migrate.runtime.spec.versions import VERSIONS, Version, version

from ..emit.marks import is_mark, mark_of
from ..model import Asserted, Finding, Moved, Options, Outcome
from ..syntax.drafts import Draft, Edit, applied, definition, without_overlaps
from . import evidence, origins
from .answers import Answer, Different, Left, Rewritten, Said, Unknown
from .asking import facts_of, nodes_for
from .common_form import partings
from .evidence import Source
from .facts import Facts
from .program import Program, program_of
from .registry import rules_at
from .unseen import unseen

_ROUNDS = 12


@dataclass
class _File:
    """One file on its way: its text, where its lines come from, and what was said of it."""

    text: str
    origins: origins.Origins
    source: Source
    applied: Counter[str] = field(default_factory=Counter)
    touched: set[str] = field(default_factory=set)
    findings: set[Finding] = field(default_factory=set)
    taken: set[Asserted] = field(default_factory=set)

    def make(self, edits: list[Edit]) -> None:
        self.origins = origins.edited(self.text, edits, self.origins)
        self.text = applied(self.text, edits)


@dataclass(frozen=True)
class _Said:
    """What is left of a construct: its finding, in lines of the text as it is, and whether a mark must stop there."""

    node: ast.AST
    finding: Finding
    stops: bool


@dataclass
class _Round:
    """What the rules answered for one file."""

    drafts: list[Draft] = field(default_factory=list)
    said: list[_Said] = field(default_factory=list)
    taken: list[tuple[ast.AST, Unknown | Different]] = field(default_factory=list)


def sources_of(texts: Mapping[str, str], options: Options) -> dict[str, Source]:
    """The versions that each file may be of: those asked for, else what names, keywords, old forms and pins show.

    A pin of the target is no evidence: who migrates a project may well begin with its pins.
    """
    if options.source:
        asked = version(options.source)
        return {path: Source(asked, asked) for path in texts}
    program = program_of(texts, options)
    found = {path: evidence.source_of(rung) for path, rung in program.rungs.items()}
    for item in VERSIONS[1:]:
        facts = facts_of(program, found, item)
        for path in texts:
            for module, kind in rules_at(item) if found[path].low < item <= found[path].high else ():
                if kind == "breaks" or getattr(module, "EITHER", False):
                    found[path] = _shown_by(facts[path], module, found[path], item)
    found = _shared(found)
    pins = {path: pin for path, pin in options.pins if version(pin.low) < version(options.target)}
    return {path: evidence.with_pin(each, pins[path]) if path in pins else each for path, each in found.items()}


def _shared(found: dict[str, Source]) -> dict[str, Source]:
    """Files that import from each other are of one version: what some show holds of all, where they agree."""
    low, high = max(s.low for s in found.values()), min(s.high for s in found.values())
    if low > high:
        return found
    return {path: each if each.is_certain else _narrowed(each, found, low, high) for path, each in found.items()}


def _narrowed(source: Source, found: Mapping[str, Source], low: Version, high: Version) -> Source:
    other = next((path for path, each in found.items() if each.shown and (each.low == low or each.high == high)), "")
    if (low, high) == (source.low, source.high) or not other:
        return source
    return Source(low, high, (*source.shown, (1, f"{other} is of NKI {found[other]}")))


def _shown_by(facts: Facts, module: ModuleType, source: Source, item: Version) -> Source:
    for node in nodes_for(facts, module):
        answer = None if unseen(facts, module, node) else module.rewrite(facts, node)
        if isinstance(answer, Rewritten) and answer.shows:
            what = f"{module.CODE}: a form that NKI {item} refuses"
            return evidence.before(source, item, node.lineno, what)  # type: ignore[attr-defined]  # rules ask of these
    return source


def climbed(
    outcomes: Mapping[str, Outcome], texts: Mapping[str, str], options: Options, sources: Mapping[str, Source]
) -> dict[str, Outcome]:
    """``outcomes`` (for the inputs ``texts``) with their sources written for ``options.target``.

    ``sources`` are the versions of the files that climb: the others are only read.
    """
    newest = Source(VERSIONS[-1], VERSIONS[-1])
    files = {
        path: _File(outcome.source, origins.matched(texts[path], outcome.source), sources.get(path, newest))
        for path, outcome in outcomes.items()
    }
    goal = version(options.target)
    for item in VERSIONS[1:]:
        if item <= goal:
            _climb(files, item, options)
    if options.oldest:
        _part(files, options)
    return {path: _outcome(outcomes[path], file) for path, file in files.items()}


def _part(files: Mapping[str, _File], options: Options) -> None:
    """Keep where the versions of a range read the text otherwise, in lines of the input."""
    texts = {path: file.text for path, file in files.items()}
    program = program_of(texts, options)
    taken: dict[str, list[tuple[ast.AST, Unknown | Different]]] = {path: [] for path in files}
    for path, node, parted in partings(texts, options):
        if isinstance(parted, Finding):
            files[path].findings.add(replace(parted, line=files[path].origins[parted.line - 1]))
        else:
            taken[path].append((node, parted))
    for path, file in files.items():
        _take(program, path, file, taken[path])


def _climb(files: Mapping[str, _File], item: Version, options: Options) -> None:
    """One rung: the rules of one version, again and again, until nothing of them is left to do."""
    climbing = {path: file for path, file in files.items() if file.source.low < item}
    if not climbing:
        return
    rounds: dict[str, _Round] = {}
    for _ in range(_ROUNDS):
        program = program_of({path: file.text for path, file in files.items()}, options)
        facts = facts_of(program, {path: file.source for path, file in files.items()}, item)
        rounds = {path: _round(facts[path], item, options) for path in climbing}
        if not any(each.drafts for each in rounds.values()):
            break
        for path, file in climbing.items():
            chosen = without_overlaps(rounds[path].drafts)
            for draft in chosen:
                file.applied[draft.code] += 1
                file.touched.update(definition(program.rungs[path].parents, draft.node))
            file.make([edit for draft in chosen for edit in draft.edits])
    for path, file in climbing.items():
        _say(program, path, file, rounds[path].said)
        _take(program, path, file, rounds[path].taken)


def _round(facts: Facts, item: Version, options: Options) -> _Round:
    found = _Round()
    for module, kind in rules_at(item):
        serves_older = options.oldest and version(options.oldest) < item
        if not options.enabled(module.CODE) or (kind in ("deprecated", "same") and serves_older):
            continue  # the new version takes the old form, which the older ones need
        is_open = kind == "differs" and not facts.is_certain and not getattr(module, "EITHER", False)
        for node in nodes_for(facts, module):
            answer = unseen(facts, module, node) or module.rewrite(facts, node)
            if answer is None or _is_marked(facts, node, module.CODE):
                continue
            if isinstance(answer, Rewritten) and not is_open and (options.unsafe or not answer.assumption):
                found.drafts.append(Draft(module.CODE, node, list(answer.edits)))
            elif _is_taken(answer, kind, options, is_open):
                found.taken.append((node, answer))
            else:
                found.said.append(_said(facts, node, module.CODE, answer, kind, is_open))
    return found


def _is_taken(answer: Answer, kind: str, options: Options, is_open: bool) -> TypeGuard[Unknown | Different]:
    """Is an answer taken for true: by the user, or because the target checks it?

    In a file that may be of the target already (``is_open``) nothing tells that the construct is of an older version,
    either: what is not known of it is a note, for a finding would stand in every file that is migrated.
    """
    if isinstance(answer, Different):
        return options.unsafe and not is_open
    return isinstance(answer, Unknown) and (is_open or answer.is_note or (kind != "differs" and not answer.silent))


def _said(
    facts: Facts, node: ast.AST, code: str, answer: Rewritten | Left | Unknown | Different, kind: str, is_open: bool
) -> _Said:
    line, column = node.lineno, node.col_offset + 1  # type: ignore[attr-defined]  # rules ask of nodes with places
    if is_open:
        message = f"this means one thing up to NKI {facts.old}, and another from {facts.new} on"
        help = "say which version the file is of (--from)"
        return _Said(node, Finding(line, column, code, "manual", message, help), False)
    if isinstance(answer, Left):
        finding = Finding(line, column, code, "manual", answer.message, answer.help)
        return _Said(node, finding, (kind == "differs" or answer.silent) and facts.in_kernel_code(node))
    if isinstance(answer, Unknown):
        finding = Finding(line, column, code, "manual", f"nothing tells that {answer.text}: {answer.why}", answer.help)
        return _Said(node, finding, facts.in_kernel_code(node))
    if isinstance(answer, Different):
        message = f"takes it that {answer.text}: {answer.why}"
        return _Said(node, Finding(line, column, code, "review", message, answer.help), False)
    finding = Finding(line, column, code, "review", f"takes it that {answer.assumption}", "--unsafe writes it")
    return _Said(node, finding, kind == "differs" and facts.in_kernel_code(node))


def _is_marked(facts: Facts, node: ast.AST, code: str) -> bool:
    """Does a mark of an earlier run stand in front of a construct?"""
    statement = facts.rung.statement(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(facts.rung.parents.get(statement), name, [])
        if isinstance(block, list) and statement in block:
            at = block.index(statement)
            while at and isinstance(block[at - 1], ast.Assert) and is_mark(block[at - 1]):
                at -= 1
                if code in ast.unparse(block[at]):
                    return True
    return False


def _say(program: Program, path: str, file: _File, said: list[_Said]) -> None:
    """Keep the findings in lines of the input, and stop kernels at what would run with another meaning."""
    rung = program.rungs[path]
    marks: dict[tuple[int, str], Edit] = {}
    lines = file.text.split("\n")
    for each in said:
        line = each.finding.line
        file.findings.add(replace(each.finding, line=file.origins[min(line, len(file.origins)) - 1]))
        if each.stops:
            statement = rung.statement(each.node)
            text = mark_of(each.finding.code, each.finding.message)
            margin = lines[statement.lineno - 1][: statement.col_offset]
            start = rung.start(statement)
            if margin.strip():
                continue  # behind a semicolon or a colon: the finding has to do
            stop = f"assert False, {json.dumps(text, ensure_ascii=False)}\n{margin}"
            marks[start, text] = Edit(start, start, stop)
            file.touched.update(definition(rung.parents, each.node))
    if marks:
        file.make(list(marks.values()))


def _take(program: Program, path: str, file: _File, taken: list[tuple[ast.AST, Unknown | Different]]) -> None:
    """Keep what is taken for true, once for each function, at the first line of the input that needs it.

    What is said alike of several of its tensors is one sentence about all of them.
    """
    rung = program.rungs[path]
    together: dict[tuple[str, str, str], tuple[int, Said | str]] = {}
    for node, answer in taken:
        function = rung.function(node)
        name = function.name if isinstance(function, ast.FunctionDef) else ""
        line = file.origins[min(node.lineno, len(file.origins)) - 1]  # type: ignore[attr-defined]  # nodes with places
        said = answer.said if isinstance(answer, Unknown) else None
        key = name, said.of_all if said is not None else answer.text, answer.why
        first, before = together.get(key, (line, said or answer.text))
        merged = before.merged(said) if isinstance(before, Said) and said is not None else before
        together[key] = min(first, line), merged
    for (name, _, why), (line, merged) in together.items():
        file.taken.add(Asserted(line, name, str(merged), why))


def _asserted(outcome: Outcome, file: _File) -> tuple[Asserted, ...]:
    return tuple(sorted({*outcome.asserted, *file.taken}))


def _outcome(outcome: Outcome, file: _File) -> Outcome:
    if file.text == outcome.source:
        findings = tuple(sorted({*outcome.findings, *file.findings}))
        return replace(outcome, findings=findings, asserted=_asserted(outcome, file))
    moves = tuple(replace(each, new_lines=_moved_lines(each, outcome, file)) for each in outcome.moves)
    return replace(
        outcome,
        source=file.text,
        findings=tuple(sorted({*outcome.findings, *file.findings})),
        applied=Counter(outcome.applied) + file.applied,
        touched=outcome.touched | file.touched,
        moves=moves,
        asserted=_asserted(outcome, file),
    )


def _moved_lines(move: Moved, outcome: Outcome, file: _File) -> tuple[int, int]:
    """Where the lines of a declaration of the text that began to climb are now."""
    found = origins.matched(outcome.source, file.text)
    first = next((n for n, origin in enumerate(found, 1) if origin >= move.new_lines[0]), move.new_lines[0])
    last = max((n for n, origin in enumerate(found, 1) if origin <= move.new_lines[1]), default=first)
    return first, max(first, last)
