"""Each of two cores adds what the other one has."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def exchanged(x, own_engine=False):
    """(2, P, F) gives (2, P, F): both parts hold the sum of the two."""
    _, rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    core = nl.program_id(0)
    mine = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=mine, src=x[core])
    theirs = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.sendrecv(
        src=mine,
        dst=theirs,
        send_to_rank=1 - core,
        recv_from_rank=1 - core,
        pipe_id=0,
        use_gpsimd_dma=False,
    )
    total = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=total, data1=mine, data2=theirs, op=nl.add)
    nisa.sendrecv(
        src=total, dst=mine, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=1, use_gpsimd_dma=own_engine
    )
    nisa.dma_copy(dst=out[core], src=mine)
    return out
