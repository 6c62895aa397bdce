"""Allocations and plans as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

ALWAYS = (0, 1 << 62)
"""The steps of an allocation that lives as long as the kernel."""


@dataclass(frozen=True)
class Alloc:
    """One buffer.

    ``name`` is the kernel's, unique in its plan. ``scope`` names the arena, ``shape`` counts elements of ``dtype``.
    ``bytes`` is what it takes (in the unit of its scope), ``align`` what its address is a multiple of. ``live`` are the
    steps ``[a, b)`` between its first and its last use; an empty interval is a buffer that nothing uses. ``addr`` is
    ``None`` for what the compiler places, or what has no address (registers). ``fixed``: the kernel itself chose the
    address. ``line`` is that of its declaration, 0 when unknown.
    """

    name: str
    scope: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    align: int = 1
    live: tuple[int, int] = ALWAYS
    addr: int | None = None
    fixed: bool = False
    line: int = 0

    def __post_init__(self) -> None:
        if self.bytes < 0 or self.align < 1 or self.live[0] > self.live[1]:
            raise ValueError(f"allocation '{self.name}': {self.bytes} bytes, alignment {self.align}, live {self.live}")

    @property
    def end(self) -> int | None:
        """The byte behind the last; ``None`` without an address."""
        return None if self.addr is None else self.addr + self.bytes

    def at(self, addr: int | None) -> Alloc:
        """The same buffer at another address."""
        return replace(self, addr=addr)

    def lives_with(self, other: Alloc) -> bool:
        """Is there a step in which both live?"""
        return max(self.live[0], other.live[0]) < min(self.live[1], other.live[1])

    def shares_bytes_with(self, other: Alloc) -> bool:
        """Is there a byte of one arena that both have?"""
        if self.scope != other.scope or self.addr is None or other.addr is None:
            return False
        return max(self.addr, other.addr) < min(self.addr + self.bytes, other.addr + other.bytes)


@dataclass(frozen=True)
class Space:
    """One arena: its name, what it holds (``None``: no limit), and the unit that sizes and addresses count in."""

    scope: str
    limit: int | None = None
    unit: str = "bytes"


@dataclass(frozen=True)
class Plan:
    """The allocations of one kernel in declaration order, and the arenas that they are in.

    Raises ``ValueError`` for two allocations of one name in a scope: an address must be that of one buffer.
    """

    allocs: tuple[Alloc, ...]
    spaces: tuple[Space, ...] = ()

    def __post_init__(self) -> None:
        seen: set[tuple[str, str]] = set()
        for alloc in self.allocs:
            if (alloc.scope, alloc.name) in seen:
                raise ValueError(f"two allocations in scope '{alloc.scope}' are called '{alloc.name}'")
            seen.add((alloc.scope, alloc.name))

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that have an allocation or a space, in the order of their first appearance."""
        return tuple(dict.fromkeys([*(space.scope for space in self.spaces), *(a.scope for a in self.allocs)]))

    def space(self, scope: str) -> Space:
        """What is known of a scope; a scope that nobody described has no limit."""
        return next((space for space in self.spaces if space.scope == scope), Space(scope))

    def of(self, scope: str) -> Iterator[Alloc]:
        """The allocations of one scope, in declaration order."""
        return (alloc for alloc in self.allocs if alloc.scope == scope)

    def placed(self, scope: str, addresses: Mapping[str, int]) -> Plan:
        """The plan with these addresses, by name, for the allocations of ``scope``; others stay as they are."""
        return replace(
            self,
            allocs=tuple(
                a.at(addresses[a.name]) if a.scope == scope and a.name in addresses else a for a in self.allocs
            ),
        )

    def addresses(self) -> dict[str, tuple[str, int | None, int]]:
        """``{name: (scope, address, bytes)}``: what two plans are compared by."""
        return {alloc.name: (alloc.scope, alloc.addr, alloc.bytes) for alloc in self.allocs}


def aligned(address: int, align: int) -> int:
    """``address``, or the next multiple of ``align`` above it."""
    return -(-address // align) * align
