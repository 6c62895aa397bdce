"""Cases from calls of a kernel: in its file, beside it, and in the other files of its project.

Only reads. Sizes may be names that the calling code binds to numbers, or that ``pytest.mark.parametrize`` does.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from nki_migrate.runtime.cases import Case, DtypeSpec, NoneSpec, TensorSpec
from nki_migrate.runtime.numerics import DTYPES

from .suggest_expressions import Unknown, evaluated
from .suggest_facts import parameters
from .suggest_objects import tree_beside

_INDEX_WORDS = ("idx", "index", "indices", "ids", "table", "tokens", "_map", "lens")
_FILES = 200
"""Files of the project that name the kernel, at most."""
_LOOKED_AT = 3000
_PROJECT = (".git", "pyproject.toml", "setup.py")
_METHODS = ("astype", "copy", "to", "contiguous")
_WRAPPERS = ("array", "from_numpy", "tensor", "asarray", "static_cast")
"""Calls whose result has the shape of what they are called on, or with."""


def called_cases(path: Path, tree: ast.Module, kernel: ast.FunctionDef) -> Iterator[Case]:
    """Cases from calls of the kernel with arguments whose shapes the calling code tells."""
    seen = set()
    for other in [path, *_callers(path, kernel.name)]:
        calling = tree if other is path else tree_beside(other)
        for function in ast.walk(calling) if calling else ():
            if isinstance(function, (ast.FunctionDef, ast.Module)) and _mentions(function, kernel.name):
                for case in _calls_in(path, function, kernel, _numbers(calling)):
                    if repr(case) not in seen:
                        seen.add(repr(case))
                        yield case


def _callers(path: Path, name: str) -> Iterator[Path]:
    """Other files of Python that name the kernel: beside it first, then in its project."""
    here = path.absolute()
    beside = sorted(here.parent.glob("*.py"))
    root = next((p for p in here.parents if any((p / mark).exists() for mark in _PROJECT)), here.parent)
    others = itertools.islice(root.rglob("*.py"), _LOOKED_AT)
    found = (p for p in itertools.chain(beside, others) if p != here)
    yield from itertools.islice((p for p in dict.fromkeys(found) if _names(p, name)), _FILES)


def _names(path: Path, name: str) -> bool:
    try:
        return path.is_file() and re.search(rb"\b%s\b" % name.encode(), path.read_bytes()) is not None
    except OSError:
        return False


def _mentions(function: ast.FunctionDef | ast.Module, name: str) -> bool:
    """Does the body name the kernel at all? Most functions do not, and are not read for what they bind."""
    nodes = (node for statement in function.body for node in ast.walk(statement))
    return any(name in (getattr(node, "id", ""), getattr(node, "attr", "")) for node in nodes)


def _numbers(tree: ast.AST | None) -> dict[str, object]:
    """The numbers that a module's own statements bind names to."""
    return _bound(tree.body, {}) if isinstance(tree, ast.Module) else {}


def _bound(body: list[ast.stmt], known: Mapping[str, object]) -> dict[str, object]:
    found = dict(known)
    plain = [s for s in body if not isinstance(s, (ast.FunctionDef, ast.ClassDef))]
    for statement in plain:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                _bind(node.targets[0], node.value, found)
    return found


def _bind(target: ast.expr, value: ast.expr, found: dict[str, object]) -> None:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for each, item in zip(target.elts, value.elts, strict=True):
            _bind(each, item, found)
    elif isinstance(target, ast.Name) and target.id not in found:
        try:
            found[target.id] = evaluated(value, found)
        except Unknown:
            return


def _parametrized(function: ast.FunctionDef | ast.Module) -> dict[str, object]:
    """The first values that ``pytest.mark.parametrize`` gives to the names of a test."""
    found: dict[str, object] = {}
    for call in getattr(function, "decorator_list", ()):
        if not (isinstance(call, ast.Call) and ast.unparse(call.func).endswith("parametrize") and len(call.args) > 1):
            continue
        names, rows = call.args[:2]
        if not isinstance(names, ast.Constant) or not isinstance(rows, (ast.List, ast.Tuple)) or not rows.elts:
            continue
        known = [name.strip() for name in str(names.value).split(",")]
        row = rows.elts[0]
        row = row.args[0] if isinstance(row, ast.Call) and len(row.args) == 1 else row
        values = row.elts if isinstance(row, (ast.List, ast.Tuple)) and len(known) > 1 else [row]
        values = row.args if isinstance(row, ast.Call) else values
        for name, value in zip(known, values, strict=False):
            _bind(ast.Name(name), value, found)
    return found


def _calls_in(
    path: Path, function: ast.FunctionDef | ast.Module, kernel: ast.FunctionDef, numbers: Mapping[str, object]
) -> Iterator[Case]:
    made: dict[str, ast.expr] = {}
    known = _bound(function.body, {**numbers, **_parametrized(function)})
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                made[node.targets[0].id] = node.value
            if isinstance(node, ast.Call):
                case = _case_of_call(path, node, kernel, made, known)
                if case is not None:
                    yield case


def _case_of_call(
    path: Path,
    node: ast.Call,
    kernel: ast.FunctionDef,
    made: Mapping[str, ast.expr],
    known: Mapping[str, object],
) -> Case | None:
    function, arguments = node.func, list(node.args)
    grid: tuple[int, ...] = ()
    if isinstance(function, ast.Attribute) and function.attr == "simulate_kernel" and arguments:
        function = arguments.pop(0)
    if isinstance(function, ast.Subscript):
        extents = function.slice.elts if isinstance(function.slice, ast.Tuple) else [function.slice]
        sizes = [_size(extent, known) for extent in extents]
        if not all(sizes):
            return None
        grid = tuple(size for size in sizes if size)
        function = function.value
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name != kernel.name:
        return None
    given = dict(zip(parameters(kernel), arguments, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    args: dict[str, object] = {}
    for parameter, expression in given.items():
        value = _literal(parameter, expression, made, known)
        if value is None:
            return None
        args[parameter] = value
    return Case(kernel.name, "", str(path), grid=grid, args=args) if args else None


def _size(node: ast.expr, known: Mapping[str, object]) -> int | None:
    try:
        value = evaluated(node, known)
    except Unknown:
        return None
    return value if type(value) is int and value > 0 else None


def _literal(
    name: str, expression: ast.expr, made: Mapping[str, ast.expr], known: Mapping[str, object], depth: int = 4
) -> object | None:
    """A number, text, a data type, or a tensor made by a call whose shape is known; ``None`` for anything else."""
    if isinstance(expression, ast.Constant) and expression.value is None:
        return NoneSpec()
    if isinstance(expression, ast.Attribute) and expression.attr in DTYPES:
        return DtypeSpec(expression.attr)
    try:
        value = evaluated(expression, known)
        if _is_plain(value):
            return value
    except Unknown:
        pass
    if isinstance(expression, ast.Name) and expression.id in made and depth:
        return _literal(name, made[expression.id], made, known, depth - 1)
    if not isinstance(expression, (ast.Call, ast.BinOp, ast.UnaryOp)):
        return None
    shape: tuple[int, ...] = ()
    dtype = "float32"
    for node in ast.walk(expression):
        if isinstance(node, ast.Attribute) and node.attr in DTYPES:
            dtype = node.attr
        if isinstance(node, ast.Call) and not shape:
            shape = _shape(node, known)
    inner = None if shape or not depth else _wrapped(expression)
    if inner is not None:
        return _literal(name, inner, made, known, depth - 1)
    return tensor(name, shape, dtype) if shape else None


def _is_plain(value: object) -> bool:
    """A number, a text, or a tuple of numbers, as ``kernel(x, (rows, columns))`` gives it."""
    if isinstance(value, tuple):
        return bool(value) and all(type(item) in (bool, int, float) for item in value)
    return isinstance(value, (bool, int, float, str))


def _wrapped(expression: ast.expr) -> ast.expr | None:
    """What has the shape of a call's result: the object of ``x.astype(...)``, the argument of ``np.array(x)``."""
    if not isinstance(expression, ast.Call) or not isinstance(expression.func, ast.Attribute):
        return None
    if expression.func.attr in _METHODS:
        return expression.func.value
    return expression.args[0] if expression.func.attr in _WRAPPERS and expression.args else None


def _shape(node: ast.Call, known: Mapping[str, object]) -> tuple[int, ...]:
    """The shape that the arguments of a call say: a tuple, a name of one, or numbers."""
    if not node.args:
        return ()
    first = node.args[0]
    try:
        whole = evaluated(first, known)
    except Unknown:
        whole = None
    items = first.elts if isinstance(first, (ast.Tuple, ast.List)) else node.args
    sizes = list(whole) if isinstance(whole, tuple) else [_size(item, known) for item in items]
    return tuple(sizes) if sizes and all(type(size) is int and size > 0 for size in sizes) else ()


def tensor(name: str, shape: tuple[int, ...], dtype: str = "float32") -> TensorSpec:
    """A tensor for the parameter ``name``: indices for what is called so."""
    if any(word in name.lower() for word in _INDEX_WORDS):
        return TensorSpec(shape, "int32", "integers", 0, 1)
    return TensorSpec(shape, dtype, "normal" if "float" in dtype else "integers")
