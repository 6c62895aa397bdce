"""What an error of the emulator asks of a case: each message names what it needs, and gives cases that have it.

A repair is a guess that the next run judges: sizes that are equal are taken for one dimension first, then each axis is
changed alone.
"""

from __future__ import annotations

import itertools
import linecache
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from nki_migrate.runtime.cases import Case, DtypeSpec, NoneSpec, ObjectSpec
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.compare.trace import Compared
from nki_migrate.runtime.numerics import DTYPES
from nki_migrate.runtime.spec.hardware import PARTITIONS

from .suggest_calls import tensor
from .suggest_objects import with_field
from .suggest_parts import in_turn, moved, ranked, ranked_alike, scaled, shaped, tensors, toggled, typed, with_argument
from .variants import resized, sizes, with_axis

_PAIRS = ((2, 2), (1, 1), (3, 3), (2, 2, 2))
_GRIDS: tuple[tuple[int, ...], ...] = ((1,), (2,), (2, 1), (1, 1), (2, 2), ())
_LEAPS = (4, 16)
_OF_TENSORS = ("shape", "dtype", "ndim", "reshape", "broadcast_to", "buffer")


def repairs(case: Case, failure: Failure) -> Iterator[Case]:
    """Cases that may have what the failure of ``case`` asks for, likely ones first."""
    yield from (replace(case, grid=grid) for each in failure.compared for grid in _grids(case, each))
    for each in failure.compared:
        yield from _fields(case, each)
        yield from _loaded(case, each, failure)
        yield from _COMPARISONS.get(each.operator, _nothing)(case, each)
    if "num_programs" in _line(failure) or "grid" in failure.message:
        yield from (replace(case, grid=grid) for grid in _GRIDS)
    for pattern, repair in _MESSAGES:
        match = re.search(pattern, failure.message)
        if match is not None:
            yield from repair(case, match, failure)
            return


def _grids(case: Case, asked: Compared) -> Iterator[tuple[int, ...]]:
    """``nl.num_programs(1) == heads``: the grid with so many programs along the axis."""
    for text, other in ((asked.left, asked.after), (asked.right, asked.before)):
        match = re.search(r"num_programs\((?:axes\s*=\s*)?(\d)\)", text)
        if match and type(other) is int and other > 0:
            axis = int(match[1])
            known = (*case.grid, *(1,) * (axis + 1 - len(case.grid)))
            yield (*known[:axis], other, *known[axis + 1 :])


def _nothing(case: Case, asked: Compared) -> Iterator[Case]:
    yield from ()


# --- what an assert compares -----------------------------------------------------------------------------------------


def _fields(case: Case, asked: Compared) -> Iterator[Case]:
    """Values for a field that is compared: what it should be, at most, at least, or a multiple of."""
    for text, own, other in ((asked.left, asked.before, asked.after), (asked.right, asked.after, asked.before)):
        path = text.split(".")
        if len(path) < 2 or not isinstance(case.args.get(path[0]), ObjectSpec):
            continue
        wanted: list[object] = list(other) if asked.operator == "In" and isinstance(other, tuple) else [other]
        if type(own) is int and type(other) is int:
            multiple = -(-own // other) * other if other > 0 else other
            wanted = [multiple] if asked.operator == "Mod" else [other, other + 1, max(other - 1, 1)]
        plain = (value for value in wanted if isinstance(value, (bool, int, float, str)))
        spec = case.args[path[0]]
        yield from (with_argument(case, path[0], with_field(spec, path[1:], value)) for value in plain)


def _truth(case: Case, asked: Compared) -> Iterator[Case]:
    """An argument that should be true, or not: a truth value, an order of dimensions, a tensor, or ``None``."""
    name = asked.left
    if isinstance(case.args.get(name), bool):
        yield with_argument(case, name, asked.after)
    elif name.isidentifier() and asked.after is False:
        yield with_argument(case, name, NoneSpec())
    elif name.isidentifier():
        for rank in dict.fromkeys(len(spec.shape) for spec in tensors(case).values()):
            order = tuple(range(rank))
            for axes_moved in ((*order[:-2], *order[:-3:-1]), order[::-1], (*order[1:], *order[:1])):
                yield with_argument(case, name, axes_moved)
        yield with_argument(case, name, True)
        yield with_argument(case, name, tensor(name, (PARTITIONS, PARTITIONS)))


def _equal(case: Case, asked: Compared) -> Iterator[Case]:
    left, right = asked.before, asked.after
    if isinstance(left, tuple) and isinstance(right, tuple):
        yield from _same_shapes(case, asked)
    elif type(left) is int and type(right) is int:
        yield from _ranks(case, asked)
        yield from in_turn(moved(case, left, right), moved(case, right, left), scaled(case, left, right))
    elif isinstance(left, str) and isinstance(right, str):
        yield from _texts(case, asked)
    elif isinstance(right, (bool, type(None))) or isinstance(left, bool):
        yield from toggled(case)


def _same_shapes(case: Case, asked: Compared) -> Iterator[Case]:
    for text, own, other in ((asked.left, asked.before, asked.after), (asked.right, asked.after, asked.before)):
        if not all(type(size) is int and size > 0 for size in other):
            continue
        named = [name for name, spec in tensors(case).items() if spec.shape == own]
        for name in sorted(named, key=lambda name: not text.startswith(f"{name}.")):
            yield shaped(case, name, other)
    if len(asked.before) == len(asked.after):
        different = [pair for pair in zip(asked.before, asked.after, strict=True) if pair[0] != pair[1]]
        for one, other in different:
            if type(one) is int and type(other) is int:
                yield from moved(case, one, other)
                yield from moved(case, other, one)


def _loaded(case: Case, asked: Compared, failure: Failure) -> Iterator[Case]:
    """``assert tile.shape == (128, 64)`` of ``tile = nl.load(x[0])``: its shape behind the points."""
    for text, other in ((asked.left, asked.after), (asked.right, asked.before)):
        match = re.fullmatch(r"(\w+)\.shape", text)
        if match is None or not isinstance(other, tuple) or not all(type(n) is int and n > 0 for n in other):
            continue
        lines = "".join(linecache.getlines(failure.file))
        for name, index in re.findall(rf"\b{match[1]}\s*=\s*[\w.]*\bload\(\s*(\w+)(?:\[([^\[\]]*)\])?\s*[,)]", lines):
            if name in tensors(case):
                points = [item for item in index.split(",") if item.strip() and ":" not in item and "ds(" not in item]
                first = tensors(case)[name].shape[: len(points)]
                yield shaped(case, name, (*first, *(2,) * (len(points) - len(first)), *other))


def _ranks(case: Case, asked: Compared) -> Iterator[Case]:
    """``len(x.shape) == 3``, ``x.ndim == 3``."""
    match = re.search(r"(\w+)\.(?:shape|ndim)", asked.left)
    if match and match[1] in tensors(case) and ("len(" in asked.left or "ndim" in asked.left):
        yield from ranked(case, match[1], asked.after)


def _texts(case: Case, asked: Compared) -> Iterator[Case]:
    """Data types, and texts that are arguments."""
    for text, own, other in ((asked.left, asked.before, asked.after), (asked.right, asked.after, asked.before)):
        if other in DTYPES:
            named = sorted(tensors(case), key=lambda name: not text.startswith(f"{name}."))
            yield from (typed(case, name, other) for name in named if tensors(case)[name].dtype == own)
            given = [name for name, value in case.args.items() if isinstance(value, DtypeSpec) and value.dtype == own]
            yield from (with_argument(case, name, DtypeSpec(other)) for name in given)
        yield from (with_argument(case, name, other) for name, value in case.args.items() if value == own)


def _among(case: Case, asked: Compared) -> Iterator[Case]:
    for other in asked.after if isinstance(asked.after, tuple) else ():
        yield from _equal(case, replace(asked, operator="Eq", after=other))


def _divisible(case: Case, asked: Compared) -> Iterator[Case]:
    """``n % 128``: the next multiple, and twice that."""
    size, modulus = asked.before, asked.after
    if not (type(size) is int and type(modulus) is int and modulus > 0) or size % modulus == 0:
        return
    up = -(-size // modulus) * modulus
    for new in (up, 2 * up):
        yield from in_turn(moved(case, size, new), scaled(case, size, new))
    for other in sizes(case):
        yield from moved(case, other, modulus)
    yield from moved(case, modulus, size)


def _at_most(case: Case, asked: Compared) -> Iterator[Case]:
    yield from _bounded(case, asked.before, asked.after)


def _at_least(case: Case, asked: Compared) -> Iterator[Case]:
    yield from _bounded(case, asked.after, asked.before)


def _bounded(case: Case, lower: object, upper: object) -> Iterator[Case]:
    """``lower`` should be at most ``upper``, or less."""
    if type(lower) is not int or type(upper) is not int:
        return
    for new in (upper, upper // 2, upper - 1):
        yield from moved(case, lower, new)
    for new in (lower, 2 * lower, lower + 1):
        yield from moved(case, upper, new)
    for size in sizes(case):
        yield from moved(case, size, size // 2)


def _unequal(case: Case, asked: Compared) -> Iterator[Case]:
    if type(asked.before) is int:
        for new in (2 * asked.before, asked.before + 1):
            yield from moved(case, asked.before, new)


_COMPARISONS: dict[str, Callable[[Case, Compared], Iterator[Case]]] = {
    "Eq": _equal,
    "Is": _equal,
    "IsNot": _equal,
    "In": _among,
    "Mod": _divisible,
    "LtE": _at_most,
    "Lt": _at_most,
    "GtE": _at_least,
    "Gt": _at_least,
    "NotEq": _unequal,
    "Truth": _truth,
}


# --- what a message says ---------------------------------------------------------------------------------------------


def _out_of_bound(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    name, axis, last, size = match[1], int(match[2]), int(match[3]), int(match[4])
    if name in tensors(case) and axis < len(tensors(case)[name].shape):
        whole = resized(case, size, last + 1) if size > 4 else case
        yield from (whole, with_axis(case, name, axis, last + 1), resized(case, size, last + 1))
        for factor in _LEAPS:  # the loop goes on: the message tells its first step behind the end
            yield from (with_axis(case, name, axis, factor * (last + 1)), resized(case, size, factor * (last + 1)))
    yield from in_turn(moved(case, size, last + 1), scaled(case, size, last + 1), moved(case, last + 1, size))


def _too_many_partitions(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    yield from moved(case, int(match[1]), PARTITIONS)
    yield from scaled(case, int(match[1]), PARTITIONS)


def _too_large(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """A size beyond a limit of an instruction."""
    yield from moved(case, int(match[1]), int(match[2]))
    yield from scaled(case, int(match[1]), int(match[2]))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _shapes_differ(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    one, other = _numbers(match[1]), _numbers(match[2])
    asked = Compared("Eq", "", "", one, other)
    yield from _same_shapes(case, asked)


def _partitions_differ(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """Two operands: one as large as the other, with other dimensions, too, or with as many partitions."""
    one, other = _numbers(match[1]), _numbers(match[2])
    yield from _same_shapes(case, Compared("Eq", "", "", one, other))
    if len(one) != len(other):
        yield from in_turn(moved(case, one[0], other[0]), moved(case, other[0], one[0]))


def _too_small_for(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """A destination of fewer elements than what it gets."""
    for own, other in zip(_numbers(match[1]), _numbers(match[2]), strict=False):
        if own < other:
            yield from in_turn(moved(case, other, own), moved(case, own, other))


def _unpacked(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    rank = int(match[1])
    words = re.findall(r"\w+", _line(failure))
    for name, value in case.args.items():
        if isinstance(value, (tuple, list)) and value and name in words:
            yield with_argument(case, name, (*value, *value[-1:] * rank)[:rank])
    named = re.findall(r"(\w+)\.shape", _line(failure))
    known = [name for name in named if name in tensors(case)] or list(tensors(case))
    for name in known:
        yield from ranked(case, name, rank)


def _indexed(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """A part of a tensor has too few dimensions: the tensor has as many too few."""
    if match[1] in tensors(case):
        missing = int(match[3]) - len(_numbers(match[2]))
        rank = len(tensors(case)[match[1]].shape) + missing
        yield from ranked_alike(case, match[1], rank)
        yield from ranked(case, match[1], rank)


def _indexed_whole(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """Vectors do not index all dimensions of a tensor: it has too many."""
    shape = tensors(case)[match[1]].shape if match[1] in tensors(case) else ()
    yield from (shaped(case, match[1], shape[len(shape) - rank :]) for rank in range(len(shape) - 1, 0, -1))


def _no_dimension(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """``x.shape[2]`` of a tensor of two dimensions."""
    for name, index in re.findall(r"(\w+)\.shape\[(\d+)\]", _line(failure)):
        if name in tensors(case) and int(index) >= len(tensors(case)[name].shape):
            yield from ranked(case, name, int(index) + 1)
            yield from ranked(case, name, int(index) + 2)


def _flat(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """A tile has two dimensions, a tensor of one gives none."""
    for name, spec in tensors(case).items():
        if len(spec.shape) == 1:
            yield from (shaped(case, name, s) for s in ((PARTITIONS, *spec.shape), (*spec.shape, 1), (1, *spec.shape)))


def _reshaped(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    name, shape = match[1], _numbers(match[2])
    if name in tensors(case):
        if 0 in shape:  # a number of tiles, of which the tensor has less than one
            tile = math.prod(size for size in shape if size)
            yield from (resized(case, size, n * tile) for n in (2, 1) for size in tensors(case)[name].shape)
            return
        whole, old = case, tensors(case)[name].shape  # tensors that are alike may be reshaped one after the other
        for other in (each for each, spec in tensors(case).items() if spec.shape == old):
            whole = shaped(whole, other, shape)
        yield whole
        yield shaped(case, name, tuple(size for size in shape if size > 1) or (1,))
        yield shaped(case, name, shape)


def _no_data_type(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    for name in _numbered(case, failure):
        yield from (with_argument(case, name, DtypeSpec(dtype)) for dtype in ("float32", "bfloat16"))


def _sequence(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """A number where the kernel takes a sequence, or a tensor."""
    for name in _numbered(case, failure):
        if "load" not in _line(failure):
            yield from (with_argument(case, name, pair) for pair in _PAIRS)
        yield with_argument(case, name, tensor(name, (PARTITIONS, PARTITIONS)))


def _numbers_of(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """A tensor where the kernel takes a tuple of numbers: ``rows, columns = sizes``."""
    words = re.findall(r"\w+", _line(failure))
    for name in (name for name in tensors(case) if name in words):
        yield from (with_argument(case, name, pair) for pair in (*_PAIRS, tensors(case)[name].shape))


def _attribute(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """``'int' object has no attribute 'shape'``: a tensor. ``None`` may be an optional one."""
    if match[2] not in _OF_TENSORS:
        return
    for name in _numbered(case, failure):
        yield from (with_argument(case, name, tensor(name, (PARTITIONS,) * rank)) for rank in (2, 1))
    if match[1] == "NoneType":
        for name in re.findall(rf"(\w+)\.{match[2]}", _line(failure)):
            yield from (with_argument(case, name, tensor(name, (PARTITIONS,) * rank)) for rank in (2, 1))


def _numbered(case: Case, failure: Failure) -> list[str]:
    """The arguments that are numbers, those that the failing line names first."""
    words = re.findall(r"\w+", _line(failure))
    named = [name for name, value in case.args.items() if type(value) in (int, float, bool)]
    return sorted(named, key=lambda name: name not in words)


def _larger(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """A loop that does not run: something is smaller than a tile."""
    grown = (_of_one_tensor(case, name, size, factor) for factor in (2, 4, 8) for name, size in _held(case))
    yield from in_turn((resized(case, size, f * size) for size in sizes(case) for f in (2, 4, 8, 16)), grown)
    whole = case
    for size in sizes(case):
        whole = resized(whole, size, 4 * size)
    yield whole


def _held(case: Case) -> list[tuple[str, int]]:
    """The tensors of a case, each with each size that it has."""
    return [(name, size) for name, spec in tensors(case).items() for size in dict.fromkeys(spec.shape)]


def _of_one_tensor(case: Case, name: str, size: int, factor: int) -> Case:
    shape = tensors(case)[name].shape
    return shaped(case, name, tuple(factor * known if known == size else known for known in shape))


def _smaller(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    for size in sorted(sizes(case), reverse=True):
        yield from moved(case, size, size // 2)


def _optional(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """An argument that was given and should not be, or the other way round."""
    for name, value in case.args.items():
        if isinstance(value, NoneSpec):
            yield with_argument(case, name, tensor(name, (PARTITIONS, PARTITIONS)))


def _missing(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """A tensor that is ``None`` by default and is indexed, read or written: one of a shape that another one has."""
    names = [name for name in re.findall(r"(\w+)\[", _line(failure)) if name not in case.args]
    shapes = list(dict.fromkeys(spec.shape for spec in tensors(case).values()))
    for name in dict.fromkeys(names):
        for output in (True, False):
            made = (
                replace(tensor(name, shape), fill="zeros" if output else "normal", output=output) for shape in shapes
            )
            yield from (with_argument(case, name, each) for each in made)


def _line(failure: Failure) -> str:
    return linecache.getline(failure.file, failure.line)


def _typed(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    """A data type of an operand, whose name may be that of an argument, or begin like one."""
    dtype = {"an integer type": "int32"}.get(match[2], match[2])
    for name in _alike(case, match[1]):
        if dtype in DTYPES and tensors(case)[name].dtype != dtype:
            yield typed(case, name, dtype)


def _alike(case: Case, name: str) -> list[str]:
    """The tensors of the case, those that are called like ``name`` first."""
    return sorted(tensors(case), key=lambda known: -_common(known, name))


def _common(one: str, other: str) -> int:
    """How many letters two names begin with alike."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _one_element(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    for name in _alike(case, match[1]):
        yield shaped(case, name, (*tensors(case)[name].shape[:-1], 1))
    whole = case
    for name in _alike(case, match[1]):
        if name[:3] == match[1][:3]:
            whole = shaped(whole, name, (*tensors(case)[name].shape[:-1], 1))
    yield whole


def _probabilities(case: Case, match: re.Match[str], failure: Failure) -> Iterator[Case]:
    for name, spec in tensors(case).items():
        yield with_argument(case, name, replace(spec, fill="uniform"))


_Repair = Callable[[Case, re.Match[str], Failure], Iterator[Case]]
_SHAPE = r"[\[(]([\d, ]+)[\])]"
_MESSAGES: tuple[tuple[str, _Repair], ...] = (
    (r"tensor `(\w+)` on dimension (\d+): index range \[-?\d+, (\d+)\] exceed dimension size of (\d+)", _out_of_bound),
    (r"number of partitions (\d+).* exceed", _too_many_partitions),
    (rf"number of partitions .* mismatch in parameters \(\w+{_SHAPE}, \w+{_SHAPE}\)", _partitions_differ),
    (r"(?:dimension|size|elements|extent) (?:of )?(\d+).* (?:exceeds?|limit\w*|at most|more than)\D*(\d+)", _too_large),
    (rf"shape of `\w+{_SHAPE}` does not match the expected shape of {_SHAPE}", _shapes_differ),
    (r"cannot reshape \w+ (\w+)\[.*\] in \w+ to \(([\d, ]+)\)", _reshaped),
    (rf"destination shape\D*{_SHAPE} of parameter '\w+' is smaller than \D*{_SHAPE}", _too_small_for),
    (rf"{_SHAPE}\D*(?:and|with|to|by|from|into)\D*{_SHAPE}", _shapes_differ),
    (r"values to unpack \(expected (\d+)", _unpacked),
    (r"too many indices for \w+ (\w+)\[(.*)\] in \w+: (\d+)", _indexed),
    (r"'?(\w+)'? .*must (?:be|have) (?:of type )?(an integer type|u?int\d+|b?float\d+\w*)", _typed),
    (r"one element a partition, got \w+ (\w+)\[", _one_element),
    (r"Mixing basic tensor indexing and advanced .*\(tensor `(\w+)`\)", _indexed_whole),
    (r"tuple index out of range", _no_dimension),
    (r"outside \[0, 1\]", _probabilities),
    (r"Insufficient rank|at least two dimensions", _flat),
    (r"is not a data type", _no_data_type),
    (r"iterating over a tensor", _numbers_of),
    (r"'(?:int|float|bool)' object is not (?:iterable|subscriptable)|non-iterable int", _sequence),
    (r"object of type 'int' has no len|'int' object does not support item", _sequence),
    (r"'(int|float|bool|str|NoneType)' object has no attribute '(\w+)'", _attribute),
    (r"never written to|not written|division by zero|modulo by zero|positive ints?, got", _larger),
    (r"did not end within|ran out of memory|exceeds the|capacity|does not fit", _smaller),
    (r"'NoneType' object is not subscriptable", _missing),
    (r"NoneType", _optional),
)
