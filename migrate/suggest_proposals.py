"""First cases for a kernel from its source: sizes that its asserts allow, plausible and small ones first."""

from __future__ import annotations

import ast
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nki_migrate.runtime.cases import Case, DtypeSpec, TensorSpec

from .suggest_calls import tensor
from .suggest_facts import Facts, facts_of, holds, parameters
from .suggest_objects import class_of, classes_of, objects

_SIZES = (128, 256, 512, 64, 2, 1, 32, 4, 1024, 8, 2048, 16)
_OUTER_SIZES = (2, 1, 4, 8, 16, 3, 128, 256, 32, 64, 512, 1024)
"""For dimensions that are only ever before the last two: batches and blocks."""
_NAMED_SIZES = (
    (r"filter|kernel", (3, 2, 1, 5)),
    (r"height|width", (8, 16, 12, 32, 6, 4, 64, 128)),
    (r"channel", (128, 256, 512, 64, 32, 1)),
)
"""For dimensions whose name says what they are, those of convolutions: small images, many channels."""
_RANKS = (2, 3, 1, 4)
_ATTEMPTS = 2000
"""Combinations of sizes that are looked at, before any runs."""
_TIMES = (2, 1, 0)
"""How often the loops of a proposal run at least: twice shows most, and one that does not run shows nothing."""
_SECONDS = 0.5
"""For one choice of ranks: errors tell more than a long search of what the asserts allow."""
MAX_ELEMENTS = 1 << 23


def _tensors(required: Sequence[str], facts: Facts, annotated: Mapping[str, str]) -> list[str]:
    """The parameters that are tensors; where nothing tells it of any, all that do not seem to be numbers or types."""
    known = {*facts.tensors, *facts.shapes, *(name for name, text in annotated.items() if "ensor" in text)}
    tensors = [name for name in required if name in known]
    return tensors or [name for name in required if not ("dtype" in name or annotated.get(name) in _PLAIN)]


def proposed_cases(path: Path, tree: ast.Module, kernel: ast.FunctionDef) -> Iterator[Case]:
    """Cases whose sizes the asserts allow; where they allow none of those that were looked at, plain ones."""
    facts = facts_of(tree, kernel)
    defaults = _defaults(kernel)
    classes = classes_of(path, tree)
    open_ones = [name for name in parameters(kernel) if name not in defaults]
    typed = {name: objects(known, classes) for name in open_ones if (known := class_of(kernel, name, classes))}
    required = [name for name in open_ones if not typed.get(name)]
    annotated = _annotated(kernel)
    tensors = _tensors(required, facts, annotated)
    others = [name for name in required if name not in tensors]
    scalars = {name: _scalar(name, annotated.get(name, "")) for name in others}
    variants = _variants(scalars, {name: values for name, values in typed.items() if values})
    outputs = _outputs(kernel)
    for shapes in _shapes(tensors, facts, {**defaults, **scalars}):
        for variant in variants:
            for case in _cases(path, kernel.name, shapes, variant, facts):
                yield _with_outputs(case, outputs)


_PLAIN: dict[str, object] = {"int": 2, "bool": False, "float": 1.0, "str": "", "tuple": (2, 2), "list": [2, 2]}


def _annotated(kernel: ast.FunctionDef) -> dict[str, str]:
    arguments = (*kernel.args.posonlyargs, *kernel.args.args, *kernel.args.kwonlyargs)
    return {a.arg: ast.unparse(a.annotation) for a in arguments if a.annotation is not None}


def _outputs(kernel: ast.FunctionDef) -> set[str]:
    """The parameters that a kernel without a result stores to."""
    nodes = list(ast.walk(kernel))
    if any(isinstance(node, ast.Return) and node.value is not None for node in nodes):
        return set()
    stores = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func).rpartition(".")[2] == "store"]
    targets = [store.args[0] for store in stores if store.args]
    return {ast.unparse(target.value if isinstance(target, ast.Subscript) else target) for target in targets}


def _with_outputs(case: Case, names: set[str]) -> Case:
    args = {
        name: replace(value, output=True, fill="zeros") if name in names and isinstance(value, TensorSpec) else value
        for name, value in case.args.items()
    }
    return replace(case, args=args)


def _shapes(
    tensors: Sequence[str], facts: Facts, scalars: Mapping[str, object]
) -> Iterator[dict[str, tuple[int, ...]]]:
    """Shapes of all tensors that the asserts allow, else the preferred ones of each choice of ranks."""
    found = False
    plain: list[dict[str, tuple[int, ...]]] = []
    for ranks in _ranks(tensors, facts):
        dims = _dimensions(tensors, ranks, facts)
        inner = {dim for each in dims.values() for dim in each[-2:]}
        symbols = sorted({dim for each in dims.values() for dim in each if isinstance(dim, str)})
        preferred = {symbol: _preferred(symbol, symbol in inner) for symbol in symbols}
        first = {symbol: sizes[0] for symbol, sizes in preferred.items()}
        plain.append({name: _sized(each, first) for name, each in dims.items()})
        for least in _TIMES:
            running = facts.with_loops(least)
            for sizes in _assignments(_alone(preferred, running, scalars), running, scalars):
                found = True
                yield {name: _sized(each, sizes) for name, each in dims.items()}
    if not found:
        yield from plain


def _dimensions(tensors: Sequence[str], ranks: Mapping[str, int], facts: Facts) -> dict[str, list[str | int]]:
    """The dimensions of each tensor; those that asserts say are equal have one name."""
    same = facts.same()
    known = {name: facts.shapes.get(name) or [f"{name}{n}" for n in range(ranks[name])] for name in tensors}
    return {name: [same.get(dim, dim) if isinstance(dim, str) else dim for dim in dims] for name, dims in known.items()}


def _preferred(symbol: str, is_inner: bool) -> Sequence[int]:
    """The sizes to try for a dimension, by its name, and by whether it is one of the last two of a tensor."""
    named = (sizes for pattern, sizes in _NAMED_SIZES if re.search(pattern, symbol.lower()))
    return next(named, _SIZES if is_inner else _OUTER_SIZES)


def _alone(
    preferred: Mapping[str, Sequence[int]], facts: Facts, scalars: Mapping[str, object]
) -> dict[str, Sequence[int]]:
    """The sizes of each dimension that nothing excludes whatever the others are: ``n % 128 == 0``."""
    return {
        symbol: [size for size in sizes if holds(facts, {symbol: size}, _numbers(scalars))] or sizes
        for symbol, sizes in preferred.items()
    }


def _sized(dims: Sequence[str | int], sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(dim if isinstance(dim, int) else sizes[dim] for dim in dims)


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


def _scalar(name: str, annotation: str) -> object:
    """A value for a parameter that is no tensor, by its name and its annotation."""
    if "dtype" in name:
        return DtypeSpec("float32")
    if "eps" in name:
        return 1e-5
    kind = annotation.partition("[")[0].lower()
    if kind in _PLAIN:
        return _PLAIN[kind]
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
    values = _numbers(scalars)
    looked_at, ends = 0, time.process_time() + _SECONDS
    for total in range(len(_SIZES) * max(len(symbols), 1)):
        for choice in _compositions(total, len(symbols)):
            if any(index >= len(sizes) for index, sizes in zip(choice, symbols.values(), strict=True)):
                continue
            looked_at += 1
            if looked_at > _ATTEMPTS or time.process_time() > ends:
                return
            sizes = {symbol: symbols[symbol][index] for symbol, index in zip(symbols, choice, strict=True)}
            if holds(facts, sizes, values):
                yield sizes
        if not symbols:
            return


def _numbers(scalars: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in scalars.items() if isinstance(value, (int, float))}


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
    if sum(math.prod(shape) for shape in shapes.values()) > MAX_ELEMENTS:
        return
    args: dict[str, object] = {name: tensor(name, shape) for name, shape in shapes.items()}
    args.update(scalars)
    for extent in (2, 1) if facts.axes else (0,):
        yield Case(kernel, "", str(path), grid=(extent,) * facts.axes, args=args)
