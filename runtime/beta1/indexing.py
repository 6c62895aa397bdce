"""Index vectors and masks, kept symbolic.

An index vector is affine in the position in a grid: ``const + sum(coefficient[d] * g[d])`` with ``0 <= g[d] <
extent[d]``. ``nl.arange`` and the components of ``nl.mgrid`` are such vectors, arithmetic with loop variables keeps
them so, and numpy's broadcasting rules combine them. Masks, ``iota``, ``affine_select`` and strided accesses all read
the same coefficients.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..affine import affine
from ..errors import KernelError, NotModelled
from ..memory import Array
from ..source import condition

Number = int | float
NO_AXES = frozenset[int]()
_ALL = slice(None)
_axis_ids = itertools.count()


class Index:
    """An affine index vector (module docstring).

    ``axes`` names, for each dimension, the vectors that it came from; ``form`` is what is left without them and the
    constant.
    """

    __slots__ = ("axes", "coefficients", "const", "extents", "form")
    __array_ufunc__ = None

    const: Number
    extents: tuple[int, ...]
    coefficients: tuple[int, ...]
    axes: tuple[frozenset[int], ...]
    form: tuple[tuple[int, ...], tuple[int, ...]]

    def __repr__(self) -> str:
        return f"an index vector of shape {list(self.shape)}"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extents

    @property
    def ndim(self) -> int:
        return len(self.extents)

    def __getitem__(self, key: Any) -> Index:
        """Insert dimensions of extent 1: only ``:``, ``None`` and ``...`` are index expressions here."""
        if type(key) is tuple and len(key) == 2 and len(self.extents) == 1:
            if key[1] is None and key[0] == _ALL:
                return self.leading(2)
            if key[0] is None and key[1] == _ALL:
                return padded(self, 2)
        keys = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            missing = self.ndim - sum(k is not None and k is not Ellipsis for k in keys)
            keys[at : at + 1] = [slice(None)] * missing
        extents, coefficients, axes, source = [], [], [], 0
        for k in keys:
            if k is None:
                extents.append(1)
                coefficients.append(0)
                axes.append(NO_AXES)
            elif isinstance(k, slice) and k == _ALL and source < self.ndim:
                extents.append(self.extents[source])
                coefficients.append(self.coefficients[source])
                axes.append(self.axes[source])
                source += 1
            else:
                raise NotModelled("an index vector subscripted with anything but ':', 'None' and '...'")
        rest = slice(source, None)
        return vector_of(
            self.const,
            (*extents, *self.extents[rest]),
            (*coefficients, *self.coefficients[rest]),
            (*axes, *self.axes[rest]),
        )

    def __setitem__(self, key: object, value: object) -> None:
        raise KernelError("err_cannot_assign_to_index", "'index' tensor does not support item assignment")

    def __iter__(self) -> Iterator[Any]:
        raise NotModelled("iterating over an index vector")

    def __bool__(self) -> bool:
        raise _control_flow()

    def __add__(self, other: Any) -> Any:
        if type(other) is int:
            return vector_of(self.const + other, self.extents, self.coefficients, self.axes)
        if isinstance(other, Index):
            return _sum(self, other)
        return self.shifted(other) if _is_number(other) else NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Index:
        return vector_of(-self.const, self.extents, tuple(-c for c in self.coefficients), self.axes)

    def __pos__(self) -> Index:
        return self

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Index):
            return _sum(self, -other)
        return self.shifted(-other) if _is_number(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return (-self).shifted(other) if _is_number(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        factor = int(other)
        if factor != other:
            raise _not_affine("*", other)
        return vector_of(self.const * factor, self.extents, tuple(c * factor for c in self.coefficients), self.axes)

    __rmul__ = __mul__

    def __mod__(self, other: Any) -> Index:
        raise _not_affine("%", other)

    def __floordiv__(self, other: Any) -> Index:
        raise _not_affine("//", other)

    def __truediv__(self, other: Any) -> Index:
        raise _not_affine("/", other)

    def shifted(self, by: Any) -> Index:
        if isinstance(by, np.generic):
            by = by.item()  # what is computed with it then is so as Python does: faster, and without an overflow
        return vector_of(self.const + by, self.extents, self.coefficients, self.axes)

    def leading(self, rank: int) -> Index:
        """The vector in ``rank`` dimensions, of which its own are the first."""
        extra = rank - self.ndim
        return vector_of(
            self.const,
            self.extents + (1,) * extra,
            self.coefficients + (0,) * extra,
            self.axes + (NO_AXES,) * extra,
        )

    def __lt__(self, other: Any) -> Any:
        return compared(self, "less", other)

    def __le__(self, other: Any) -> Any:
        return compared(self, "less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return compared(self, "greater", other)

    def __ge__(self, other: Any) -> Any:
        return compared(self, "greater_equal", other)

    def __eq__(self, other: Any) -> Any:
        return compared(self, "equal", other)

    def __ne__(self, other: Any) -> Any:
        return compared(self, "not_equal", other)

    __hash__ = object.__hash__

    def values(self) -> Array:
        """The vector as int64 (float64 when a comparison with a float made it so), of shape ``extents``: to be read."""
        return affine(self.const, self.extents, self.coefficients)


def vector_of(
    const: Number, extents: tuple[int, ...], coefficients: tuple[int, ...], axes: tuple[frozenset[int], ...]
) -> Index:
    """The index vector of these extents."""
    made = Index()
    made.const = const
    made.extents = extents
    made.coefficients = coefficients
    made.axes = axes
    made.form = extents, coefficients
    return made


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _not_affine(operator: str, other: object) -> KernelError:
    return KernelError(
        "err_unsupported_expression_in_mask",
        f"'{operator} {other}' on an index vector is not an affine expression",
    )


def _control_flow() -> KernelError:
    return KernelError(
        "err_control_flow_condition_depending_on_arange",
        "Control-flow depending on `nl.arange` or `nl.mgrid` is not supported.",
    )


def _sum(a: Index, b: Index) -> Index:
    rank = max(a.ndim, b.ndim)
    a, b = padded(a, rank), padded(b, rank)
    extents = broadcast(a.extents, b.extents)
    coefficients = tuple(
        (ca if na > 1 else 0) + (cb if nb > 1 else 0)
        for na, nb, ca, cb in zip(a.extents, b.extents, a.coefficients, b.coefficients, strict=True)
    )
    return vector_of(
        a.const + b.const, extents, coefficients, tuple(x | y for x, y in zip(a.axes, b.axes, strict=True))
    )


def padded(a: Index, rank: int) -> Index:
    extra = rank - a.ndim
    if not extra:
        return a
    return vector_of(a.const, (1,) * extra + a.extents, (0,) * extra + a.coefficients, (NO_AXES,) * extra + a.axes)


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """numpy's common shape of ``shapes``; raises :class:`KernelError` where there is none."""
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        raise KernelError("", f"shapes {', '.join(map(str, shapes))} cannot be broadcast together") from None


def arange(*bounds: int) -> Index:
    """``arange(stop)`` or ``arange(start, stop)``: consecutive values along one new axis."""
    if len(bounds) not in (1, 2):
        raise KernelError("", f"arange takes (stop) or (start, stop), got {len(bounds)} arguments")
    start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds
    start, stop = int(start), int(stop)
    if stop < start:
        raise NotModelled(f"an index vector of negative length, from {start} to {stop}")
    return vector_of(start, (stop - start,), (1,), (frozenset((next(_axis_ids),)),))


class Grid(tuple[Index, ...]):
    """What ``nl.mgrid[...]`` gives: its components, also as ``.p`` (partition) and ``.x``, ``.y``, ``.z`` (free)."""

    __slots__ = ()

    @property
    def p(self) -> Index:
        return self[0]

    @property
    def x(self) -> Index:
        return self[1]

    @property
    def y(self) -> Index:
        return self[2]

    @property
    def z(self) -> Index:
        return self[3]


class MeshGrid:
    """``nl.mgrid``: one index vector a dimension, each varying along its own axis and as large as the whole grid."""

    def __getitem__(self, key: Any) -> Any:
        slices = key if isinstance(key, tuple) else (key,)
        rank = len(slices)
        vectors = []
        for s in slices:
            if not isinstance(s, slice) or s.stop is None or s.step is not None:
                raise KernelError("", "nl.mgrid takes slices 'start:stop'")
            vectors.append(arange(s.start or 0, s.stop))
        extents = tuple(v.extents[0] for v in vectors)
        parts = []
        for d, v in enumerate(vectors):
            axes = tuple(v.axes[0] if k == d else NO_AXES for k in range(rank))
            parts.append(vector_of(v.const, extents, tuple(int(k == d) for k in range(rank)), axes))
        return Grid(parts) if isinstance(key, tuple) else parts[0]


# --- masks -----------------------------------------------------------------------------------------------------------

COMPARE = {
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}
PREDICATES = (bool, np.bool_)


class Comparison(NamedTuple):
    """``difference op 0``: one condition of a mask."""

    difference: Index
    op: str

    def values(self) -> Array:
        result: Array = COMPARE[self.op](self.difference.values(), 0)
        return result


class Mask:
    """A conjunction of comparisons of index vectors."""

    __slots__ = ("comparisons",)
    __array_ufunc__ = None

    def __init__(self, comparisons: tuple[Comparison, ...]) -> None:
        self.comparisons = comparisons

    def __repr__(self) -> str:
        return f"a mask of shape {list(self.shape)}"

    @property
    def shape(self) -> tuple[int, ...]:
        return broadcast(*(c.difference.extents for c in self.comparisons))

    def __and__(self, other: Any) -> Any:
        if isinstance(other, Mask):
            return Mask(self.comparisons + other.comparisons)
        if isinstance(other, (bool, np.bool_, int)):
            return self if other else False
        return NotImplemented

    __rand__ = __and__

    def __or__(self, other: object) -> Any:
        raise NotModelled("'|' between masks")

    def __invert__(self) -> Any:
        raise NotModelled("'~' of a mask")

    def __setitem__(self, key: object, value: object) -> None:
        raise KernelError("err_cannot_assign_to_index", "'mask' tensor does not support item assignment")

    def __bool__(self) -> bool:
        """A mask is an object, and true as such; ``if mask:`` would be control flow on its values."""
        if condition() == "statement":
            raise _control_flow()
        return True

    def values(self) -> Array:
        """The mask as booleans, of its broadcast shape."""
        result = self.comparisons[0].values()
        for comparison in self.comparisons[1:]:
            result = result & comparison.values()
        return np.broadcast_to(result, self.shape)


def compared(left: Index, op: str, right: Any) -> Any:
    if isinstance(right, Index):
        return Mask((Comparison(_sum(left, -right), op),))
    if _is_number(right):
        return Mask((Comparison(left.shifted(-right), op),))
    return NotImplemented
