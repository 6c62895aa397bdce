"""What kernels may do in NKI 0.2 (Beta 2) and in NKI 0.3, where the two differ and a run shows it.

Names, arguments and their order are in :mod:`.beta2`; this is the rest. Sources: the update guide and the stubs of the
2.29 documentation, ``reference/beta2.md`` sections 1.8, 2.3, 2.5 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """One version of the language.

    ``memory_names``: ``sbuf``, ``psum`` and ``hbm`` are known without an import. ``mixed_placement``: tensors with and
    without an address in one kernel. ``partition_index_drops``: an integer index drops dimension 0 like any other
    (else it leaves an extent of 1). ``stepped_slices`` and ``free_subscripts``: ``t[a:b:s]``; subscripts of subscripts,
    also of reduced tensors. ``view_has_shape``: ``t.view(dtype, shape)`` (else ``t.view(dtype)``). ``addresses``:
    ``t.address``. ``loose_values``: numbers stand for enumeration members, strings for buffers and data types.
    ``hardware_dge_casts``: DMA with ``dge_mode.hwdge`` converts types.
    ``transposed_ranks``: of ``dma_transpose``. ``hardware_axes``: ``tensor_reduce`` counts the hardware's dimensions
    (else the tensor's axes). ``range_select_is_fixed``: it resets, reduces and fills with the fp32 minimum whatever it
    is told. ``memset_casts``: a float fills an integer tensor. ``numpy_constants``: ``shared_constant`` takes a numpy
    array. ``outputs``: buffers that a returned tensor may be declared in. ``functions``: operator names are functions
    on tiles as well.
    """

    memory_names: bool
    mixed_placement: bool
    partition_index_drops: bool
    stepped_slices: bool
    free_subscripts: bool
    view_has_shape: bool
    addresses: bool
    loose_values: bool
    hardware_dge_casts: bool
    transposed_ranks: tuple[int, ...]
    hardware_axes: bool
    range_select_is_fixed: bool
    memset_casts: bool
    numpy_constants: bool
    outputs: tuple[str, ...]
    functions: bool


DIALECTS = {
    "0.2": Dialect(
        memory_names=True,
        mixed_placement=True,
        partition_index_drops=True,
        stepped_slices=False,
        free_subscripts=False,
        view_has_shape=True,
        addresses=True,
        loose_values=True,
        hardware_dge_casts=True,
        transposed_ranks=(4,),
        hardware_axes=True,
        range_select_is_fixed=True,
        memset_casts=True,
        numpy_constants=False,
        outputs=("shared_hbm", "hbm", "private_hbm"),
        functions=False,
    ),
    "0.3": Dialect(
        memory_names=False,
        mixed_placement=False,
        partition_index_drops=False,
        stepped_slices=True,
        free_subscripts=True,
        view_has_shape=False,
        addresses=False,
        loose_values=False,
        hardware_dge_casts=False,
        transposed_ranks=(2, 3, 4),
        hardware_axes=False,
        range_select_is_fixed=False,
        memset_casts=False,
        numpy_constants=True,
        outputs=("shared_hbm",),
        functions=True,
    ),
}
