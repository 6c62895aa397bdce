"""Which new tile stands for which old one, where addresses cannot tell.

Two tiles correspond from the first instruction that touches both, and from then on at the same distance in bytes. The
relation is one to one on bytes: a new tile never stands for two old tiles at once, except as a folded tensor, in which
each old tile has bytes of its own. An old tile may move on to another new tile (a tensor that is declared again in a
second loop), if the new tile was never touched before and this very instruction overwrites all of it. A new tile may
move on to another old tile where an instruction computes in place (:mod:`.overwriting`).
"""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass

from ..events import Event, Operand
from ..spec.comparison import SCALE_TYPES, SCALES, WRITTEN_ROLES, other_fields
from .overwriting import LastTouches, computes_in_place
from .trace import HbmTensor, Program, TileRow, dtype_named

KEEPS_OLD_BYTES = frozenset({"tensor_copy_predicated", "nc_stream_shuffle", "atomic_rmw"})
"""Instructions that may leave parts of their destination as it was."""
_ADDS_TO_OLD_BYTES = frozenset({"accumulate", "dst_rmw_op"})
"""Attributes that, when they are set, make an instruction read its destination."""
_OPERAND = frozenset({"role", "space", "tile", "pinned", "partition", "byte", "steps", "dtype"})
_HBM = frozenset({"uid", "name", "role", "shape", "output", "digest", "kind"})
TILE = frozenset({"uid", "block", "space", "partition", "byte", "partitions", "nbytes", "dtype"})
"""The fields of a record that have a comparison of their own; all others are equal, or exempt."""


@dataclass(frozen=True)
class _Link:
    """Bytes ``[low, high)`` of tile ``old`` are the bytes ``[low + delta, high + delta)`` of tile ``new``."""

    old: int
    new: int
    delta: int
    low: int
    high: int


class Correspondence:
    """The relation between the tiles of two programs, built up as their instructions are walked in step.

    ``shared_scratch`` are the tensors in shared HBM that stand for private ones. That is the same where the new program
    is ``on_one_core``: nobody is there to share them. On several cores, each of which had its own, they are one tensor.
    """

    def __init__(self, old: Program, new: Program, on_one_core: bool = False) -> None:
        self.on_one_core = on_one_core
        self.shared_scratch: set[int] = set()
        self.old_tiles = {tile.uid: tile for tile in old.tiles}
        self.new_tiles = {tile.uid: tile for tile in new.tiles}
        self.old_tensors = {tensor.uid: tensor for tensor in old.tensors}
        self.new_tensors = {tensor.uid: tensor for tensor in new.tensors}
        self._by_old: dict[int, list[_Link]] = {}
        self._by_new: dict[int, list[_Link]] = {}
        self._touched: set[int] = set()
        self._retired: set[int] = set()
        self._written_old: set[int] = set()
        self._written_new: set[int] = set()
        self._hbm: dict[int, int] = {}
        self._last = LastTouches(old)
        self._overwritten: _Link | None = None
        self.in_place = 0

    def mismatch(self, o: Operand, n: Operand, event: Event, old: Event | None = None) -> str | None:
        """Why the new operand ``n`` (of ``event``) does not stand for the old ``o``; ``None`` when it does.

        ``old`` is the old instruction, where the new one may be its counterpart.
        """
        if o.space != n.space:
            return "is in another memory"
        for other in other_fields(type(o), _OPERAND):
            if getattr(o, other) != getattr(n, other):
                return f"has another '{other}'"
        if o.space == "hbm":
            return self._hbm_mismatch(o, n)
        if o.pinned != n.pinned:
            return "has an address on one side only"
        if _read_as(o) != _read_as(n):
            return "is read as another data type"
        if o.steps != n.steps:
            return "has another access pattern"
        if o.pinned:
            if (o.partition, o.byte) != (n.partition, n.byte):
                return "is at another address"
        else:
            if o.partition != n.partition:
                return "starts at another partition of its tile"
            problem = self._link_problem(o, n, event, old)
            if problem:
                return problem
        return self._stale_read(o, n)

    def finish(self, event_old: Event, event_new: Event) -> None:
        """Remember what a matched pair of instructions touched."""
        if self._overwritten is not None:
            self._by_old[self._overwritten.old].remove(self._overwritten)
            self._by_new[self._overwritten.new].remove(self._overwritten)
            self._overwritten = None
            self.in_place += 1
        for operand in event_old.operands:
            if operand.role in WRITTEN_ROLES:
                self._written_old.add(operand.tile)
        for operand in event_new.operands:
            self._touched.add(operand.tile)
            if operand.role in WRITTEN_ROLES:
                self._written_new.add(operand.tile)

    def _stale_read(self, o: Operand, n: Operand) -> str | None:
        if o.role in WRITTEN_ROLES or n.tile in self._written_new or o.tile not in self._written_old:
            return None
        return "is read before anything was written to it since its declaration"

    def _link_problem(self, o: Operand, n: Operand, event: Event, before: Event | None) -> str | None:
        delta = n.byte - o.byte
        for link in self._by_old.get(o.tile, ()):
            if link.new == n.tile and link.delta == delta:
                return None
        if n.tile in self._retired:
            return f"is '{self.new_tiles[n.tile].label}', which another tile has replaced"
        old, new = self.old_tiles[o.tile], self.new_tiles[n.tile]
        other = next((f for f in other_fields(type(old), TILE) if getattr(old, f) != getattr(new, f)), None)
        if other is not None:
            return f"is in a tile with another '{other}'"
        made = _whole_link(old, new, delta)
        if made is None:
            if any(known.new == n.tile for known in self._by_old.get(o.tile, ())):
                return "is at another byte of its tile"
            return f"is in a tile of another size: {_extent(old)} before, {_extent(new)} after"
        taken = self._taken(made, (o, n), before, event)
        if taken is not None:
            first = self.old_tiles[taken.old].label
            return f"is '{new.label}', which stands for two tiles of the old kernel: '{first}' and '{old.label}'"
        overlapping = [k for k in self._by_old.get(o.tile, ()) if k.low < made.high and made.low < k.high]
        if overlapping:
            former = self.new_tiles[overlapping[0].new].label
            if not self._may_move(old, new, n, event):
                return f"is in '{new.label}', but '{former}' stood for '{old.label}' so far"
            self._unlink(o.tile)
        self._by_old.setdefault(o.tile, []).append(made)
        self._by_new.setdefault(n.tile, []).append(made)
        return None

    def _may_move(self, old: TileRow, new: TileRow, n: Operand, event: Event) -> bool:
        """A tile that was never touched, as large as the old one, and overwritten as a whole by this instruction."""
        return (
            n.role == "dst"
            and n.tile not in self._touched
            and _extent(old) == _extent(new)
            and covers(n, new)
            and not keeps_old_bytes(event)
            and not any(operand.tile == n.tile for operand in event.operands if operand is not n)
        )

    def _taken(self, link: _Link, pair: tuple[Operand, Operand], before: Event | None, event: Event) -> _Link | None:
        """The link of another old tile that has bytes of the new one, and keeps them; ``None`` where there is none."""
        for known in self._by_new.get(link.new, ()):
            if known.low + known.delta < link.high + link.delta and link.low + link.delta < known.high + known.delta:
                if before is None or not self._may_overwrite(known, link, pair, before, event):
                    return known
                self._overwritten = known
        return None

    def _may_overwrite(
        self, known: _Link, link: _Link, pair: tuple[Operand, Operand], before: Event, event: Event
    ) -> bool:
        """Does an instruction compute in place, where the old one reads one tile last, and writes another first?"""
        o, n = pair
        old, new, first = self.old_tiles[o.tile], self.new_tiles[n.tile], self.old_tiles[known.old]
        return (
            (o.role, n.role) == ("dst", "dst")
            and known.delta == link.delta == 0
            and _extent(first) == _extent(old) == _extent(new)
            and self._last.is_last(known.old, before)
            and not self._by_old.get(o.tile)
            and o.tile not in self._written_old
            and covers(n, new)
            and not keeps_old_bytes(event)
            and computes_in_place(event, n)
        )

    def _unlink(self, old: int) -> None:
        for link in self._by_old.pop(old):
            self._by_new[link.new].remove(link)
            self._retired.add(link.new)

    def _hbm_mismatch(self, o: Operand, n: Operand) -> str | None:
        old, new = self.old_tensors[o.tile], self.new_tensors[n.tile]
        other = next((f for f in other_fields(type(old), _HBM) if getattr(old, f) != getattr(new, f)), None)
        if other is not None:
            return f"is in a tensor with another '{other}'"
        identity = _identity(old)
        if identity != _identity(new):
            return f"is {_describe(new)}, not {_describe(old)}"
        if identity is None:
            problem = self._scratch_problem(old, new)
            if problem:
                return problem
        if old.kind and new.kind and old.kind != new.kind and not self._may_be_shared(old, new):
            return f"is in nl.{new.kind}, it was in nl.{old.kind}"
        if old.role != "constant" and o.dtype != n.dtype:
            return "has another data type"
        if (o.byte, o.steps) != (n.byte, n.steps):
            return "is at another element" if o.steps == n.steps else "has another access pattern"
        return None

    def _may_be_shared(self, old: HbmTensor, new: HbmTensor) -> bool:
        """May a private tensor be in shared HBM: an output, which 0.2 took of one core, or one of a single core?"""
        if new.kind != "shared_hbm" or not (self.on_one_core or old.output is not None):
            return False
        if old.output is None:
            self.shared_scratch.add(new.uid)
        return True

    def _scratch_problem(self, old: HbmTensor, new: HbmTensor) -> str | None:
        if old.uid not in self._hbm and new.uid not in self._hbm.values():
            if (old.shape, old.dtype) != (new.shape, new.dtype) and _elements(old) != _elements(new):
                return f"is an HBM tensor of shape {list(new.shape)}, it was {list(old.shape)}"
            self._hbm[old.uid] = new.uid
        return None if self._hbm.get(old.uid) == new.uid else f"is {_describe(new)}, which stands for another tensor"

    @property
    def touched(self) -> set[int]:
        """The new tiles that matched instructions have touched."""
        return self._touched

    def unused_bytes(self) -> tuple[TileRow, TileRow] | None:
        """A folded tensor that is larger than all the tiles it stands for, with one of them; ``None`` if there is none.

        The pair is (old tile, new tile).
        """
        families = [Counter((t.tensor, t.nbytes) for t in tiles.values()) for tiles in (self.old_tiles, self.new_tiles)]
        for links in self._by_old.values():
            for link in links:
                old, new = self.old_tiles[link.old], self.new_tiles[link.new]
                if old.nbytes == new.nbytes:
                    continue
                small, large, family = (old, new, families[0]) if old.nbytes < new.nbytes else (new, old, families[1])
                if family[small.tensor, small.nbytes] * small.nbytes < large.nbytes:
                    return old, new
        return None

    def copy(self) -> Correspondence:
        """An independent copy, to try an instruction on."""
        other = copy(self)
        other._by_old = {uid: list(links) for uid, links in self._by_old.items()}
        other._by_new = {uid: list(links) for uid, links in self._by_new.items()}
        other._touched, other._retired = set(self._touched), set(self._retired)
        other._written_old, other._written_new = set(self._written_old), set(self._written_new)
        other._hbm, other.shared_scratch = dict(self._hbm), set(self.shared_scratch)
        return other


def _read_as(operand: Operand) -> str:
    """The data type that the instruction reads an operand as."""
    return SCALE_TYPES.get(operand.dtype, operand.dtype) if operand.role in SCALES else operand.dtype


def _whole_link(old: TileRow, new: TileRow, delta: int) -> _Link | None:
    """The link of the smaller tile as a whole; ``None`` when it is no block of the larger one."""
    if old.partitions != new.partitions or bool(old.nbytes) != bool(new.nbytes):
        return None
    if not old.nbytes:
        return _Link(old.uid, new.uid, delta, 0, 0)
    if old.nbytes <= new.nbytes:
        fits = new.nbytes % old.nbytes == 0 and delta % old.nbytes == 0 and 0 <= delta <= new.nbytes - old.nbytes
        return _Link(old.uid, new.uid, delta, 0, old.nbytes) if fits else None
    fits = old.nbytes % new.nbytes == 0 and delta % new.nbytes == 0 and 0 <= -delta <= old.nbytes - new.nbytes
    return _Link(old.uid, new.uid, delta, -delta, new.nbytes - delta) if fits else None


def keeps_old_bytes(event: Event) -> bool:
    """May the instruction leave some bytes of its destination as they were, or add to them?"""
    adds = any(value for key, value in event.attributes if key in _ADDS_TO_OLD_BYTES)
    return event.op in KEEPS_OLD_BYTES or adds


def covers(operand: Operand, tile: TileRow) -> bool:
    """Does the access touch every byte of the tile, each once?"""
    itemsize = dtype_named(operand.dtype).itemsize
    lines = {(1, 0, tile.partitions)} if tile.partitions > 1 else set()
    free = tile.nbytes // itemsize
    if free > 1:
        lines.add((0, itemsize, free))
    return (operand.partition, operand.byte) == (0, 0) and set(operand.steps) == lines


def _extent(tile: TileRow) -> str:
    return f"{tile.partitions} x {tile.nbytes} bytes"


def _identity(tensor: HbmTensor) -> tuple[str, object] | None:
    """What an HBM tensor is known by on both sides; ``None`` for scratch memory."""
    if tensor.output is not None:
        return "output", tensor.output
    if tensor.role == "input":
        return "input", tensor.name
    return ("constant", tensor.digest) if tensor.role == "constant" else None


def _describe(tensor: HbmTensor) -> str:
    if tensor.output is not None:
        return f"output {tensor.output}"
    return f"the {tensor.role or 'HBM'} tensor '{tensor.name}'"


def _elements(tensor: HbmTensor) -> int:
    count = 1
    for size in tensor.shape:
        count *= size
    return count
