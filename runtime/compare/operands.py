"""The operands level: do the same instructions touch the same addresses in the same order?

Pinned operands are compared by their physical place, the others through the :mod:`.correspondence` of tiles. HBM inputs
correspond by parameter name, outputs by their position in the return value, constants by content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..events import Event, Operand
from ..spec.comparison import BY_NUMBER_ULPS, WRITTEN_ROLES, exempt, other_fields
from .accumulations import as_computed
from .changes import explained
from .columns import as_scalar
from .constants import without_constants
from .correspondence import Correspondence
from .divisions import RECIPROCAL, Divisions, is_exact
from .excerpts import map_excerpt
from .fills import with_fills_in_place
from .fused import Fused
from .identities import COPIES, Passed, read_through
from .placed import Placed
from .starts import without_starts
from .trace import HbmTensor, Program, Run, TileRow
from .truths import PREDICATE, Truths
from .verdict import Difference, Inexact, LevelVerdict, Permitted, Place, level_verdict
from .zeros import without_zeros

UNPINNED = "no tile has an address, before or after: equal numbers are all that this kernel demands of the new one"
"""What is said beside a difference that the author of the kernel may not mind."""

_OWN = frozenset({"op", "operands", "attributes", "exempt"})
"""The fields of an instruction that have a comparison of their own; all others are equal, or exempt."""


def walked(before: Run, after: Run, permitted: Sequence[Permitted] = (), inexact: Inexact | None = None) -> list[Walk]:
    """The instruction streams of both runs, walked to their first divergence, program by program.

    ``permitted`` are instructions that the new kernel may have more than the old. With ``inexact`` a division may be a
    reciprocal and a multiplication.
    """
    pairs = zip(before.programs, after.programs, strict=False)
    versions = before.version, after.version
    walks = [Walk(old, new, permitted, inexact, versions, after.cores == 1) for old, new in pairs]
    for walk in walks:
        walk.go()
    return walks


def compare_operands(
    before: Run,
    after: Run,
    *,
    permitted: Sequence[Permitted] = (),
    inexact: Inexact | None = None,
    walks: Sequence[Walk] | None = None,
) -> LevelVerdict:
    """The operands verdict of two runs: the first divergence of each program.

    Instructions that were ``permitted`` and met are listed, and how many divisions were ``inexact``. ``walks``: what
    :func:`walked` gave, to walk but once.
    """
    differences: list[Difference] = []
    used: Counter[Permitted] = Counter()
    if len(before.programs) != len(after.programs):
        differences.append(
            Difference(f"{len(before.programs)} programs ran before, {len(after.programs)} after: the grids differ")
        )
    walks = walked(before, after, permitted, inexact) if walks is None else walks
    for index, walk in enumerate(walks):
        used.update(walk.used)
        if walk.difference is not None:
            prefix = f"program {index}: " if len(before.programs) > 1 else ""
            differences.append(replace(walk.difference, message=prefix + walk.difference.message))
    count = sum(len(program.events) for program in before.programs)
    summary = (
        "the instruction streams differ" if differences else f"{count} instructions, same places in the same order"
    )
    notes = [f"{n} {p.op} more after, permitted: {p.reason}" for p, n in used.items()]
    tiles = (tile for run in (before, after) for program in run.programs for tile in program.tiles)
    if differences and not any(tile.pinned for tile in tiles):
        notes.append(UNPINNED)
    notes += _notes(walks)
    if differences and inexact is None and all(walk.inexact is None for walk in walks):
        notes += _undeclared(before, after, permitted)
    return explained(level_verdict("operands", differences, summary, notes), before, after)


def _undeclared(before: Run, after: Run, permitted: Sequence[Permitted]) -> list[str]:
    """What declares divisions that are a reciprocal and a multiplication after, where nothing else sets the two apart.

    The rewrite declares them itself; of two files that a user compares nobody has.
    """
    walks = walked(before, after, permitted, Inexact(BY_NUMBER_ULPS, "--ulps"))
    count = sum(len(walk.divided) for walk in walks)
    if not count or any(walk.difference is not None for walk in walks):
        return []
    divisions = "1 division that is" if count == 1 else f"{count} divisions that are"
    return [
        f"all that differs is {divisions} a reciprocal and a multiplication after, as NKI022 writes them: "
        f"--ulps {BY_NUMBER_ULPS} declares their rounding"
    ]


def _notes(walks: Sequence[Walk]) -> list[str]:
    """What the walks met that is not the same, and means the same."""
    zeros, computed = sum(walk.zeros for walk in walks), sum(walk.computed for walk in walks)
    divided = sum(len(walk.divided) for walk in walks)
    by = next((walk.inexact.by for walk in walks if walk.inexact is not None), "")
    more = f"{abs(zeros)} memset {'fewer' if zeros > 0 else 'more'} after"
    copies = "1 copy that accumulates is" if computed == 1 else f"{computed} copies that accumulate are"
    divisions = "1 division is" if divided == 1 else f"{divided} divisions are"
    starts, fills = sum(walk.starts for walk in walks), sum(walk.fills for walk in walks)
    constants, columns = sum(walk.constants for walk in walks), sum(walk.columns for walk in walks)
    fused, placed = sum(walk.fused_pairs for walk in walks), sum(walk.placed for walk in walks)
    truths = sum(len(walk.chosen) for walk in walks)
    passed = sum((walk.passed_copies for walk in walks), Counter[str]())
    met = [
        (zeros, f"{more}: zeros in PSUM that the first matmul into the tile overwrites"),
        (starts, f"{starts} memset more after: what a reduction over a loop starts with, declared by NKI022"),
        (fills, f"{fills} memset fewer after: one fills all blocks of a folded tensor, declared by NKI010"),
        (constants, f"{constants} instructions more after: constants that the compiler made, declared by NKI026"),
        *(
            (n, f"{n} {op} more after: of a tile that has the shape and type asked for, declared by NKI022")
            for op, n in passed.items()
        ),
        (fused, f"{fused} tensor_scalar fewer after: one has the operators of two, declared by NKI022"),
        (placed, f"{placed} tensor_copy more after: of a result that is computed into a tile of its type, by NKI021"),
        (truths, f"{truths} tensor_scalar more after: the truth of a condition that is one, declared by NKI022"),
        (
            in_place := _in_place(walks),
            f"{in_place} results in the tile that was read last, declared by NKI021: x = op(x) is in place",
        ),
        _shared_scratch(walks),
        (columns, f"{columns} tensor_tensor of two columns before, a tensor_scalar of a column after: NKI022"),
        (computed, f"{copies} dma_compute after, as NKI 0.3 has it (NKV005)"),
        (divided, f"{divisions} a reciprocal and a multiplication after, declared by {by}"),
    ]
    return [note for count, note in met if count]


def _shared_scratch(walks: Sequence[Walk]) -> tuple[int, str]:
    """How many private tensors of a program on one core are in shared HBM after, and what is said of them."""
    count = sum(len(walk.relation.shared_scratch) for walk in walks)
    tensors = "1 private tensor is" if count == 1 else f"{count} private tensors are"
    return count, f"{tensors} in nl.shared_hbm after: on one core that is the same"


def _in_place(walks: Sequence[Walk]) -> int:
    """How many results stand where the new kernel has read what it reads no more."""
    return sum(walk.relation.in_place for walk in walks)


class Walk:
    """Two instruction streams, walked in step.

    ``difference`` is the first divergence, ``pairs`` are the tiles (old and new ``uid``) that one operand of a matched
    pair of instructions touches, in the order in which they were met. ``added`` are the new tiles of instructions that
    only the new kernel may have, ``divided`` the (sequence numbers of) multiplications that stand for divisions,
    ``computed`` how many accumulating copies are a ``dma_compute`` after, ``columns`` how many operations on two tiles
    of one column are a ``tensor_scalar``,
    ``zeros`` how many zeros more the old kernel writes that a matmul overwrites, ``starts`` how many times the new one
    writes what a sum starts with, ``constants`` how many of its instructions make constants, ``fills`` how many fewer
    it has to fill the blocks of tensors, ``chosen`` its tiles that hold the truth of a condition, ``placed`` how many
    of its instructions compute into a tile that is copied to its place. ``versions`` are those that the programs ran
    as, which some exemptions depend on. ``on_one_core``: did the new one run on one NeuronCore?
    """

    def __init__(
        self,
        old: Program,
        new: Program,
        permitted: Sequence[Permitted] = (),
        inexact: Inexact | None = None,
        versions: tuple[str, str] = ("", ""),
        on_one_core: bool = False,
    ) -> None:
        self.versions = versions
        self.old, self.new, self.zeros = without_zeros(old, new)
        self.new, self.starts = without_starts(self.old, self.new)
        self.new, self.constants = without_constants(self.old, self.new)
        self.old, self.new, self.fills = with_fills_in_place(self.old, self.new)
        self.inexact = inexact
        self.permitted = {p.op: p for p in permitted}
        self.divisions = Divisions(self.new)
        self.divided: list[int] = []
        self.added: set[int] = set()
        self.relation = Correspondence(self.old, self.new, on_one_core)
        self.owners = _owners(new), _owners(old)
        self.used: Counter[Permitted] = Counter()
        self.copies: dict[int, tuple[Operand, Operand]] = {}
        self.pairs: dict[tuple[int, int], None] = {}
        self.computed = 0
        self.columns = 0
        self.fused = Fused(self.old)
        self.fused_pairs = 0
        self.copied = Placed(self.old), Placed(self.new)
        self.placed = 0
        self.truths = Truths(self.new)
        self.chosen: dict[int, tuple[Operand, Operand]] = {}
        self.passed = Passed(old)
        self.passed_copies: Counter[str] = Counter()
        self.difference: Difference | None = None

    def go(self) -> None:
        """Walk to the end, or to the first divergence."""
        self.difference = self._first_difference()

    def _first_difference(self) -> Difference | None:
        i = j = 0
        while i < len(self.old.events) and j < len(self.new.events):
            new, ended = self._as_placed(i, j)
            old, new = self.old.events[i], self._as_division(self.old.events[i], new)
            old, taken = self._as_fused(i, old, new)
            computed = as_computed(old, new)
            self.computed += computed is not old
            old = self._as_scalar(computed, new)
            may_be_added = new.op in self.permitted or (self.inexact is not None and new.op == RECIPROCAL)
            may_be_added = may_be_added or (new.op in COPIES and bool(self.passed))
            may_be_added = may_be_added or self.truths.asked(new, self.relation) is not None
            before_trial = self.relation.copy() if may_be_added else self.relation
            difference = self._difference(i, old, new)
            if difference is None:
                self.relation.finish(old, new)
                self._note_pairs(old, new)
                self._forget_copies(new)
                self.fused_pairs += taken - 1
                self.placed += ended - 1
                i += taken
                j += ended
            else:
                self.relation = before_trial
                if not self._permits(new):
                    return difference
                self.added.update(o.tile for o in new.operands if o.role in WRITTEN_ROLES)
                j += 1
        while j < len(self.new.events) and self._permits(self.new.events[j]):
            j += 1
        return self._left_over(i, j)

    def _as_placed(self, i: int, j: int) -> tuple[Event, int]:
        """The new instruction, with the copy of its result where the old one has none; and how many they are."""
        placed = self.copied[1].at(j)
        last = i if self.fused.read_as(i, self.new.events[j]) is None else i + 1
        if placed is None or placed.op != self.old.events[i].op or self.copied[0].is_copied(last):
            return self.new.events[j], 1
        self.added.update(o.tile for o in self.new.events[j].operands if o.role in WRITTEN_ROLES)
        return placed, 2

    def _as_division(self, old: Event, new: Event) -> Event:
        """``new``, or the division that it stands for where ``old`` is one."""
        division = self.divisions.read_as(old, new, exactly=self.inexact is None)
        if division is None:
            return new
        if not is_exact(division):
            self.divided.append(new.sequence)
        return division

    def _as_fused(self, index: int, old: Event, new: Event) -> tuple[Event, int]:
        """``old``, or the one instruction that it and the next one are; and how many they are."""
        both = self.fused.read_as(index, new)
        return (old, 1) if both is None else (both, 2)

    def _as_scalar(self, old: Event, new: Event) -> Event:
        """``old``, or the ``tensor_scalar`` of one column that it is where ``new`` is one."""
        for reading in as_scalar(old, new):
            pairs = zip(reading.operands, new.operands, strict=False)
            if all(self.relation.copy().mismatch(o, self._original(n), new) is None for o, n in pairs):
                self.columns += 1
                return reading
        return old

    def _left_over(self, i: int, j: int) -> Difference | None:
        for events, at, more, less, before in (
            (self.old.events, i, "old", "new", True),
            (self.new.events, j, "new", "old", False),
        ):
            if at < len(events):
                count = len(events) - at
                place = Place(events[at].file, events[at].line, events[at].op)
                message = f"the {more} kernel has {count} instructions more than the {less} one"
                return Difference(message, place, None) if before else Difference(message, None, place)
        unused = self.relation.unused_bytes()
        if unused is None:
            return None
        old_tile, new_tile = unused
        return Difference(
            f"'{old_tile.label}' and '{new_tile.label}' have different sizes",
            Place(old_tile.file, old_tile.line, f"{old_tile.partitions} x {old_tile.nbytes} bytes"),
            Place(new_tile.file, new_tile.line, f"{new_tile.partitions} x {new_tile.nbytes} bytes"),
        )

    def _difference(self, index: int, old: Event, new: Event) -> Difference | None:
        """How two instructions differ; ``None`` when they are the same."""
        where = f"instruction {index + 1}"
        if old.op != new.op:
            return _events_differ(f"{where} is {old.op} before and {new.op} after", old, new, old.op, new.op)
        roles = [o.role for o in old.operands], [n.role for n in new.operands]
        if roles[0] != roles[1]:
            lists = ", ".join(roles[0]), ", ".join(roles[1])
            return _events_differ(f"{where}, {old.op}, has other operands", old, new, *lists)
        told = self._other_attribute(old, new)
        if told is not None:
            key, before, after = told
            return _events_differ(f"{where}, {old.op}, has another '{key}'", old, new, before, after)
        for name in other_fields(type(old), _OWN):
            if getattr(old, name) != getattr(new, name):
                values = f"{name} = {getattr(old, name)!r}", f"{name} = {getattr(new, name)!r}"
                return _events_differ(f"{where}, {old.op}, has another '{name}'", old, new, *values)
        for o, n in zip(old.operands, new.operands, strict=True):
            problem = self.relation.mismatch(o, self._original(n), new, old)
            if problem:
                places = self.place(o, self.old), self.place(n, self.new)
                found = _events_differ(f"{where}, {old.op}: '{o.role}' {problem}", old, new, *places)
                return replace(found, maps=(map_excerpt(self.old, o.tile), map_excerpt(self.new, n.tile)))
        return None

    def _other_attribute(self, old: Event, new: Event) -> tuple[str, str, str] | None:
        """The first attribute that two instructions have not in common, and what each has; ``None`` without one."""
        if old.attributes == new.attributes and not old.exempt and not new.exempt:
            return None
        a, b = (_compared(event, version) for event, version in zip((old, new), self.versions, strict=True))
        for key in [*a, *(key for key in b if key not in a)]:
            if key not in a or key not in b or not _same_value(a[key], b[key]):
                return key, f"{key} = {a.get(key, 'absent')!r}", f"{key} = {b.get(key, 'absent')!r}"
        return None

    def _note_pairs(self, old: Event, new: Event) -> None:
        for o, n in zip(old.operands, new.operands, strict=True):
            if o.space != "hbm":
                self.pairs[o.tile, self._original(n).tile] = None

    def place(self, operand: Operand, program: Program) -> str:
        return describe_operand(operand, self.owners[program is self.old][operand.tile])

    def _permits(self, event: Event) -> bool:
        """May the new kernel alone have ``event``? If so, and it is a copy, its destination stands for its source."""
        if self.inexact is not None and self.divisions.begin(event, self.relation.touched):
            return True
        truth = self.truths.asked(event, self.relation)
        if truth is not None:
            self.chosen[truth[0].tile] = truth
            return True
        copy = self.passed.copied(event, self.relation)
        if copy is not None:
            self.passed_copies[event.op] += 1
            self._forget_copies(event)
            self.copies[copy[0].tile] = copy
            return True
        permitted = self.permitted.get(event.op)
        if permitted is None:
            return False
        self.used[permitted] += 1
        self._forget_copies(event)
        roles = {operand.role: operand for operand in event.operands}
        if set(roles) == {"dst", "src"} and roles["dst"].dtype == roles["src"].dtype:
            self.copies[roles["dst"].tile] = roles["dst"], roles["src"]
        return True

    def _original(self, n: Operand) -> Operand:
        """The operand that ``n`` is a permitted copy of, or ``n``."""
        if n.role == PREDICATE and n.tile in self.chosen:
            return read_through(n, self.chosen[n.tile]) or n
        if n.tile not in self.copies or n.role in WRITTEN_ROLES:
            return n
        return read_through(n, self.copies[n.tile]) or n

    def _forget_copies(self, event: Event) -> None:
        """A write to a copy, or to what it was copied from, ends its standing for the original."""
        self.divisions.forget(event)
        if not self.copies and not self.chosen:
            return
        written = {operand.tile for operand in event.operands if operand.role in WRITTEN_ROLES}
        kept = {t: (d, s) for t, (d, s) in self.copies.items() if t not in written and s.tile not in written}
        self.copies = kept
        self.chosen = {t: (d, d if s.tile in written else s) for t, (d, s) in self.chosen.items()}


def _compared(event: Event, version: str) -> dict[str, Any]:
    """What an instruction did, whole, and what it was told that the table does not exempt in ``version``."""
    found = dict(event.attributes)
    found.update((key, value) for function, key, value in event.exempt if key not in exempt(function, version))
    return found


def _owners(program: Program) -> dict[int, TileRow | HbmTensor]:
    owners: dict[int, TileRow | HbmTensor] = {tile.uid: tile for tile in program.tiles}
    owners.update((tensor.uid, tensor) for tensor in program.tensors)
    return owners


def _events_differ(message: str, old: Event, new: Event, before: str, after: str) -> Difference:
    return Difference(message, Place(old.file, old.line, before), Place(new.file, new.line, after))


def describe_operand(operand: Operand, owner: TileRow | HbmTensor) -> str:
    """An operand as a person reads it: tile, address, extent, data type."""
    counts = " x ".join(f"{count}" for _, _, count in operand.steps) or "1"
    strides = ", ".join(f"{partitions}p+{size}" for partitions, size, _ in operand.steps)
    access = f"[{counts}] steps ({strides}) {operand.dtype}"
    if isinstance(owner, HbmTensor):
        name = f"output {owner.output}" if owner.output is not None else f"'{owner.name}'"
        return f"hbm {name} element {operand.byte} {access}"
    at = "" if operand.pinned else " of the tile"
    return f"{owner.label} {operand.space} partition {operand.partition} byte {operand.byte}{at} {access}"


def _same_value(a: Any, b: Any) -> bool:
    """Equal attributes: numbers in float32, as the engines compute; NaN equals NaN, a list the tuple of its items."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_same_value(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        with np.errstate(over="ignore"):
            return _same_value(np.float32(a), np.float32(b))
    return bool(a == b or (a != a and b != b))
