"""Launches, ``kernel[grid](...)``: of which kernel, on what grid, on which cores."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...project.host import HARNESSES, Owner, assigned
from ...project.program import Module, Program
from ...syntax.node_index import children, of_kinds, walk
from .launch_names import calls_of_stored
from .questions import Function, bound_in, meant


@dataclass(frozen=True)
class Cores:
    """``nl.nc(2)`` on one axis: the cores take its programs in turns, or each one half of them.

    ``count`` is how many, as text: Beta 2 itself refuses a name that is neither 1 nor 2.
    """

    axis: int
    in_turns: bool
    count: str = "2"


@dataclass(frozen=True)
class Launch:
    """``kernel[grid]``, and the calls that give the arguments (none where they are not known).

    ``sizes`` are the expressions of the grid's sizes, ``None`` where only a name says them. ``cores`` are the physical
    cores that it asks for, ``None`` where it leaves them to the compiler; they are not ``clear`` where
    it asks for others than Beta 2 has.
    """

    module: Module
    kernel: Function
    subscript: ast.Subscript
    calls: tuple[ast.Call, ...]
    sizes: tuple[ast.expr, ...] | None
    cores: Cores | None
    clear: bool = True

    @property
    def is_cores_only(self) -> bool:
        """Is the grid one number of physical cores, as in Beta 2?"""
        if self.sizes is None or len(self.sizes) != 1:
            return False
        size = self.sizes[0]
        return is_nc(self.module, size) or (isinstance(size, ast.Constant) and size.value in (1, 2))


def launches(program: Program) -> Iterator[Launch]:
    """All launches of a program's kernels, in the order of the files."""
    for module in program.modules.values():
        calls = list(of_kinds(module.source.tree, ast.Call))
        direct = {call.func: call for call in calls}
        direct |= {c.args[0]: c for c in calls if c.args and module.symbols.host_name(c.func) == "nki.simulate_kernel"}
        made = _made(module)
        for node, owner in _owned(module.source.tree, module.source.tree):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                # What is no call may be any subscript: only what certainly is a kernel tells.
                name = node.value if isinstance(node.value, ast.Name) else None
                named = name is not None and (name.id in made or meant(program, module, name) is not None)
                kernel = _kernel(program, module, owner, node.value) if node in direct or named else None
                if kernel is not None:
                    given = (direct[node],) if node in direct else calls_of_stored(owner, node)
                    yield _launch(module, kernel, node, given, owner)


def _made(module: Module) -> set[str]:
    """Names that hold what a harness makes of a kernel, or another name's value."""
    assigned_ones = list(of_kinds(module.source.tree, ast.Assign))
    made = [n for n in assigned_ones if isinstance(n.value, ast.Name) or _harnessed(module, n.value) is not None]
    return {target.id for node in made for target in node.targets if isinstance(target, ast.Name)}


def _harnessed(module: Module, node: ast.expr) -> ast.expr | None:
    """The kernel that a call of a harness is of, ``benchmark(kernel)`` or ``benchmark(warmup=5)(kernel)``."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    options = node.func if isinstance(node.func, ast.Call) and not node.func.args else node
    return node.args[0] if module.symbols.host_name(options.func) in HARNESSES | {"nki.jit"} else None


def _owned(node: ast.AST, owner: Owner) -> Iterator[tuple[ast.AST, Owner]]:
    for child in children(node):
        inner = child if isinstance(child, ast.FunctionDef) else owner
        yield child, inner
        yield from _owned(child, inner)


def _kernel(
    program: Program, module: Module, owner: Owner, node: ast.expr, seen: tuple[str, ...] = ()
) -> Function | None:
    """The kernel that an expression means: by its name, another name of it, or in a harness."""
    if isinstance(node, ast.Call):
        inner = _harnessed(module, node)
        return _kernel(program, module, owner, inner, seen) if inner is not None else None
    local = isinstance(node, ast.Name) and isinstance(owner, ast.FunctionDef) and node.id in bound_in(owner)
    found = None if local else meant(program, module, node)
    if found is not None:
        return found if found[0].symbols.is_kernel(found[1]) else None
    if not isinstance(node, ast.Name) or node.id in seen:
        return None
    for place in dict.fromkeys((owner, module.source.tree)):
        values = assigned(place, node.id)
        if values:
            kernels = [_kernel(program, module, place, value, (*seen, node.id)) for value in values]
            return kernels[0] if all(kernel == kernels[0] for kernel in kernels) else None
    return None


def _launch(
    module: Module, kernel: Function, subscript: ast.Subscript, calls: tuple[ast.Call, ...], owner: Owner
) -> Launch:
    grid = subscript.slice
    if isinstance(grid, ast.Name):
        values = assigned(owner, grid.id) or assigned(module.source.tree, grid.id)
        grid = values[0] if len(values) == 1 and isinstance(values[0], ast.Tuple) else grid
    sizes: tuple[ast.expr, ...] | None = tuple(grid.elts) if isinstance(grid, ast.Tuple) else None
    if nc_count(module, grid) is not None or isinstance(grid, ast.Constant | ast.BinOp):
        sizes = (grid,)
    cores, clear = _cores(module, sizes or (grid,))
    return Launch(module, kernel, subscript, calls, sizes, cores, clear)


def is_nc(module: Module, node: ast.expr) -> bool:
    """``nl.nc(1)`` or ``nl.nc(2)``."""
    return nc_count(module, node) in (1, 2)


def nc_count(module: Module, node: ast.AST) -> int | None:
    """``n`` of ``nl.nc(n)``; 0 for an ``n`` that is no number here, ``None`` for anything else."""
    if not isinstance(node, ast.Call) or module.symbols.host_name(node.func) != "nl.nc":
        return None
    value = node.args[0] if len(node.args) == 1 and not node.keywords else None
    return value.value if isinstance(value, ast.Constant) and type(value.value) is int else 0


def _cores(module: Module, sizes: tuple[ast.expr, ...]) -> tuple[Cores | None, bool]:
    """The cores that a grid asks for; the flag is false where they cannot be told."""
    counts = [(axis, nc_count(module, n)) for axis, size in enumerate(sizes) for n in walk(size)]
    asked = [(axis, count) for axis, count in counts if count is not None and count != 1]
    if not asked:
        return None, True
    axis, count = asked[0]
    factors = _factors(module, sizes[axis])
    places = [place for place, factor in enumerate(factors) if nc_count(module, factor) == count]
    text = _count(factors[places[0]]) if places else ""
    if len(asked) > 1 or not text or len(places) != 1 or places[0] not in (0, len(factors) - 1):
        return None, False
    return Cores(axis, places[0] == len(factors) - 1, text), True


def _count(cores: ast.expr) -> str:
    """``n`` of ``nl.nc(n)`` as text: 2, or a name; empty for another number, and for what is computed."""
    value = cores.args[0] if isinstance(cores, ast.Call) and len(cores.args) == 1 else None
    is_two = isinstance(value, ast.Constant) and value.value == 2
    return ast.unparse(value) if value is not None and (is_two or isinstance(value, ast.Name)) else ""


def _factors(module: Module, size: ast.expr) -> list[ast.expr]:
    """``a`` and ``b`` of ``nl.spmd_dim(a, b)`` and of ``a * b``, outermost first."""
    if isinstance(size, ast.Call) and module.symbols.host_name(size.func) == "nl.spmd_dim":
        return [factor for part in size.args for factor in _factors(module, part)]
    if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult):
        return [*_factors(module, size.left), *_factors(module, size.right)]
    return [size]
