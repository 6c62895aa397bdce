"""What the front end reads before it traces a kernel: the kernel and everything that it reaches, judged by the checker.

The front end reads source, not code objects: functions and classes that kernel code names, those inside of lists,
dictionaries and objects that it names, and those of its arguments. Source: ``interop/klr/gather.c`` of leanprover/KLR
(``reference``, ``const_expr``, ``add_work``). Python's own library, numpy and the emulator's stand-ins are not read.

What its first two stages refuse, they refuse wherever it stands; what tracing refuses matters only where it runs.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..errors import KernelError, is_emulator_file
from ..host import is_data
from ..legality.classes import read_methods, read_statements
from ..legality.model import Violation
from ..legality.names import Function, Module, is_dotted, module_of
from ..legality.reach import Reached, visible
from ..legality.walk import CODES, violations
from ..reading import is_packaged, is_standard
from ..shims import is_stand_in
from ..source import Source, function_source, source_of
from ..spec.versions import Version
from .objects import NKIObject

Path = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Definition:
    """A function or class of kernel code: where it is, what it says, and the dotted names that it reads.

    ``roots`` are the first names of these.
    """

    file: str
    module: Module
    node: Function | ast.ClassDef
    paths: tuple[Path, ...]
    roots: frozenset[str]


@dataclass(frozen=True, eq=False)
class Gathered:
    """A function of kernel code, and what the checker finds in it that matters where it runs.

    ``roots`` are the names that its definition, or that of its class, reads of the module level.
    """

    function: FunctionType
    violations: tuple[Violation, ...]
    roots: frozenset[str]


def gathered(kernel: Callable[..., Any], arguments: Iterable[object], version: Version) -> list[Gathered]:
    """The functions of kernel code that ``kernel`` called with ``arguments`` reaches, itself among them.

    Raises
    ------
    KernelError
        The front end of NKI ``version`` refuses their source before it traces anything; ``code`` and the place are the
        checker's.
    """
    work: list[object] = [kernel]
    for argument in arguments:
        work += _held(argument)
    seen: dict[int, object] = {}
    found: list[Gathered] = []
    while work:
        item = work.pop(0)
        item = getattr(item, "func", item) if _is_kernel(item) else item
        if id(item) in seen or not isinstance(item, (FunctionType, type)):
            continue
        seen[id(item)] = item
        definition = _definition(item)
        if definition is None:
            continue
        late = _judged(definition, version)
        functions = [item] if isinstance(item, FunctionType) else _methods(item)
        found += [Gathered(function, _inside(function, late), definition.roots) for function in functions]
        names = _globals_of(item)
        passed_over = {root for root in definition.roots if _is_stand_in(names.get(root))}
        for path in definition.paths:
            if path[0] not in passed_over:
                work += _named(path, names)
    return found


def _judged(definition: Definition, version: Version) -> tuple[Violation, ...]:
    """What the checker finds and tracing refuses; raises for what the stages before it refuse."""
    key = id(definition), version
    if key not in _JUDGED:
        item = Reached(definition.node)
        _JUDGED[key] = tuple(sorted(set(violations(definition.module, item, version))))
    early = [violation for violation in _JUDGED[key] if CODES[violation.code].stage in ("gather", "simplify")]
    if early:
        raise refused(early[0], definition.file, len(early) - 1)
    return _JUDGED[key]


def refused(violation: Violation, file: str, more: int = 0) -> KernelError:
    """The error for ``violation``; ``more`` are the others of the file."""
    rest = f" (and {more} more: `nki-migrate check {file}`)" if more else ""
    return KernelError(violation.code, violation_text(violation) + rest, file=file, line=violation.line)


def violation_text(violation: Violation) -> str:
    return f"{violation.message.rstrip('.')}. {violation.help}"


def _inside(function: FunctionType, found: tuple[Violation, ...]) -> tuple[Violation, ...]:
    """Those of ``found`` that are between the first and the last line of ``function``."""
    node = function_source(function.__code__) if found else None
    if node is None:
        return ()
    return tuple(v for v in found if function.__code__.co_firstlineno <= v.line <= (node.end_lineno or 0))


_JUDGED: dict[tuple[int, Version], tuple[Violation, ...]] = {}
"""By ``id`` of the definition, which :data:`_DEFINITIONS` keeps alive."""


# --- from an object to its source ------------------------------------------------------------------------------------


def _is_kernel(item: object) -> bool:
    """Is ``item`` what ``nki.jit`` made of a function?"""
    return type(item).__module__ == _JIT and isinstance(getattr(item, "func", None), FunctionType)


_JIT = f"{__package__}.nki"


def _definition(item: FunctionType | type) -> Definition | None:
    """The definition of ``item``; ``None`` for what is not kernel code or has no source."""
    code = item.__code__ if isinstance(item, FunctionType) else _code_of(item)
    file = code.co_filename if code is not None else _file_of(item)
    if not file or is_emulator_file(file) or is_standard(file):
        return None
    source = source_of(file, {})
    if source is None:
        return None
    key = (id(source), id(item.__code__) if isinstance(item, FunctionType) else item.__qualname__)
    if key not in _DEFINITIONS:
        _DEFINITIONS[key] = (source, code, _defined(item, file, source))
    return _DEFINITIONS[key][2]


_DEFINITIONS: dict[tuple[int, object], tuple[Source, CodeType | None, Definition | None]] = {}
"""By ``id`` of the source and of the code, which are kept alive, or by the name of a class."""


def _defined(item: FunctionType | type, file: str, source: Source) -> Definition | None:
    module = _module(source)
    node: Function | ast.ClassDef | None
    if isinstance(item, FunctionType):
        node = source.definition(item.__code__.co_name, item.__code__.co_firstlineno)
    else:
        known = module.definitions.get(item.__qualname__)
        node = known if isinstance(known, ast.ClassDef) else None
    if node is None:
        return None
    paths = tuple(sorted(_paths(module, node)))
    return Definition(file, module, node, paths, frozenset(path[0] for path in paths))


def _module(source: Source) -> Module:
    if id(source) not in _MODULES:
        _MODULES[id(source)] = (source, module_of(source.tree))
    return _MODULES[id(source)][1]


_MODULES: dict[int, tuple[Source, Module]] = {}


def _code_of(cls: type) -> CodeType | None:
    """The code of some method that the body of ``cls`` defines."""
    return next((method.__code__ for method in _methods(cls)), None)


def _methods(cls: type) -> list[FunctionType]:
    found = [getattr(member, "__func__", member) for member in vars(cls).values()]
    functions = [member for member in found if isinstance(member, FunctionType)]
    return [
        f for f in functions if f.__qualname__.startswith(cls.__qualname__ + ".") and f.__module__ == cls.__module__
    ]


def _file_of(cls: object) -> str:
    return getattr(sys.modules.get(getattr(cls, "__module__", "")), "__file__", "") or ""


def _globals_of(item: FunctionType | type) -> dict[str, Any]:
    if isinstance(item, FunctionType):
        return item.__globals__
    for method in _methods(item):
        return method.__globals__
    owner = sys.modules.get(item.__module__)
    return vars(owner) if owner is not None else {}


# --- from source to the objects that it names ------------------------------------------------------------------------


def _paths(module: Module, node: Function | ast.ClassDef) -> set[Path]:
    """Names and attribute chains that ``node`` reads of the module level, as far as the front end looks."""
    if isinstance(node, ast.ClassDef):
        fields = [s.value for s in read_statements(node) if isinstance(s, (ast.Assign, ast.AnnAssign)) and s.value]
        found = {path for method in read_methods(node) for path in _paths(module, method)}
        return found | {path for field in fields for path in _dotted(field, frozenset())}
    defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
    found = {path for statement in node.body for path in _dotted(statement, module.local_names(node))}
    return found | {path for default in defaults for path in _dotted(default, frozenset())}


def _dotted(root: ast.AST, local: frozenset[str]) -> Iterator[Path]:
    for node in visible(root):
        if isinstance(node, (ast.Name, ast.Attribute)) and is_dotted(node):
            path = tuple(ast.unparse(node).split("."))
            if path[0] not in local:
                yield path


def _is_stand_in(value: object) -> bool:
    """Is ``value`` one of the modules of the emulator, of which nothing is kernel code?"""
    return isinstance(value, ModuleType) and is_stand_in(value)


def _named(path: Path, names: dict[str, Any]) -> list[object]:
    """What the last name of ``path`` stands for, and what it carries along."""
    value = names.get(path[0])
    for name in path[1:]:
        if not isinstance(value, (ModuleType, type)) or name not in vars(value):
            return []
        value = vars(value)[name]
    return [value] if isinstance(value, type) else _held(value)


def _held(value: object, depth: int = 8) -> list[object]:
    """Functions that ``value`` is or has inside, and the classes of objects; classes as elements are not followed.

    An array is data, also one whose class the user derived from numpy's or a framework's.
    """
    if type(value) in _EMPTY:
        return []
    if isinstance(value, FunctionType) or _is_kernel(value):
        return [value]
    if isinstance(value, type) or is_data(value) or not depth:
        return []
    if isinstance(value, (list, tuple)):
        return [held for element in value for held in _held(element, depth - 1)]
    if isinstance(value, dict):
        return [held for element in value.values() for held in _held(element, depth - 1)]
    if isinstance(value, ModuleType) or not hasattr(value, "__dict__") or not _is_written(type(value)):
        return []
    return [type(value), *(held for element in vars(value).values() for held in _held(element, depth - 1))]


_EMPTY = frozenset({np.ndarray, int, float, bool, str, type(None)})
"""Types of arguments that have nothing inside."""


def _is_written(cls: type) -> bool:
    """Is ``cls`` kernel code, or a class of the user's, and not of an installed package (a stream, a logger)?"""
    return issubclass(cls, (NKIObject, Enum)) or not is_packaged(_file_of(cls) or os.devnull)
