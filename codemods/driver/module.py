"""One module, from its text to its rewritten text."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from nki_migrate.runtime.spec.dtypes import ITEMSIZE, NUMPY_SPELLINGS
from nki_migrate.runtime.spec.seen import SeenFunction

from ..analysis.scope import Scope
from ..emit.apply import applied
from ..emit.marks import plan as plan_marks
from ..emit.output_assertions import output_assertions
from ..expr import algebra
from ..expr.emission import Refuse, Said
from ..expr.moves import moved
from ..expr.tables import dtype_name, is_function
from ..expr.values import Api, DType, Parameters, Python, Value
from ..lower import inner_kernels
from ..lower.assumptions import best_observed, with_assumptions
from ..model import Options, Outcome
from ..plan import dead_names, early_assertions, support_imports
from ..plan.grids.rewriting import Relaunched
from ..plan.keyword_arguments import expand
from ..plan.same_text import copies_needed
from ..plan.variable_arguments import name_arguments
from ..plan.variants import copy_of, report_other_uses, served, variants_of
from ..project.beta1_aliases import MODULES
from ..project.links import imported
from ..project.namespaces import Namespaces, namespaces
from ..project.program import Module, Position, Program, Resized
from ..project.vendor_kernels import CODE as IMPORTS
from ..project.vendor_kernels import Homes, Renamed, renamed
from ..project.vendor_kernels import homes as homes_of
from ..render.vector_calls import drop_followed
from ..rules import (
    allocator_objects,
    decorators,
    host_code,
    kernel_classes,
    kernel_outputs,
    name_bindings,
    namespace,
    registry,
    tensor_annotations,
)
from ..syntax import codes
from ..syntax.codes import LANGUAGE
from ..syntax.mark_text import WORD, without_marks
from ..syntax.module_level import module_statements, stand_ins
from ..syntax.names import canonical
from ..syntax.names import imports as names_imported
from ..syntax.node_index import of_kinds, trees_changed, trees_kept, walk
from ..syntax.nodes import bound_by, lines_of
from ..syntax.source import Source, is_expanded
from .backlog import backlog
from .earlier_rules import texts_of
from .evaluator import EVALUATOR
from .functions import walk_function


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
        if found.is_both:
            imports[path] = Renamed(source.text)
            outcomes[path] = _of_both(Module(source, options, path, {}), namespaces(source.tree, path, given))
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


def _kept_whole(outcome: Outcome, source: Source) -> Outcome:
    """The outcome for a module; one with a name that might mean something else is as it was before every rule."""
    if all(finding.code != name_bindings.CODE for finding in outcome.findings):
        return outcome
    return Outcome(source.text, outcome.findings, left=frozenset(range(1, source.text.count("\n") + 2)))


def with_imports(text: str, homes: Homes, options: Options) -> str:
    """A module's text, in which only imports of ``neuronxcc``'s kernels are rewritten: what they make files import."""
    return _imports_moved(Source(text), homes, options).text


def _imports_moved(source: Source, homes: Homes, options: Options) -> Renamed:
    """A module with the imports of ``neuronxcc``'s kernels rewritten whose homes are known well enough."""
    if not options.enabled(IMPORTS):
        return Renamed(source.text)
    return renamed(source, homes, unsafe=options.unsafe)


def _counted(outcome: Outcome, imports: Renamed) -> Outcome:
    """The outcome for a module whose imports had been rewritten first."""
    if not imports.count or any(finding.code == name_bindings.CODE for finding in outcome.findings):
        return outcome
    applied = Counter({IMPORTS: imports.count}) + Counter(outcome.applied)
    return replace(outcome, applied=applied, touched=outcome.touched | imports.touched)


def _rewritten_together(
    read: dict[str, Source], plain: dict[str, Source], options: Options, homes: Mapping[str, Homes], changed: set[str]
) -> dict[str, Outcome]:
    """The outcomes for the Beta 1 modules ``read``, and for those of ``plain`` that they import.

    Some are ``changed`` already.
    """
    outcomes: dict[str, Outcome] = {}
    trees = {path: source.tree for path, source in read.items()}
    read |= {path: plain[path] for path in imported(trees, lambda path: plain[path].tree, plain)}
    originals = {path: source.text for path, source in read.items()}
    texts = texts_of(read, options)
    read, grids = texts.sources, texts.grids
    changed = changed | {path for path, source in read.items() if source.text != originals[path]}
    if options.enabled(LANGUAGE) and any(map(_has_open_arguments, read.values())):
        read = {path: Source(source.text, path, changes=True) for path, source in read.items()}
        program = Program({path: Module(source, options, path, {}) for path, source in read.items()})
        walked = _walked(program)
        name_arguments(program, walked)
        expand(program, walked)
        trees_changed()
    to_list: dict[Position, str] = {}
    resized: frozenset[Resized] = frozenset()
    variants: _Variants = {}
    while True:
        modules, variants = _planned(read, options, _Given(grids, homes, to_list, resized), variants)
        blocked = {place: reason for module in modules for place, reason in module.blocked.items()}
        to_resize = {place for module in modules for place in module.to_resize} - resized
        if not blocked and not to_resize:
            for module in modules:
                grid = grids[module.path]
                outcome = _outcome(module, originals[module.path], grid.said, module.path in changed)
                outcomes[module.path] = texts.joined(module.path, outcome)
            return outcomes | _left_together(modules, outcomes, originals)
        to_list, resized = {**to_list, **blocked}, resized | to_resize


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
    left = {path for path, o in outcomes.items() if any(f.code == name_bindings.CODE for f in o.findings)}
    changed = {path for path, outcome in outcomes.items() if outcome.source != originals[path]}
    found = name_bindings.left_with(modules, left, changed) if left else {}
    return {path: replace(outcomes[path], findings=(*outcomes[path].findings, f)) for path, f in found.items()}


@dataclass(frozen=True)
class _Given:
    """What all rounds over some modules know.

    What became of their launch grids, the modules that have what each imports of ``neuronxcc``, the tensors that become
    lists, and the index vectors whose sizes have names.
    """

    grids: Mapping[str, Relaunched]
    homes: Mapping[str, Homes]
    to_list: dict[Position, str]
    resized: frozenset[Resized]


_Variants = dict[ast.FunctionDef, list[Parameters]]
"""What the calls of each function pass: one for each of its variants."""


def _planned(
    sources: dict[str, Source], options: Options, given: _Given, variants: _Variants
) -> tuple[list[Module], _Variants]:
    """The modules with all edits of their functions planned, and what the calls of each function pass.

    ``variants`` are what calls passed before ``given`` changed, if it did: most of it holds still, and each round
    reads anew what calls pass.
    """
    modules: dict[str, Module] = {}
    lost: dict[ast.stmt, Refuse] | None = None
    for _ in range(_ROUNDS):
        modules = {path: Module(source, options, path, variants, given.to_list) for path, source in sources.items()}
        program = _program(modules, given)
        lost = kernel_outputs.lost_writes(program) if lost is None else lost
        _walk(program, lost)
        before, variants = variants, {f: v for m in modules.values() for f, v in variants_of(m.calls).items()}
        if _is_settled(modules, before, variants):
            break
    if any(len(kinds) > 1 for kinds in variants.values()):
        shared = copies_needed(modules.values())
        modules = {p: Module(source, options, p, variants, given.to_list, shared) for p, source in sources.items()}
        _walk(_program(modules, given), lost or {})
    for module in modules.values():
        report_other_uses(module)
    return list(modules.values()), variants


def _is_settled(modules: Mapping[str, Module], before: _Variants, variants: _Variants) -> bool:
    """Would another round be as this one? ``variants`` are what its calls told, ``before`` what it was read with.

    What calls tell of copies says nothing: each round makes new ones.
    """
    own = {f for module in modules.values() for f in of_kinds(module.source.tree, ast.FunctionDef)}
    known = [{f: told for f, told in found.items() if f in own} for found in (before, variants)]
    return known[0] == known[1] or all(_rewritten_for(m, f) == variants[f] for m in modules.values() for f in m.calls)


def _program(modules: dict[str, Module], given: _Given) -> Program:
    """The modules before a round, with what is known of them."""
    program = Program(modules, EVALUATOR)
    for path, module in modules.items():
        module.program, module.resized, grid = program, given.resized, given.grids[path]
        module.reviewed, module.covered, module.counts = grid.reviewed, grid.covered, grid.counts
        module.homes = given.homes.get(path, {})
    return program


def _outcome(module: Module, original: str, said: list[Said], changed: bool) -> Outcome:
    """The outcome for a module whose edits are planned; ``original`` is its text with its launch grids.

    What was ``said`` of it before has its marks, too, where its text is ``changed`` at all.
    """
    tensor_annotations.rewrite(module)
    host_code.rewrite(module)
    allocator_objects.drop_globals(module)
    early_assertions.move(module)
    dead_names.drop(module)
    namespace.rewrite(module)
    support_imports.add(module)
    touched = set(module.touched)
    if (changed or module.edits or module.support) and not (module.options.select or module.options.ignore):
        module.said += said
        plan_marks(module)
    text, output, origins = applied(module)
    if not changed and without_marks(text) == without_marks(module.source.text):  # marks alone are no change
        text, output, origins, module.touched = module.source.text, module.source.tree, {}, touched
    module.forget_concrete()
    if name_bindings.report(module, output, origins):
        return Outcome(module.source.text, tuple(sorted(module.findings)))
    moves = moved(module.planned, text, module.copies)
    findings, decisions = tuple(sorted(module.findings)), tuple(sorted(module.decisions))
    removed_comments = tuple(module.removed_comments)
    assumptions = frozenset(module.assumptions)
    left = frozenset(line for f in module.left for line in lines_of(f))
    asserted = output_assertions(module, original, text)
    return Outcome(
        text,
        findings,
        module.applied,
        frozenset(module.touched),
        moves,
        module.inexact,
        decisions,
        removed_comments,
        assumptions,
        left,
        asserted,
        support_imports.definitions(module),
    )


_ROUNDS = 6
"""How often a module is read until its calls tell nothing new: each round carries facts one call further."""


def _rewritten_for(module: Module, function: ast.FunctionDef) -> list[Parameters]:
    """What the variants of a function were taken to get in this round."""
    nodes = [function, *module.copies.get(function, [])]
    return [module.analyzed[node].parameters for node in nodes if node in module.analyzed]


def _walk(program: Program, lost: dict[ast.stmt, Refuse]) -> None:
    """One round: plan the edits of every function, kernels first, then (through their calls) helpers, then the rest.

    ``lost`` are the statements that write to what a kernel got.
    """
    for module in program.modules.values():
        _environment(module)
        module.lost_writes = lost
    kernels = [(m, f) for m in program.modules.values() for f in m.functions.values() if m.is_kernel(f)]
    kernels.sort(key=lambda pair: decorators.called_by_kernel(*pair))
    others = [(m, f) for m in program.modules.values() for f in m.functions.values() if not m.is_kernel(f)]
    entered = [
        (m, f) for m, f in others if program.kernel_code.is_entered(f) or (is_expanded(f) and f in program.kernel_code)
    ]
    for module, node in [*kernels, *entered]:
        _walk_variants(module, node)
    for module in program.modules.values():
        for kernel in inner_kernels.rewrite(module):
            _walk_one(module, kernel, {})
    for module, method, parameters in kernel_classes.rewrite(program):
        _walk_one(module, method, parameters)
    _walk_named(program)
    drop_followed(program)


def _walk_variants(module: Module, function: ast.FunctionDef) -> None:
    """Plan the edits of a function, and of each copy that serves other arguments."""
    decorators.rewrite(module, function)
    for number, parameters in enumerate(served(module, function)):
        variant = copy_of(module, function, number)
        if number:
            decorators.rewrite(module, variant)
        if variant not in module.analyzed:
            _walk_one(module, variant, parameters)


def _walk_named(program: Program) -> None:
    """Plan the edits of the kernel code that functions name, and no call has reached."""
    pending = [(m, f) for m in program.modules.values() for f in m.analyzed]
    while pending:
        for module, function in _named(program, *pending.pop()):
            if function in program.kernel_code and function not in {**module.analyzed, **module.flattened}:
                _walk_one(module, function, {})
                pending.append((module, function))


def _named(program: Program, module: Module, function: ast.FunctionDef) -> list[tuple[Module, ast.FunctionDef]]:
    """Functions that a function names, in whatever expression."""
    found = []
    for node in walk(function):
        if isinstance(node, ast.Name | ast.Attribute):
            own = module.functions.get(node.id) if isinstance(node, ast.Name) else None
            other = program.function(module, node)
            found += [(module, own)] if own is not None else [other] if other is not None else []
    return found


def _walk_one(module: Module, function: ast.FunctionDef, parameters: Parameters) -> None:
    refusal = module.program.draft.attempt(walk_function, module, function, parameters)
    if isinstance(refusal, Refuse):
        module.report(refusal)


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
        kept = [item for item in module.import_list if item.is_nki and not item.is_compiler]
        places_left: list[ast.AST] = [item.statement for item in kept if canonical(item.path) not in MODULES]
    else:
        places_left = [old]
    for place in places_left:
        module.report(Refuse(place, IMPORTS, message, help))
    findings = {*module.findings, *backlog(module.source.text, module.source.tree, module.options.target)}
    return Outcome(module.source.text, tuple(sorted(findings)))


_NO_FUNCTION = next(n for n in walk(ast.parse("def module(): pass")) if isinstance(n, ast.FunctionDef))


def _environment(module: Module) -> None:
    """What the names that the module assigns at top level are."""
    scope = Scope(module, _NO_FUNCTION, False)
    counts: dict[str, int] = {}
    for node in walk(module.source.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts[node.id] = counts.get(node.id, 0) + 1
    changing = _changing_globals(module.source.tree)
    for statement in module_statements(module.source.tree):
        if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
            continue
        target = statement.targets[0]
        if target in stand_ins(module.source.tree):
            continue
        module.definitions |= {n: text for n, text in _numbers(module, target, statement.value) if counts[n] == 1}
        if isinstance(target, ast.Name):
            value = _global_value(scope, statement.value)
            if target.id in changing:
                value = Python() if isinstance(value, Python) else Value()
            module.environment[target.id] = value
            if _is_dtype(scope.qualified(statement.value) or "") and counts[target.id] == 1:
                module.environment[target.id] = _global_dtype(module, scope, target.id, statement.value)
            if isinstance(module.environment[target.id], Api):
                module.global_aliases[target.id] = statement


_ARITHMETIC = ast.BinOp | ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Name | ast.Constant | ast.Load


def _numbers(module: Module, target: ast.expr, value: ast.expr) -> Iterator[tuple[str, str]]:
    """The names that an assignment binds to integers, as literals: arithmetic of literals and such names."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for each, node in zip(target.elts, value.elts, strict=True):
            yield from _numbers(module, each, node)
    if not isinstance(target, ast.Name) or not all(isinstance(node, _ARITHMETIC) for node in walk(value)):
        return
    constants = (node.value for node in of_kinds(value, ast.Constant))
    if all(type(constant) is int for constant in constants):
        number = algebra.constant(module.source.segment(value), module.definitions)
        if number is not None:
            yield target.id, str(number)


def _changing_globals(tree: ast.Module) -> set[str]:
    """Names of the module that something else than a plain assignment at its top level binds (again)."""
    statements = module_statements(tree)
    around = (ast.If, ast.Try) if len(statements) > len(tree.body) else ()
    other = [s for s in statements if not isinstance(s, (ast.Assign, ast.FunctionDef, ast.ClassDef, *around))]
    told = {name for node in of_kinds(tree, ast.Global) for name in node.names}
    assigned = Counter(name for s in statements if isinstance(s, ast.Assign) for name in bound_by(s))
    guarded = {name for s in set(statements) - set(tree.body) if isinstance(s, ast.Assign) for name in bound_by(s)}
    return told.union({n for n in guarded if assigned[n] > 1}, *(bound_by(statement) for statement in other))


def _global_value(scope: Scope, value: ast.expr) -> Value:
    qualified = scope.qualified(value)
    if qualified is not None and is_function(qualified):
        return Api(qualified)
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return Python(value.value > 0)
    return Python()


def _global_dtype(module: Module, scope: Scope, name: str, value: ast.expr) -> DType:
    """A data type that the module names: rewritten where it stands, or in the kernels where host code needs it too."""
    qualified = scope.qualified(value) or ""
    text = f"{scope.nl}.{dtype_name(qualified) or qualified.partition('.')[2]}"
    module.dtypes[name] = text
    if not qualified.startswith("np."):
        return DType(name)
    if _read_by_host(module, name) or not module.options.enabled(codes.DATA_TYPES):
        return DType(text)
    module.edits.expressions[value] = text
    module.applied[codes.DATA_TYPES] += 1
    return DType(name)


def _read_by_host(module: Module, name: str) -> bool:
    """Is a global name read outside of the functions that are rewritten?"""
    rewritten = [f for f in module.functions.values() if f in module.program.kernel_code]
    inside = {id(n) for f in rewritten for n in walk(f)}
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and id(n) not in inside
        for n in walk(module.source.tree)
    )


def _is_dtype(qualified: str) -> bool:
    root, _, rest = qualified.partition(".")
    return root in ("nl", "np") and (rest in ITEMSIZE or (root == "np" and rest in NUMPY_SPELLINGS))


def _walked(program: Program) -> set[ast.FunctionDef]:
    """The functions of the modules that are rewritten: kernel code."""
    return {f for m in program.modules.values() for f in m.functions.values() if f in program.kernel_code}
