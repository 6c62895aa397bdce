"""NKI012 psum-mod-alloc: ``psum.mod_alloc(...)`` becomes ``address=(partition, bank * 2048 + byte)``.

Why: Beta 2 addresses PSUM by partition and byte; a bank is 2048 bytes. The bank of each block comes from the published
formula, with the source's own expressions.

Safe: the formula is the definition of ``mod_alloc``, and ``nki-migrate verify`` compares every tile's address.

Source: direct allocation guide, Known Limitations; NKI migration guide, "Improved Allocation API".
"""

from __future__ import annotations

from ..analysis.scope import Scope
from ..expr.values import Allocator
from ..lower.addresses import Address, Layout
from ..lower.addresses import psum_mod_alloc as formula
from ..lower.declare import allocates

CODE = "NKI012"
GOLDENS = ("psum_banks",)


@allocates("psum", "mod_alloc")
def address(scope: Scope, allocator: Allocator, place: Layout) -> Address:
    scope.apply(CODE, allocator.call)
    return formula(scope, allocator, place, CODE)
