"""Sums over sections of a long list of keys; every section has its tiles from one running address."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim

sb_mod = nki.compiler.sbuf.mod_alloc

TILE = 64


@nki.jit
def section_sums(keys):
    """(P, N) gives (P, 2): the sum of the first and of the second half of each row."""
    p_k, total = keys.shape
    tiles_in_section = total // TILE // 2
    out = nl.ndarray((p_k, 2), dtype=nl.float32, buffer=nl.shared_hbm)

    sca = 16  # the first bytes stay free
    for section in nl.affine_range(2):
        k_tile = nl.ndarray((tiles_in_section, par_dim(p_k), TILE), dtype=nl.bfloat16,
                            buffer=sb_mod(base_addr=sca, num_free_tiles=(tiles_in_section, )))
        sca += tiles_in_section * TILE * 2
        sums = nl.ndarray((par_dim(p_k), tiles_in_section), dtype=nl.float32, buffer=sb_mod(base_addr=sca))
        sca += tiles_in_section * 4
        for k in nl.affine_range(tiles_in_section):
            start = (section * tiles_in_section + k) * TILE
            k_tile[k, :, :] = nl.load(keys[:, nl.ds(start, TILE)])
            sums[:, nl.ds(k, 1)] = nisa.tensor_reduce(nl.add, data=k_tile[k], axis=[1], dtype=nl.float32)
        whole = nl.ndarray((par_dim(p_k), 1), dtype=nl.float32, buffer=sb_mod(base_addr=sca))
        whole[...] = nisa.tensor_reduce(nl.add, data=sums, axis=[1])
        nl.store(out[:, nl.ds(section, 1)], value=whole)
    return out
