"""What kernels may do in each version of NKI from 0.2 (Beta 2) on, where versions differ and a run shows it.

Names, arguments and their order are in :mod:`.beta2`; this is the rest. Sources: the migration guides, the release
notes, the language guide and the stubs of the SDK documentation at v2.29.0 to v2.32.0 (see :mod:`.changes`),
``reference/beta2.md`` sections 1.8, 2.3, 2.5 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .versions import V02, V03, V04, V05, V06, Version


@dataclass(frozen=True)
class Dialect:
    """One version of the language.

    ``memory_names``: ``sbuf``, ``psum`` and ``hbm`` are known without an import. ``mixed_placement``: tensors with
    and without an address in one kernel. ``partition_index_drops``: an integer index drops dimension 0 like any
    other (else it leaves an extent of 1). ``stepped_slices`` and ``free_subscripts``: ``t[a:b:s]``; subscripts of
    subscripts, also of reduced tensors. ``view_has_shape``: ``t.view(dtype, shape)`` (else ``t.view(dtype)``).
    ``addresses``: ``t.address``. ``loose_values``: numbers stand for enumeration members, strings for buffers and
    data types. ``hardware_dge_casts``: DMA with ``dge_mode.hwdge`` converts types. ``transposed_ranks``: of
    ``dma_transpose``. ``hardware_axes``: ``tensor_reduce`` counts the hardware's dimensions (else the tensor's
    axes). ``range_select_is_fixed``: it resets, reduces and fills with the fp32 minimum whatever it is told.
    ``memset_casts``: a float fills an integer tensor. ``numpy_constants``: ``shared_constant`` takes a numpy array.
    ``outputs``: buffers that a returned tensor may be declared in. ``functions``: operator names are functions on
    tiles as well. ``pads_transposes``: ``dma_transpose`` takes a ``dst`` of fewer dimensions, which lacks ones.
    ``alloc_reads``: ``register_alloc`` takes a tensor. ``frozen_indices``: the register of a ``dynamic_range``
    cannot be written. ``new_shape``: ``reshape`` takes its shape by this name, too. ``counts_reshapes``: it keeps
    the number of elements. ``two_dimensions``: an integer index leaves a tensor on chip with two dimensions.
    ``inherits_offset``: ``ap`` without an offset begins where the view begins (else at the first element of the
    tensor). ``scale_types`` of microscaling; ``doubled_scale``: ``quantize_mx`` leaves one bit more to the largest
    element. ``rsqrt_reads_psum``: ``nl.rsqrt``. ``exact_copy``: ``nl.copy`` moves bits into SBUF (else it computes in
    fp32, where its source is). ``obeys_engine``: ``nc_transpose`` (else the memory of ``dst`` tells the engine).
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
    pads_transposes: bool
    alloc_reads: bool
    frozen_indices: bool
    new_shape: bool
    counts_reshapes: bool
    two_dimensions: bool
    inherits_offset: bool
    scale_types: tuple[str, ...]
    doubled_scale: bool
    rsqrt_reads_psum: bool
    exact_copy: bool
    obeys_engine: bool


_02 = Dialect(
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
    pads_transposes=False,
    alloc_reads=True,
    frozen_indices=False,
    new_shape=False,
    counts_reshapes=False,
    two_dimensions=False,
    inherits_offset=False,
    scale_types=("uint8",),
    doubled_scale=False,
    rsqrt_reads_psum=True,
    exact_copy=False,
    obeys_engine=True,
)
_03 = replace(
    _02,
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
    pads_transposes=True,
    alloc_reads=False,
    obeys_engine=False,
)
_04 = replace(_03, pads_transposes=False, frozen_indices=True, new_shape=True, obeys_engine=True)
_05 = replace(
    _04,
    new_shape=False,
    counts_reshapes=True,
    two_dimensions=True,
    inherits_offset=True,
    scale_types=("uint8", "float8_e8m0fnu"),
    doubled_scale=True,
    rsqrt_reads_psum=False,
)
_06 = replace(_05, exact_copy=True)
DIALECTS: dict[Version, Dialect] = {V02: _02, V03: _03, V04: _04, V05: _05, V06: _06}
