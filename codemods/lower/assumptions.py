"""Which rewrites rest on what cases showed: found by rewriting without it and with it.

Facts spread through a module: a rank decides what a helper returns, and that what its callers become. What two rewrites
have different texts for is what the observed facts decided; no rule has to say so, and none can forget to.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from nki_migrate.runtime.spec.seen import SeenFunction

from ..model import Assumption, Decision, Finding, Outcome
from ..render.patterns import rank_test
from ..rules.observed_facts import APPLICABILITY, reason
from ..syntax.codes import OBSERVED_FACTS as CODE
from ..syntax.node_index import tree_of

Functions = tuple[SeenFunction, ...]

_HELP = "--unsafe takes it to be so in every call"
_REWRITTEN = f"--unsafe rewrites it by what was observed ({CODE})"


def best_observed(
    sources: Mapping[str, str],
    plain: Mapping[str, Outcome],
    observed: Functions,
    rewritten: Callable[[Functions], Mapping[str, Outcome]],
) -> Mapping[str, Outcome]:
    """The outcomes of ``rewritten`` for what of the cases leaves the least, ``plain`` where nothing leaves less.

    Tried is what they show of the definitions where something is left, then of all; each time without the definitions
    in which more lines are left for it: a value that is known may meet a rule that refuses it.
    """
    concerned = tuple(function for function in observed if function.file in sources)
    best = plain
    for functions in (_unfinished(sources, plain, concerned), concerned):
        while functions and _left(best, concerned):
            outcomes = rewritten(functions)
            helped = tuple(f for f in functions if not _worse(f, sources, plain, outcomes))
            if len(helped) == len(functions):
                best = outcomes if _left(outcomes, concerned) < _left(best, concerned) else best
                break
            functions = helped
    return best


def _unfinished(sources: Mapping[str, str], plain: Mapping[str, Outcome], concerned: Functions) -> Functions:
    """What cases show of functions in which something was left, and of parameters whose rank is asserted wrongly."""
    least = []
    for function in concerned:
        wrong = _wrong_ranks(function, plain[function.file])
        if _lines(function, sources, plain):
            least.append(function)
        elif wrong:
            least.append(replace(function, parameters=tuple(p for p in function.parameters if p[0] in wrong)))
    return tuple(least)


def _worse(
    function: SeenFunction, sources: Mapping[str, str], plain: Mapping[str, Outcome], outcomes: Mapping[str, Outcome]
) -> bool:
    """Is something left in the definition of a function where ``plain`` leaves nothing?"""
    return not _lines(function, sources, outcomes) <= _lines(function, sources, plain)


def _lines(function: SeenFunction, sources: Mapping[str, str], outcomes: Mapping[str, Outcome]) -> set[int]:
    """The lines of the definition that a function is in where something was left."""
    first, last, _ = _definitions(sources[function.file]).get(_top(function), (1, 0, ""))
    return {f.line for f in outcomes[function.file].findings if first <= f.line <= last and f.code != CODE}


def _left(outcomes: Mapping[str, Outcome], observed: Functions) -> int:
    """How many constructs were left, or assert a rank that a tensor does not have in the cases."""
    kept = sum(finding.code != CODE for outcome in outcomes.values() for finding in outcome.findings)
    return kept + sum(len(_wrong_ranks(function, outcomes[function.file])) for function in observed)


def _wrong_ranks(function: SeenFunction, outcome: Outcome) -> set[str]:
    """The parameters of a function that the output asserts to have ranks that they were not seen to have."""
    tests = set(_RANK_TEST.findall(_definitions(outcome.source).get(_top(function), (0, 0, ""))[2]))
    ranks = {p: {len(s.ones) for s in kinds if s.is_tensor and not s.lists} for p, kinds in function.parameters}
    return {name for name, rank in tests if ranks.get(name) and int(rank) not in ranks[name]}


_RANK_TEST = re.compile(re.escape(f"assert {rank_test('NAME', 0)},").replace("NAME", r"(\w+)").replace("0", r"(\d+)"))


def _top(function: SeenFunction) -> str:
    """The definition at the top level that a function is, or stands in."""
    return function.name.partition(".")[0]


def with_assumptions(
    sources: Mapping[str, str], plain: Mapping[str, Outcome], observed: Mapping[str, Outcome], *, accepted: bool
) -> dict[str, Outcome]:
    """The outcomes for modules that are rewritten together: ``observed`` where what cases showed is ``accepted``.

    Otherwise ``plain``, with a finding for each assumption that matters, and what it would rewrite is under review.
    """
    needed = _that_matter(sources, plain, observed) if plain is not observed else dict.fromkeys(plain, frozenset())
    if accepted and any(needed.values()):
        return {path: _accepted(plain[path], observed[path], needed[path]) for path in plain}
    return {path: _proposed(plain[path], observed[path], needed[path]) for path in plain}


def _accepted(plain: Outcome, observed: Outcome, needed: frozenset[Assumption]) -> Outcome:
    """What was rewritten by what cases showed, which the decisions tell.

    The rule counts what was assumed, or one where the text rests on what was assumed of other modules.
    """
    told = {Decision(a.line, f"{a.function}({a.parameter})", a.what, reason(a)) for a in needed}
    used = Counter({CODE: len(needed) or int(plain.source != observed.source)})
    return replace(
        observed,
        findings=_said(observed, observed),
        applied=Counter(observed.applied) + used,
        decisions=tuple(sorted({*observed.decisions, *told})),
        assumptions=needed,
    )


def _proposed(plain: Outcome, observed: Outcome, needed: frozenset[Assumption]) -> Outcome:
    """What was rewritten without what cases showed, and findings on what that would rewrite."""
    left = {finding.line for finding in observed.findings}
    findings = {
        (
            replace(f, applicability=APPLICABILITY, help=_REWRITTEN)
            if needed and f.line not in left and f.applicability == "manual"
            else f
        )
        for f in _said(plain, observed)
    }
    return replace(plain, findings=tuple(sorted({*findings, *map(_finding, needed)})), assumptions=needed)


def _finding(assumption: Assumption) -> Finding:
    message = f"'{assumption.parameter}' of {assumption.function}() is {assumption.what}, {reason(assumption)}"
    return Finding(assumption.line, assumption.column, CODE, APPLICABILITY, message, _HELP)


def _said(outcome: Outcome, observed: Outcome) -> tuple[Finding, ...]:
    """The findings of an outcome; why nothing could be taken from the cases is said where something else was left."""
    others = {finding for finding in outcome.findings if finding.code != CODE}
    conflicts = {finding for finding in observed.findings if finding.code == CODE}
    return tuple(sorted(others | conflicts)) if others else ()


def _that_matter(
    sources: Mapping[str, str], plain: Mapping[str, Outcome], observed: Mapping[str, Outcome]
) -> dict[str, frozenset[Assumption]]:
    """The assumptions of each module that some text rests on.

    Those of a definition that came out alike matter only where no others explain why some text differs.
    """
    places = {path: _definitions(source) for path, source in sources.items()}
    differing = {(path, name) for path in plain for name in _differing(plain[path], observed[path])}
    around = {
        (path, a): next(n for n, (first, last, _) in places[path].items() if first <= a.line <= last)
        for path, outcome in observed.items()
        for a in outcome.assumptions
    }
    explaining = {(path, name) for (path, _), name in around.items()}
    explained = all(place in explaining for place in differing if place[1] in places[place[0]])
    return {
        path: frozenset(
            a
            for (home, a), name in around.items()
            if home == path and ((path, name) in differing or (differing and not explained))
        )
        for path in plain
    }


def _differing(plain: Outcome, observed: Outcome) -> set[str]:
    """The definitions that two outcomes have other texts for."""
    one, other = _definitions(plain.source), _definitions(observed.source)
    nothing = (0, 0, "")
    return {name for name in one.keys() | other.keys() if one.get(name, nothing)[2] != other.get(name, nothing)[2]}


def _definitions(source: str) -> dict[str, tuple[int, int, str]]:
    """The first line, the last line, and the text of each function and class at the top level."""
    lines = source.split("\n")
    found = {}
    for node in tree_of(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            last = node.end_lineno or node.lineno
            found[node.name] = (node.lineno, last, "\n".join(lines[node.lineno - 1 : last]))
    return found
