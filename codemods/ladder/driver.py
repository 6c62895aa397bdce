"""Files at any version in, files at a later one out: one rung after another, on the text that the last one left."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TypeGuard

from nki_migrate.runtime.spec.versions import VERSIONS, Version, version

from ..model import Asserted, Finding, Moved, Options, Outcome
from ..syntax.drafts import Draft, Edit, applied, definitions_in, without_overlaps
from ..syntax.mark_text import mark_of
from . import evidence, marks, origins
from .answers import Answer, Different, Left, Rewritten, Said, Unknown
from .asking import answers_of, facts_of
from .common_form import partings
from .evidence import Source
from .facts import Facts
from .program import Program, program_of
from .registry import rules_at
from .rung import Rung
from .wrapping import wrapping

_ROUNDS = 12
_OF_BETA1 = mark_of("NKI", "").removesuffix(": ")
"""How a mark of the rules from Beta 1 begins."""


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
    stops: int = 0
    removed: list[str] = field(default_factory=list)
    asked_again: set[tuple[str, int]] = field(default_factory=set)
    """Codes and lines of the input of constructs whose comments told of them, and of which a rule tells now."""

    @property
    def is_written(self) -> bool:
        """Has the text changed, but for comments that say what is left?"""
        return bool(self.applied or self.stops or self.removed)

    def origin(self, line: int) -> int:
        """The line of the input that a line of the text was."""
        return self.origins[min(line, len(self.origins)) - 1]

    def make_again(self, text: str) -> None:
        """Begin again with the text of the input."""
        self.text, self.origins = text, origins.unchanged(text)

    def make(self, edits: list[Edit]) -> None:
        self.origins = origins.edited(self.text, edits, self.origins)
        self.text = applied(self.text, edits)


@dataclass(frozen=True)
class _Said:
    """What is left of a construct: its finding, in lines of the text as it is, and how it is marked.

    ``stops``: kernels must not run it. ``is_lost``: a text of the target does not show that it is of an older version.
    """

    node: ast.AST
    finding: Finding
    stops: bool
    is_lost: bool = True


@dataclass
class _Round:
    """What the rules answered for one file."""

    drafts: list[Draft] = field(default_factory=list)
    said: list[_Said] = field(default_factory=list)
    taken: list[tuple[ast.AST, Unknown | Different]] = field(default_factory=list)
    unmarked: list[Draft] = field(default_factory=list)
    """What takes away the comments on constructs that are taken as they are now."""


def sources_of(texts: Mapping[str, str], options: Options, program: Program | None = None) -> dict[str, Source]:
    """The versions that each file may be of: those asked for, else what names, keywords, old forms and pins show.

    ``program`` is what was read of them, and of other files, before.
    A pin of the target is no evidence: who migrates a project may well begin with its pins.
    """
    if options.source:
        asked = version(options.source)
        return {path: Source(asked, asked) for path in texts}
    program = program_of(texts, options, program)
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
    telling = (path for path, each in found.items() if each.shown and (each.low == low or each.high == high))
    other = min(telling, default="")
    if (low, high) == (source.low, source.high) or not other:
        return source
    return Source(low, high, (*source.shown, (1, f"{other} is of NKI {found[other]}")))


def _shown_by(facts: Facts, module: ModuleType, source: Source, item: Version) -> Source:
    for node, answer in answers_of(facts, module):
        if isinstance(answer, Rewritten) and answer.shows:
            what = f"{module.CODE}: a form that NKI {item} refuses"
            return evidence.before(source, item, node.lineno, what)  # type: ignore[attr-defined]  # rules ask of these
    return source


def climbed(
    outcomes: Mapping[str, Outcome],
    texts: Mapping[str, str],
    options: Options,
    sources: Mapping[str, Source],
    program: Program,
) -> dict[str, Outcome]:
    """``outcomes`` (for the inputs ``texts``) with their sources written for ``options.target``.

    ``sources`` are the versions of the files that climb: the others are only read. ``program`` is what was read of all.
    """
    newest = Source(VERSIONS[-1], VERSIONS[-1])
    files = {
        path: _File(outcome.source, origins.matched(texts[path], outcome.source), sources.get(path, newest))
        for path, outcome in outcomes.items()
    }
    goal = version(options.target)
    for item in VERSIONS[1:]:
        if item <= goal:
            program = _climb(files, item, options, frozenset(sources), program)
    for path, file in files.items():
        if file.is_written:
            file.make(wrapping(file.text, outcomes[path].source))
    if not any(file.is_written or outcomes[path].source != texts[path] for path, file in files.items()):
        for path, file in files.items():  # as they are, they show all of it again
            file.make_again(outcomes[path].source)
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


def _climb(
    files: Mapping[str, _File], item: Version, options: Options, climbing: frozenset[str], program: Program
) -> Program:
    """One rung: the rules of one version, again and again, until nothing of them is left to do.

    Files that are of that version, or of a later one, are asked for what it still takes alone (``_is_still_taken``).
    ``program`` is what was read of the files before; what was read of them last is the answer.
    """
    rounds: dict[str, _Round] = {}
    for _ in range(_ROUNDS):
        program = program_of({path: file.text for path, file in files.items()}, options, program)
        facts = facts_of(program, {path: file.source for path, file in files.items()}, item)
        asked = (path for path in files if path in climbing)  # what is asked first is known first: not in a set's order
        rounds = {path: _round(facts[path], item, options, files[path].source.low < item) for path in asked}
        if not any(each.drafts or each.unmarked for each in rounds.values()):
            break
        for path, found in rounds.items():
            _make(files[path], program.rungs[path], found)
    for path, found in rounds.items():
        _say(program, path, files[path], found.said)
        _take(program, path, files[path], found.taken)
    return program


def _make(file: _File, rung: Rung, found: _Round) -> None:
    """Write what does not overlap of a round, and take the comments on it away."""
    chosen = without_overlaps([*found.drafts, *found.unmarked])
    for draft in chosen:
        if draft in found.drafts:
            file.applied[draft.code] += 1
            file.touched |= definitions_in(rung, draft.node, draft.edits)
        comments = marks.comments_on(rung, draft.node, draft.code)
        if comments:
            file.asked_again.add((draft.code, file.origin(marks.place(rung, draft.node))))
            file.removed += [rung.text[each.start : each.end].strip() for each in comments]
    file.make([edit for draft in chosen for edit in draft.edits])


def _is_still_taken(kind: str) -> bool:
    """Does the version of a change take the old form as well, with the same meaning?"""
    return kind in ("deprecated", "same")


def _round(facts: Facts, item: Version, options: Options, is_older: bool) -> _Round:
    found = _Round()
    for module, kind in rules_at(item):
        if options.enabled(module.CODE) and _is_asked(kind, item, options, is_older):
            is_open = kind == "differs" and not facts.is_certain and not getattr(module, "EITHER", False)
            for node, answer in answers_of(facts, module):
                if answer is not None and not marks.stops_at(facts.rung, node, module.CODE):
                    _sort(found, facts, Draft(module.CODE, node), answer, kind, is_open, options)
    return found


def _is_asked(kind: str, item: Version, options: Options, is_older: bool) -> bool:
    """Is a change of a version one for a file that is older, or may not be? Ranges keep what the older ones need."""
    serves_older = options.oldest and version(options.oldest) < item
    return not serves_older if _is_still_taken(kind) else is_older


def _sort(
    found: _Round,
    facts: Facts,
    draft: Draft,
    answer: Rewritten | Left | Unknown | Different,
    kind: str,
    is_open: bool,
    options: Options,
) -> None:
    """Note what becomes of a construct by the answer of its rule."""
    comments = marks.comments_on(facts.rung, draft.node, draft.code)
    if comments and is_open:
        return  # the comment knows more than the text
    if isinstance(answer, Rewritten) and not is_open and (options.unsafe or not answer.assumption):
        found.drafts.append(replace(draft, edits=[*comments, *answer.edits]))
    elif _is_taken(answer, kind, options, is_open):
        found.taken.append((draft.node, answer))
        if comments:
            found.unmarked.append(replace(draft, edits=list(comments)))
    else:
        found.said.append(_said(facts, draft.node, draft.code, answer, kind, is_open))


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
    is_lost = not _is_still_taken(kind)
    if isinstance(answer, Left):
        finding = Finding(line, column, code, "manual", answer.message, answer.help)
        stops = (kind == "differs" or answer.silent) and facts.in_kernel_code(node)
        return _Said(node, finding, stops, is_lost)
    if isinstance(answer, Unknown):
        finding = Finding(line, column, code, "manual", f"nothing tells that {answer.text}: {answer.why}", answer.help)
        return _Said(node, finding, facts.in_kernel_code(node))
    if isinstance(answer, Different):
        message = f"takes it that {answer.text}: {answer.why}"
        return _Said(node, Finding(line, column, code, "review", message, answer.help), False)
    finding = Finding(line, column, code, "review", f"takes it that {answer.assumption}", "--unsafe writes it")
    return _Said(node, finding, kind == "differs" and facts.in_kernel_code(node), is_lost)


def _say(program: Program, path: str, file: _File, said: list[_Said]) -> None:
    """Keep the findings in lines of the input, and mark them: kernels stop at what would run with another meaning."""
    rung = program.rungs[path]
    edits: set[Edit] = set()
    for each in said:
        finding = each.finding
        file.findings.add(replace(finding, line=file.origin(finding.line)))
        stop = marks.stop(rung, each.node, finding) if each.stops else None
        if stop is not None:
            edits.add(stop)
            file.stops += 1
            file.touched |= definitions_in(rung, each.node)
        elif marks.comments_on(rung, each.node, finding.code):
            file.asked_again.add((finding.code, file.origin(marks.place(rung, each.node))))
        elif each.is_lost:
            edits.add(marks.comment(rung, each.node, finding))
    if edits:
        file.make(sorted(edits))


def _take(program: Program, path: str, file: _File, taken: list[tuple[ast.AST, Unknown | Different]]) -> None:
    """Keep what is taken for true, once for each function, at the first line of the input that needs it.

    What is said alike of several of its tensors is one sentence about all of them. Nothing is taken of a statement that
    is Beta 1 yet, at whose mark kernels stop.
    """
    rung = program.rungs[path]
    together: dict[tuple[str, str, str], tuple[int, Said | str]] = {}
    for node, answer in taken:
        if marks.stops_at(rung, node, _OF_BETA1):
            continue
        function = rung.function(node)
        name = function.name if isinstance(function, ast.FunctionDef) else ""
        line = file.origin(node.lineno)  # type: ignore[attr-defined]  # nodes with places
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
    before = (each for each in outcome.findings if (each.code, each.line) not in file.asked_again)
    findings = tuple(sorted({*before, *file.findings}))
    if file.text == outcome.source:
        return replace(outcome, findings=findings, asserted=_asserted(outcome, file))
    found = origins.matched(outcome.source, file.text) if outcome.moves else ()
    moves = tuple(replace(each, new_lines=_moved_lines(each, found)) for each in outcome.moves)
    return replace(
        outcome,
        source=file.text,
        findings=findings,
        applied=Counter(outcome.applied) + file.applied,
        touched=outcome.touched | file.touched,
        moves=moves,
        removed_comments=(*outcome.removed_comments, *file.removed),
        asserted=_asserted(outcome, file),
    )


def _moved_lines(move: Moved, found: origins.Origins) -> tuple[int, int]:
    """Where the lines of a declaration are now; ``found`` are those of the text that began to climb."""
    first = next((n for n, origin in enumerate(found, 1) if origin >= move.new_lines[0]), move.new_lines[0])
    last = max((n for n, origin in enumerate(found, 1) if origin <= move.new_lines[1]), default=first)
    return first, max(first, last)
