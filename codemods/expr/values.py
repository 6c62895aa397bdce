"""The kinds of things that a name in a kernel can be."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

EITHER = "sbuf or psum"
"""The space of a tile that different branches create in different memories."""


@dataclass(frozen=True)
class Value:
    """Something that no other kind describes: its meaning is unknown."""


EARLIER = Value()
"""What an iteration before this one has bound to a name that this one has not bound yet; it is that very object."""

Parameters = dict[str, Value]
"""What the parameters of a function are, by name."""


@dataclass(frozen=True)
class Gone(Value):
    """Something that Beta 2 does not have, or whose description no longer holds. ``why`` completes "'x' ..."."""

    why: str


@dataclass(frozen=True)
class Python(Value):
    """A Python value that exists when the kernel is traced (a size, an address, a flag). ``optional``: or ``None``."""

    positive: bool = False
    optional: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class Absent(Python):
    """``None``, where a tensor or a type can be left out."""


@dataclass(frozen=True)
class Numbers(Python):
    """A list of ``size`` numbers, in place of a numpy array of one dimension that a kernel computes when traced."""

    size: str = ""


@dataclass(frozen=True)
class OfNumpy(Python):
    """A number of a type of NumPy's, ``np.float32(0.1)``, that a module defines by ``made``.

    NKI's front end takes it for ``None``. Source: KLR, ``interop/klr/gather.c``, ``value``: it knows Python's numbers.
    """

    dtype: str = ""
    made: ast.expr | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Keyed(Python):
    """A dictionary whose keys, whole numbers, the rewrite writes as strings."""


@dataclass(frozen=True)
class Object(Python):
    """An object of a class of the user's; ``tensors`` are the fields that its constructor put tensors into."""

    tensors: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True)
class Tensors(Python):
    """A list of whole tensors in HBM, which has none yet where it is ``empty``."""

    empty: bool = False


@dataclass(frozen=True)
class EmptyList(Python):
    """A list that has no element yet, and that the function only appends to, indexes, measures and loops over."""


@dataclass(frozen=True)
class Flag(Python):
    """``True`` or ``False``, which a call passes or leaves as the default."""

    value: bool = False


@dataclass(frozen=True)
class Container(Value):
    """A list, tuple or dictionary, which may hold tensors."""


@dataclass(frozen=True)
class ColumnOrNumber(Value):
    """A (partitions, 1) tile in SBUF, or such a part of one, or a number: a condition of Python chooses."""


@dataclass(frozen=True)
class Slice(Value):
    """``nl.ds(start, size)`` under a name: the call that made it."""

    text: str
    call: ast.Call = field(compare=False)


@dataclass(frozen=True)
class DType(Value):
    """A data type. ``text`` is how Beta 2 writes it, empty where branches disagree. ``optional``: or ``None``."""

    text: str
    optional: bool = False


@dataclass(frozen=True)
class Api(Value):
    """An NKI or numpy object under another name: ``sb_mod = nki.compiler.sbuf.mod_alloc``."""

    name: str


@dataclass(frozen=True)
class Hbm(Value):
    """A tensor in HBM. ``dims`` are source expressions, ``None`` where the rank is unknown.

    ``view`` is true for a part of a tensor under a name of its own: Beta 2 cannot index it again, so a subscript goes
    to ``origin``, the access (:class:`~..access.Operand`) that the name stands for. ``untold``: no call tells whether
    it is whole. ``converted``: a constant of which Beta 2 keeps another type in HBM.
    """

    dims: tuple[str, ...] | None
    dtype: str
    view: bool = False
    origin: object = field(default=None, compare=False)
    untold: bool = field(default=False, compare=False)
    converted: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Declaration:
    """One creation of an on-chip tensor: its identity in the plan, and the ``nl.ndarray`` call that it became.

    ``loops`` are those of the source around it, and those in which the output declares it, ``joined`` the latter
    alone, outermost first.
    """

    name: str
    node: ast.AST = field(compare=False)
    loops: tuple[ast.stmt, ...]
    pinned: bool
    text: str = field(default="", compare=False)
    joined: tuple[ast.For, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Tile(Value):
    """An on-chip tile, or a tensor of ``blocks`` of them.

    ``style`` says what the blocks became: a ``list``, one tensor ``fold``ed over ``folded`` blocks behind the
    partitions, or a tensor declared in the ``loop``; ``folded`` of a list says how many tiles its blocks take in turns.
    ``joined`` are the block dimensions of a list that the loops go over which declare it.
    ``blocks`` are the block dimensions that have not been indexed
    yet, ``dims`` partition and free dimensions, all as source expressions. ``dims`` is ``None`` where the rank is
    unknown, ``dtype`` where branches disagree. An ``optional`` tile may be ``None``: what uses it runs where it is not.
    A tile of unknown rank that a reduction made may be a column: ``perhaps_column``. ``ranks`` are those that branches
    gave it, where that is all that is not known. ``untold``: no call tells whether it is whole. ``listed``: no tensor
    with block dimensions, but a Python list of tiles that the source itself fills.
    """

    space: str
    dims: tuple[str, ...] | None
    dtype: str | None
    blocks: tuple[str, ...] = ()
    declaration: Declaration | None = None
    view: bool = False
    style: str = "list"
    folded: tuple[str, ...] = ()
    joined: tuple[bool, ...] = ()
    optional: bool = False
    perhaps_column: bool = False
    ranks: tuple[int, ...] = ()
    origin: object = field(default=None, compare=False)
    untold: bool = field(default=False, compare=False)
    listed: bool = False

    def block(self) -> Tile:
        return replace(self, blocks=self.blocks[1:], listed=False)


@dataclass(frozen=True)
class Axis:
    """One iteration axis: an ``nl.arange`` or one component of an ``nl.mgrid``."""

    uid: int
    start: str
    size: str
    label: str


@dataclass(frozen=True)
class Term:
    """``coefficient * axis``, the axis standing at ``position`` of the index's dimensions."""

    axis: Axis
    coefficient: str
    position: int


@dataclass(frozen=True)
class Shorter:
    """When vectors that one call made are shorter: where ``sizes`` are all 1 they have ``rank`` dimensions.

    ``rank`` is 0 where that is not all that decides; ``call`` tells the calls apart then.
    """

    rank: int
    sizes: tuple[str, ...]
    call: int = 0


@dataclass(frozen=True)
class Index(Value):
    """An affine index vector of ``ndim`` dimensions: the sum of its terms and of ``offset`` (source expressions).

    A component of an ``mgrid`` is dense: it repeats itself along the dimensions of the others, ``mates``. The last
    dimensions of a ``loose`` vector may be missing where their sizes are 1, as that says.
    """

    ndim: int
    terms: tuple[Term, ...]
    offset: str = "0"
    mates: tuple[Term, ...] = ()
    loose: Shorter | None = None


@dataclass(frozen=True)
class Grid(Value):
    """An ``nl.mgrid`` object: its components are index vectors."""

    components: tuple[Index, ...]


@dataclass(frozen=True)
class Bound:
    """``axis < limit``, or ``axis >= limit`` of a ``lower`` one: one comparison of a mask that restricts one axis."""

    term: Term
    ndim: int
    limit: str
    loose: Shorter | None = None
    lower: bool = False


@dataclass(frozen=True)
class Comparison:
    """``left operator right`` of two index vectors (numbers are vectors of no dimension), with Beta 2's operator."""

    left: Index
    operator: str
    right: Index


@dataclass(frozen=True)
class Mask(Value):
    """A conjunction: conditions on Python values, bounds of axes, and ties of positions that no slice can show.

    ``comparison`` is the one comparison that a mask of one comparison is.
    """

    conditions: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    ties: tuple[Comparison, ...] = ()
    comparison: Comparison | None = None

    @property
    def of_vectors(self) -> bool:
        return bool(self.bounds or self.ties)


@dataclass(frozen=True)
class Allocator(Value):
    """``sbuf.mod_alloc(...)`` and friends: where the blocks of a tensor lie.

    ``kind`` is ``mod_alloc``, ``alloc`` or ``object``. Where ``condition`` does not hold, the compiler chooses.
    ``kept`` names what ``base_addr`` stood at where the tensor was declared. Calls of one ``text`` are one allocator:
    names that they read are killed where they are bound again.
    """

    space: str
    kind: str
    call: ast.Call = field(compare=False)
    text: str
    condition: str = ""
    kept: str = ""


@dataclass(frozen=True)
class Spelled(Value):
    """A name that Beta 2 code has to spell as ``text``: ``cls`` of a class method."""

    text: str


@dataclass(frozen=True)
class Constant(Value):
    """A trace-time numpy array: ``np.identity(n)``."""

    text: str


@dataclass(frozen=True)
class Several(Value):
    """A tuple: of a function that returns one, or of tensors."""

    parts: tuple[Value, ...]


@dataclass(frozen=True)
class Function(Value):
    """A function: nested, of the module, or of another one, its ``home`` (a ``Module``).

    ``name`` is how the caller calls it.
    """

    node: ast.FunctionDef = field(compare=False)
    name: str
    home: Any = field(default=None, compare=False)


def _layout(tile: Tile) -> object:
    """The shape of a tile, and what its blocks are."""
    return tile.dims, tile.blocks, tile.style, tile.listed


def merge(a: Value | None, b: Value | None) -> Value:
    """What a name is after two branches."""
    if a is None or b is None:
        return a or b or Value()
    if isinstance(a, Hbm | Tile) and isinstance(b, Hbm | Tile) and a.origin != b.origin:  # parts of different places
        a, b = replace(a, origin=None), replace(b, origin=None)
    if isinstance(a, Hbm | Tile) and isinstance(b, Hbm | Tile) and a.untold != b.untold:
        a, b = replace(a, untold=True), replace(b, untold=True)
    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        if isinstance(other, Absent) and isinstance(one, Hbm | Tile):
            return _perhaps(one)
    if isinstance(a, Tile) and isinstance(b, Tile) and _layout(a) == _layout(b):
        return _either_tile(a, b)
    return _either_value(a, b)


def _perhaps(tensor: Hbm | Tile) -> Value:
    """A tensor that may be absent: what uses it runs where there is one."""
    return replace(tensor, optional=True, origin=None) if isinstance(tensor, Tile) else tensor


def _either_tile(a: Tile, b: Tile) -> Tile:
    """One of two tiles of one shape: what they have in common."""
    return replace(
        a,
        dtype=a.dtype if a.dtype == b.dtype else None,
        view=a.view or b.view,
        perhaps_column=a.perhaps_column or b.perhaps_column,
        ranks=either_rank(a, b),
        optional=a.optional or b.optional,
        space=a.space if a.space == b.space else EITHER,
        declaration=a.declaration if (a.declaration, a.space) == (b.declaration, b.space) else None,
    )


def _either_value(a: Value, b: Value) -> Value:
    """One of two values that are no tiles of one shape."""
    if isinstance(a, Several) and isinstance(b, Several) and len(a.parts) == len(b.parts):
        return Several(tuple(merge(x, y) for x, y in zip(a.parts, b.parts, strict=True)))
    if isinstance(a, Numbers) or isinstance(b, Numbers):
        return Gone("is an array of numpy in one branch or iteration, and something else in another")
    match a, b:
        case DType(), DType():
            return DType("")
        case Tensors(), Tensors():
            return Tensors(empty=a.empty and b.empty)
        case Python(), Python():
            return Python(a.positive and b.positive, optional=a.optional or b.optional)
        case Index(), Index() if _same_vector(a, b):
            return a
    if isinstance(a, ERASED) or isinstance(b, ERASED):
        return Gone("means different things in different branches or iterations")
    return Value()


def either_rank(a: Tile, b: Tile) -> tuple[int, ...]:
    """The ranks that one of two tiles may have; nothing where they have the same, or one of them any rank."""
    known = [tile.ranks if tile.dims is None else (len(tile.dims),) for tile in (a, b)]
    ranks = tuple(sorted({*known[0], *known[1]}))
    return ranks if all(known) and len(ranks) > 1 else ()


ERASED = Index | Grid | Mask | Allocator | Api | Gone
"""Kinds whose definition the rewrite removes: a use that is not understood cannot stay."""


def _same_vector(a: Index, b: Index) -> bool:
    """Are two index vectors written alike? (Each has axes of its own.)"""

    def written(index: Index) -> object:
        terms = [(t.axis.start, t.axis.size, t.coefficient, t.position) for t in index.terms]
        return index.ndim, terms, index.offset

    return written(a) == written(b)


def texts(value: Value) -> tuple[str, ...]:
    """The source expressions that describe a value."""
    described = _TEXTS.get(type(value))
    return described(value) if described is not None else ()


def _index_texts(value: Index) -> tuple[str, ...]:
    missing = value.loose.sizes if value.loose is not None else ()
    return (value.offset, *missing, *(text for term in value.terms for text in _term_texts(term)))


def _mask_texts(value: Mask) -> tuple[str, ...]:
    bounds = [text for bound in value.bounds for text in (*_term_texts(bound.term), bound.limit)]
    compared = [*value.ties, *([value.comparison] if value.comparison is not None else [])]
    sides = [text for c in compared for side in (c.left, c.right) for text in texts(side)]
    return (*value.conditions, *bounds, *sides)


def _allocator_texts(value: Allocator) -> tuple[str, ...]:
    given = (*value.call.args, *(keyword.value for keyword in value.call.keywords))
    return (*((value.condition,) if value.condition else ()), *(ast.unparse(argument) for argument in given))


_TEXTS: dict[type[Value], Callable[[Any], tuple[str, ...]]] = {
    Hbm: lambda value: (*(value.dims or ()), value.dtype),
    Tile: lambda value: (*(value.dims or ()), *value.blocks, value.dtype or ""),
    Index: _index_texts,
    Grid: lambda value: tuple(text for component in value.components for text in texts(component)),
    Mask: _mask_texts,
    Several: lambda value: tuple(text for part in value.parts for text in texts(part)),
    Object: lambda value: tuple(text for _, tensor in value.tensors for text in texts(tensor)),
    Allocator: _allocator_texts,
    Numbers: lambda value: (value.size,),
    **dict.fromkeys((DType, Constant, Slice), lambda value: (value.text,)),
}
"""What each kind of value is described by; the others by nothing."""


def _term_texts(term: Term) -> tuple[str, str, str]:
    return term.axis.start, term.axis.size, term.coefficient
