"""Sums over sections of a long list of keys; every section has its tiles from one running address."""

import nki
import nki.isa as nisa
import nki.language as nl

TILE = 64


@nki.jit
def section_sums(keys):
    """(P, N) gives (P, 2): the sum of the first and of the second half of each row."""
    p_k, total = keys.shape
    tiles_in_section = total // TILE // 2
    out = nl.ndarray((p_k, 2), dtype=nl.float32, buffer=nl.shared_hbm)

    sca = 16  # the first bytes stay free
    sca_before_loop = sca
    for section in nl.affine_range(2):
        sca = sca_before_loop
        k_tile = nl.ndarray(
            (p_k, tiles_in_section, TILE), dtype=nl.bfloat16, buffer=nl.sbuf, address=(0, sca)
        )
        sca += tiles_in_section * TILE * 2
        sums = nl.ndarray((p_k, tiles_in_section), dtype=nl.float32, buffer=nl.sbuf, address=(0, sca))
        sca += tiles_in_section * 4
        for k in nl.affine_range(tiles_in_section):
            start = (section * tiles_in_section + k) * TILE
            nisa.dma_copy(dst=k_tile[:, k, :], src=keys[:, nl.ds(start, TILE)])
            nisa.tensor_reduce(dst=sums[:, nl.ds(k, 1)], op=nl.add, data=k_tile[:, k, :], axis=1)
        whole = nl.ndarray((p_k, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, sca))
        nisa.tensor_reduce(dst=whole, op=nl.add, data=sums, axis=1)
        nisa.dma_copy(dst=out[:, nl.ds(section, 1)], src=whole)
    return out
