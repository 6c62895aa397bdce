"""From Beta 1, or any later version, to the version that is asked for: the rules from Beta 1 first, then the ladder."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from nki_migrate.runtime.spec.versions import OLDEST, V02, version

from ..ladder.driver import climbed, sources_of
from ..ladder.evidence import Source
from ..ladder.program import Program, program_of
from ..model import Asserted, Decision, Options, Outcome
from ..project.vendor_kernels import Homes
from ..syntax.node_index import tree_of, trees_kept, walk
from . import module
from .backlog import importing_beta2, written_in_beta1
from .plugins import prepared


def rewrite(source: str, options: Options | None = None, filename: str = "<string>") -> Outcome:
    """Rewrite one module. Raises ``SyntaxError`` when ``source`` does not parse.

    ``source`` uses ``\\n`` as its newline. Code that needs nothing keeps its bytes.
    """
    return rewrite_together({filename: source}, options)[filename]


@trees_kept()
def rewrite_together(
    sources: Mapping[str, str], options: Options | None = None, homes: Mapping[str, Homes] | None = None
) -> dict[str, Outcome]:
    """Rewrite modules that import from each other, by path. Raises ``SyntaxError`` when one does not parse.

    What a function gets is told by its calls in all of them. Paths have ``/`` between folders. ``homes`` are the
    modules that have what each imports of ``neuronxcc``'s kernels, where they were looked for in more files than these.
    """
    options = options or Options()
    before = {path: prepared(text, options, path) for path, text in sources.items()}
    outcomes = _rewritten_together({path: each.text for path, each in before.items()}, options, homes)
    return {path: before[path].joined(outcome) for path, outcome in outcomes.items()}


def _rewritten_together(
    sources: Mapping[str, str], options: Options, homes: Mapping[str, Homes] | None
) -> dict[str, Outcome]:
    """:func:`rewrite_together` behind plugins and renames."""
    outcomes = module.rewrite_together(sources, replace(options, source=""), homes)
    later = importing_beta2(sources, options)
    left = written_in_beta1(later, sources, options)
    outcomes |= {path: Outcome(sources[path], (finding,)) for path, finding in left.items()}
    if version(options.target) == OLDEST:
        return outcomes
    program = program_of({path: outcome.source for path, outcome in outcomes.items()}, options, later)
    climbing = _climbing({path: text for path, text in sources.items() if path not in left}, program, options)
    found = climbed(outcomes, sources, options, climbing, program)
    return {path: _with_version(outcome, sources[path], climbing.get(path)) for path, outcome in found.items()}


def _with_version(outcome: Outcome, text: str, source: Source | None) -> Outcome:
    """The outcome, which says what version the file was taken to be of, and why."""
    if source is None or _was_beta1(text):
        return outcome
    line, reason = (
        source.shown[-1]
        if source.shown
        else (1, "nothing in the file tells more" if not source.is_certain else "--from")
    )
    asserted = (*outcome.asserted, *_by_pin(source, line, reason))
    decision = Decision(line, "NKI", str(source), reason)
    return replace(outcome, decisions=(decision, *outcome.decisions), asserted=tuple(sorted(asserted)))


def _by_pin(source: Source, line: int, reason: str) -> Iterator[Asserted]:
    """What a run takes for true because a project pins it, or although it pins something else."""
    if source.pin and source.is_pinned:
        yield Asserted(1, "", f"this file is of NKI {source}", source.pin)
    elif source.pin:
        yield Asserted(line, "", f"this file is of NKI {source}, although {source.pin}", reason)


def _climbing(sources: Mapping[str, str], program: Program, options: Options) -> dict[str, Source]:
    """The versions of the files that are for the ladder: those of NKI, and those that this run has brought there.

    Host code that stays at Beta 1 (``nki_beta1.benchmark``) keeps no kernel beside it from the target.
    """
    rungs = program.rungs
    old = program_of({path: text for path, text in sources.items() if text != rungs[path].text}, options).rungs
    brought = {path for path, rung in old.items() if not rung.has_nki and rungs[path].has_nki}
    ours = brought | {path for path in sources if rungs[path].is_nki}
    migrated = {path for path in ours if _was_beta1(sources[path])}
    theirs = {path: rungs[path].text for path in ours - migrated}
    found = sources_of(theirs, options, program) if theirs else {}
    return {**found, **dict.fromkeys(migrated, Source(V02, V02, is_migrated=True))}


def _was_beta1(text: str) -> bool:
    return "neuronxcc" in text and any(
        isinstance(node, (ast.Import, ast.ImportFrom)) and "neuronxcc" in ast.unparse(node)
        for node in walk(tree_of(text))
    )
