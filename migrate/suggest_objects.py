"""Arguments that are objects of the user's own classes: dataclasses, named tuples, members of enumerations.

Only reads: the classes are those that the kernel's file defines or imports from a file beside it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nki_migrate.runtime.cases import DtypeSpec, MemberSpec, ObjectSpec

from .errors import FileError
from .reports import parsed

_ENUMS = {"Enum", "IntEnum", "StrEnum"}
_VARIANTS = 4
_DEPTH = 3
_OF_TENSORS = {"shape", "dtype", "ndim", "reshape", "ap", "buffer", "broadcast_to"}
_VALUES: dict[str, object] = {"int": 2, "bool": False, "float": 1.0, "str": ""}


@dataclass(frozen=True)
class Class:
    """A class that a case can make objects of: its fields in order, or its members (of an enumeration).

    ``fields`` maps a name to its annotation and to its default, ``None`` without one.
    """

    name: str
    fields: Mapping[str, tuple[str, ast.expr | None]] = field(default_factory=dict)
    members: tuple[str, ...] = ()


def tree_beside(path: Path) -> ast.Module | None:
    """The tree of a file beside a kernel's, or ``None`` where there is no file of Python."""
    try:
        return parsed(path.read_bytes())[1] if path.is_file() else None
    except (OSError, FileError):
        return None


def classes_of(path: Path, tree: ast.Module) -> dict[str, Class]:
    """The classes that the module can name, by that name."""
    found = {node.name: known for node in tree.body if isinstance(node, ast.ClassDef) and (known := _class(node))}
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        beside = tree_beside(path.parent.joinpath(*node.module.split(".")).with_suffix(".py"))
        if node.level > 1 or beside is None:
            continue
        defined = {n.name: n for n in beside.body if isinstance(n, ast.ClassDef)}
        for alias in node.names:
            known = _class(defined[alias.name]) if alias.name in defined else None
            if known is not None:
                found[alias.asname or alias.name] = Class(alias.asname or alias.name, known.fields, known.members)
    return found


def _class(node: ast.ClassDef) -> Class | None:
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    decorators = {ast.unparse(getattr(d, "func", d)).rpartition(".")[2] for d in node.decorator_list}
    if bases & _ENUMS:
        targets = (t for s in node.body if isinstance(s, ast.Assign) for t in s.targets)
        return Class(node.name, members=tuple(t.id for t in targets if isinstance(t, ast.Name)))
    if "dataclass" not in decorators and "NamedTuple" not in bases:
        return None
    return Class(
        node.name,
        {
            s.target.id: (ast.unparse(s.annotation), s.value)
            for s in node.body
            if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name) and "ClassVar" not in ast.unparse(s)
        },
    )


def class_of(kernel: ast.FunctionDef, parameter: str, classes: Mapping[str, Class]) -> Class | None:
    """The class of a parameter: by its annotation, by ``p = p or C()``, else by the attributes that are read."""
    arguments = (*kernel.args.posonlyargs, *kernel.args.args, *kernel.args.kwonlyargs)
    annotation = next((a.annotation for a in arguments if a.arg == parameter), None)
    if annotation is not None:
        text = str(annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation))
        return next((classes[word] for word in re.findall(r"\w+", text) if word in classes), None)
    made = _made(kernel, parameter, classes)
    if made is not None:
        return made
    read = {
        node.attr
        for node in ast.walk(kernel)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == parameter
    }
    if not read or read & _OF_TENSORS:
        return None
    return next((c for c in classes.values() if c.fields and read <= c.fields.keys()), None)


def _made(kernel: ast.FunctionDef, parameter: str, classes: Mapping[str, Class]) -> Class | None:
    """The class of which a kernel makes a parameter that was not given: ``p = p or C()``."""
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [parameter]:
            for inner in ast.walk(node.value):
                if isinstance(inner, ast.Call) and ast.unparse(inner.func) in classes:
                    return classes[ast.unparse(inner.func)]
    return None


def with_field(spec: object, path: Sequence[str], value: object) -> object:
    """An object with another value of a field, or of a field of an object in it; what is none as it is."""
    if not path:
        return value
    if not isinstance(spec, ObjectSpec) or (len(path) > 1 and path[0] not in spec.args):
        return spec
    return replace(spec, args={**spec.args, path[0]: with_field(spec.args.get(path[0]), path[1:], value)})


def with_fields_of(spec: object, other: object) -> object:
    """An object with the fields that only the ``other`` of its class gives, and those of their objects."""
    if not (isinstance(spec, ObjectSpec) and isinstance(other, ObjectSpec) and spec.name == other.name):
        return spec
    shared = {name: with_fields_of(value, other.args.get(name)) for name, value in spec.args.items()}
    return ObjectSpec(spec.name, {**other.args, **shared})


def plain_fields(known: Class, given: Mapping[str, object]) -> dict[str, object]:
    """The numbers, texts and truth values of an object: what is given, else the defaults of its class."""
    defaults = {n: d.value for n, (_, d) in known.fields.items() if isinstance(d, ast.Constant)}
    plain = {name: value for name, value in given.items() if isinstance(value, (bool, int, float, str))}
    return {**defaults, **plain}


def objects(wanted: Class, classes: Mapping[str, Class], depth: int = _DEPTH) -> list[ObjectSpec | MemberSpec]:
    """Arguments of a class: with the defaults and plain values first, then with a truth value or a member changed.

    None where a field has no default and a type that nothing is known about.
    """
    if wanted.members:
        return [MemberSpec(f"{wanted.name}.{member}") for member in wanted.members[:_VARIANTS]]
    args: dict[str, object] = {}
    others: list[tuple[str, object]] = []
    for name, (annotation, default) in wanted.fields.items():
        values = list(_values(name, annotation, default, classes, depth))
        if default is None and not values:
            return []
        if default is None:
            args[name] = values[0]
        others += [(name, value) for value in values[default is None :]]
    variants = [args, *({**args, name: value} for name, value in others)]
    return [ObjectSpec(wanted.name, variant) for variant in variants[:_VARIANTS]]


def _values(
    name: str, annotation: str, default: ast.expr | None, classes: Mapping[str, Class], depth: int
) -> Iterator[object]:
    """Values for a field; with a default, those that differ from it."""
    if isinstance(default, ast.Constant) and isinstance(default.value, bool):
        yield not default.value
    elif annotation == "bool" and default is None:
        yield from (False, True)
    elif default is None and "dtype" in name:
        yield DtypeSpec("float32")
    elif default is None and annotation in _VALUES:
        yield 1e-5 if "eps" in name else _VALUES[annotation]
    elif annotation in classes and depth:
        given = ast.unparse(default) if default is not None else ""
        found = objects(classes[annotation], classes, depth - 1)
        yield from (value for value in found if not (isinstance(value, MemberSpec) and value.name == given))
