"""Does the new kernel do what the old one did? Three levels, each with a verdict of its own.

:mod:`.layout` compares the addresses of tiles, :mod:`.operands` the instructions and the places they touch,
:mod:`.numbers` the outputs. All three work on :class:`~.trace.Run`, the plain record that a worker process sends back.
"""

from .divisions import outputs_from
from .layout import compare_layout
from .numbers import compare_numbers, compare_with_reference
from .operands import Walk, compare_operands, walked
from .tiles import TileMatch, matched_tiles
from .trace import Failure, HbmTensor, Packed, Program, Run, TileRow, trace_of
from .verdict import LEVELS, Difference, Inexact, LevelVerdict, Permitted, Place, Verdict, worst

__all__ = [
    "LEVELS",
    "Difference",
    "Failure",
    "HbmTensor",
    "Inexact",
    "LevelVerdict",
    "Packed",
    "Permitted",
    "Place",
    "Program",
    "Run",
    "TileMatch",
    "TileRow",
    "Verdict",
    "Walk",
    "compare_layout",
    "compare_numbers",
    "compare_operands",
    "compare_with_reference",
    "matched_tiles",
    "outputs_from",
    "trace_of",
    "walked",
    "worst",
]
