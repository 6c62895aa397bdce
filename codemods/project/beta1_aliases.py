"""Modules of Beta 1 that host code still uses, beside kernels that use those of Beta 2 under the same names.

``nl.nc(2)`` is left in host code, and the kernels have moved to ``nki.language``: each read keeps the binding that it
had, so the old module stays imported under a name of its own, ``nl_beta1``.
"""

from __future__ import annotations

import ast

from ..expr.emission import New
from ..syntax.names import BETA2, canonical, dotted
from ..syntax.nodes import SIMPLE, parents_of
from .leftovers import left_names, report_name
from .program import Module
from .usage import names_left

MODULES = {root: BETA2[root] for root in ("nki", "nl", "nisa")}
"""The modules that both versions have, by canonical name."""


def beta1_aliases(module: Module) -> dict[str, str]:
    """The names of modules that must stay those of Beta 1: each with the name that host code gets for it.

    That is its own name where nothing else uses it.
    """
    uses: dict[str, list[ast.expr]] = {}
    for node, kernel_code in left_names(module):
        chain = dotted(node)
        item = module.symbols.imports[chain[0]] if chain is not None else None
        if (
            item is not None
            and not kernel_code
            and canonical(item.path) in MODULES
            and item.name not in module.symbols.rebound
        ):
            uses.setdefault(item.name, []).append(node)
    parents = parents_of(module.source.tree)
    places = {name: [(node, _statement(parents, node)) for node in nodes] for name, nodes in uses.items()}
    aliases = {name: module.fresh(f"{name}_beta1") for name in uses if _needs_alias(module, name, places[name])}
    statements = [s for name in aliases for _, s in places[name]]
    for statement in dict.fromkeys(statements):
        found = [(node, alias) for name, alias in aliases.items() for node, s in places[name] if s is statement]
        for node, _ in found:
            report_name(module, node)
        names = sorted(((_root(node), alias) for node, alias in found), key=lambda pair: module.source.span(pair[0]))
        module.plan.edits.replaced[statement] = [New(module.source.segment(statement, names), as_is=True)]
        module.touch(statement)
    return {name: aliases.get(name, name) for name in uses}


def _needs_alias(module: Module, name: str, places: list[tuple[ast.expr, ast.stmt]]) -> bool:
    """Do others use a module under its own name, which statements that host code keeps can call otherwise?"""
    edits = module.plan.edits
    hidden: dict[ast.AST, str] = {node: "None" for node, _ in places}
    edits.expressions |= hidden
    shared = name in names_left(module)
    for node in hidden:
        del edits.expressions[node]
    return shared and not any(not isinstance(s, SIMPLE) or s in edits.replaced for _, s in places)


def _statement(parents: dict[ast.AST, ast.AST], node: ast.AST) -> ast.stmt:
    while not isinstance(node, ast.stmt):
        node = parents[node]
    return node


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node
