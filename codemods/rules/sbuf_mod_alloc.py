"""NKI011 sbuf-mod-alloc: ``sbuf.mod_alloc(...)`` becomes ``address=(partition, byte)``.

Why: Beta 2 has no allocators; ``nl.ndarray`` takes the address itself, in bytes. Each block gets the address that the
published formula gives it, computed from the source's own expressions, so it stays right when sizes change. A modulo
that cannot matter (as many physical tiles as blocks) is left out.

Safe: the formula is the definition of ``mod_alloc``, and ``nki-migrate verify`` compares every tile's address.

Source: direct allocation guide, "ncc.sbuf.mod_alloc()"; NKI migration guide, "Improved Allocation API"; the unit is
bytes, as in the SbufManager examples.
"""

from __future__ import annotations

from ..analysis.scope import Scope
from ..expr.values import Allocator
from ..lower.addresses import Address, Layout
from ..lower.addresses import sbuf_mod_alloc as formula
from ..lower.declare import allocates
from ..syntax import codes

CODE = codes.SBUF_MOD_ALLOC
GOLDENS = ("modulo_table", "running_counter")


@allocates("sbuf", "mod_alloc")
def address(scope: Scope, allocator: Allocator, place: Layout) -> Address:
    scope.apply(CODE, allocator.call)
    return formula(scope, allocator, place, CODE)
