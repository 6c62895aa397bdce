"""Cases: how to run a kernel. A TOML file beside the kernel file (``cases.toml``) says it.

::

    [[case]]
    kernel = "scale"                 # required
    file = "scale.py"                # beside the cases; default: every file that has the kernel
    name = "one tile"                # default: "case 1", "case 2", ... of that kernel
    grid = [2, 1]                    # or one int; default: no grid
    hardware = "gen2"                # default: what the command line says
    target = "0.3"                   # the NKI version that a kernel of `nki` runs as; default: what the file
                                     # shows, the newest where it shows nothing
    seed = 7                         # default: 0
    reference = "reference:scale"    # a NumPy function, called with the same inputs by name
    rtol = 1e-2                      # for the reference; defaults 1e-5 and 1e-8, as numpy.allclose
    atol = 1e-3
    ulps = 4                         # a division may have become a reciprocal and a multiplication; outputs computed
                                     # from one may be so many units in the last place apart; default: 0
    abridged = true                  # loops of NKI take their first two steps and their last, in both versions:
                                     # for sizes that are numbers of the source and run for minutes; 8: only loops of
                                     # more than 8 steps do; [16, 32]: only loops of 16 and of 32 do; default: false

    [case.args]
    x = {shape = [128, 512], dtype = "bfloat16", fill = "normal"}
    norm_dtype = {dtype = "float32"} # a data type
    bias = {none = true}             # None
    sizes = {tuple = [2, 3]}         # a tuple; a list is a list, and both may hold tensors
    config = {object = "Config", args = {tile = 512}}  # an object of a class that the kernel's module knows
    norm = {member = "Norm.RMS"}     # a member of an enumeration; "package.module:Norm.RMS" is imported
    eps = 1e-6                       # any plain TOML value

    [case.make]                      # `kernel` is a function that makes kernels: it gets these, what it gives args
    rows = 128

A tensor's ``fill`` is ``normal`` (mean 0, deviation 1), ``uniform`` (``[low, high)``, default ``[0, 1)``), ``integers``
(``[low, high)``, default ``[-8, 8)``, unsigned ``[0, 16)``), ``zeros``, ``arange`` (row by row, counting modulo the
largest range of integers that the type holds exactly) or the name of a ``.npy`` file beside the cases. Data depend on
the seed and the argument's name only, so they are the same before and after, in any order of arguments. ``output =
true`` marks an output parameter of an old-style kernel: a kernel without that parameter is called without it.

Nothing here executes user code, and nothing here needs the emulator.
"""

from __future__ import annotations

import difflib
import importlib
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .cells import SUFFIX
from .filling import FILLS, fill_problem, stored_array_problem
from .numerics import DTYPES, NAMED_TYPES
from .spec.memories import hardware_names
from .spec.versions import NAMES as NKI_VERSIONS

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

_CASE_KEYS = (
    "kernel",
    "file",
    "name",
    "grid",
    "hardware",
    "target",
    "seed",
    "reference",
    "rtol",
    "atol",
    "ulps",
    "abridged",
    "args",
    "make",
)
_TENSOR_KEYS = ("shape", "dtype", "fill", "low", "high", "output")
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_NAME = re.compile(r"([A-Za-z_][\w.]*:)?[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_MAX_ELEMENTS = 2**31


class CaseError(Exception):
    """A case (or a whole file of cases) that cannot be used: says where, what, and what to do."""


@dataclass(frozen=True)
class TensorSpec:
    """One tensor argument. ``fill`` is a name of :data:`~.filling.FILLS` or the absolute path of a ``.npy`` file."""

    shape: tuple[int, ...]
    dtype: str
    fill: str = "normal"
    low: float | None = None
    high: float | None = None
    output: bool = False


@dataclass(frozen=True)
class DtypeSpec:
    """An argument that is a data type, by its ``nki.language`` name."""

    dtype: str


@dataclass(frozen=True)
class NoneSpec:
    """An argument that is ``None``, for which TOML has no value."""


@dataclass(frozen=True)
class ObjectSpec:
    """An argument that is made by calling a class: its name in the kernel's module, or ``package.module:Name``."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MemberSpec:
    """An argument that is a member of an enumeration, ``Class.MEMBER``; the class is found as for an object."""

    name: str


@dataclass(frozen=True)
class Case:
    """One way to run one kernel; ``args`` values are :class:`TensorSpec`, :class:`DtypeSpec`, :class:`NoneSpec`,
    :class:`ObjectSpec`, :class:`MemberSpec`, plain Python values, or lists and tuples of any of these.

    ``file`` and ``line`` (0: unknown) are the place of the case; ``grid`` is ``()`` without a grid. ``source`` is the
    absolute path of the only file whose kernel is meant, empty for any. ``target`` is the NKI version that a kernel of
    ``nki`` runs as, empty: what the file shows. ``abridged``: loops of more steps are cut short, or those of just so
    many; 0: none is (:mod:`.abridging`). ``make``: ``kernel`` is no kernel, but a function that makes one when it is
    called with these.
    """

    kernel: str
    name: str
    file: str
    line: int = 0
    grid: tuple[int, ...] = ()
    hardware: str | None = None
    seed: int = 0
    args: Mapping[str, Any] = field(default_factory=dict)
    reference: str | None = None
    rtol: float = 1e-5
    atol: float = 1e-8
    source: str = ""
    target: str = ""
    ulps: int = 0
    abridged: int | tuple[int, ...] = 0
    make: Mapping[str, Any] | None = None

    def is_for(self, file: str) -> bool:
        """Does the case concern the kernel of its name in ``file``?"""
        return not self.source or os.path.realpath(self.source) == os.path.realpath(file)

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True)
class BadCase:
    """A case that cannot be run: ``message`` has its place, what is wrong, and what to do."""

    kernel: str | None
    name: str
    message: str


@dataclass(frozen=True)
class CaseFile:
    """The cases of one file, the bad ones apart. Each bad case has one error, its first."""

    path: str
    cases: tuple[Case, ...] = ()
    bad: tuple[BadCase, ...] = ()

    def of(self, kernel: str, file: str | None = None) -> tuple[Case, ...]:
        """The cases of a kernel; those for another file than ``file`` are left out."""
        mine = (case for case in self.cases if case.kernel == kernel)
        return tuple(case for case in mine if file is None or case.is_for(file))


def read_cases(path: str | Path) -> CaseFile:
    """The cases of the TOML file at ``path``.

    Raises :class:`CaseError` when the file as a whole is unusable (missing, not TOML, wrong tables).
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        document = tomllib.loads(text)
    except OSError as error:
        raise CaseError(f"{path}: cannot read the cases: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise CaseError(f"{path}: a file of cases is TOML, encoded as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise CaseError(f"{path}: not valid TOML: {error}") from None
    unknown = [key for key in document if key != "case"]
    if unknown:
        raise CaseError(f"{path}: unknown table '{unknown[0]}': a file of cases has [[case]] tables and nothing else")
    tables = document.get("case", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise CaseError(f"{path}: 'case' is one table: write [[case]], with double brackets")
    return _case_file(path, tables, _case_lines(text, len(tables)))


def _case_file(path: Path, tables: list[dict[str, Any]], lines: list[int]) -> CaseFile:
    cases: list[Case] = []
    bad: list[BadCase] = []
    seen: dict[str, set[str]] = {}
    for number, (table, line) in enumerate(zip(tables, lines, strict=True), 1):
        kernel = _text(table.get("kernel"))
        used = seen.setdefault(kernel or "", set())
        name = _text(table.get("name")) or _free_name(used)
        place = f"{path}:{line}" if line else str(path)
        label = f"case '{name}' of kernel '{kernel}'" if kernel else f"case number {number}"
        try:
            if name in used:
                raise CaseError("another case of this kernel has the same name: give each a name of its own")
            used.add(name)
            cases.append(_case(table, name, path, line))
        except CaseError as problem:
            bad.append(BadCase(kernel, name, f"{place}: {label}: {problem}"))
    return CaseFile(str(path), tuple(cases), tuple(bad))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _free_name(used: set[str]) -> str:
    number = len(used) + 1
    while f"case {number}" in used:
        number += 1
    return f"case {number}"


def _case_lines(text: str, count: int) -> list[int]:
    """Line of each ``[[case]]`` header; zeros when headers and cases do not correspond (inline tables)."""
    headers = [n for n, line in enumerate(text.split("\n"), 1) if re.match(r"\s*\[\[\s*case\s*\]\]", line)]
    return headers if len(headers) == count else [0] * count


def _case(table: dict[str, Any], name: str, path: Path, line: int) -> Case:
    _known_keys(table, _CASE_KEYS, "key")
    kernel = table.get("kernel")
    if not isinstance(kernel, str) or not kernel:
        raise CaseError("'kernel' is missing: name the function to run, kernel = \"...\"")
    if "name" in table and (not isinstance(table["name"], str) or not table["name"]):
        raise CaseError("'name' is text that is not empty")
    file = table.get("file", "")
    if not isinstance(file, str) or ("file" in table and not file.endswith((".py", SUFFIX))):
        raise CaseError(
            f"file is {file!r}: it is the path of a Python file or a notebook, from the directory of the cases"
        )
    hardware = table.get("hardware")
    if hardware is not None and hardware not in hardware_names():
        raise CaseError(f"unknown hardware {hardware!r}: one of {', '.join(hardware_names())}")
    target = table.get("target", "")
    if "target" in table and target not in NKI_VERSIONS:
        raise CaseError(f"unknown target {target!r}: one of {', '.join(NKI_VERSIONS)}")
    reference = _reference(table)
    args, make = table.get("args", {}), table.get("make")
    for key, given in (("args", args), ("make", make)):
        if not isinstance(given, dict) and given is not None:
            raise CaseError(f"'{key}' is a table: [case.{key}]")
    return Case(
        kernel=kernel,
        name=name,
        file=str(path),
        line=line,
        grid=_grid(table.get("grid", [])),
        hardware=hardware,
        target=target,
        seed=_integer(table.get("seed", 0), "seed", least=0),
        args={key: _argument(key, value, path.parent) for key, value in args.items()},
        reference=reference,
        rtol=_tolerance(table.get("rtol", 1e-5), "rtol"),
        atol=_tolerance(table.get("atol", 1e-8), "atol"),
        source=str((path.parent / file).absolute()) if file else "",
        ulps=_integer(table.get("ulps", 0), "ulps", least=0),
        abridged=_abridged(table.get("abridged", False)),
        make=None if make is None else {key: _argument(key, value, path.parent) for key, value in make.items()},
    )


def _abridged(value: object) -> int | tuple[int, ...]:
    """1 for ``true``, a number for the most steps of a loop that runs whole, several for those of one that is cut."""
    if isinstance(value, list) and value and all(type(count) is int and count > 0 for count in value):
        return tuple(value)
    if not isinstance(value, int) or value < 0:
        numbers = "the most steps that a loop takes that is not cut short, or a list of the steps of those that are"
        raise CaseError(f"abridged is {value!r}: it is true, or {numbers}")
    return int(value)


def _reference(table: dict[str, Any]) -> str | None:
    """The function that a case's numbers are compared with."""
    reference = table.get("reference")
    if reference is None and ("rtol" in table or "atol" in table):
        raise CaseError("'rtol' and 'atol' belong to a reference: add reference = \"module:function\", or remove them")
    if reference is not None and not (isinstance(reference, str) and _REFERENCE.fullmatch(reference)):
        raise CaseError(f'reference {reference!r} is not "module:function"')
    return reference


def _known_keys(table: Mapping[str, Any], known: Iterable[str], what: str) -> None:
    known = tuple(known)
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"it is one of {', '.join(known)}"
            raise CaseError(f"unknown {what} '{key}': {hint}")


def _integer(value: Any, what: str, *, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise CaseError(f"{what} is {value!r}: it must be an integer, {least} or more")
    return value


def _tolerance(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= sys.float_info.max:
        raise CaseError(f"{what} is {value!r}: it must be a finite number, 0 or more")
    return float(value)


def _grid(value: Any) -> tuple[int, ...]:
    sizes = value if isinstance(value, list) else [value]
    return tuple(_integer(size, "grid", least=1) for size in sizes)


def _argument(name: str, value: Any, directory: Path) -> Any:
    if isinstance(value, list):
        return [_argument(f"{name}_{number}", item, directory) for number, item in enumerate(value)]
    if not isinstance(value, dict):
        if not isinstance(value, (bool, int, float, str)):
            raise CaseError(
                f"argument '{name}' is a {type(value).__name__}: use a number, text, a boolean or a list of them"
            )
        return value
    if set(value) == {"dtype"}:
        return DtypeSpec(_dtype(name, value["dtype"], NAMED_TYPES))
    if set(value) == {"tuple"} and isinstance(value["tuple"], list):
        return tuple(_argument(name, value["tuple"], directory))
    if set(value) == {"none"} and value["none"] is True:
        return NoneSpec()
    if "object" in value and set(value) <= {"object", "args"}:
        args = value.get("args", {})
        if not isinstance(args, dict):
            raise CaseError(f"'args' of the object '{name}' is a table of its arguments")
        made = {key: _argument(f"{name}_{key}", item, directory) for key, item in args.items()}
        return ObjectSpec(_dotted(name, value["object"], least=1), made)
    if set(value) == {"member"}:
        return MemberSpec(_dotted(name, value["member"], least=2))
    if "shape" not in value and "dtype" not in value:
        raise CaseError(
            f"argument '{name}' is a table without 'shape': a tensor is "
            '{shape = [..], dtype = "..", fill = ".."}, a data type {dtype = ".."}, None {none = true}, '
            'a tuple {tuple = [..]}, an object {object = "Class", args = {..}}, a member {member = "Class.NAME"}'
        )
    _known_keys(value, _TENSOR_KEYS, f"key of tensor '{name}':")
    for required in ("shape", "dtype"):
        if required not in value:
            raise CaseError(f"tensor '{name}' has no '{required}'")
    return _tensor(name, value, directory)


def _dotted(name: str, value: Any, *, least: int) -> str:
    """The name of a class (at ``least`` 1 part) or of a member of one (2), behind ``package.module:`` or not."""
    if isinstance(value, str) and _NAME.fullmatch(value) and len(value.rpartition(":")[2].split(".")) >= least:
        return value
    wanted = '"Class" or "package.module:Class"' if least == 1 else '"Class.MEMBER" or "package.module:Class.MEMBER"'
    raise CaseError(f"argument '{name}' names {value!r}: write {wanted}")


def _dtype(name: str, value: Any, known: Mapping[str, Any] = DTYPES) -> str:
    if not isinstance(value, str) or value not in known:
        near = difflib.get_close_matches(str(value), known, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"one of {', '.join(known)}"
        raise CaseError(f"unknown dtype {value!r} of '{name}': {hint}")
    return value


def _tensor(name: str, table: dict[str, Any], directory: Path) -> TensorSpec:
    shape = table["shape"]
    if not isinstance(shape, list):
        raise CaseError(f"shape of '{name}' is {shape!r}: it is a list of integers")
    sizes = tuple(_integer(size, f"a size in the shape {shape} of '{name}'", least=1) for size in shape)
    if int(np.prod(sizes, dtype=object)) > _MAX_ELEMENTS:
        raise CaseError(f"tensor '{name}' of shape {shape} has more than {_MAX_ELEMENTS} elements: make it smaller")
    dtype = _dtype(name, table["dtype"])
    fill = table.get("fill", "zeros" if table.get("output") else "normal")
    if not isinstance(table.get("output", False), bool):
        raise CaseError(f"'output' of '{name}' is true or false")
    if isinstance(fill, str) and fill.endswith(".npy"):
        path = directory / fill
        problem = stored_array_problem(path, sizes, DTYPES[dtype])
        fill = str(path.absolute())
    elif fill not in FILLS:
        near = difflib.get_close_matches(str(fill), FILLS, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"one of {', '.join(FILLS)}, or a file name that ends in .npy"
        raise CaseError(f"unknown fill {fill!r} of '{name}': {hint}")
    else:
        problem = fill_problem(fill, DTYPES[dtype], table.get("low"), table.get("high"))
    if problem:
        raise CaseError(f"tensor '{name}': {problem}")
    return TensorSpec(sizes, dtype, fill, table.get("low"), table.get("high"), table.get("output", False))
