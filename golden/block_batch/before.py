"""How far songs, in chunks, stay below their loudest moment."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def below_peak(songs):
    """(N, C, P, F): N songs of C chunks: the largest of each row of a song less what it plays."""
    n, c, p, f = songs.shape
    out = nl.ndarray((n, c, p, f), dtype=songs.dtype, buffer=nl.shared_hbm)
    chunk = nl.ndarray((c, n, nl.par_dim(p), f), dtype=nl.float32, buffer=nl.sbuf)
    peak = nl.ndarray((n, c, nl.par_dim(p), 1), dtype=nl.float32, buffer=nl.sbuf)
    loudest = nl.zeros((n, nl.par_dim(p), 1), dtype=nl.float32, buffer=nl.sbuf)
    for song in nl.affine_range(n):
        for i in nl.affine_range(c):
            chunk[i, song] = nl.load(songs[song, i])
            peak[song, i] = nl.max(nl.abs(chunk[i, song]), axis=1)
        for i in nl.sequential_range(c):
            own = peak[song, i]
            loudest[song] = nl.maximum(loudest[song], own)
        for i in nl.affine_range(c):
            nl.store(out[song, i], value=nl.subtract(loudest[song], chunk[i, song]))
    return out
