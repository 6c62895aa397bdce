"""Addresses for the buffers of a kernel: four modes, and what is wrong with the result.

* ``linear``: one after the other in the order of their declarations, what the compiler does by default. Buffers with
  ``T.annotate_address`` stay where they are; in UB the others follow behind the highest of them, in the other memories
  they begin at 0 whatever lies there (as upstream does; an overlap is then a problem).
* ``reuse`` (``tl.ascend_memory_planning``): fresh memory first; only a buffer that does not fit any more gets bytes
  that are free again, first fit from below, or the last free block extended to the end of the memory.
* ``fixed``: only ``T.annotate_address``; a buffer without one is a problem.
* ``pool``: one pool over each memory: first fit, and bytes are free again at once.

``auto`` is ``fixed`` where every buffer has an address, ``reuse`` where the kernel asks for it, else ``linear``.
Which buffers live together the planner takes from :mod:`.lifetimes`; whether the result can be right is judged by
:mod:`.liveness`, so a planner's mistake is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...plan import Alloc, Plan, Space, aligned, flaws
from ...plan.model import ALWAYS
from ...spec.ascend import SPACES, TARGETS, AscendTarget
from .lifetimes import lifetimes
from .liveness import conflicts, live_steps
from .model import Buffer, Pool, Program

MODES = ("auto", "linear", "reuse", "fixed", "pool")


@dataclass(frozen=True)
class Problem:
    """What is wrong with a plan: a kind (of the plan model, ``no-address``, ``pool``), a line, a sentence, advice."""

    kind: str
    line: int
    message: str
    advice: str


@dataclass(frozen=True)
class Planned:
    """A plan, the mode that made it, and what is wrong with it."""

    plan: Plan
    mode: str
    planner: str
    target: str
    problems: tuple[Problem, ...]


def planned(
    program: Program, target: str = "910b", mode: str = "auto", planner: str = "scope-exit", reuses: bool = False
) -> Planned:
    """The plan of ``program`` on ``target``, judged. ``reuses``: does the kernel ask for reuse (for ``auto``)?"""
    chosen = _chosen(program, reuses) if mode == "auto" else mode
    if chosen not in MODES:
        raise ValueError(f"no mode is called '{mode}': there are {', '.join(MODES)}")
    hardware = TARGETS[target]
    problems: list[Problem] = []
    addresses: dict[str, int] = {}
    spans = lifetimes(program, planner)
    for space in SPACES:
        items = _items(program, space, hardware, spans)
        placer = _Placer(hardware, space, problems)
        found = getattr(placer, chosen)(items)
        pools = {pool.name: pool for pool in program.pools if pool.space == space}
        addresses |= {name: at for name, at in found.items() if name not in pools}
        for pool in pools.values():
            if pool.name in found:
                addresses |= _in_pool(program, pool, found[pool.name], problems)
    plan = _plan(program, hardware, addresses)
    return Planned(plan, chosen, planner, target, (*problems, *verified(program, plan, target)))


def _chosen(program: Program, reuses: bool) -> str:
    """The mode that the kernel asks for."""
    if program.buffers and all(buffer.address is not None for buffer in program.buffers):
        return "fixed"
    return "reuse" if reuses else "linear"


def verified(program: Program, plan: Plan, target: str) -> tuple[Problem, ...]:
    """What is wrong with the addresses of ``plan``, by the lifetimes that the statements have."""
    return tuple(_problems(program, plan, TARGETS[target]))


def _plan(program: Program, hardware: AscendTarget, addresses: Mapping[str, int]) -> Plan:
    steps = live_steps(program)
    allocs = []
    for buffer in program.buffers:
        own = steps.get(buffer.name) or frozenset()
        allocs.append(
            Alloc(
                buffer.name,
                buffer.space,
                buffer.shape,
                buffer.dtype,
                buffer.nbytes,
                max(hardware.arenas[buffer.space].align, buffer.align),
                (min(own), max(own) + 1) if own else (0, 0),
                addresses.get(buffer.name),
                buffer.address is not None,
                buffer.line,
            )
        )
    used = {buffer.space for buffer in program.buffers}
    return Plan(tuple(allocs), tuple(Space(s, hardware.arenas[s].limit) for s in SPACES if s in used))


# --- placing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Item:
    """Something that gets an address: a buffer or a pool. ``size`` is as the planner counts it."""

    name: str
    size: int
    align: int
    first: int
    last: int
    fixed: int | None
    line: int


def _items(program: Program, space: str, hardware: AscendTarget, spans: Mapping[str, tuple[int, int]]) -> list[_Item]:
    """What one memory holds, in the order of the declarations; a pool stands where it is declared."""
    arena = hardware.arenas[space]

    def size(nbytes: int) -> int:
        return aligned(nbytes, arena.align) if hardware.rounds_sizes else nbytes

    rows = []
    for number, buffer in enumerate(program.buffers):
        if buffer.space == space and buffer.pool is None:
            first, last = spans.get(buffer.name, (0, -1))
            align = max(arena.align, buffer.align)
            rows.append((buffer.line, number, _item(buffer, size(buffer.nbytes), align, first, last)))
    for pool in program.pools:
        if pool.space == space:
            item = _Item(pool.name, size(pool.size), max(arena.align, 1), *ALWAYS, None, pool.line)
            rows.append((pool.line, -1, item))
    return [item for _, _, item in sorted(rows, key=lambda row: row[:2])]


def _item(buffer: Buffer, size: int, align: int, first: int, last: int) -> _Item:
    return _Item(buffer.name, size, align, first, last, buffer.address, buffer.line)


class _Placer:
    """The modes, for one memory: each method gives addresses by name."""

    def __init__(self, hardware: AscendTarget, space: str, problems: list[Problem]) -> None:
        self.space, self.limit = space, hardware.arenas[space].limit
        self.rounds = hardware.rounds_sizes
        self.problems = problems

    def linear(self, items: list[_Item]) -> dict[str, int]:
        found = {item.name: item.fixed for item in items if item.fixed is not None}
        top = max((item.fixed + item.size for item in items if item.fixed is not None), default=0)
        at = top if self.space == "UB" else 0
        for item in items:
            if item.fixed is None:
                found[item.name] = aligned(at, item.align)
                at = found[item.name] + item.size
        return found

    def fixed(self, items: list[_Item]) -> dict[str, int]:
        for item in items:
            if item.fixed is None:
                message = f"'{item.name}' ({item.size} bytes of {self.space}) has no address"
                advice = "add it to T.annotate_address, or choose another --mode"
                self.problems.append(Problem("no-address", item.line, message, advice))
        return {item.name: item.fixed for item in items if item.fixed is not None}

    def pool(self, items: list[_Item]) -> dict[str, int]:
        return _Scan(self, items, fresh_first=False).place()

    def reuse(self, items: list[_Item]) -> dict[str, int]:
        return _Scan(self, items, fresh_first=True).place()

    def no_room(self, item: _Item, top: int) -> None:
        message = (
            f"'{item.name}' ({item.size} bytes) does not fit into {self.space}: {self.limit - top} of {self.limit} "
            "bytes are fresh, and no free block is large enough"
        )
        advice = "make buffers smaller, or end lifetimes earlier; upstream's planner stops or crashes here (issue 1646)"
        self.problems.append(Problem("over-capacity", item.line, message, advice))


class _Scan:
    """A linear scan over lifetimes: blocks are free again behind the last use of their buffer."""

    def __init__(self, placer: _Placer, items: list[_Item], fresh_first: bool) -> None:
        self.placer, self.fresh_first = placer, fresh_first
        self.items = sorted((i for i in items if i.first <= i.last or i.last >= 0), key=lambda item: item.first)
        self.unused = [item for item in items if item.last < 0]
        self.active: list[tuple[_Item, int]] = []
        self.free: list[tuple[int, int]] = []
        self.top = 0

    def place(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for item in self.items:
            self._retire(item.first)
            at = self._fixed(item) if item.fixed is not None else self._place(item)
            if at is None:
                self.placer.no_room(item, self.top)
                continue
            found[item.name] = at
            self.active.append((item, at))
        return found | {item.name: item.fixed or 0 for item in self.unused}

    def _retire(self, step: int) -> None:
        ended = [(item, at) for item, at in self.active if item.last < step]
        self.active = [(item, at) for item, at in self.active if item.last >= step]
        self.free = _merged([*self.free, *((at, at + item.size) for item, at in ended)])

    def _fixed(self, item: _Item) -> int:
        assert item.fixed is not None
        end = item.fixed + item.size
        if item.fixed > self.top:
            self.free = _merged([*self.free, (self.top, item.fixed)])
        self.top = max(self.top, end)
        self._take(item.fixed, end)
        return item.fixed

    def _place(self, item: _Item) -> int | None:
        tries = (self._fresh, self._first_fit) if self.fresh_first else (self._first_fit, self._fresh)
        for attempt in (*tries, self._extended):
            at = attempt(item)
            if at is not None:
                self._take(at, at + item.size)
                return at
        return None

    def _fresh(self, item: _Item) -> int | None:
        at = aligned(self.top, item.align)
        if at + item.size > self.placer.limit or self._meets_fixed(item, at):
            return None
        if at > self.top:
            self.free = _merged([*self.free, (self.top, at)]) if not self.fresh_first else self.free
        self.top = at + item.size
        return at

    def _first_fit(self, item: _Item) -> int | None:
        for low, high in self.free:
            at = aligned(low, item.align)
            if at + item.size <= high and not self._meets_fixed(item, at):
                return at
        return None

    def _extended(self, item: _Item) -> int | None:
        """The last free block, made longer up to the end of the memory."""
        if not self.free or self.free[-1][1] != self.top:
            return None
        at = aligned(self.free[-1][0], item.align)
        if at + item.size > self.placer.limit or self._meets_fixed(item, at):
            return None
        self.free[-1] = (self.free[-1][0], self.placer.limit)
        self.top = self.placer.limit
        return at

    def _meets_fixed(self, item: _Item, at: int) -> bool:
        """Would the item lie in the bytes of one with a fixed address that lives in one of its steps?"""
        return any(
            other.fixed is not None
            and other.first <= item.last
            and item.first <= other.last
            and at < other.fixed + other.size
            and other.fixed < at + item.size
            for other in self.items
            if other is not item
        )

    def _take(self, low: int, high: int) -> None:
        rest = []
        for first, end in self.free:
            rest += [(first, min(end, low))] if first < low else []
            rest += [(max(first, high), end)] if end > high else []
        self.free = rest


def _merged(blocks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Free blocks in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(block for block in blocks if block[0] < block[1]):
        if found and found[-1][1] >= low:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


# --- pools -----------------------------------------------------------------------------------------------------------


def _in_pool(program: Program, pool: Pool, base: int, problems: list[Problem]) -> dict[str, int]:
    """The addresses of a pool's buffers: its calls in the order of the text, blocks first fit."""
    members = {buffer.name: buffer for buffer in program.buffers if buffer.pool == pool.name}
    state = PoolBlocks(pool.size, pool.block)
    found: dict[str, int] = {}
    held: dict[str, int] = {}
    depth = 0
    for entry in program.entries:
        if entry.kind != "touch" and (entry.loop or entry.branch):
            depth += 1 if entry.kind == "open" else -1
        for name in (*entry.allocs, *entry.frees):
            if name in members and depth:
                message = f"'{name}' is allocated from, or freed to, pool '{pool.name}' in a loop or a condition"
                advice = "which blocks are free there is not known in the source: move the call out of it"
                problems.append(Problem("pool", entry.line, message, advice))
                return {}
        for name in entry.frees:
            if name in held:
                state.release(held.pop(name))
        for name in entry.allocs:
            if name in members:
                offset = state.take(members[name].nbytes)
                if offset is None:
                    message = (
                        f"pool '{pool.name}' ({pool.size} bytes in blocks of {pool.block}) has no room for '{name}' "
                        f"({members[name].nbytes} bytes): {state.in_use} bytes are in use"
                    )
                    advice = "make the pool larger, or free what is not needed any more"
                    problems.append(Problem("over-capacity", entry.line, message, advice))
                    continue
                held[name] = offset
                found[name] = base + offset
    return found


class PoolBlocks:
    """The blocks of a pool: ``take`` gives the offset of the first run of free blocks, ``release`` gives it back."""

    def __init__(self, size: int, block: int) -> None:
        self.size, self.block = size, block
        self._held: dict[int, int] = {}

    @property
    def in_use(self) -> int:
        return sum(self._held.values())

    def take(self, nbytes: int) -> int | None:
        """The offset of ``nbytes`` in whole blocks, ``None`` when no run of free blocks is long enough."""
        need = aligned(max(nbytes, 1), self.block)
        at = 0
        for low, held in sorted(self._held.items()):
            if low - at >= need:
                break
            at = low + held
        if at + need > self.size:
            return None
        self._held[at] = need
        return at

    def release(self, offset: int) -> None:
        """Give back what began at ``offset``; raises ``KeyError`` for what nobody holds."""
        del self._held[offset]


# --- judging ---------------------------------------------------------------------------------------------------------


def _problems(program: Program, plan: Plan, hardware: AscendTarget) -> Iterator[Problem]:
    together = conflicts(program)
    for flaw in flaws(plan):
        lines = [alloc.line for alloc in flaw.allocs]
        listed = ", ".join(f"'{a.name}' ({_extent(a)}, line {a.line})" for a in flaw.allocs)
        if flaw.code == "overlap":
            a, b = flaw.allocs
            if frozenset((a.name, b.name)) not in together:
                continue
            low, high = max(a.addr or 0, b.addr or 0), min(a.end or 0, b.end or 0)
            message = f"{listed} share bytes {low}-{high - 1} of {a.scope} while both may hold values"
            advice = "give one of them another address, or let the other's last use come first"
        elif flaw.code == "over-capacity":
            space = plan.space(flaw.allocs[0].scope if flaw.allocs else "")
            arena = hardware.arenas[space.scope]
            top = max((a.end or 0) for a in plan.of(space.scope))
            needed = f"{space.scope} needs {top} bytes" if top else f"{space.scope} needs more at one time than it has"
            message = f"{needed}, {hardware.name} has {space.limit} to plan ({arena.size} in all): {listed}"
            advice = "make buffers smaller, or share addresses (--mode reuse)"
        elif flaw.code == "misaligned":
            alloc = flaw.allocs[0]
            message = f"{listed} begins at byte {alloc.addr} of {alloc.scope}, no multiple of {alloc.align}"
            advice = f"the next address is {aligned(alloc.addr or 0, alloc.align)}"
        else:
            message, advice = f"{listed}: {flaw.message}", "give it an address inside of its memory"
        yield Problem(flaw.code, max(lines, default=0), message, advice)


def _extent(alloc: Alloc) -> str:
    where = "no address" if alloc.addr is None else f"bytes {alloc.addr}-{alloc.addr + max(alloc.bytes, 1) - 1}"
    return f"{alloc.bytes} bytes at {where}" if alloc.addr is None else f"{alloc.bytes} bytes, {where}"


def pinned_copy(program: Program, addresses: Mapping[str, int]) -> Program:
    """The program with these addresses annotated."""
    buffers = tuple(replace(b, address=addresses.get(b.name, b.address), pool=None) for b in program.buffers)
    return replace(program, buffers=buffers, pools=())
