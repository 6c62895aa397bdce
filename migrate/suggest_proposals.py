"""First cases for a kernel from its source: sizes that its asserts allow, plausible and small ones first."""

from __future__ import annotations

import ast
import itertools
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeGuard

from nki_migrate.runtime.cases import Case, DtypeSpec, ObjectSpec, TensorSpec

from .suggest_calls import tensor
from .suggest_choices import choices
from .suggest_docstrings import Dim, docstrings, documented_kinds
from .suggest_expressions import Unknown, evaluated
from .suggest_facts import Facts, at_least, facts_of, holds, parameters
from .suggest_launches import FIRST, handed_extents
from .suggest_numbers import is_number, other_numbers
from .suggest_objects import Class, class_of, classes_of, objects, plain_fields
from .suggest_parts import in_turn
from .suggest_room import positive_sizes

_SIZES = (128, 256, 512, 64, 2, 1, 32, 4, 1024, 8, 2048, 16, 4096)
_OUTER_SIZES = (2, 1, 4, 8, 16, 3, 128, 256, 32, 64, 512, 1024)
"""For dimensions that are only ever before the last two: batches and blocks."""
_NAMED_SIZES = (
    (r"tiles_|blocks_|num_|^n_|count|groups|heads", _OUTER_SIZES),
    (r"tile|block|chunk|_dim|_len|seq", _SIZES),
    (r"stride|dilation|pool|padding", (1, 2, 3)),
    (r"filter|kernel", (3, 2, 1, 5)),
    (r"height|width", (8, 16, 12, 32, 6, 4, 64, 128)),
    (r"channel", (128, 256, 512, 64, 32, 1)),
)
"""For dimensions whose name says what they are: counts and sizes of tiles, those of convolutions (small images)."""
_RANKS = (2, 3, 1, 4)
_ATTEMPTS = 2000
"""Combinations of sizes that are looked at, before any runs."""
_TIMES = (2, 1, 0)
"""How often the loops of a proposal run at least: twice shows most, and one that does not run shows nothing."""
_JUDGED = 3000
"""Choices of sizes that are judged, for one choice of ranks: errors tell more than a long search of what is allowed."""
_OPTIONS = 5
_MARGINS = 3
"""Sizes of a dimension, and of one that is subtracted from it, that are looked at together."""
_WHOLE = 1024
"""A size of which something is subtracted, while it is found out how much that is."""
_DIFFERENT = 3
"""How many sizes of a dimension are looked at for sizes that all differ, and how many such proposals there are."""
MAX_ELEMENTS = 1 << 25
"""Of a proposal: a matmul of 2048 x 2048 x 8192 has so many."""
LARGEST_TOLD = 1 << 28
"""Elements of a case whose sizes the source or a call tells as numbers."""
Size = int | tuple[int, ...]


def _tensors(required: Sequence[str], facts: Facts, annotated: Mapping[str, str]) -> list[str]:
    """The parameters that are tensors; where nothing tells it of any, all that do not seem to be numbers or types."""
    known = {*facts.tensors, *facts.shapes, *(name for name, text in annotated.items() if "ensor" in text)}
    known |= {claim.parameter for claim in facts.claims}
    tensors = [name for name in required if name in known]
    return tensors or [name for name in required if not ("dtype" in name or annotated.get(name) in _VALUES)]


def proposed_cases(path: Path, tree: ast.Module, kernel: ast.FunctionDef) -> Iterator[Case]:
    """Cases whose sizes the asserts allow; where they allow none of those that were looked at, plain ones.

    Where the source allows large ones only, these.
    """
    facts, outputs = facts_of(tree, kernel), _outputs(kernel)
    facts.positive = list(positive_sizes(kernel))
    facts.asserts += [at_least(ast.Name(name), 1) for name in facts.positive]
    handed = handed_extents(tree, kernel)
    tensors, numbers, plain, variants = _arguments(path, tree, kernel, facts, dict.fromkeys(handed, FIRST))
    has_any = False
    for most in (MAX_ELEMENTS, LARGEST_TOLD):
        for sizes in () if has_any else _sizes(tensors, numbers, facts, plain):
            for variant in variants if _elements(sizes) <= most else ():
                for case in _cases(path, kernel.name, sizes, variant, facts, handed):
                    has_any = True
                    yield _with_outputs(case, outputs)


def _arguments(
    path: Path, tree: ast.Module, kernel: ast.FunctionDef, facts: Facts, programs: Mapping[str, int]
) -> tuple[list[str], list[str], dict[str, object], list[dict[str, object]]]:
    """The tensors, the numbers that sizes depend on, the plain values of the others, and the arguments besides.

    ``programs`` are the values of parameters that launches give extents of the grid.
    """
    defaults, classes, said = default_values(kernel), classes_of(path, tree), choices(tree, kernel)
    known = {name: found for name in parameters(kernel) if (found := class_of(kernel, name, classes))}
    made = {name: values for name, wanted in known.items() if (values := objects(wanted, classes))}
    given = {name: values for name, values in made.items() if name not in defaults}
    required = [name for name in parameters(kernel) if name not in {**defaults, **given}]
    tensors = [name for name in _tensors(required, facts, _annotated(kernel)) if name not in said]
    scalars = _scalars([name for name in required if name not in tensors], tree, kernel, said)
    asked = facts.resolved(_plain(defaults)).names()
    numbers = [name for name, value in scalars.items() if type(value) is int and name in asked]
    fixed = {name: value for name, value in scalars.items() if name not in numbers}
    fields = _fields(known, {name: values[0] for name, values in given.items()})
    plain = {**_plain(defaults), **fields, **_plain(fixed)}
    against = {**_against_defaults(facts, defaults, plain), **programs}
    variants = _variants({**fixed, **against}, given, _others(said, made, defaults))
    return tensors, numbers, {**plain, **against}, variants


def _against_defaults(facts: Facts, defaults: Mapping[str, object], known: Mapping[str, object]) -> dict[str, object]:
    """Truth values that asserts want otherwise than they are by default: ``assert not transposed``."""
    before = facts.broken(known)
    flags = [name for name, value in defaults.items() if isinstance(value, bool)] if before else []
    return {name: not known[name] for name in flags if facts.broken({**known, name: not known[name]}) < before}


def _fields(known: Mapping[str, Class], variant: Mapping[str, object]) -> dict[str, object]:
    """``config.tile``: the plain fields of the arguments that are objects, as they are given or by default."""
    found: dict[str, object] = {}
    for name, wanted in known.items():
        given = variant.get(name)
        fields = plain_fields(wanted, given.args if isinstance(given, ObjectSpec) else {})
        found |= {f"{name}.{field}": value for field, value in fields.items()}
    return found


def _scalars(
    names: Sequence[str], tree: ast.Module, kernel: ast.FunctionDef, said: Mapping[str, Sequence[object]]
) -> dict[str, object]:
    """Values for parameters that are no tensors: what they are compared with, what is documented, what they seem."""
    numbers, annotated = documented_kinds(docstrings(tree, kernel), parameters(kernel)), _annotated(kernel)
    known = {**numbers, **{name: values[0] for name, values in said.items()}}
    return {name: known[name] if name in known else _scalar(name, annotated.get(name, "")) for name in names}


def _others(
    said: Mapping[str, Sequence[object]], made: Mapping[str, Sequence[object]], defaults: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    """Other values: objects that are not as by default, then what parameters are compared with."""
    yield from ((name, value) for name, values in made.items() if name in defaults for value in values[1:])
    for name, values in said.items():
        first = defaults[name] if name in defaults else values[0]
        yield from ((name, value) for value in values if value != first)


_VALUES: dict[str, object] = {"int": 2, "bool": False, "float": 1.0, "str": "", "tuple": (2, 2), "list": [2, 2]}


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


def _sizes(
    tensors: Sequence[str], numbers: Sequence[str], facts: Facts, scalars: Mapping[str, object]
) -> Iterator[dict[str, Size]]:
    """Shapes of tensors, and numbers, that the asserts allow; else the preferred ones of each choice of ranks."""
    found = False
    plain: list[dict[str, Size]] = []
    facts = facts.resolved(scalars)
    for choices_of_ranks in _ranks(tensors, facts):
        for each in in_turn(*(_of_ranks(ranks, tensors, numbers, facts, scalars, plain) for ranks in choices_of_ranks)):
            found = True
            yield each
    if not found:
        yield from [each for each in plain if _elements(each) <= MAX_ELEMENTS]
        yield from _guessed(tensors, facts)


def _of_ranks(
    ranks: Mapping[str, int],
    tensors: Sequence[str],
    numbers: Sequence[str],
    facts: Facts,
    scalars: Mapping[str, object],
    plain: list[dict[str, Size]],
) -> Iterator[dict[str, Size]]:
    """Those of one choice of ranks that the asserts allow; the preferred ones are added to ``plain``."""
    asked = [*tensors, *numbers]
    shapes: dict[str, list[Dim]] = {name: [f"{name}{n}" for n in range(rank)] for name, rank in ranks.items()}
    ranked = replace(facts, shapes={**facts.shapes, **shapes})
    symbols = list(dict.fromkeys([*ranked.symbols(tensors, numbers, scalars), *numbers]))
    inner = {ranked.equal.get(str(d), str(d)) for name in tensors for d in ranked.shapes.get(name, [])[-2:]}
    options = {symbol: _preferred(symbol, symbol in inner) for symbol in symbols}
    preferred = {name: tuple(dict.fromkeys((*sizes, *facts.constants()))) for name, sizes in options.items()}
    for choose in (operator.itemgetter(0), _small):
        plain += _sized(asked, ranked, {symbol: choose(sizes) for symbol, sizes in options.items()}, scalars)
    for sizes in _allowed(preferred, ranked, scalars):
        yield from _sized(asked, ranked, sizes, scalars)


def _allowed(
    preferred: Mapping[str, Sequence[int]], facts: Facts, scalars: Mapping[str, object]
) -> Iterator[dict[str, int]]:
    """Choices of the preferred sizes that the asserts allow; where they allow none, those with margins."""
    has_any = False
    for least in _TIMES:
        running = facts.with_loops(least)
        alone = _alone(preferred, running, scalars)
        for sizes in _spread(_assignments(alone, running, scalars), alone, running, scalars):
            has_any = True
            yield sizes
    if facts.positive and not has_any:
        yield from _allowed(_with_margins(preferred, facts, scalars), replace(facts, positive=()), scalars)


def _with_margins(
    preferred: Mapping[str, Sequence[int]], facts: Facts, scalars: Mapping[str, object]
) -> dict[str, Sequence[int]]:
    """The preferred sizes, and first such ones as 129 of ``IW`` where ``OW = IW - B + 1`` is 128 with 2 of ``B``."""
    made: dict[str, list[int]] = {symbol: [] for symbol in preferred}
    for name, whole, part in itertools.product(facts.positive, preferred, preferred):
        for size in sorted(preferred[part])[:_MARGINS] if whole != part else ():
            known = {**dict.fromkeys(preferred, 1), part: size}
            value, next_one = (facts.values({**known, whole: n}, scalars).get(name) for n in (_WHOLE, _WHOLE + 1))
            if type(value) is int and value != _WHOLE and next_one == value + 1:
                made[whole] += [n + _WHOLE - value for n in preferred[whole][:_MARGINS]]
    return {symbol: list(dict.fromkeys([*made[symbol], *sizes])) for symbol, sizes in preferred.items()}


def _elements(sizes: Mapping[str, Size]) -> int:
    return sum(math.prod(size) for size in sizes.values() if isinstance(size, tuple))


def _small(sizes: Sequence[int]) -> int:
    """The smallest of the sizes, but for 1."""
    return min((size for size in sizes if size > 1), default=1)


def _guessed(tensors: Sequence[str], facts: Facts) -> Iterator[dict[str, Size]]:
    """Shapes by what is told of ranks alone: what the source says of sizes contradicts itself, or is not understood."""
    dims = {name: facts.shapes.get(name) or ["", ""] for name in tensors}
    for size in (_SIZES[0], _OUTER_SIZES[0]):
        yield {name: tuple(dim if isinstance(dim, int) else size for dim in each) for name, each in dims.items()}


def _preferred(symbol: str, is_inner: bool) -> Sequence[int]:
    """The sizes to try for a dimension, by its name, and by whether it is one of the last two of a tensor."""
    named = (sizes for pattern, sizes in _NAMED_SIZES if re.search(pattern, symbol.lower()))
    return next(named, _SIZES if is_inner else _OUTER_SIZES)


def _alone(
    preferred: Mapping[str, Sequence[int]], facts: Facts, scalars: Mapping[str, object]
) -> dict[str, Sequence[int]]:
    """The sizes of each dimension that nothing excludes whatever the others are: ``n % 128 == 0``."""
    return {
        symbol: [size for size in sizes if holds(facts, {symbol: size}, scalars)] or sizes
        for symbol, sizes in preferred.items()
    }


def _sized(
    asked: Sequence[str], facts: Facts, sizes: Mapping[str, int], scalars: Mapping[str, object]
) -> list[dict[str, Size]]:
    """The shapes and numbers with these sizes; none where a size is not told, or not a size."""
    values = facts.values(sizes, scalars)
    given = {name: values.get(f"{name}.shape", sizes.get(facts.equal.get(name, name))) for name in asked}
    found: dict[str, Size] = {name: size for name, size in given.items() if _is_size(size)}
    return [found] if len(found) == len(asked) else []


def _is_size(value: object) -> TypeGuard[Size]:
    """Is it a size, or a shape of sizes?"""
    parts = value if isinstance(value, tuple) else (value,)
    return all(type(size) is int and size > 0 for size in parts)


def _spread(
    found: Iterator[dict[str, int]],
    allowed: Mapping[str, Sequence[int]],
    facts: Facts,
    scalars: Mapping[str, object],
) -> Iterator[dict[str, int]]:
    """What is found, and behind the first some sizes that are all different: an error then tells which one it means."""
    first = next(found, None)
    if first is None:
        return
    yield first
    if len(set(first.values())) < len(first):
        places = itertools.product(*(range(min(len(sizes), _OPTIONS)) for sizes in allowed.values()))
        nearest = sorted(itertools.islice(places, _ATTEMPTS), key=sum)
        made = (
            dict(zip(allowed, (s[n] for s, n in zip(allowed.values(), p, strict=True)), strict=True)) for p in nearest
        )
        different = (sizes for sizes in made if len(set(sizes.values())) == len(sizes))
        judged = itertools.islice(different, _JUDGED // 2)
        yield from itertools.islice((sizes for sizes in judged if holds(facts, sizes, scalars)), _DIFFERENT)
    yield from found


def _variants(
    scalars: Mapping[str, object], typed: Mapping[str, Sequence[object]], others: Iterable[tuple[str, object]]
) -> list[dict[str, object]]:
    """The arguments that are no tensors: with the first object of each class, then one of them changed at a time."""
    first = {**scalars, **{name: values[0] for name, values in typed.items()}}
    changed = [(name, value) for name, values in typed.items() for value in values[1:]]
    return [first, *({**first, name: value} for name, value in (*changed, *others))]


def default_values(kernel: ast.FunctionDef) -> dict[str, object]:
    """Parameters with a default, and its value where it is a plain one; else the expression."""
    arguments = kernel.args
    positional = [*arguments.posonlyargs, *arguments.args]
    given = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
    given += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    found: dict[str, object] = {}
    for argument, value in given:
        try:
            found[argument.arg] = evaluated(value, {})
        except Unknown:
            found[argument.arg] = value
    return found


def options_of(kernel: ast.FunctionDef) -> dict[str, list[object]]:
    """Other values of parameters that are by default a truth value, a tuple of numbers, or a number that decides; and a
    number for those that are ``None`` by default where the kernel computes with them.
    """
    found: dict[str, list[object]] = {}
    for name, value in default_values(kernel).items():
        if value is None and is_number(kernel, name):
            found[name] = [0.5]
        if type(value) in (int, float) and (others := other_numbers(kernel, name, value)):
            found[name] = others
        if isinstance(value, bool):
            found[name] = [not value]
        elif isinstance(value, tuple) and value and all(type(each) is int for each in value):
            found[name] = [(*value[:n], size, *value[n + 1 :]) for n in range(len(value)) for size in (_SIZES[0], 2)]
    return found


def _plain(values: Mapping[str, object]) -> dict[str, object]:
    """The arguments that an expression can compute with."""
    return {n: v for n, v in values.items() if v is None or isinstance(v, (bool, int, float, str, tuple))}


def _scalar(name: str, annotation: str) -> object:
    """A value for a parameter that is no tensor, by its name and its annotation."""
    if "dtype" in name:
        return DtypeSpec("float32")
    if "eps" in name:
        return 1e-5
    kind = annotation.partition("[")[0].lower()
    if kind in _VALUES:
        return _VALUES[kind]
    if name.startswith(("use_", "is_", "do_", "has_", "enable")):
        return False
    return 1.0 if "scale" in name or "alpha" in name else 2


def _ranks(tensors: Sequence[str], facts: Facts) -> Iterator[list[dict[str, int]]]:
    """Ranks of the tensors whose rank the source does not tell: all the same first; those to be tried in turn.

    ``x.shape[0]`` of one that is loaded as it is tells nothing: a tile has partitions, and what is in them.
    """
    open_ones = [name for name in tensors if not facts.shapes.get(name) and name not in facts.whole]
    tiles = [name for name in tensors if name in facts.loaded and facts.shapes.get(name) == [f"{name}0"]]
    for rank in _RANKS if open_ones else (0,):
        known = dict.fromkeys(open_ones, rank)
        yield [{**known, **dict.fromkeys(tiles, least)} for least in ((2, 1) if tiles else (0,))]


def _assignments(
    symbols: Mapping[str, Sequence[int]], facts: Facts, scalars: Mapping[str, object]
) -> Iterator[dict[str, int]]:
    """Sizes of the symbols that satisfy the asserts, those nearest to the preferred ones first."""
    found = _Assignments(list(symbols.items()), facts, scalars)
    for total in range(sum(len(sizes) - 1 for sizes in symbols.values()) + 1):
        yield from found.of(total, {}, ())


@dataclass
class _Assignments:
    """Choices of one size for each symbol that the asserts allow; what a part of a choice excludes is left out."""

    symbols: list[tuple[str, Sequence[int]]]
    facts: Facts
    scalars: Mapping[str, object]
    allowed: dict[tuple[int, ...], bool] = field(default_factory=dict)

    def of(self, total: int, sizes: dict[str, int], chosen: tuple[int, ...]) -> Iterator[dict[str, int]]:
        """Those whose places among the sizes to try add up to ``total``, which begin with ``sizes``."""
        if len(chosen) == len(self.symbols):
            yield from [sizes] if total == 0 else []
            return
        name, options = self.symbols[len(chosen)]
        last = len(chosen) + 1 == len(self.symbols)
        for index in range(total if last else 0, min(total, len(options) - 1) + 1):
            more, place = {**sizes, name: options[index]}, (*chosen, index)
            if place not in self.allowed:
                if len(self.allowed) >= _JUDGED:
                    return
                self.allowed[place] = holds(self.facts, more, self.scalars)
            if self.allowed[place]:
                yield from self.of(total - index, more, place)


def _cases(
    path: Path,
    kernel: str,
    sizes: Mapping[str, Size],
    scalars: Mapping[str, object],
    facts: Facts,
    handed: Mapping[str, int],
) -> Iterator[Case]:
    """Cases of these sizes; ``handed`` are the arguments that are the extent of an axis of the grid."""
    shapes = {name: size for name, size in sizes.items() if isinstance(size, tuple)}
    args: dict[str, object] = {name: tensor(name, shape) for name, shape in shapes.items()}
    args |= {**scalars, **{name: size for name, size in sizes.items() if name not in shapes}}
    told = {axis: size for name, axis in handed.items() if type(size := args.get(name)) is int}
    extents = (2, 1) if len(told) < facts.axes else (0,)
    for extent in extents:
        yield Case(kernel, "", str(path), grid=tuple(told.get(axis, extent) for axis in range(facts.axes)), args=args)
