"""Which local names of a function surely hold a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .names import Function, Module, parameters

MAKERS = frozenset(f"nki.language.{name}" for name in ("ndarray", "zeros", "shared_constant", "shared_identity_matrix"))
"""Functions that return a tensor."""

OPERANDS = frozenset(
    "dst src data data0 data1 data2 stationary moving stationary_scale moving_scale dst_scale on_true_tile predicate "
    "reduce_res src_buffer index indices vals segment_ids src_seeds dst_idx".split()
)
"""Parameters of instructions that take a tensor and nothing else."""

VIEWS = frozenset({"ap", "reshape", "view"})


def tensor_names(function: Function, module: Module) -> frozenset[str]:
    """Names that hold a tensor wherever they are bound.

    A parameter counts when it is never bound again and some instruction takes it as a whole operand.
    """
    operands = _whole_operands(function, module)
    bound: dict[str, list[ast.expr | None]] = {}
    for name, value in _bindings(module.own_nodes(function)):
        bound.setdefault(name, []).append(value)
    found = {
        parameter.arg for parameter in parameters(function) if parameter.arg not in bound and parameter.arg in operands
    }
    local = frozenset(bound) | {parameter.arg for parameter in parameters(function)}
    passed = {parameter.arg for parameter in parameters(function)}
    while True:
        more = {
            name
            for name, values in bound.items()
            if name not in found | passed
            and any(not _is_assigned_instruction(value, module, local) for value in values)
            and all(_makes_tensor(value, module, local, found) for value in values)
        }
        if not more:
            return frozenset(found)
        found |= more


def _bindings(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr | None]]:
    """Every name that ``nodes`` bind with the value it gets; ``None`` where the value is not a plain expression."""
    plain: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    plain.add(id(target))
                    yield target.id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            plain.add(id(node.target))
            if node.value is not None:
                yield node.target.id, node.value
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            plain.add(id(node.target))
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in plain:
            yield node.id, None


def _makes_tensor(value: ast.expr | None, module: Module, local: frozenset[str], known: set[str]) -> bool:
    if isinstance(value, ast.Name):
        return value.id in known
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Name) and value.value.id in known
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Attribute) and value.func.attr in VIEWS:
        return isinstance(value.func.value, ast.Name) and value.func.value.id in known
    return module.qualified(value.func, local) in MAKERS or _is_assigned_instruction(value, module, local)


def _is_assigned_instruction(value: ast.expr | None, module: Module, local: frozenset[str]) -> bool:
    """``x = nisa.f(...)``: the front end takes ``x`` for the destination, so ``x`` stays what it was."""
    name = module.qualified(value.func, local) if isinstance(value, ast.Call) else None
    return (name or "").startswith("nki.isa.") and name != "nki.isa.register_alloc"


def _whole_operands(function: Function, module: Module) -> set[str]:
    """Names that an instruction of ``function`` takes as a whole operand."""
    return {
        keyword.value.id
        for node in module.own_nodes(function)
        if isinstance(node, ast.Call) and (module.qualified(node.func) or "").startswith("nki.isa.")
        for keyword in node.keywords
        if keyword.arg in OPERANDS and isinstance(keyword.value, ast.Name)
    }
