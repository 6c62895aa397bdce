"""Rounds over modules that call each other, until their calls tell nothing new of any function."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from ..expr.emission import Refuse
from ..expr.values import Parameters
from ..lower import inner_kernels
from ..model import Options
from ..plan.same_text import copies_needed
from ..plan.variants import MOST, copy_of, report_other_uses, served, variants_of
from ..project.launches_apart import called_by_kernel, is_launched_apart
from ..project.module_plan import Premises
from ..project.program import Module, Program
from ..project.walks import Walks
from ..render.vector_calls import drop_followed
from ..rules import decorators, kernel_classes, kernel_outputs
from ..syntax.module_level import named_through_tables
from ..syntax.node_index import of_kinds, walk
from ..syntax.source import Source, is_expanded
from .environment import bind_globals
from .evaluator import EVALUATOR
from .units import walk_function

Variants = dict[ast.FunctionDef, list[Parameters]]
"""What the calls of each function pass: one for each of its variants."""


def planned(
    sources: Mapping[str, Source], options: Options, premises: Mapping[str, Premises], variants: Variants, walks: Walks
) -> tuple[list[Module], Variants]:
    """The modules with all edits of their functions planned, and what the calls of each function pass.

    ``premises`` are what all rounds know of each module. ``variants`` are what calls passed before these changed, if
    they did: most of it holds still, and each round reads anew what calls pass. Modules that ask for other premises
    (:func:`asks_for_more`) are planned no further.
    """
    modules: dict[str, Module] = {}
    settled = False
    for _ in range(_ROUNDS):
        modules = _walked(
            sources, options, {p: replace(known, variants=variants) for p, known in premises.items()}, walks
        )
        told = ((module, variants_of(module.summaries.calls)) for module in modules.values())
        before, variants = variants, {
            f: _kinds(module, f, kinds) for module, found in told for f, kinds in found.items()
        }
        settled = _is_settled(modules, before, variants)
        if settled:
            break
    if any(map(asks_for_more, modules.values())):
        return list(modules.values()), variants
    if any(len(kinds) > 1 for kinds in variants.values()):
        needed = copies_needed(modules.values())
        # Where the rounds ran out, the calls of the last may have told another number of kinds than it was read for.
        shared = {f: copies for f, copies in needed.items() if len(copies) == len(variants.get(f, copies))}
        if not settled or not all(map(_keeps_all, shared.values())):
            last = {p: replace(known, variants=variants, shared=shared) for p, known in premises.items()}
            modules = _walked(sources, options, last, walks)
    for module in modules.values():
        report_other_uses(module)
    return list(modules.values()), variants


def _kinds(module: Module, function: ast.FunctionDef, told: list[Parameters]) -> list[Parameters]:
    """What a function is written for: all that there is, where host code launches it besides what calls tell."""
    return [{}] if is_launched_apart(module, function) else told


def _keeps_all(copies: list[int]) -> bool:
    """Has each variant of a function a copy of its own? ``copies`` are the numbers of those that serve them."""
    return copies == list(range(len(copies))) and len(copies) <= MOST


def asks_for_more(module: Module) -> bool:
    """Does a module need another style of blocks, names for sizes of index vectors, or what loops leave of names?"""
    return bool(module.plan.blocked or module.plan.carried or module.plan.to_resize - module.premises.resized)


def _is_settled(modules: Mapping[str, Module], before: Variants, variants: Variants) -> bool:
    """Would another round be as this one? ``variants`` are what its calls told, ``before`` what it was read with.

    What calls tell of copies says nothing: each round makes new ones.
    """
    own = {f for module in modules.values() for f in of_kinds(module.source.tree, ast.FunctionDef)}
    known = [{f: told for f, told in found.items() if f in own} for found in (before, variants)]
    return known[0] == known[1] or all(
        _rewritten_for(m, f) == variants[f] for m in modules.values() for f in m.summaries.calls
    )


_ROUNDS = 6
"""How often a module is read until its calls tell nothing new: each round carries facts one call further."""


def _rewritten_for(module: Module, function: ast.FunctionDef) -> list[Parameters]:
    """What the variants of a function were taken to get in this round."""
    nodes = [function, *module.summaries.copies.get(function, [])]
    return [module.summaries.analyzed[node].parameters for node in nodes if node in module.summaries.analyzed]


def _walked(
    sources: Mapping[str, Source], options: Options, premises: Mapping[str, Premises], walks: Walks
) -> dict[str, Module]:
    """One round: plan the edits of every function, kernels first, then (through their calls) helpers, then the rest."""
    modules = {path: Module(source, options, path, premises[path]) for path, source in sources.items()}
    program = Program(modules, EVALUATOR, walks)
    for module in modules.values():
        bind_globals(module)
    walks.begin({path: module.environment for path, module in modules.items()})
    functions = [(m, f) for m in program.modules.values() for f in m.symbols.functions.values()]
    kernels = [pair for pair in functions if kernel_outputs.is_traced(*pair)]
    kernels.sort(key=lambda pair: called_by_kernel(*pair))
    others = [pair for pair in functions if not kernel_outputs.is_traced(*pair)]
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
    return modules


def _walk_variants(module: Module, function: ast.FunctionDef) -> None:
    """Plan the edits of a function, and of each copy that serves other arguments."""
    decorators.rewrite(module, function)
    for number, parameters in enumerate(served(module, function)):
        variant = copy_of(module, function, number)
        if number:
            decorators.rewrite(module, variant)
        if variant not in module.summaries.analyzed:
            _walk_one(module, variant, parameters)


def _walk_named(program: Program) -> None:
    """Plan the edits of the kernel code that functions name, and no call has reached."""
    pending = [(m, f) for m in program.modules.values() for f in m.summaries.analyzed]
    while pending:
        for module, function in _named(program, *pending.pop()):
            if function in program.kernel_code and function not in {
                **module.summaries.analyzed,
                **module.summaries.flattened,
            }:
                _walk_one(module, function, {})
                pending.append((module, function))


def _named(program: Program, module: Module, function: ast.FunctionDef) -> list[tuple[Module, ast.FunctionDef]]:
    """Functions that a function names, in whatever expression, or that stand in a table of the module that it names."""
    found = []
    in_tables = named_through_tables(module.source.tree, (n.id for n in of_kinds(function, ast.Name)))
    for node in [*walk(function), *in_tables]:
        if isinstance(node, ast.Name | ast.Attribute):
            own = module.symbols.functions.get(node.id) if isinstance(node, ast.Name) else None
            other = program.function(module, node)
            found += [(module, own)] if own is not None else [other] if other is not None else []
    return found


def _walk_one(module: Module, function: ast.FunctionDef, parameters: Parameters) -> None:
    refusal = module.program.draft.attempt(walk_function, module, function, parameters)
    if isinstance(refusal, Refuse):
        module.report(refusal)
