"""One tensor, five ways to say which dimension is the partition dimension."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def four_times(x):
    """(N, P, F) times four, by doubling twice."""
    n, p, f = x.shape
    out = nl.ndarray((n, p, f), dtype=x.dtype, buffer=nl.shared_hbm)
    first = []
    for i in range(n):
        first.append(nl.ndarray((p, f), dtype=x.dtype, buffer=nl.sbuf))
    second = []
    for i in range(n):
        second.append(nl.ndarray((p, f), dtype=x.dtype, buffer=nl.sbuf))
    third = []
    for i in range(n):
        third.append(nl.ndarray((p, f), dtype=x.dtype, buffer=nl.sbuf))
    for i in nl.affine_range(n):
        nisa.dma_copy(dst=first[i], src=x[i])
        nisa.tensor_tensor(dst=second[i], data1=first[i], data2=first[i], op=nl.add)
        fourth = nl.ndarray((p, f), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=fourth, data1=second[i], data2=second[i], op=nl.add)
        fifth = nl.ndarray((p, f), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=fifth, src=fourth)
        nisa.tensor_copy(dst=third[i], src=fifth)
        nl.store(out[i], value=third[i])
    return out
