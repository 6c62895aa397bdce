"""How far songs, in chunks, stay below their loudest moment."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def below_peak(songs):
    """(N, C, P, F): N songs of C chunks: the largest of each row of a song less what it plays."""
    n, c, p, f = songs.shape
    out = nl.ndarray((n, c, p, f), dtype=songs.dtype, buffer=nl.shared_hbm)
    for song in nl.affine_range(n):
        chunk = nl.ndarray((p, c, f), dtype=nl.float32, buffer=nl.sbuf)
        peak = nl.ndarray((p, c, 1), dtype=nl.float32, buffer=nl.sbuf)
        loudest = nl.zeros((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        for i in nl.affine_range(c):
            nisa.dma_copy(dst=chunk[:, i, :], src=songs[song, i])
            abs_tile = nl.ndarray((p, f), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=abs_tile, op=nl.abs, data=chunk[:, i, :])
            nisa.tensor_reduce(dst=peak[:, i, :], op=nl.maximum, data=abs_tile, axis=1)
        for i in nl.sequential_range(c):
            own = peak[:, i, :]
            nisa.tensor_tensor(dst=loudest, data1=loudest, data2=own, op=nl.maximum)
        for i in nl.affine_range(c):
            subtract_tile = nl.ndarray((p, f), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(
                dst=subtract_tile,
                data=chunk[:, i, :],
                op0=nl.subtract,
                operand0=loudest,
                reverse0=True,
            )
            nl.store(out[song, i], value=subtract_tile)
    return out
