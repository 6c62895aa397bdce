"""``nki-migrate cases suggest FILE``: cases proposed from asserts, documented shapes and call sites; those that run."""

from __future__ import annotations

import ast
import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
from nki_migrate.runtime.cases import Case, DtypeSpec, TensorSpec
from nki_migrate.runtime.compare import Failure, Run
from nki_migrate.runtime.messages import Kernels, Request
from nki_migrate.runtime.numerics import DTYPES
from nki_migrate.runtime.pool import Pool, pool

from .case_text import case_toml
from .errors import InputError
from .judging import Limits
from .suggest_facts import Facts, facts_of, holds, parameters
from .suggest_objects import class_of, classes_of, objects, tree_beside

_SIZES = (128, 256, 512, 64, 2, 1, 32, 4, 1024, 8, 2048, 16)
_OUTER_SIZES = (2, 1, 4, 8, 16, 3, 128, 256, 32, 64, 512, 1024)
"""For dimensions that are only ever before the last two: batches and blocks."""
_RANKS = (2, 3, 1, 4)
_INDEX_WORDS = ("idx", "index", "indices", "ids", "table", "tokens", "_map", "lens")
_ATTEMPTS = 5000
"""Combinations of sizes that are looked at, before any runs."""
_MAX_ELEMENTS = 1 << 21
_CASES = 2


@dataclass(frozen=True)
class Budget:
    """For one kernel: seconds in all, and the limits of one run."""

    seconds: float
    limits: Limits


def run(file: str, kernels: Sequence[str], budget: Budget, jobs: int | None) -> int:
    """Print cases that run as TOML; 0 when each kernel has one, else 1. Raises :class:`InputError` without a kernel."""
    if not os.path.isfile(file):
        raise InputError(f"{file}: no such file")
    with pool(jobs) as workers:
        reply = workers.submit(Request("kernels", file)).result()
        if isinstance(reply, Failure):
            raise InputError(f"{reply.file}:{reply.line}: {reply.message}" if reply.line else reply.message)
        names = [k.name for k in reply.kernels if not k.sub_kernel] if isinstance(reply, Kernels) else []
        unknown = sorted(set(kernels) - set(names))
        if unknown or not names:
            asked = f" '{unknown[0]}'" if unknown else ""
            raise InputError(f"{file} has no kernel{asked}: it has {', '.join(names) or 'none'}")
        missing = 0
        for name in names:
            if not kernels or name in kernels:
                missing += not _suggested(workers, file, name, budget)
    return 1 if missing else 0


def _suggested(workers: Pool, file: str, kernel: str, budget: Budget) -> int:
    """Print the cases found for a kernel; how many.

    Files of one folder share a file of cases and may define kernels of one name: the name of a case tells its file.
    """
    path = Path(file)
    tree = ast.parse(path.read_bytes(), file)
    definition = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == kernel), None)
    if definition is None:
        click.echo(f"{kernel}: its definition is not in {file}: record its launches (nki-migrate record)", err=True)
        return 0
    cases = itertools.chain(called_cases(path, tree, definition), proposed_cases(path, tree, definition))
    found, tried, problem = _running(workers, file, cases, budget)
    for number, case in enumerate(found, 1):
        click.echo(case_toml(replace(case, name=f"suggested {number} ({path.name})"), path.parent.absolute()))
    if not found:
        why = f", the last one failed: {problem}" if problem else ""
        click.echo(f"{kernel}: none of {tried} proposals runs{why}", err=True)
    return len(found)


def _running(workers: Pool, file: str, cases: Iterator[Case], budget: Budget) -> tuple[list[Case], int, str]:
    """Those of the first cases that run, how many were tried, and what was wrong with the last of the others."""
    deadline = time.monotonic() + budget.seconds
    found: list[Case] = []
    tried, problem = 0, ""
    while len(found) < _CASES and time.monotonic() < deadline:
        batch = list(itertools.islice(cases, 4))
        if not batch:
            break
        seconds = max(min(budget.limits.seconds, deadline - time.monotonic()), 1.0)
        asked = [workers.submit(Request("run", file, case, "gen3", seconds, budget.limits.memory)) for case in batch]
        for case, future in zip(batch, asked, strict=True):
            reply = future.result()
            tried += 1
            if isinstance(reply, Run) and reply.outputs:
                found.append(case)
            elif isinstance(reply, Failure):
                problem = reply.message
    return found[:_CASES], tried, problem


# --- proposals -------------------------------------------------------------------------------------------------------


def proposed_cases(path: Path, tree: ast.Module, kernel: ast.FunctionDef) -> Iterator[Case]:
    """Cases whose sizes the asserts allow, plausible and small ones first."""
    facts = facts_of(tree, kernel)
    defaults = _defaults(kernel)
    classes = classes_of(path, tree)
    open_ones = [name for name in parameters(kernel) if name not in defaults]
    typed = {name: objects(known, classes) for name in open_ones if (known := class_of(kernel, name, classes))}
    required = [name for name in open_ones if not typed.get(name)]
    tensors = [name for name in required if name in facts.tensors or name in facts.shapes]
    others = [name for name in required if name not in tensors]
    if not tensors:
        tensors, others = [name for name in others if "dtype" not in name], []
    scalars = {name: _scalar(name) for name in others}
    variants = _variants(scalars, {name: values for name, values in typed.items() if values})
    for ranks in _ranks(tensors, facts):
        shapes = {name: facts.shapes.get(name) or [f"{name}{n}" for n in range(ranks[name])] for name in tensors}
        symbols = sorted({dim for dims in shapes.values() for dim in dims if isinstance(dim, str)})
        inner = {dim for dims in shapes.values() for dim in dims[-2:]}
        preferred = {symbol: _SIZES if symbol in inner else _OUTER_SIZES for symbol in symbols}
        for sizes in _assignments(preferred, facts, {**defaults, **scalars}):
            known = {name: tuple(d if isinstance(d, int) else sizes[d] for d in dims) for name, dims in shapes.items()}
            for variant in variants:
                yield from _cases(path, kernel.name, known, variant, facts)


def _variants(scalars: Mapping[str, object], typed: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """The arguments that are no tensors: with the first object of each class, then one of them changed at a time."""
    first = {**scalars, **{name: values[0] for name, values in typed.items()}}
    return [first, *({**first, name: value} for name, values in typed.items() for value in values[1:])]


def _defaults(kernel: ast.FunctionDef) -> dict[str, object]:
    """Parameters with a default, and its value where it is a plain one."""
    arguments = kernel.args
    positional = [*arguments.posonlyargs, *arguments.args]
    given = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
    given += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    return {argument.arg: value.value if isinstance(value, ast.Constant) else None for argument, value in given}


def _scalar(name: str) -> object:
    """A value for a parameter that is no tensor, by its name."""
    if "dtype" in name:
        return DtypeSpec("float32")
    if "eps" in name:
        return 1e-5
    if name.startswith(("use_", "is_", "do_", "has_", "enable")):
        return False
    return 1.0 if "scale" in name or "alpha" in name else 2


def _ranks(tensors: Sequence[str], facts: Facts) -> Iterator[dict[str, int]]:
    """Ranks of the tensors whose rank the source does not tell: all the same first."""
    open_ones = [name for name in tensors if not facts.shapes.get(name)]
    for rank in _RANKS if open_ones else (0,):
        yield dict.fromkeys(open_ones, rank)


def _assignments(
    symbols: Mapping[str, Sequence[int]], facts: Facts, scalars: Mapping[str, object]
) -> Iterator[dict[str, int]]:
    """Sizes of the symbols that satisfy the asserts, those nearest to the preferred ones first."""
    values = {name: value for name, value in scalars.items() if isinstance(value, (int, float))}
    looked_at = 0
    for total in range(len(_SIZES) * max(len(symbols), 1)):
        for choice in _compositions(total, len(symbols)):
            looked_at += 1
            if looked_at > _ATTEMPTS:
                return
            sizes = {symbol: symbols[symbol][index] for symbol, index in zip(symbols, choice, strict=True)}
            if holds(facts, sizes, values):
                yield sizes
        if not symbols:
            return


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All tuples of ``parts`` indices of sizes with the sum ``total``."""
    if parts <= 1:
        if parts == 1 and total < len(_SIZES):
            yield (total,)
        elif parts == 0 and total == 0:
            yield ()
        return
    for first in range(min(total, len(_SIZES) - 1) + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def _cases(
    path: Path, kernel: str, shapes: Mapping[str, tuple[int, ...]], scalars: Mapping[str, object], facts: Facts
) -> Iterator[Case]:
    elements = 0
    for shape in shapes.values():
        count = 1
        for size in shape:
            count *= size
        elements += count
    if elements > _MAX_ELEMENTS:
        return
    args: dict[str, object] = {name: _tensor(name, shape) for name, shape in shapes.items()}
    args.update(scalars)
    for extent in (1, 2) if facts.axes else (0,):
        yield Case(kernel, "", str(path), grid=(extent,) * facts.axes, args=args)


def _tensor(name: str, shape: tuple[int, ...], dtype: str = "float32") -> TensorSpec:
    if any(word in name.lower() for word in _INDEX_WORDS):
        return TensorSpec(shape, "int32", "integers", 0, 1)
    return TensorSpec(shape, dtype, "normal" if "float" in dtype else "integers")


# --- call sites ------------------------------------------------------------------------------------------------------


def called_cases(path: Path, tree: ast.Module, kernel: ast.FunctionDef) -> Iterator[Case]:
    """Cases from calls of the kernel in its file and in those beside it, with arguments made with literal shapes."""
    seen = set()
    for other in [path, *sorted(path.absolute().parent.glob("*.py"))]:
        if other.absolute() == path.absolute() and other is not path:
            continue
        calling = tree if other is path else tree_beside(other)
        for function in ast.walk(calling) if calling else ():
            if isinstance(function, (ast.FunctionDef, ast.Module)):
                for case in _calls_in(path, function, kernel):
                    if repr(case) not in seen:
                        seen.add(repr(case))
                        yield case


def _calls_in(path: Path, function: ast.FunctionDef | ast.Module, kernel: ast.FunctionDef) -> Iterator[Case]:
    made: dict[str, ast.expr] = {}
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                made[node.targets[0].id] = node.value
            if isinstance(node, ast.Call):
                case = _case_of_call(path, node, kernel, made)
                if case is not None:
                    yield case


def _case_of_call(path: Path, node: ast.Call, kernel: ast.FunctionDef, made: Mapping[str, ast.expr]) -> Case | None:
    function, arguments = node.func, list(node.args)
    grid: tuple[int, ...] = ()
    if isinstance(function, ast.Attribute) and function.attr == "simulate_kernel" and arguments:
        function = arguments.pop(0)
    if isinstance(function, ast.Subscript):
        extents = function.slice.elts if isinstance(function.slice, ast.Tuple) else [function.slice]
        if not all(isinstance(e, ast.Constant) and isinstance(e.value, int) for e in extents):
            return None
        grid = tuple(e.value for e in extents if isinstance(e, ast.Constant) and isinstance(e.value, int))
        function = function.value
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name != kernel.name:
        return None
    given = dict(zip(parameters(kernel), arguments, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    args: dict[str, object] = {}
    for parameter, expression in given.items():
        value = _literal(
            parameter, made.get(expression.id, expression) if isinstance(expression, ast.Name) else expression
        )
        if value is None:
            return None
        args[parameter] = value
    return Case(kernel.name, "", str(path), grid=grid, args=args) if args else None


def _literal(name: str, expression: ast.expr) -> object | None:
    """A number, text, or a tensor made by a call with a literal shape; ``None`` for anything else."""
    if isinstance(expression, ast.Constant) and isinstance(expression.value, (bool, int, float, str)):
        return expression.value
    if not isinstance(expression, ast.Call):
        return None
    shape: tuple[int, ...] = ()
    dtype = "float32"
    for node in ast.walk(expression):
        if isinstance(node, ast.Attribute) and node.attr in DTYPES:
            dtype = node.attr
        if isinstance(node, ast.Call) and not shape:
            items = node.args[0].elts if node.args and isinstance(node.args[0], (ast.Tuple, ast.List)) else node.args
            sizes = [item.value for item in items if isinstance(item, ast.Constant)]
            if sizes and len(sizes) == len(items) and all(type(size) is int and size > 0 for size in sizes):
                shape = tuple(size for size in sizes if isinstance(size, int))
    return _tensor(name, shape, dtype) if shape else None
