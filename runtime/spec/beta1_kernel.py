"""``neuronxcc.nki`` itself, its ``compiler`` and ``typing`` of 2.26.1, and names that no document describes.

Source: the API stubs of the SDK documentation at v2.26.1, and the public kernels that use names beyond them.
"""

from __future__ import annotations

from .beta1_symbols import KEYWORDS, Parameter, Symbol, mapped, refused, unchanged

_LAUNCH = "Beta 2 has no such launcher: run the kernel with nki.jit in the framework."
_DROP = "Delete it: Beta 2 has no such decorator."
_SCHEDULE = "It only guides the schedule: delete it."
_PRIVATE = "A private interface of the compiler: replace it by hand."
_FRAMEWORK = "Beta 2 launches kernels through nki.jit: delete the integration."

TENSOR: dict[str, Symbol] = {
    "nki.tensor": mapped("", "nki.language.ndarray", note="Beta 2 makes tensors with nl.ndarray.", kind="class"),
    "nki.tensor.assert_shape": mapped(
        "shape", keywords={"shape": "Compare it with .shape."}, note="Write an assert.", kind="method"
    ),
    "nki.tensor.astype": mapped("dtype", "nki.isa.tensor_copy", kind="method"),
    "nki.tensor.broadcast_to": mapped(
        "shape",
        "nki.isa.tensor_copy",
        keywords={"shape": "The destination has this shape: allocate it so."},
        kind="method",
    ),
    "nki.tensor.dtype": Symbol("attribute", (), "unchanged", ("nki.language.ndarray",)),
    "nki.tensor.expand_dims": mapped(
        "axis", keywords={"axis": "It is part of the new shape."}, note="Use the tensor's reshape.", kind="method"
    ),
    "nki.tensor.itemsize": mapped("", note="Write the size as a number.", kind="attribute"),
    "nki.tensor.ndim": mapped("", note="Write len(tensor.shape).", kind="attribute"),
    "nki.tensor.reshape": unchanged("shape", "nki.language.ndarray", kind="method"),
    "nki.tensor.shape": Symbol("attribute", (), "unchanged", ("nki.language.ndarray",)),
    "nki.tensor.view": mapped(
        "dtype",
        keywords={"dtype": "It is the dtype= of the access pattern."},
        note="Write tensor.ap(pattern, dtype=...).",
        kind="method",
    ),
}

NKI: dict[str, Symbol] = {
    "nki.FrameworkKernel": refused("", _FRAMEWORK, kind="class"),
    "nki.FrameworkKernel.dump_config": refused("*args, **kwargs", _FRAMEWORK, kind="method"),
    "nki.FrameworkKernel.is_framework_tensor": refused("t", _FRAMEWORK, kind="method"),
    "nki.FrameworkKernel.map_framework_tensor": refused("t", _FRAMEWORK, kind="method"),
    "nki.FrameworkKernel.translate_to_neuron_dtype": refused("_dtype", _FRAMEWORK, kind="method"),
    **TENSOR,
    "nki.baremetal": refused("kernel=None, **kwargs", _LAUNCH, kind="decorator"),
    "nki.benchmark": refused("kernel=None, **kwargs", _LAUNCH, kind="decorator"),
    "nki.jit": mapped(
        'func=None, mode="auto", **kwargs',
        "nki.jit",
        note="Only the entry point keeps it; functions that a kernel calls lose it.",
        kind="decorator",
    ),
    "nki.profile": refused("func=None, **kwargs", _LAUNCH, kind="decorator"),
    "nki.simulate_kernel": refused("kernel, *args, **kwargs", _LAUNCH),
}

COMPILER: dict[str, Symbol] = {
    "ncc.sbuf": Symbol("module", (), "mapped", ("nki.language.sbuf",)),
    "ncc.psum": Symbol("module", (), "mapped", ("nki.language.psum",)),
    "ncc.allocation_scope": mapped("", note=_SCHEDULE),
    "ncc.enable_stack_allocator": mapped(
        "func=None, log_level=50",
        keywords={"func": _DROP, "log_level": _DROP},
        note=_DROP,
        kind="decorator",
    ),
    "ncc.force_auto_alloc": mapped(
        "func=None", keywords={"func": _DROP}, note="Delete it and every address.", kind="decorator"
    ),
    "ncc.multi_buffer": mapped("factor=2", keywords={"factor": _SCHEDULE}, note=_SCHEDULE),
    "ncc.no_reorder": mapped("", note="Beta 2 has `with no_reorder():` from 2.28 on."),
    "ncc.skip_middle_end_transformations": mapped("func=None", keywords={"func": _DROP}, note=_DROP, kind="decorator"),
    "ncc.sbuf.alloc": mapped(
        "func",
        "nki.language.ndarray",
        keywords={"func": "It is called for each tile; its result is address=."},
    ),
    "ncc.sbuf.mod_alloc": mapped(
        "*, base_addr, base_partition=0, num_par_tiles=(), num_free_tiles=()",
        "nki.language.ndarray",
        keywords=dict.fromkeys(
            ("base_addr", "base_partition", "num_par_tiles", "num_free_tiles"),
            "It is part of address=(partition, byte).",
        ),
    ),
    "ncc.sbuf.auto_alloc": mapped("", "nki.language.sbuf"),
    "ncc.psum.alloc": mapped(
        "func",
        "nki.language.ndarray",
        keywords={"func": "It is called for each tile; address= is (partition, bank * 2048 + byte)."},
    ),
    "ncc.psum.mod_alloc": mapped(
        "*, base_bank, base_addr=0, base_partition=0, num_bank_tiles=(), num_par_tiles=(), num_free_tiles=()",
        "nki.language.ndarray",
        keywords=dict.fromkeys(
            ("base_bank", "base_addr", "base_partition", "num_bank_tiles", "num_par_tiles", "num_free_tiles"),
            "It is part of address=(partition, bank * 2048 + byte).",
        ),
    ),
    "ncc.psum.auto_alloc": mapped("", "nki.language.psum"),
}

UNDOCUMENTED: dict[str, Symbol] = {
    "nki.trace": mapped(
        "func=None, **kwargs",
        "nki.jit",
        keywords={"func": "func"},
        note="Its outputs are parameters: allocate and return them.",
        kind="decorator",
    ),
    "nki.compile": refused("func=None, **kwargs", _LAUNCH, kind="decorator"),
    "nt.tensor": mapped("", note="An annotation: Beta 2 ignores it, delete it.", kind="class"),
    "nt.scalar": mapped("", note="An annotation: Beta 2 ignores it, delete it.", kind="class"),
    "nt.mutable_tensor": refused("", "Allocate an output with nl.ndarray and return it.", kind="class"),
    "nt.mutable": refused("", "Allocate an output with nl.ndarray and return it.", kind="object"),
    "nl.sizeinbytes": mapped("dtype", keywords={"dtype": "It selects the number."}, note="Write the size as a number."),
    "nl.sync_program": refused("*args, **kwargs", "Use nisa.core_barrier between the programs."),
    "nl.float4_e2m1fn_x4": Symbol("dtype", (), "unchanged", ("nki.language.float4_e2m1fn_x4",)),
    "nisa.nc_n_gather": mapped("data, indices, **kwargs", "nki.isa.nc_n_gather"),
    "nisa._tiled_offloaded_memcpy": refused("*args, **kwargs", _PRIVATE),
    "nisa._tiled_offloaded_fma": refused("*args, **kwargs", _PRIVATE),
}
"""Names that public kernels use and no document describes."""

LOOP_HINTS = ("directives", "precise_schedule")
"""Keywords of loops that only say how to schedule them; public kernels pass them, and no document describes them."""
_LAZY = "It only delays the fill: delete it."
_KEYWORDS: tuple[tuple[str, str, str, str, str], ...] = (
    ("nl.load", "mode", "mapped", "oob_mode", ""),
    ("nl.store", "mode", "mapped", "oob_mode", ""),
    ("nl.ndarray", "lazy_initialization", "mapped", "", _LAZY),
    ("nl.zeros", "lazy_initialization", "mapped", "", _LAZY),
    ("nl.full", "lazy_initialization", "mapped", "", _LAZY),
    ("nisa.tensor_scalar_reduce", "name", "unchanged", "name", ""),
    ("nisa.tensor_copy", "name", "unchanged", "name", ""),
    ("nisa.activation_reduce", "name", "unchanged", "name", ""),
    ("nl.loop_reduce", "name", "mapped", "name", ""),
    ("nisa.activation", "buffer", "mapped", "", "The destination says where the result lies."),
    ("nl.multiply", "max_free_vec_size", "mapped", "", _SCHEDULE),
    *(
        (f"nl.{loop}", hint, "mapped", "", _SCHEDULE)
        for loop in ("sequential_range", "affine_range")
        for hint in LOOP_HINTS
    ),
    ("nisa.nc_matmul", "perf_mode", "mapped", "perf_mode", "The Beta 2 values are members of matmul_perf_mode."),
    ("nki.jit", "platform_target", "unchanged", "platform_target", ""),
    ("nki.jit", "experimental_flags", "refused", "", KEYWORDS),
    ("nki.jit", "show_compiler_tb", "refused", "", KEYWORDS),
    ("nki.jit", "additional_compile_opt", "refused", "", KEYWORDS),
    ("nki.jit", "debug_kernel", "refused", "", KEYWORDS),
    ("nki.jit", "enable_out_of_bound_check", "refused", "", KEYWORDS),
    ("nki.jit", "kernel_return", "refused", "", "Outputs are parameters: allocate and return them."),
)

UNDOCUMENTED_KEYWORDS: dict[tuple[str, str], Parameter] = {
    (symbol, name): Parameter(name, "keyword", None, fate, target, note)
    for symbol, name, fate, target, note in _KEYWORDS
}
"""Keywords that public kernels pass and no document describes, by the function that takes them and their name."""
