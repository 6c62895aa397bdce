"""``nki.isa``: instructions that the programs of a launch execute together (2.28 signatures)."""

from __future__ import annotations

from typing import Any

from .. import isa
from ..errors import KernelError
from . import state, values
from .operands import deliver, in_sbuf, same_extent, tile
from .signature import builtin


@builtin("nki.isa")
def core_barrier(data: Any, cores: Any, engine: Any = values.Engine.unknown, name: Any = None) -> None:
    """Wait until both programs are here; ``data`` is the shared tensor that they wait for."""
    values.engine(engine)
    tensor = tile(data)
    if tensor.alloc.space != "hbm":
        raise KernelError("", f"core_barrier: data must be in shared HBM, '{tensor.label}' is not")
    _meet("core_barrier", values.naturals(cores), None)


@builtin("nki.isa")
def lnc_barrier(data: Any, cores: Any, engine: Any = values.Engine.unknown, name: Any = None) -> None:
    """Another name of :func:`core_barrier`."""
    core_barrier(data=data, cores=cores, engine=engine)


@builtin("nki.isa")
def sendrecv(
    src: Any,
    dst: Any,
    send_to_rank: Any,
    recv_from_rank: Any,
    pipe_id: Any,
    use_gpsimd_dma: Any = False,
    dma_engine: Any = None,
    name: Any = None,
) -> None:
    """Send ``src`` to another program and receive into ``dst`` what a program sends here."""
    source, target = in_sbuf(src, "src", "sendrecv"), in_sbuf(dst, "dst", "sendrecv")
    same_extent("sendrecv", ("dst", "src"), target, source)
    if source.dtype != target.dtype:
        raise KernelError("", f"sendrecv: src is {source.dtype.name}, dst is {target.dtype.name}: they must be equal")
    to, sender, pipe = values.integer(send_to_rank), values.integer(recv_from_rank), values.integer(pipe_id)
    sent = _meet(f"sendrecv on pipe {pipe}", (0, 1), (to, source.array.copy()))
    if sender not in (0, 1) or to not in (0, 1):
        raise KernelError("", f"sendrecv: ranks must be 0 or 1, not {to} and {sender}")
    receiver, array = sent[sender]
    here = state.current().program
    if receiver != here:
        raise KernelError("", f"sendrecv: program {here} receives from {sender}, which sends to {receiver}")
    result = isa.copy("sendrecv", source)
    result.values = array
    result.attributes = (("send_to_rank", to), ("recv_from_rank", sender), ("pipe_id", pipe))
    deliver(result, target)


def _meet(what: str, cores: tuple[int, ...], value: Any) -> list[Any]:
    front = state.current()
    if cores != tuple(range(front.cores.count)) or front.cores.count == 1:
        raise KernelError(
            "", f"{what}: cores {cores} need a launch grid of {len(cores)} programs, this one has {front.cores.count}"
        )
    return front.cores.meet(front.program, what, value)
