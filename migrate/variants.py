"""Variations of a case: other sizes, data types, grids and seeds; and smaller ones, to shrink what was found.

Sizes that are equal in a case are taken for one dimension of the kernel: they change together, and so do arguments that
are that number. Each size also changes alone. Nothing here is random but in order: the same case gives the same
variations.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from nki_migrate.runtime.cases import Case, TensorSpec

_TILES = (128, 512)
_FLOATS = ("float32", "bfloat16", "float16")
_MAX_ELEMENTS = 1 << 22
_RANDOM = 10_000


def edges(case: Case) -> Iterator[Case]:
    """One less and one more than each size, and than the multiples of a tile next to it: where masks cut."""
    yield from _distinct(case, (resized(case, size, new) for size in sizes(case) for new in _edge_sizes(size)))


def variations(case: Case) -> Iterator[Case]:
    """Other sizes, types, grids and seeds, one at a time; then many times several at once."""
    yield from _distinct(case, _single_changes(case), _combined(case))


def smaller(case: Case, original: Case) -> Iterator[Case]:
    """Cases that are simpler than ``case``: nearer to ``original`` in what has no size, smaller in what has."""
    yield from _distinct(case, _simplified(case, original))


def weight(case: Case) -> tuple[int, int, int]:
    """What shrinking makes smaller: elements, programs, seed."""
    programs = 1
    for extent in case.grid:
        programs *= extent
    return sum(_elements(tensor.shape) for _, tensor in _tensors(case)), programs, case.seed


def _distinct(case: Case, *sources: Iterator[Case]) -> Iterator[Case]:
    seen = {repr(case)}
    for source in sources:
        for variant in source:
            if repr(variant) not in seen and weight(variant)[0] <= max(_MAX_ELEMENTS, weight(case)[0]):
                seen.add(repr(variant))
                yield variant


def has_ones(variant: Case, original: Case) -> bool:
    """Is a size 1 that is larger in the original? Beta 1 repeats such a dimension where the others are larger."""
    pairs = zip(_tensors(variant), _tensors(original), strict=True)
    return any(n == 1 != m for (_, a), (_, b) in pairs for n, m in zip(a.shape, b.shape, strict=True))


def has_other_types(variant: Case, original: Case) -> bool:
    """Is a tensor of another type than in the original?"""
    return any(a.dtype != b.dtype for (_, a), (_, b) in zip(_tensors(variant), _tensors(original), strict=True))


# --- changes ---------------------------------------------------------------------------------------------------------


def sizes(case: Case) -> list[int]:
    """The different sizes of the tensors that can change, in the order in which they appear."""
    return list(dict.fromkeys(size for _, tensor in _tensors(case) if _can_change(tensor) for size in tensor.shape))


def _edge_sizes(size: int) -> list[int]:
    near = [size - 1, size + 1]
    for tile in _TILES:
        multiple = max(size // tile, 1) * tile
        near += [multiple - 1, multiple, multiple + 1]
    return [new for new in dict.fromkeys(near) if new > 0 and new != size and new <= 4 * size + 1]


def _single_changes(case: Case) -> Iterator[Case]:
    yield from (_retyped(case, dtype) for dtype in _FLOATS)
    for axis, extent in enumerate(case.grid):
        yield from (_regridded(case, axis, new) for new in (1, 2, 3, 2 * extent) if new != extent)
    for size in sizes(case):
        for new in (2 * size, size // 2, 4 * size, 1, 2, 3, size + 128):
            if new > 0:
                yield resized(case, size, new)
    for name, tensor in _tensors(case):
        for axis, size in enumerate(tensor.shape if _can_change(tensor) else ()):
            for new in (size - 1, size + 1, 2 * size, size // 2, 1):
                if new > 0:
                    yield with_axis(case, name, axis, new)
    yield from (replace(case, seed=case.seed + step) for step in range(1, 4))


def _combined(case: Case) -> Iterator[Case]:
    choice = random.Random(0)
    for _ in range(_RANDOM):
        variant = case
        for _ in range(choice.randint(2, 4)):
            variant = _changed_at_random(variant, choice)
        yield variant


def _changed_at_random(case: Case, choice: random.Random) -> Case:
    kind = choice.choice(("size", "size", "size", "axis", "dtype", "grid", "seed"))
    known = sizes(case)
    if kind == "size" and known:
        size = choice.choice(known)
        return resized(case, size, choice.choice([*_edge_sizes(size), 2 * size, max(size // 2, 1), 1, 2]))
    if kind == "axis" and known:
        name, tensor = choice.choice([(n, t) for n, t in _tensors(case) if _can_change(t) and t.shape] or [("", None)])
        if tensor is not None:
            axis = choice.randrange(len(tensor.shape))
            return with_axis(case, name, axis, choice.choice([*_edge_sizes(tensor.shape[axis]), 1]))
    if kind == "dtype":
        return _retyped(case, choice.choice(_FLOATS))
    if kind == "grid" and case.grid:
        return _regridded(case, choice.randrange(len(case.grid)), choice.choice((1, 2, 3, 4)))
    return replace(case, seed=choice.randrange(1000))


def _simplified(case: Case, original: Case) -> Iterator[Case]:
    if case.seed != original.seed:
        yield replace(case, seed=original.seed)
    wanted = {name: tensor.dtype for name, tensor in _tensors(original)}
    if any(tensor.dtype != wanted[name] for name, tensor in _tensors(case)):
        yield _mapped(case, lambda name, tensor: replace(tensor, dtype=wanted[name]))
    for axis, extent in enumerate(case.grid):
        for new in (1, extent // 2, extent - 1):
            if 0 < new < extent:
                yield _regridded(case, axis, new)
    for size in sorted(sizes(case), reverse=True):
        for new in (1, 2, size // 8, size // 4, size // 2, size - size // 4, size - 1):
            if 0 < new < size:
                yield resized(case, size, new)
    for name, tensor in _tensors(case):
        for axis, size in enumerate(tensor.shape if _can_change(tensor) else ()):
            for new in (1, size // 2, size - 1):
                if 0 < new < size:
                    yield with_axis(case, name, axis, new)


# --- parts of a case -------------------------------------------------------------------------------------------------


def _tensors(case: Case) -> list[tuple[str, TensorSpec]]:
    return [(name, value) for name, value in case.args.items() if isinstance(value, TensorSpec)]


def _can_change(tensor: TensorSpec) -> bool:
    """Stored data have one shape and one type."""
    return not tensor.fill.endswith(".npy")


def _elements(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _mapped(case: Case, change: Any) -> Case:
    args = {
        name: change(name, value) if isinstance(value, TensorSpec) and _can_change(value) else value
        for name, value in case.args.items()
    }
    return replace(case, args=args)


def resized(case: Case, size: int, new: int) -> Case:
    """Everywhere ``new`` instead of ``size``, also in arguments that are that number."""
    changed = _mapped(
        case, lambda _, tensor: replace(tensor, shape=tuple(new if n == size else n for n in tensor.shape))
    )
    args = {
        name: new if type(value) is int and value == size and size > 2 else value
        for name, value in changed.args.items()
    }
    return replace(changed, args=args)


def with_axis(case: Case, name: str, axis: int, new: int) -> Case:
    tensor = case.args[name]
    shape = (*tensor.shape[:axis], new, *tensor.shape[axis + 1 :])
    return replace(case, args={**case.args, name: replace(tensor, shape=shape)})


def with_number(case: Case, name: str, value: int) -> Case:
    """``value`` as the argument ``name``."""
    return replace(case, args={**case.args, name: value})


def axes(case: Case) -> list[tuple[str, int]]:
    """The axes of the tensors that can change: parameter and number."""
    return [(name, axis) for name, tensor in _tensors(case) if _can_change(tensor) for axis in range(len(tensor.shape))]


def _retyped(case: Case, dtype: str) -> Case:
    return _mapped(case, lambda _, tensor: replace(tensor, dtype=dtype) if tensor.dtype in _FLOATS else tensor)


def _regridded(case: Case, axis: int, new: int) -> Case:
    return replace(case, grid=(*case.grid[:axis], new, *case.grid[axis + 1 :]))
