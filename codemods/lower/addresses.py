"""Where the blocks of a direct-allocated tensor lie, as source text: the formula of ``mod_alloc``.

For an allocation shape ``n`` and block index ``i``: ``tile(n, i) = sum_d (i_d % n_d) * prod(n_{d+1}, ...)``,
positions that both have (the longer is cut, as ``zip`` does). ``start partition = base_partition + pdim_size *
tile(num_par_tiles, i)``, ``byte = base_addr + fdim_size * tile(num_free_tiles, i)``, ``bank = base_bank +
tile(num_bank_tiles, i)``.

Source: ``nki.compiler.sbuf.mod_alloc`` and ``psum.mod_alloc`` of the 2.26.1 API reference.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from nki_migrate.runtime.spec.hardware import PSUM_BANK_BYTES

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Allocator
from ..render.expressions import render_stable
from ..render.type_names import itemsize
from .access import covers


@dataclass(frozen=True)
class Address:
    """Start partition and byte of one block; ``setup`` are statements that compute them first."""

    partition: str
    byte: str
    setup: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return f"({self.partition}, {self.byte})"


@dataclass(frozen=True)
class Layout:
    """What an address is computed from: sizes of the blocks and the block index, outermost first, as source text."""

    blocks: tuple[str, ...]
    index: tuple[str, ...]
    rows: str
    row_bytes: str


def layout(scope: Scope, blocks: tuple[str, ...], index: tuple[str, ...], dims: tuple[str, ...], dtype: str) -> Layout:
    """``row_bytes`` are the bytes of one block in one partition: the free sizes times the size of an element."""
    return Layout(blocks, index, dims[0], algebra.multiply(*dims[1:], itemsize(scope, dtype)))


def tile_index(scope: Scope, sizes: tuple[str, ...], place: Layout) -> str:
    """``tile(n, i)`` as source text, with what cannot matter left out."""
    terms = []
    for d, (size, index) in enumerate(zip(sizes, place.index, strict=False)):
        if scope.constant(size) == 1 or index == "0":
            continue
        reduced = index if covers(scope, size, place.blocks[d]) else algebra.modulo(index, size)
        terms.append(algebra.multiply(reduced, *sizes[d + 1 :]))
    return algebra.add(*terms) if terms else "0"


def keywords(scope: Scope, allocator: Allocator, known: tuple[str, ...], code: str) -> dict[str, ast.expr]:
    """Keyword arguments of an allocation call. Raises :class:`Refuse` for one that the formula does not know."""
    if allocator.call.args:
        raise Refuse(allocator.call, code, "mod_alloc with positional arguments", "pass them by keyword")
    given = {k.arg: k.value for k in allocator.call.keywords if k.arg}
    for name in given:
        if name not in known:
            raise Refuse(allocator.call, code, f"mod_alloc does not have '{name}'", f"it has {', '.join(known)}")
    return given


def tuple_sizes(scope: Scope, node: ast.expr | None, code: str) -> tuple[str, ...]:
    """``num_free_tiles=(2, n)`` as texts; absent is empty, which counts as all ones."""
    if node is None:
        return ()
    if not isinstance(node, ast.Tuple | ast.List):
        raise Refuse(node, code, "a number of tiles that is not written as a tuple", "write the tuple in the call")
    return tuple(render_stable(scope, size) for size in node.elts)


def scalar(scope: Scope, given: dict[str, ast.expr], name: str) -> str:
    return render_stable(scope, given[name]) if name in given else "0"


def sbuf_mod_alloc(scope: Scope, allocator: Allocator, place: Layout, code: str) -> Address:
    given = keywords(scope, allocator, ("base_addr", "base_partition", "num_par_tiles", "num_free_tiles"), code)
    if "base_addr" not in given:
        raise Refuse(allocator.call, code, "sbuf.mod_alloc without base_addr", "base_addr is required")
    par, free = (tuple_sizes(scope, given.get(name), code) for name in ("num_par_tiles", "num_free_tiles"))
    partition = algebra.add(
        scalar(scope, given, "base_partition"), algebra.multiply(tile_index(scope, par, place), place.rows)
    )
    byte = algebra.add(
        allocator.kept or scalar(scope, given, "base_addr"),
        algebra.multiply(tile_index(scope, free, place), place.row_bytes),
    )
    return Address(partition, byte)


def psum_mod_alloc(scope: Scope, allocator: Allocator, place: Layout, code: str) -> Address:
    known = ("base_bank", "base_addr", "base_partition", "num_bank_tiles", "num_par_tiles", "num_free_tiles")
    given = keywords(scope, allocator, known, code)
    if "base_bank" not in given:
        raise Refuse(allocator.call, code, "psum.mod_alloc without base_bank", "base_bank is required")
    banks, par, free = (tuple_sizes(scope, given.get(f"num_{name}_tiles"), code) for name in ("bank", "par", "free"))
    bank = algebra.add(scalar(scope, given, "base_bank"), tile_index(scope, banks, place))
    partition = algebra.add(
        scalar(scope, given, "base_partition"), algebra.multiply(tile_index(scope, par, place), place.rows)
    )
    offset = algebra.add(
        allocator.kept or scalar(scope, given, "base_addr"),
        algebra.multiply(tile_index(scope, free, place), place.row_bytes),
    )
    return Address(partition, algebra.add(bank_byte(bank), offset))


def bank_byte(bank: str) -> str:
    return algebra.multiply(bank, str(PSUM_BANK_BYTES)) if bank.isdigit() and bank in "01" else _scaled_bank(bank)


def _scaled_bank(bank: str) -> str:
    """``7 * 2048`` stays readable: the bank is not folded into a number."""
    return f"{algebra.paren(bank)} * {PSUM_BANK_BYTES}"
