"""What the source of a kernel says about its arguments: ranks, names of dimensions, asserts, documented shapes.

Only reads: nothing is imported or run. Sizes are symbols (``K``) or numbers; a helper of the same file that is given an
argument is read for it, too.
"""

from __future__ import annotations

import ast
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from nki_migrate.runtime.spec.hardware import PARTITIONS

Dim = str | int
_CONSTANTS = {
    "pmax": PARTITIONS,
    "psum_fmax": 512,
    "gemm_stationary_fmax": 128,
    "gemm_moving_fmax": 512,
    "psum_min_align": 4,
    "sbuf_min_align": 1,
}
_OPERATORS: dict[type[ast.AST], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SHAPE = r"[\(\[]\s*([A-Za-z0-9_]+(?:\s*,\s*[A-Za-z0-9_]+)*)\s*,?\s*[\)\]]"
_DEPTH = 3
_RANGES = ("range", "affine_range", "sequential_range", "static_range")
_FUNCTIONS: dict[str, Callable[..., object]] = {
    "len": len,
    "min": min,
    "max": max,
    "int": int,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "np.ceil": math.ceil,
    "np.floor": math.floor,
}


class Unknown(Exception):
    """An expression whose value the source alone does not tell."""


@dataclass
class Facts:
    """``shapes``: parameter to its dimensions. ``tensors`` have tensor uses, ``asserts`` must hold.

    ``assigned`` are the values of local names in source order. ``loops`` are how often loops run. ``axes`` is the
    number of axes of the launch grid.
    """

    shapes: dict[str, list[Dim]] = field(default_factory=dict)
    tensors: set[str] = field(default_factory=set)
    asserts: list[ast.expr] = field(default_factory=list)
    assigned: list[tuple[str, ast.expr]] = field(default_factory=list)
    loops: list[ast.expr] = field(default_factory=list)
    axes: int = 0

    def with_loops(self, least: int) -> Facts:
        """These facts where every loop, too, must run ``least`` times or more."""
        return replace(self, asserts=[*self.asserts, *(_at_least(count, least) for count in self.loops)])

    def same(self) -> dict[str, str]:
        """Names of dimensions that asserts say are one size: each to the first of them."""
        first: dict[str, str] = {}
        known = {dim for dims in self.shapes.values() for dim in dims if isinstance(dim, str)}
        for test in self.asserts:
            if isinstance(test, ast.Compare) and all(isinstance(op, ast.Eq) for op in test.ops):
                names = [n.id for n in (test.left, *test.comparators) if isinstance(n, ast.Name) and n.id in known]
                for one, other in itertools.pairwise(names):
                    kept, gone = first.get(one, one), first.get(other, other)
                    first |= {name: kept for name in (*first, other) if first.get(name, name) == gone}
        return {name: kept for name, kept in first.items() if name != kept}


def _at_least(count: ast.expr, least: int) -> ast.expr:
    return ast.Compare(count, [ast.GtE()], [ast.Constant(least)])


def facts_of(tree: ast.Module, kernel: ast.FunctionDef) -> Facts:
    """The facts of a kernel, with those of the helpers that get its parameters."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    facts = Facts()
    _read(kernel, {name: name for name in parameters(kernel)}, functions, facts, _DEPTH)
    for name, dims in documented_shapes(ast.get_docstring(kernel) or "", parameters(kernel)).items():
        if len(facts.shapes.get(name, dims)) == len(dims):
            known = facts.shapes.get(name, dims)
            facts.shapes[name] = [a if isinstance(a, int) else b for a, b in zip(dims, known, strict=True)]
            facts.tensors.add(name)
    return facts


def parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def documented_shapes(text: str, names: list[str]) -> dict[str, list[Dim]]:
    """Shapes that a docstring gives in a line that begins with a parameter's name."""
    found: dict[str, list[Dim]] = {}
    for line in text.splitlines():
        match = re.match(r"[\s\-*:]*(?:param\s+)?[`'\"]*(\w+)", line)
        shapes = re.findall(_SHAPE, line[match.end() :]) if match and match[1] in names else []
        shape = next((text for text in shapes if "," in text or text.isdigit()), "")
        if match and shape:
            found.setdefault(match[1], [_dim(part.strip()) for part in shape.split(",")])
    return found


def _dim(text: str) -> Dim:
    return int(text) if text.isdigit() else text


def _read(
    function: ast.FunctionDef,
    names: Mapping[str, str],
    functions: Mapping[str, ast.FunctionDef],
    facts: Facts,
    depth: int,
) -> None:
    """Add what ``function`` says; ``names`` maps its own names to the kernel's parameters."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            _read_assignment(node.targets[0], node.value, names, facts)
        elif isinstance(node, ast.Assert):
            facts.asserts += _conjuncts(node.test)
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            facts.loops += _count_of(node.iter)
        elif isinstance(node, ast.Subscript):
            _read_subscript(node, names, facts)
        elif isinstance(node, ast.Attribute) and _parameter(node.value, names) and node.attr in ("shape", "dtype"):
            facts.tensors.add(names[ast.unparse(node.value)])
        elif isinstance(node, ast.Call):
            _read_call(node, names, functions, facts, depth)


def _count_of(iterable: ast.Call) -> list[ast.expr]:
    """How often a loop over ``range(n)``, or one like it, runs."""
    called = ast.unparse(iterable.func).rpartition(".")[2]
    return [iterable.args[0]] if called in _RANGES and len(iterable.args) == 1 else []


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _conjuncts(part)
    else:
        yield test


def _parameter(node: ast.expr, names: Mapping[str, str]) -> str | None:
    return names.get(node.id) if isinstance(node, ast.Name) else None


def _shape_owner(node: ast.expr, names: Mapping[str, str]) -> str | None:
    """The parameter whose ``.shape`` the expression is."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return _parameter(node.value, names)
    return None


def _read_assignment(target: ast.expr, value: ast.expr, names: Mapping[str, str], facts: Facts) -> None:
    owner = _shape_owner(value, names)
    if owner and isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in target.elts):
        known = facts.shapes.get(owner, [])
        dims = [e.id if isinstance(e, ast.Name) and e.id != "_" else f"{owner}{n}" for n, e in enumerate(target.elts)]
        if not known or len(known) < len(dims):
            facts.shapes[owner] = list(dims)
        else:
            facts.assigned += [(d, ast.Name(str(k))) for d, k in zip(dims, known, strict=False) if isinstance(k, str)]
    elif isinstance(target, ast.Name):
        facts.assigned.append((target.id, value))


def _read_subscript(node: ast.Subscript, names: Mapping[str, str], facts: Facts) -> None:
    owner = _shape_owner(node.value, names)
    if owner and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
        dims = facts.shapes.setdefault(owner, [])
        while len(dims) <= node.slice.value:
            dims.append(f"{owner}{len(dims)}")
        return
    owner = _parameter(node.value, names)
    if owner:
        facts.tensors.add(owner)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        dims = facts.shapes.setdefault(owner, [])
        if not any(isinstance(index, ast.Constant) and index.value in (None, ...) for index in indices):
            while len(dims) < len(indices):
                dims.append(f"{owner}{len(dims)}")


def _read_call(
    node: ast.Call, names: Mapping[str, str], functions: Mapping[str, ast.FunctionDef], facts: Facts, depth: int
) -> None:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    first = _parameter(node.args[0], names) if node.args else None
    if called in ("load", "load_transpose2d", "dma_copy") and first:
        facts.tensors.add(first)
    if called in ("program_id", "num_programs"):
        axes = [
            argument.value
            for argument in (*node.args, *(keyword.value for keyword in node.keywords))
            if isinstance(argument, ast.Constant) and isinstance(argument.value, int)
        ]
        facts.axes = max(facts.axes, 1, *(axis + 1 for axis in axes))
    helper = functions.get(called) if isinstance(node.func, ast.Name) else None
    if helper is None or depth == 0:
        return
    given = dict(zip(parameters(helper), node.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    passed = {
        name: names[value.id] for name, value in given.items() if isinstance(value, ast.Name) and value.id in names
    }
    if passed:
        _read(helper, passed, functions, facts, depth - 1)


# --- values ----------------------------------------------------------------------------------------------------------


def holds(facts: Facts, sizes: Mapping[str, int], scalars: Mapping[str, object]) -> bool:
    """Do all asserts hold that can be decided with these sizes of dimensions?"""
    values: dict[str, object] = {**scalars, **sizes}
    for name, dims in facts.shapes.items():
        values[f"{name}.shape"] = tuple(dim if isinstance(dim, int) else sizes.get(dim, dim) for dim in dims)
    for name, expression in facts.assigned:
        try:
            values.setdefault(name, evaluated(expression, values))
        except Unknown:
            continue
    for test in facts.asserts:
        try:
            if not evaluated(test, values):
                return False
        except Unknown:
            continue
    return True


def evaluated(node: ast.expr, values: Mapping[str, object]) -> object:
    """The value of an expression of sizes. Raises :class:`Unknown`."""
    try:
        return _evaluated(node, values)
    except (TypeError, ValueError, ZeroDivisionError, IndexError, KeyError, OverflowError) as error:
        raise Unknown from error


def _evaluated(node: ast.expr, values: Mapping[str, object]) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Name, ast.Attribute)):
        text = ast.unparse(node)
        if text in values:
            return values[text]
        return _CONSTANTS[node.attr] if isinstance(node, ast.Attribute) else values[text]
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_evaluated(node.left, values), _evaluated(node.right, values))
    if isinstance(node, ast.Compare):
        items = [_evaluated(item, values) for item in (node.left, *node.comparators)]
        pairs = zip(node.ops, items, items[1:], strict=False)
        return all(_OPERATORS[type(op)](a, b) for op, a, b in pairs)
    if isinstance(node, ast.BoolOp):
        results = [bool(_evaluated(value, values)) for value in node.values]
        return all(results) if isinstance(node.op, ast.And) else any(results)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _evaluated(node.value, values)[node.slice.value]  # type: ignore[index]  # what is no container ends the evaluation
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_evaluated(item, values) for item in node.elts)
    if isinstance(node, ast.Call) and not node.keywords:
        return _FUNCTIONS[ast.unparse(node.func)](*(_evaluated(item, values) for item in node.args))
    raise KeyError(ast.unparse(node))
