"""What is still Beta 1 once everything is planned: each place gets a finding, in host code too."""

from __future__ import annotations

import ast
import re
from collections.abc import Container
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.beta1 import MODULES

from ..expr.emission import Refuse
from ..expr.tables import beta2_has, beta2_lacks, has_again, refusal_note
from ..model import NOT_THE_SAME
from ..syntax.codes import LAUNCH_GRID as GRID
from ..syntax.codes import UNSUPPORTED as CODE
from ..syntax.names import BETA2, canonical, dotted
from ..syntax.node_index import children, walk
from .vendor_kernels import advice, home_of, under_review

if TYPE_CHECKING:
    from .program import Module

_ROOTS = {*BETA2, "ncc", "nccl"}


def report(module: Module) -> None:
    """Report every name of Beta 1 that is left and that no finding covers yet, and launches on grids that are gone."""
    _report_inner_launches(module)
    covered = {finding.line for finding in module.plan.findings} | module.premises.covered
    inside = _inside_of_left(module, covered)
    for node, walked in _left(module):
        if isinstance(node, ast.Call):
            if node.lineno not in covered:
                _launch(module, node)
            continue
        name = _beta1_name(module, node)
        if name is not None and node in inside and has_again(module.options, name):
            continue
        gone = name is not None and (beta2_lacks(name) or not (walked or beta2_has(name)))
        if name is not None and gone and getattr(node, "lineno", 0) not in covered:
            module.report(_finding(module, node, name))


def _inside_of_left(module: Module, covered: Container[int]) -> set[ast.AST]:
    """What stands in loops and branches that are left alone for what a finding says of their first lines.

    None of it runs: whatever the target has again may stay there, as it does in a statement without a body.
    """
    left = [s for s in module.plan.kept if isinstance(s, ast.For | ast.While | ast.If | ast.With)]
    told = [s for s in left if any(line in covered for line in range(s.lineno, max(s.lineno + 1, s.body[0].lineno)))]
    return {node for statement in told for node in walk(statement)}


def report_name(module: Module, node: ast.expr) -> None:
    """Report a name of Beta 1 that host code keeps, unless a finding covers it."""
    name = _beta1_name(module, node)
    if (
        name is not None
        and node.lineno not in {finding.line for finding in module.plan.findings} | module.premises.covered
    ):
        module.report(_finding(module, node, name))


def left_names(module: Module) -> list[tuple[ast.expr, bool]]:
    """Every name of Beta 1 that is left and that Beta 2 does not have, and whether it stands in kernel code."""
    found: list[tuple[ast.expr, bool]] = []
    kernels = {node for function in (*module.summaries.analyzed, *module.plan.left) for node in walk(function)}
    for node, walked in _left(module):
        name = _beta1_name(module, node) if isinstance(node, ast.expr) and not isinstance(node, ast.Call) else None
        if isinstance(node, ast.expr) and name is not None and (beta2_lacks(name) or not (walked or beta2_has(name))):
            found.append((node, node in kernels))
    return found


def _left(module: Module) -> list[tuple[ast.AST, bool]]:
    """Names (whole attribute chains) and calls of the code that is neither replaced nor under a finding already.

    The flag tells whether a rule read the statement and saw nothing to change.
    """
    edits = module.plan.edits
    found: list[tuple[ast.AST, bool]] = []
    pending: list[tuple[ast.AST, bool]] = [(module.source.tree, False)]
    while pending:
        node, walked = pending.pop()
        gone = node in edits.expressions or node in edits.replaced or node in edits.dropped_decorators
        left_alone = node in module.plan.kept and not hasattr(node, "body")
        if gone or left_alone or node in module.plan.left or isinstance(node, ast.Import | ast.ImportFrom):
            continue
        walked = (walked or node in module.summaries.analyzed) and node not in module.plan.kept
        if isinstance(node, ast.Call):
            found.append((node, walked))
        if dotted(node) is not None:
            found.append((node, walked))
            continue
        is_same = isinstance(node, ast.Call) and (node in module.plan.staying or _is_plain_jit(module, node))
        same = node.func if isinstance(node, ast.Call) and is_same else None
        pending.extend((child, walked) for child in children(node) if child is not same)
    return found


def _is_plain_jit(module: Module, node: ast.Call) -> bool:
    """``nki.jit(kernel)`` of a kernel that is rewritten with the module: both versions have it."""
    plain = all(k.arg == "platform_target" for k in node.keywords) and module.symbols.host_name(node.func) == "nki.jit"
    return plain and len(node.args) == 1 and means_kernel(module, node.args[0])


def means_kernel(module: Module, node: ast.expr) -> bool:
    """Is an expression a kernel of these files, whose name nothing in the module binds to something else?"""
    chain = dotted(node)
    bound = any(
        chain is None or (n.arg if isinstance(n, ast.arg) else n.id) == chain[0]
        for n in walk(module.source.tree)
        if isinstance(n, ast.arg) or (isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    )
    if chain is None or bound:
        return False
    own = module.symbols.functions.get(chain[0]) if not chain[1] else None
    imported = module.program.function(module, node)
    found = own if own is not None else imported[1] if imported is not None else None
    return found is not None and found in module.program.kernel_code


def _finding(module: Module, node: ast.AST, name: str) -> Refuse:
    """What is said of a Beta 1 name that is left."""
    chain = dotted(node)
    item = module.symbols.imports[chain[0] if chain is not None else ""]
    old, home = home_of(module.premises.homes, item)
    if home is not None and home.module:
        return under_review(node, item, old, home)
    help = refusal_note(name) if old in MODULES else f"{home.reason if home else refusal_note(name)}; {advice(old)}"
    return Refuse(node, CODE, f"{name} {NOT_THE_SAME}", help)


def _beta1_name(module: Module, node: ast.AST) -> str | None:
    """The canonical Beta 1 name that a chain means; ``None`` for other names and for a module itself."""
    chain = dotted(node)
    bound = module.symbols.imports.get(chain[0]) if chain is not None else None
    if chain is None or bound is None or not bound.is_nki:
        return None
    name = canonical(".".join((bound.path, *chain[1])))
    if re.fullmatch(r"neuronxcc\.__\w+__", name):
        return None  # the graph compiler's own version or path
    root, _, rest = name.partition(".")
    return name if rest or root not in _ROOTS else None


def _launch(module: Module, node: ast.Call) -> None:
    """``kernel[a, b](...)``: Beta 2 launches on one integer."""
    target = node.func
    if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)):
        return
    kernel = module.symbols.functions.get(target.value.id)
    grid = target.slice
    if _is_out_of_sight(module, target.value.id) and not (isinstance(grid, ast.Constant) and grid.value in (1, 2)):
        message = f"'{target.value.id}' is launched on a grid, and these files do not show what it makes of it"
        module.report(Refuse(node, GRID, message, "rewrite the file that defines it in the same run"))
    if kernel is not None and module.symbols.is_kernel(kernel) and isinstance(grid, ast.Tuple) and len(grid.elts) > 1:
        message = f"'{kernel.name}' is launched on a grid of {len(grid.elts)} dimensions"
        module.report(Refuse(node, GRID, message, "Beta 2 launches on one integer, the number of NeuronCores (1 or 2)"))


def _report_inner_launches(module: Module) -> None:
    """``Layer.kernel[n]`` of a kernel in a class or a function: all its programs do the same."""
    others = module.program.modules.values()
    kernels = {
        kernel.name for other in others for _, kernel in other.symbols.inner_kernels if kernel not in other.plan.left
    }
    for node in walk(module.source.tree):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name | ast.Attribute):
            continue
        name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
        if name in kernels and name not in module.symbols.functions:
            message = f"'{name}', a kernel in a class or a function, is launched on a grid"
            module.report(Refuse(node, GRID, message, "launch it without the grid: nothing in it asks for its place"))


def _is_out_of_sight(module: Module, name: str) -> bool:
    """Is a name one of ``neuronxcc``'s kernels that is imported now from a file that is not rewritten with this one?"""
    bound = module.symbols.imports.get(name)
    homes = {home.module for home in module.premises.homes.values()}
    hidden = name not in module.program.links[module.path]
    return bound is not None and bound.path.rpartition(".")[0] in homes and hidden
