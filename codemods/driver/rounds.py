"""Rounds over modules that call each other, until their calls tell nothing new of any function."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ..expr.emission import Refuse
from ..expr.values import Parameters
from ..lower import inner_kernels
from ..model import Options
from ..plan.grids.rewriting import Relaunched
from ..plan.same_text import copies_needed
from ..plan.variants import copy_of, report_other_uses, served, variants_of
from ..project.program import Module, Position, Program, Resized
from ..project.vendor_kernels import Homes
from ..render.vector_calls import drop_followed
from ..rules import decorators, kernel_classes, kernel_outputs
from ..syntax.node_index import of_kinds, walk
from ..syntax.source import Source, is_expanded
from .environment import bind_globals
from .evaluator import EVALUATOR
from .functions import walk_function


@dataclass(frozen=True)
class Given:
    """What all rounds over some modules know.

    What became of their launch grids, the modules that have what each imports of ``neuronxcc``, the tensors that become
    lists, and the index vectors whose sizes have names.
    """

    grids: Mapping[str, Relaunched]
    homes: Mapping[str, Homes]
    to_list: dict[Position, str]
    resized: frozenset[Resized]


Variants = dict[ast.FunctionDef, list[Parameters]]
"""What the calls of each function pass: one for each of its variants."""


def planned(
    sources: dict[str, Source], options: Options, given: Given, variants: Variants
) -> tuple[list[Module], Variants]:
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


def _is_settled(modules: Mapping[str, Module], before: Variants, variants: Variants) -> bool:
    """Would another round be as this one? ``variants`` are what its calls told, ``before`` what it was read with.

    What calls tell of copies says nothing: each round makes new ones.
    """
    own = {f for module in modules.values() for f in of_kinds(module.source.tree, ast.FunctionDef)}
    known = [{f: told for f, told in found.items() if f in own} for found in (before, variants)]
    return known[0] == known[1] or all(_rewritten_for(m, f) == variants[f] for m in modules.values() for f in m.calls)


def _program(modules: dict[str, Module], given: Given) -> Program:
    """The modules before a round, with what is known of them."""
    program = Program(modules, EVALUATOR)
    for path, module in modules.items():
        module.program, module.resized, grid = program, given.resized, given.grids[path]
        module.reviewed, module.covered, module.counts = grid.reviewed, grid.covered, grid.counts
        module.homes = given.homes.get(path, {})
    return program


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
        bind_globals(module)
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
