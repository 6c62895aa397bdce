"""One module, from its text to its rewritten text."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, replace
from itertools import chain

from nki_migrate.runtime.spec.seen import SeenFunction

from ..emit.apply import applied
from ..emit.marks import plan as plan_marks
from ..emit.output_assertions import output_assertions
from ..expr.emission import Refuse, Said
from ..expr.moves import moved
from ..expr.values import Value
from ..lower.assumptions import best_observed, with_assumptions
from ..model import Options, Outcome
from ..plan import dead_names, early_assertions, support_imports
from ..plan.grids.rewriting import Relaunched
from ..plan.keyword_arguments import expand
from ..plan.variable_arguments import name_arguments
from ..project import star_imports
from ..project.beta1_aliases import MODULES
from ..project.links import around, imported, importing
from ..project.module_plan import Position, Premises, Resized
from ..project.namespaces import Namespaces, namespaces
from ..project.program import Module, Program, program_of
from ..project.vendor_kernels import CODE as IMPORTS
from ..project.vendor_kernels import Homes, Renamed, renamed
from ..project.vendor_kernels import homes as homes_of
from ..project.walks import Walks
from ..rules import (
    allocator_objects,
    host_code,
    name_bindings,
    namespace,
    registry,
    tensor_annotations,
)
from ..rules.kernel_outputs import lost_writes
from ..syntax.codes import LANGUAGE, NAMESPACE
from ..syntax.mark_text import WORD, without_marks
from ..syntax.names import canonical
from ..syntax.names import imports as names_imported
from ..syntax.node_index import of_kinds, trees_changed, trees_kept
from ..syntax.nodes import lines_of
from ..syntax.source import Source
from .backlog import backlog
from .earlier_rules import Texts, Unbranched, unbranched
from .rounds import Variants, asks_for_more, planned


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

    What a function gets is told by its calls in all of them, and by what cases showed where they do not tell. Paths
    have ``/`` between folders. ``homes`` are the modules that have what each imports of ``neuronxcc``'s kernels, where
    they were looked for in more files than these.
    """
    assert registry.RULES  # importing them registers their handlers
    options = options or Options()
    plain = _rewritten(sources, replace(options, observed=()), homes)

    def observing(functions: tuple[SeenFunction, ...]) -> dict[str, Outcome]:
        return _rewritten(sources, replace(options, observed=functions), homes)

    observed = best_observed(sources, plain, options.observed, observing)
    return with_assumptions(sources, plain, observed, accepted=options.unsafe or options.trusted)


def _rewritten(sources: Mapping[str, str], options: Options, homes: Mapping[str, Homes] | None) -> dict[str, Outcome]:
    """:func:`rewrite_together` with the observed facts of ``options`` taken for true."""
    given = {path: Source(text, path) for path, text in sources.items()}
    if homes is None:
        homes = homes_of({path: source.tree for path, source in given.items()}, given, options.modules)
    outcomes: dict[str, Outcome] = {}
    read: dict[str, Source] = {}
    plain: dict[str, Source] = {}
    imports: dict[str, Renamed] = {}
    for path, source in given.items():
        imports[path] = _imports_moved(source, homes.get(path, {}), options)
        new = Source(imports[path].text, path) if imports[path].count else source
        found = namespaces(new.tree, path, given)
        if (left := imports[path].left) is not None:
            outcomes[path] = Outcome(source.text, (left,))
        elif found.is_both:
            imports[path] = Renamed(source.text)
            outcomes[path] = _of_both(
                program_of({path: source}, options).modules[path], namespaces(source.tree, path, given)
            )
        elif found.beta2:  # what is Beta 2 already is no part of what is rewritten
            outcomes[path] = Outcome(new.text, tuple(backlog(source.text, source.tree, options.target)))
        elif imports[path].count or any(item.is_nki for item in names_imported(new.tree)):
            read[path] = new
        else:
            outcomes[path] = Outcome(new.text)
            plain[path] = new
    changed = {path for path in read if imports[path].count}
    outcomes |= _rewritten_together(read, plain, options, homes, changed)
    return {path: _counted(_kept_whole(outcome, given[path]), imports[path]) for path, outcome in outcomes.items()}


def _is_refused(outcome: Outcome) -> bool:
    """Is a file left as it was, for a name of its output might mean something else?"""
    return any(finding.code == name_bindings.CODE for finding in outcome.findings)


def _kept_whole(outcome: Outcome, source: Source) -> Outcome:
    """The outcome for a module; one with a name that might mean something else is as it was before every rule."""
    if not _is_refused(outcome):
        return outcome
    return Outcome(source.text, outcome.findings, left=frozenset(range(1, source.text.count("\n") + 2)))


def with_imports(text: str, homes: Homes, options: Options) -> str:
    """A module's text, in which only imports of ``neuronxcc``'s kernels are rewritten: what they make files import."""
    return _imports_moved(Source(text), homes, options).text


def _imports_moved(source: Source, homes: Homes, options: Options) -> Renamed:
    """A module with star imports of NKI written out, and with the imports of ``neuronxcc``'s kernels rewritten.

    Those change whose homes are known well enough.
    """
    if not options.enabled(IMPORTS):
        return Renamed(source.text)
    stars = star_imports.named(source)
    if stars.left is not None:
        return Renamed(source.text, left=stars.left)
    moved = renamed(Source(stars.text) if stars.count else source, homes, unsafe=options.unsafe)
    return replace(moved, count=moved.count + stars.count)


def _counted(outcome: Outcome, imports: Renamed) -> Outcome:
    """The outcome for a module whose imports had been rewritten first."""
    if not imports.count or _is_refused(outcome):
        return outcome
    applied = Counter({IMPORTS: imports.count}) + Counter(outcome.applied)
    return replace(outcome, applied=applied, touched=outcome.touched | imports.touched)


def _rewritten_together(
    read: dict[str, Source], plain: dict[str, Source], options: Options, homes: Mapping[str, Homes], changed: set[str]
) -> dict[str, Outcome]:
    """The outcomes for the Beta 1 modules ``read``, and for those of ``plain`` that they import.

    Statements that are left alone are tried again with their choices as an ``if``: one may hide another. The attempt
    that leaves least counts.
    """
    trees = {path: source.tree for path, source in read.items()}
    hosts = importing(read, {path: source.tree for path, source in plain.items()}) if read else []
    read = read | {path: plain[path] for path in [*hosts, *imported(trees, lambda path: plain[path].tree, plain)]}
    first = _attempted(unbranched(read, options), {}, homes)
    attempts = [first, *_with_choices(first, homes)] if options.enabled(LANGUAGE) else [first]
    made = (attempt.outcomes(changed) for attempt in sorted(attempts, key=lambda attempt: attempt.left()))
    best = next(made)
    return next((outcomes for outcomes in chain([best], made) if not any(map(_is_refused, outcomes.values()))), best)


Choices = Mapping[str, Set[int]]
"""The lines of statements with choices, by path (:meth:`Texts.place_of_choice`)."""


@dataclass(frozen=True)
class _Attempt:
    """Modules with all their edits planned, for texts in which some ``choices`` are an ``if``."""

    modules: list[Module]
    given: Unbranched
    choices: Choices
    texts: Texts

    def further(self) -> dict[str, Set[int]]:
        """The choices, and those of further statements that were left alone; none where there are no further ones."""
        left = {module.path: {s.lineno for s in module.plan.choices} for module in self.modules}
        found = {path: {self.texts.place_of_choice(path, line) for line in lines} for path, lines in left.items()}
        is_more = any(lines - self.choices.get(path, set()) for path, lines in found.items())
        return {path: lines | self.choices.get(path, set()) for path, lines in found.items()} if is_more else {}

    def left(self, paths: Collection[str] | None = None) -> int:
        """How much is left to the reader, in the modules at ``paths`` or in all of them."""
        modules = [module for module in self.modules if paths is None or module.path in paths]
        return sum(found.applicability == "manual" for module in modules for found in module.plan.findings)

    def outcomes(self, changed: Set[str]) -> dict[str, Outcome]:
        """The outcomes for the modules; the imports of those that are ``changed`` were rewritten before."""
        originals = {path: source.text for path, source in self.given.originals.items()}
        edited = {path for path, source in self.texts.sources.items() if source.text != originals[path]}
        outcomes: dict[str, Outcome] = {}
        for module in self.modules:
            path = module.path
            said = self.texts.grids[path].said
            outcome = _outcome(module, originals[path], said, path in changed | edited)
            outcomes[path] = self.texts.joined(path, outcome)
        return outcomes | _left_together(self.modules, outcomes, originals)


def _with_choices(first: _Attempt, homes: Mapping[str, Homes]) -> list[_Attempt]:
    """Attempts with the choices of statements that the ``first`` has left alone as an ``if``.

    They are made for the files with such statements and those around them, and for all files where these leave less.
    """
    choices, given, tried = first.further(), first.given, [first]
    trees = {path: source.tree for path, source in given.sources.items()}
    paths = around(trees, [path for path, lines in choices.items() if lines])
    while choices:
        tried.append(_attempted(given.of(paths), choices, homes))
        choices = tried[-1].further()
    if len(paths) == len(trees):
        return tried[1:]
    best = min(tried, key=lambda attempt: attempt.left(paths))
    return [] if best is first else [_attempted(given, best.choices, homes)]


def _attempted(given: Unbranched, choices: Choices, homes: Mapping[str, Homes]) -> _Attempt:
    """The modules with these choices as an ``if``, and their edits planned."""
    options, texts = given.options, given.with_branches(choices)
    read = texts.sources
    if options.enabled(LANGUAGE) and any(map(_has_open_arguments, read.values())):
        read = {path: Source(source.text, path, changes=True) for path, source in read.items()}
        program = program_of(read, options)
        walked = _walked(program)
        name_arguments(program, walked)
        expand(program, walked)
        trees_changed()
    return _Attempt(_planned(read, options, texts.grids, homes), given, choices, texts)


def _planned(
    read: Mapping[str, Source], options: Options, grids: Mapping[str, Relaunched], homes: Mapping[str, Homes]
) -> list[Module]:
    """The modules with their edits planned, under premises that none of them asks to be others."""
    to_list: dict[Position, str] = {}
    resized: frozenset[Resized] = frozenset()
    carried: dict[tuple[Position, str], Value] = {}
    asked: Counter[tuple[Position, str]] = Counter()
    variants: Variants = {}
    walks, lost = Walks(), lost_writes(program_of(read, options))
    while True:
        premises = {path: _premises(grids[path], homes.get(path, {}), to_list, resized, carried, lost) for path in read}
        modules, variants = planned(read, options, premises, variants, walks)
        if not any(map(asks_for_more, modules)):
            return modules
        blocked = {place: reason for module in modules for place, reason in module.plan.blocked.items()}
        to_list, resized = {**to_list, **blocked}, resized.union(*(module.plan.to_resize for module in modules))
        left = {place: value for module in modules for place, value in module.plan.carried.items()}
        asked.update(left.keys())
        carried = {**carried, **{place: v if asked[place] < _READINGS else Value() for place, v in left.items()}}


_READINGS = 8
"""How often a name that a loop carries may be found to be something else before nothing is taken to be known of it."""


def _premises(
    grid: Relaunched,
    homes: Homes,
    to_list: Mapping[Position, str],
    resized: frozenset[Resized],
    carried: Mapping[tuple[Position, str], Value],
    lost: Mapping[ast.stmt, Refuse],
) -> Premises:
    """What all rounds over some modules know of one of them."""
    return Premises(
        to_list=to_list,
        resized=resized,
        carried=carried,
        homes=homes,
        reviewed=grid.reviewed,
        covered=grid.covered,
        counts=grid.counts,
        lost_writes=lost,
    )


def _has_open_arguments(source: Source) -> bool:
    """Has a signature or a call of a module ``*args`` or ``**kwargs``?"""
    return any(
        (isinstance(node, ast.arguments) and (node.vararg or node.kwarg))
        or (isinstance(node, ast.keyword) and node.arg is None)
        for node in of_kinds(source.tree, ast.arguments, ast.keyword)
    )


def _left_together(
    modules: list[Module], outcomes: Mapping[str, Outcome], originals: Mapping[str, str]
) -> dict[str, Outcome]:
    """The outcomes of files that are left because files are left whose kernel code they call, or that call theirs."""
    left = {path for path, outcome in outcomes.items() if _is_refused(outcome)}
    changed = {path for path, outcome in outcomes.items() if outcome.source != originals[path]}
    found = name_bindings.left_with(modules, left, changed) if left else {}
    return {path: replace(outcomes[path], findings=(*outcomes[path].findings, f)) for path, f in found.items()}


def _outcome(module: Module, original: str, said: list[Said], changed: bool) -> Outcome:
    """The outcome for a module whose edits are planned; ``original`` is its text with its launch grids.

    What was ``said`` of it before has its marks, too, where its text is ``changed`` at all. A module that is to import
    Beta 1 stays as it is: what the rules write is Beta 2.
    """
    tensor_annotations.rewrite(module)
    host_code.rewrite(module)
    allocator_objects.drop_globals(module)
    early_assertions.move(module)
    dead_names.drop(module)
    namespace.rewrite(module)
    if not module.options.enabled(NAMESPACE):
        return Outcome(original, tuple(sorted({*module.plan.findings})))
    if name_bindings.report_twice(module):
        return Outcome(original, tuple(sorted({*module.plan.findings})))
    support_imports.add(module)
    touched = set(module.plan.touched)
    if (changed or module.plan.edits or module.names.support) and module.stops_where_left:
        module.plan.said += said
        plan_marks(module)
    text, output, origins = applied(module)
    if not changed and without_marks(text) == without_marks(module.source.text):  # marks alone are no change
        text, output, origins, module.plan.touched = module.source.text, module.source.tree, {}, touched
    module.concrete.forget()
    if name_bindings.report(module, output, origins):
        return Outcome(module.source.text, tuple(sorted(module.plan.findings)))
    moves = moved(module.plan.tensors, text, module.summaries.copies)
    findings, decisions = tuple(sorted(module.plan.findings)), tuple(sorted(module.plan.decisions))
    removed_comments = tuple(module.plan.removed_comments)
    assumptions = frozenset(module.plan.assumptions)
    left = frozenset(line for f in module.plan.left for line in lines_of(f))
    asserted = output_assertions(module, original, text)
    return Outcome(
        text,
        findings,
        module.plan.applied,
        frozenset(module.plan.touched),
        moves,
        module.plan.inexact,
        decisions,
        removed_comments,
        assumptions,
        left,
        asserted,
        support_imports.definitions(module),
    )


def _of_both(module: Module, found: Namespaces) -> Outcome:
    """The outcome for a module that imports both namespaces: nothing of it is changed.

    There is one finding; what an earlier rewrite has left in it has its findings again.
    """
    old, new = found.beta1[0], found.beta2[0]
    places = f"nki in line {new.lineno}, neuronxcc.nki in line {old.lineno}"
    message = f"this module imports both namespaces ({places}): it is half migrated, and is left alone"
    help = "resolve what is left by hand, or migrate the original file again (nki-migrate undo, or git, has it)"
    if found.chooses:
        message = f"this module serves both namespaces ({places}), and is left alone: its kernels may be of either"
        help = "keep the imports and branches of Beta 1 alone and migrate that, or keep those of Beta 2"
    if WORD in module.source.text:  # imports of modules that both have are under the findings of their uses
        kept = [item for item in module.symbols.import_list if item.is_nki and not item.is_compiler]
        places_left: list[ast.AST] = [item.statement for item in kept if canonical(item.path) not in MODULES]
    else:
        places_left = [old]
    for place in places_left:
        module.report(Refuse(place, IMPORTS, message, help))
    findings = {*module.plan.findings, *backlog(module.source.text, module.source.tree, module.options.target)}
    return Outcome(module.source.text, tuple(sorted(findings)))


def _walked(program: Program) -> set[ast.FunctionDef]:
    """The functions of the modules that are rewritten: kernel code."""
    return {f for m in program.modules.values() for f in m.symbols.functions.values() if f in program.kernel_code}
