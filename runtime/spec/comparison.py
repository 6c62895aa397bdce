"""What a comparison of two kernels does not look at, and why; everything else that an instruction or a tensor is told
is compared.

``explain comparison`` prints these tables, and the comparison goes by them: it looks at every attribute of what a run
recorded that no row exempts, what is new among them as well. A test walks every keyword of every instruction of both
versions, and every field of what a run records: each is seen by the comparison, or stands here, and each row that is
taken out makes it seen.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from .versions import BETA2, EVER, LATER, V03, V04, Span, Version
from .versions import version as version_of

ANY = "*"
"""Any instruction."""
BY_TILE_ULPS, BY_NUMBER_ULPS = 1, 2
"""ULP in fp32 between a quotient and the product with the inverse: of a tile, rounded to fp32, and of a number."""


@dataclass(frozen=True)
class Exemption:
    """An attribute that is not compared. ``subject`` is an instruction (:data:`ANY` for all), or what a run records.

    ``dialect`` restricts it to ``"beta1"`` or ``"beta2"`` (empty for both), ``span`` to versions of Beta 2 and later.
    """

    subject: str
    attribute: str
    reason: str
    dialect: str = ""
    span: Span = EVER

    @property
    def where(self) -> str:
        """What it is restricted to, in words; empty for nothing."""
        return self.dialect if self.span == EVER else f"NKI {self.span}"

    def covers(self, dialect: str, version: Version | None) -> bool:
        """Does it hold for that dialect, in that version of Beta 2 and later?"""
        return self.dialect in ("", dialect) and (version is None or version in self.span)


_NO_EVENT = "registers are no memory: what they hold is seen in the addresses and trip counts that it gives"
_DST = "the type of dst says it"
_ONE = "one value is legal, and leaving it out means the same"

EXEMPTIONS: tuple[Exemption, ...] = (
    Exemption(ANY, "name", "a label for profiles: it changes nothing that runs"),
    Exemption("tensor_reduce", "keepdims", "dst says its own shape: the same elements are reduced and written"),
    Exemption("dma_transpose", "axes", _ONE),
    Exemption("set_rng_seed", "src_seeds", "the random numbers that follow from it are compared, bit by bit"),
    Exemption("sequence_bounds", "dtype", _DST, "beta2", BETA2),
    Exemption("nc_stream_shuffle", "dtype", _DST, "beta1"),
    Exemption("select_reduce", "dtype", _DST, "beta1"),
    Exemption("tensor_copy_dynamic_dst", "dtype", _DST, "beta1"),
    Exemption("tensor_copy_predicated", "dtype", _DST, "beta1"),
    Exemption("range_select", "reduce_cmd", "0.2 takes reset_reduce whatever it says", "beta2", BETA2),
    Exemption("range_select", "on_false_value", "0.2 takes the smallest float32 whatever it says", "beta2", BETA2),
    Exemption(
        "nc_transpose", "engine", "0.3 transposes by the memory of dst whatever it says", "beta2", Span(V03, V04)
    ),
    Exemption("register_alloc", "t", _NO_EVENT, "beta2", BETA2),
    Exemption("register_alloc", "x", _NO_EVENT, "beta2", LATER),
    Exemption("register_load", "dst", _NO_EVENT),
    Exemption("register_load", "src", _NO_EVENT),
    Exemption("register_move", "dst", _NO_EVENT),
    Exemption("register_move", "imm", _NO_EVENT, "beta2", BETA2),
    Exemption("register_move", "src", _NO_EVENT, "beta2", LATER),
    Exemption("register_store", "dst", _NO_EVENT),
    Exemption("register_store", "src", _NO_EVENT),
    Exemption("Event", "sequence", "events are compared in their order"),
    Exemption("Event", "file", "the source may be another one"),
    Exemption("Event", "line", "the source may be another one"),
    Exemption("Event", "restarts", "accumulate says what happened; this is what was asked for"),
    Exemption("Operand", "exact", "it says how sure the place is, and follows from the instruction"),
    Exemption("Operand", "used", "it says whether a mask leaves anything, and follows from the instruction"),
    Exemption("TileRow", "tensor", "the name of a variable; it tells which tiles to compare first"),
    Exemption("TileRow", "file", "the source may be another one"),
    Exemption("TileRow", "line", "the source may be another one"),
    Exemption("HbmTensor", "dtype", "each access to it says its type"),
    Exemption("HbmTensor", "file", "the source may be another one"),
    Exemption("HbmTensor", "line", "the source may be another one"),
)


@cache
def exempt(subject: str, version: str) -> frozenset[str]:
    """The keywords of an instruction that are not compared, in a version of Beta 2 and later (``""`` for Beta 1)."""
    dialect, at = ("beta2", version_of(version)) if version else ("beta1", None)
    return frozenset(e.attribute for e in EXEMPTIONS if e.subject in (ANY, subject) and e.covers(dialect, at))


def other_fields(record: type[Any], own: frozenset[str]) -> tuple[str, ...]:
    """The fields of a record that are compared as they are.

    All, but those that the table exempts and those that have a comparison of their ``own``.
    """
    if (record, own) not in FIELDS:
        kinds = {kind.__name__ for kind in record.__mro__}
        rows = {e.attribute for e in EXEMPTIONS if e.subject in kinds}
        FIELDS[record, own] = tuple(f.name for f in fields(record) if f.name not in rows and f.name not in own)
    return FIELDS[record, own]


FIELDS: dict[tuple[type[Any], frozenset[str]], tuple[str, ...]] = {}
"""What :func:`other_fields` gave."""


UNSAID: dict[str, tuple[object, ...]] = {
    "engine": ("unknown", None),
    "dge_mode": ("unknown", None),
    "oob_mode": ("error",),
    "is_stationary_onezero": (False,),
    "is_moving_onezero": (False,),
    "tile_position": ((), None),
    "tile_size": ((), None),
    "unique_indices": (True,),
    "priority": (None,),
    "use_gpsimd_dma": (False,),
    "dma_engine": (None, "dma"),
}
"""Options of instructions that change no number here, and the values that say what leaving them out says: the normal
form of an instruction does not have these."""

WRITTEN_ROLES = frozenset({"dst", "reduce_res", "dst_idx", "dst_scale"})
"""The operands that instructions write to."""

SCALES = frozenset({"stationary_scale", "moving_scale", "dst_scale"})
SCALE_TYPES = {"float8_e8m0fnu": "uint8"}
"""The type of the operands :data:`SCALES` since 0.5, and the one before: instructions read the same exponents."""

HBM_KINDS = {
    "beta1": {"hbm": "private_hbm", "private_hbm": "private_hbm", "shared_hbm": "shared_hbm"},
    "beta2": {"hbm": "private_hbm", "private_hbm": "private_hbm", "shared_hbm": "shared_hbm"},
}
"""The two kinds of HBM, by what each version calls them (``nl.hbm``: "Alias of private_hbm", API of 2.28)."""

SAME_ELEMENT = {
    "tensor_tensor": frozenset({"data1", "data2"}),
    "tensor_scalar": frozenset({"data"}),
    "scalar_tensor_tensor": frozenset({"data", "operand1"}),
    "activation": frozenset({"data"}),
    "reciprocal": frozenset({"data"}),
}
"""The operands of which each element gives the element of the result at the same place, by instruction: such an
instruction may write where it reads them."""
