"""What the tool and its workers tell each other: requests, replies, and how they cross."""

from __future__ import annotations

import io
import pickle
import struct
from dataclasses import dataclass, field
from typing import IO, Any

from . import events
from .cases import Case
from .compare import trace
from .compare.condition import Condition
from .compare.hazard import Hazard
from .compare.trace import Elsewhere, Failure, Packed, Run
from .compare.verdict import Place
from .reading import Reads
from .spec.seen import Seen, SeenFunction
from .versions import DISK, Version

LENGTH = struct.Struct(">Q")
"""The size of a message, before it."""
DEFAULT_SECONDS = 300.0
DEFAULT_MEMORY = 8 << 30


@dataclass(frozen=True)
class Request:
    """What a worker is asked for one kernel file.

    ``kind`` is ``"kernels"`` (which kernels does the file define?), ``"run"`` (run ``case``), ``"observe"`` (run it,
    and tell what its functions got), ``"probe"`` (run it, and tell how far it came) or ``"reference"`` (the NumPy
    reference of ``case``). ``seconds`` (:mod:`.stopwatch`) and ``memory`` bytes of address space are limits.
    ``version`` says which content the files have. ``hazards``: look for them in the record of a run. ``language``
    is that of the file's kernels. ``conditions``: watch how those of the user's code go. ``by_reciprocal``: compute
    quotients as a kernel of Beta 2 does (:mod:`.isa.quotients`). ``function``: launch a function, too, that was a
    kernel before a rewrite left it to the kernels that call it. ``sketch``: cut loops short, and note how far indices
    reach instead of refusing them.
    """

    kind: str
    file: str
    case: Case | None = None
    hardware: str = "gen3"
    seconds: float = DEFAULT_SECONDS
    memory: int = DEFAULT_MEMORY
    version: Version = DISK
    hazards: bool = False
    language: str = "nki"
    conditions: bool = False
    by_reciprocal: bool = False
    function: bool = False
    sketch: bool = False


@dataclass(frozen=True)
class Kernel:
    """A kernel that a file defines. ``sub_kernel``: decorated only to be called from other kernels."""

    name: str
    dialect: str
    line: int
    sub_kernel: bool


@dataclass(frozen=True)
class Kernels:
    """The kernels of one file, in the order of their definitions."""

    kernels: tuple[Kernel, ...]
    reads: Reads = field(default=Reads(), compare=False)


@dataclass(frozen=True)
class Reference:
    """What a NumPy reference returned."""

    outputs: tuple[Packed, ...]
    reads: Reads = field(default=Reads(), compare=False)


@dataclass(frozen=True)
class Observation:
    """The functions of the user's that a Beta 1 kernel entered, and what they got."""

    functions: tuple[SeenFunction, ...]
    reads: Reads = field(default=Reads(), compare=False)


@dataclass(frozen=True)
class Probe:
    """A run that ended well: its outputs, instructions and seconds, and how its conditions went, if that was asked.

    ``mixed``: did a matmul get float32 and another type, which one of Beta 2 refuses? ``spread``: did a store repeat
    elements of its tile? ``reach``: the arguments that a sketch found too small, and shapes that are not; ``outgrown``:
    sizes of tiles on the chip that it found too small, and what they must be. ``written``: the output parameters of the
    case, and the shapes in which all lies that is not 0 in them. ``unread``: did nothing read an argument in HBM?
    """

    outputs: int
    instructions: int
    seconds: float = 0.0
    conditions: tuple[Condition, ...] = ()
    mixed: bool = False
    spread: bool = False
    reach: tuple[tuple[str, tuple[int, ...]], ...] = ()
    outgrown: tuple[tuple[int, int], ...] = ()
    written: tuple[tuple[str, tuple[int, ...]], ...] = ()
    unread: bool = False
    reads: Reads = field(default=Reads(), compare=False)


Reply = Kernels | Run | Reference | Observation | Probe | Failure
_PLAIN_CLASSES = {
    (cls.__module__, cls.__qualname__): cls
    for cls in (
        *(Kernel, Kernels, Reference, Observation, Probe, Reads, Run, Failure, Packed, Elsewhere, Seen, SeenFunction),
        *(trace.Compared, trace.Program, trace.TileRow, trace.HbmTensor, events.Event, events.Loop, events.Operand),
        *(Condition, Hazard, Place),
    )
}


class _PlainUnpickler(pickle.Unpickler):
    """Builds the classes of a reply and nothing else: bytes from a process that ran user code must not execute."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PLAIN_CLASSES:
            raise pickle.UnpicklingError(f"a worker sent a {module}.{name}")
        return _PLAIN_CLASSES[module, name]


def decode_reply(data: bytes) -> Reply:
    """The reply that ``data`` stands for; raises :class:`pickle.UnpicklingError` for anything that is not plain."""
    reply = _PlainUnpickler(io.BytesIO(data)).load()
    if not isinstance(reply, (Kernels, Run, Reference, Observation, Probe, Failure)):
        raise pickle.UnpicklingError("a worker sent no reply")
    return reply


def send(stream: IO[bytes], data: bytes) -> None:
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next message, ``None`` at the end of the stream."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(header)
    data = stream.read(size)
    return data if len(data) == size else None
