"""Sizes that a kernel computes as a difference and makes tensors or tiles of: ``OW = IW - B + 1``.

They are positive, although an assertion of a multiple (``OH * OW % 512 == 0``) lets them be zero, and a loop that
halves one of zero never ends. What stands under a condition says nothing: what is left of tiles may be nothing.
"""

from __future__ import annotations

import ast
import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from nki_migrate.runtime.cases import Case
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.compare.trace import Compared

from .suggest_expressions import Unknown, evaluated
from .suggest_extents import known_values

_MADE = ("ndarray", "zeros", "ones", "empty", "full")
"""What makes a tensor of the shape that it is given first."""
_LEAVES = (ast.Return, ast.Continue, ast.Break)
_CHOOSES = (ast.IfExp, ast.Lambda, ast.comprehension)


def without_room(
    case: Case, kernel: ast.FunctionDef, tree: ast.Module, defaults: Mapping[str, object]
) -> Failure | None:
    """The failure of a case in which one of these sizes is not positive, as if the kernel asserted it before all."""
    positive = positive_sizes(kernel)
    known = known_values(kernel, replace(case, args={**defaults, **case.args}), tree) if positive else {}
    for name, line in positive.items():
        value = known.get(name)
        if type(value) is int and value < 1 and not _is_asserted_first(kernel, line, known):
            said = f"a size that the kernel makes a tensor or a tile of is not positive: {name} = {value}"
            compared = (Compared("Gt", name, "0", value, 0),)
            return Failure(False, said, case.file, line, trail=((case.file, kernel.lineno),), compared=compared)
    return None


def _is_asserted_first(kernel: ast.FunctionDef, line: int, known: Mapping[str, object]) -> bool:
    """Whether an assertion above the size says that the case is none: it tells more, as the number of ``ks == 4``."""
    for node in kernel.body:
        if isinstance(node, ast.Assert) and node.lineno < line:
            with contextlib.suppress(Unknown):
                if evaluated(node.test, known) is False:
                    return True
    return False


@lru_cache(64)
def positive_sizes(kernel: ast.FunctionDef) -> dict[str, int]:
    """The names of a kernel that are such sizes, each with its line: bound once, whatever the arguments are."""
    bindings = _bindings(kernel)
    plain = [node for node in kernel.body if isinstance(node, ast.Assign) and len(node.targets) == 1]
    values = {name: value for node in plain for name, value in _bound(node) if bindings[name] == 1}
    used = set(_used(kernel.body, values, set()))
    found: dict[str, int] = {}
    for name in (name for name in values if name in used):
        parts = list(_computed(values[name], values))
        is_told = all(bindings[part.id] < 2 for part in parts if isinstance(part, ast.Name))
        if is_told and any(isinstance(part, ast.Sub) for part in parts):
            found[name] = values[name].lineno
    return found


def _bindings(kernel: ast.FunctionDef) -> Counter[str]:
    """How often each name is bound, as a parameter too."""
    arguments = (node.arg for node in ast.walk(kernel.args) if isinstance(node, ast.arg))
    nodes = (node for node in ast.walk(kernel) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return Counter([*arguments, *(node.id for node in nodes)])


def _bound(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """The names that an assignment binds, each with its value where that is written out."""
    target, value = node.targets[0], node.value
    pairs: Iterator[tuple[ast.expr, ast.expr]] = iter([(target, value)])
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
    yield from ((each.id, part) for each, part in pairs if isinstance(each, ast.Name))


def _computed(node: ast.AST, values: Mapping[str, ast.expr]) -> Iterator[ast.AST]:
    """The parts of an expression, and those of what its names stand for."""
    seen: set[str] = set()
    left = [node]
    while left:
        for part in ast.walk(left.pop()):
            yield part
            if isinstance(part, ast.Name) and part.id not in seen:
                seen.add(part.id)
                left += [values[part.id]] if part.id in values else []


def _used(body: Sequence[ast.stmt], values: Mapping[str, ast.expr], counts: set[str]) -> Iterator[str]:
    """The names that are sizes in statements that always run; ``counts`` are those that tell whether the loop does."""
    for statement in body:
        if isinstance(statement, (ast.For, ast.With)):
            counted = _computed(statement.iter, values) if isinstance(statement, ast.For) else ()
            more = {part.id for part in counted if isinstance(part, ast.Name)}
            yield from _used(statement.body, values, counts | more)
        elif isinstance(statement, ast.If) and isinstance(statement.body[-1], _LEAVES):
            return
        elif not isinstance(statement, (ast.If, ast.While, ast.Try, ast.FunctionDef)):
            parts = list(ast.walk(statement))
            chosen = any(isinstance(part, _CHOOSES) for part in parts)
            sizes = (size for part in parts for size in _sizes(part, values)) if not chosen else iter(())
            yield from (name for size in sizes for name in _factors(size) if name not in counts)


def _sizes(node: ast.AST, values: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    """The sizes of what an expression makes, or takes from the beginning of a tensor."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from _given(node, node.func.attr, values)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        for index in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            if isinstance(index, ast.Slice) and index.upper is not None and _is_start(index.lower):
                yield index.upper


def _given(call: ast.Call, called: str, values: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    """The sizes that a call gets: those of a shape, of a vector, of a part that begins anywhere."""
    if called == "ds":
        yield from call.args[1:2]
    if called == "arange":
        yield from call.args if len(call.args) == 1 else ()
    if called in _MADE:
        for shape in (*(keyword.value for keyword in call.keywords if keyword.arg == "shape"), *call.args[:1]):
            told = values.get(shape.id, shape) if isinstance(shape, ast.Name) else shape
            yield from told.elts if isinstance(told, (ast.Tuple, ast.List)) else [shape]


def _is_start(lower: ast.expr | None) -> bool:
    return lower is None or (isinstance(lower, ast.Constant) and lower.value == 0)


def _factors(size: ast.expr) -> Iterator[str]:
    """The names whose product a size is, or a part of which: ``nl.par_dim(OH)``, ``OH * OW``, ``OW // 2``."""
    if isinstance(size, ast.Name):
        yield size.id
    elif isinstance(size, ast.Call) and len(size.args) == 1:
        yield from _factors(size.args[0])
    elif isinstance(size, ast.BinOp) and isinstance(size.op, (ast.Mult, ast.FloorDiv)):
        yield from _factors(size.left)
        yield from _factors(size.right) if isinstance(size.op, ast.Mult) else ()
