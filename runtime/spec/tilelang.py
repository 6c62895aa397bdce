"""Facts about TileLang that the rules read and the emulator implements: versions, names, capacities.

The names are those that ``dir(tilelang.language)`` gave for the wheels of :data:`MEASURED`, without private ones; the
capacities are those of CUDA's programming guide (shared memory a block may have, by compute capability).
"""

from __future__ import annotations

VERSIONS = (
    "0.1.3", "0.1.4", "0.1.5", "0.1.6", "0.1.7", "0.1.8", "0.1.9", "0.1.10", "0.1.11", "0.1.12", "0.1.13", "0.1.14",
    "0.1.15",
)  # fmt: skip
"""In order. A version of a project is the last of these that is not above it (``0.1.7.post3`` is ``0.1.7``)."""
MEASURED = ("0.1.7", "0.1.8", "0.1.9", "0.1.13", "0.1.14", "0.1.15")
"""The versions whose wheel was asked for its names."""
LATEST = VERSIONS[-1]

_ALWAYS = """
    Add And Any AnyDType Assert Broadcast Buffer BufferLoad Call CallEffectKind Cast CommReducer Div EQ Else
    FloatImm FloorDiv FloorMod Fragment FragmentBuffer GE GT GemmWarpPolicy If IntImm IterVar JITFunc Kernel
    KernelLaunchFrame LE LT Layout Let LocalBuffer Max Min Mod Mul NE Not Or Parallel Persistent Pipelined PrimExpr
    PrimFunc ProducerLoad Ptr Ramp Range Reduce Ref Select Serial SharedBuffer Shuffle SizeVar StridedTensor
    StringImm Sub TVMBackendAllocWorkspace TVMBackendFreeWorkspace Tensor Then Unroll Var Vectorized While abs acos
    acosh address_of all_of alloc_barrier alloc_buffer alloc_descriptor alloc_fragment alloc_local alloc_reducer
    alloc_shared alloc_tcgen05_instr_desc alloc_tcgen05_smem_desc alloc_tmem alloc_var alloc_wgmma_desc allocate
    annotate_consumer_reg_alloc annotate_l2_hit_ratio annotate_layout annotate_producer_reg_dealloc
    annotate_restrict_buffers annotate_safe_value annotations any_of anylist_getitem anylist_resetitem
    anylist_setitem_call_cpacked anylist_setitem_call_packed arg asin asinh assume atan atan2 atanh atomic
    atomic_add atomic_addx2 atomic_addx4 atomic_load atomic_max atomic_min atomic_store attr axis barrier_arrive
    barrier_wait bfloat16 bitwise_and bitwise_not bitwise_or bitwise_xor block_name_suffix_context bool boolean
    break_loop broadcast buffer buffer_decl buffer_store buffer_var builtin c2d_im2col call_cpacked
    call_cpacked_lowered call_extern call_intrin call_kernel call_llvm_intrin call_llvm_pure_intrin call_packed
    call_packed_lowered call_pure_extern cast ceil ceildiv clamp clear clz comm_reducer const continue_loop copy
    copy_op copysign cos cosh cp_async_barrier_noinc create_barriers create_tma_descriptor cumsum customize
    dec_max_nreg decl_buffer device_assert disable_warp_group_reg_alloc double dp4a dtype dtypes dynamic eager
    empty end_profile_intrinsic env_thread erf evaluate exp exp10 exp2 experimental fabs fence_proxy_async fill
    fill_op finalize_reducer float float16 float16x16 float16x2 float16x32 float16x4 float16x64 float16x8 float32
    float32x16 float32x2 float32x32 float32x4 float32x64 float32x8 float4_e2m1fn float4_e2m1fnx16 float4_e2m1fnx2
    float4_e2m1fnx32 float4_e2m1fnx4 float4_e2m1fnx64 float4_e2m1fnx8 float64 float64x16 float64x2 float64x32
    float64x4 float64x64 float64x8 float6_e2m3fn float6_e2m3fnx16 float6_e2m3fnx2 float6_e2m3fnx32 float6_e2m3fnx4
    float6_e2m3fnx64 float6_e2m3fnx8 float6_e3m2fn float6_e3m2fnx16 float6_e3m2fnx2 float6_e3m2fnx32
    float6_e3m2fnx4 float6_e3m2fnx64 float6_e3m2fnx8 float8_e3m4 float8_e3m4x16 float8_e3m4x2 float8_e3m4x32
    float8_e3m4x4 float8_e3m4x64 float8_e3m4x8 float8_e4m3 float8_e4m3b11fnuz float8_e4m3b11fnuzx16
    float8_e4m3b11fnuzx2 float8_e4m3b11fnuzx32 float8_e4m3b11fnuzx4 float8_e4m3b11fnuzx64 float8_e4m3b11fnuzx8
    float8_e4m3fn float8_e4m3fnuz float8_e4m3fnuzx16 float8_e4m3fnuzx2 float8_e4m3fnuzx32 float8_e4m3fnuzx4
    float8_e4m3fnuzx64 float8_e4m3fnuzx8 float8_e4m3fnx16 float8_e4m3fnx2 float8_e4m3fnx32 float8_e4m3fnx4
    float8_e4m3fnx64 float8_e4m3fnx8 float8_e4m3x16 float8_e4m3x2 float8_e4m3x32 float8_e4m3x4 float8_e4m3x64
    float8_e4m3x8 float8_e5m2 float8_e5m2fnuz float8_e5m2fnuzx16 float8_e5m2fnuzx2 float8_e5m2fnuzx32
    float8_e5m2fnuzx4 float8_e5m2fnuzx64 float8_e5m2fnuzx8 float8_e5m2x16 float8_e5m2x2 float8_e5m2x32
    float8_e5m2x4 float8_e5m2x64 float8_e5m2x8 float8_e8m0fnu float8_e8m0fnux16 float8_e8m0fnux2 float8_e8m0fnux32
    float8_e8m0fnux4 float8_e8m0fnux64 float8_e8m0fnux8 floor floordiv floormod fmod frame func_attr func_name
    func_ret gemm gemm_op gemm_sp get_active_lane_mask get_block_binding get_block_bindings get_block_extents
    get_lane_idx get_let_value get_thread_binding get_thread_bindings get_tvm_dtype get_warp_group_idx get_warp_idx
    get_warp_idx_sync grid half handle handle_add_byte_offset has_let_value hypot ieee_add ieee_fdiv ieee_fmaf
    ieee_frcp ieee_frsqrt ieee_fsqrt ieee_mul ieee_sub if_then_else ignore_loop_partition import_source
    inc_max_nreg increase_descriptor_offset index_map index_to_coordinates infinity init
    initialize_tcgen05_descriptor initialize_wgmma_descriptor int int16 int16x16 int16x2 int16x32 int16x4 int16x64
    int16x8 int32 int32x16 int32x2 int32x32 int32x4 int32x64 int32x8 int4 int64 int64x16 int64x2 int64x32 int64x4
    int64x64 int64x8 int8 int8x16 int8x2 int8x32 int8x4 int8x64 int8x8 isfinite isinf isnan isnullptr iter_var
    kernel launch_thread ldexp let likely llvm_lookup_intrinsic_id log log10 log1p log2 logical long lookup_param
    loop loop_break macro make_tensor match_buffer math_intrinsics max max_value mbarrier_arrive mbarrier_expect_tx
    mbarrier_wait_parity meta_var min min_value mma_fill mma_store nearbyint nextafter no_set_max_nreg overrides
    parallel pdl_sync pdl_trigger popcount pow prim_func print proxy ptr ptx_arrive_barrier
    ptx_arrive_barrier_expect_tx ptx_commit_group ptx_cp_async ptx_cp_async_barrier ptx_cp_async_bulk
    ptx_init_barrier_thread_count ptx_ldmatrix ptx_mma ptx_mma_sm70 ptx_mma_sp ptx_tcgen05_mma_ss
    ptx_tcgen05_mma_ts ptx_wait_barrier ptx_wait_group ptx_wgmma_rs ptx_wgmma_ss q_multiply_shift
    q_multiply_shift_per_axis ramp reads reduce reduce_absmax reduce_abssum reduce_bitand reduce_bitor
    reduce_bitxor reduce_max reduce_min reduce_op reduce_sum reinterpret reshape ret rng_init rng_rand
    rng_rand_float round rsqrt serial set_max_nreg shfl_down shfl_sync shfl_up shfl_xor shift_left shift_right
    short shuffle_elect sigmoid sin sinh sqrt start_profile_intrinsic symbolic symbolics sync_grid sync_threads
    sync_warp tan tanh target tcgen05_mma_arrive thread_binding thread_return tir tma_load tma_store_arrive
    tma_store_wait trunc truncdiv truncmod tvm_access_ptr tvm_bmma_sync tvm_call_cpacked tvm_call_cpacked_lowered
    tvm_call_packed tvm_call_packed_lowered tvm_fill_fragment tvm_load_matrix_sync tvm_mma_sync tvm_stack_alloca
    tvm_stack_make_array tvm_stack_make_shape tvm_storage_sync tvm_store_matrix_sync tvm_struct_get tvm_struct_set
    tvm_thread_allreduce tvm_thread_invariant tvm_throw_last_error tvm_tuple tvm_warp_activemask tvm_warp_shuffle
    tvm_warp_shuffle_down tvm_warp_shuffle_up type_annotation uint uint16 uint16x16 uint16x2 uint16x32 uint16x4
    uint16x64 uint16x8 uint32 uint32x16 uint32x2 uint32x32 uint32x4 uint32x64 uint32x8 uint64 uint64x16 uint64x2
    uint64x32 uint64x4 uint64x64 uint64x8 uint8 uint8x16 uint8x2 uint8x32 uint8x4 uint8x64 uint8x8 undef unroll
    use_swizzle utils var vectorcombine vectorhigh vectorized vectorlow view void vscale wait_wgmma
    warp_reduce_bitand warp_reduce_bitor warp_reduce_max warp_reduce_min warp_reduce_sum warpgroup_arrive
    warpgroup_commit_batch warpgroup_fence_operand warpgroup_wait where writes ws
"""

_BETWEEN: tuple[tuple[str, str, str], ...] = (
    (
        "0.1.13",
        "0.1.15",
        """
        BaseTileScheduler ClusterKernel PersistentTileScheduler SparseTensorCoreIntrinEmitter
        TCGEN05DescriptorParams TCGEN05TensorCoreIntrinEmitter TensorCoreIntrinEmitter TensorCoreIntrinEmitterSM120
        TensorCoreIntrinEmitterWithLadderTransform WGMMADescriptorParams WGMMATensorCoreIntrinEmitter
        WGSparseTensorCoreIntrinEmitter WarpSpecialize WarpSpecializeFrame align_up alloc_tcgen05_instruction_desc
        atomic_or bind common compute_gmma_descriptor compute_umma_descriptor copy_cluster cummax extract_lane
        fast_rcp float4_e2m1_unpacked get_block_extent get_ldmatrix_offset get_mma_micro_size get_swizzle_layout
        get_thread_extent get_thread_extents im2col inline is_f8f6f4_family is_float4 is_float4_e2m1_unpacked
        is_float4_e2m1fn lds128 lds32 lds64 make_blockscaled_gemm_layout make_mma_swizzle_layout meta meta_class
        mma_gemm_blockscaled mma_store_index_map named_barrier_arrive ptx_mma_block_scale
        ptx_tcgen05_mma_blockscaled_ss ptx_wgmma_sp_rs ptx_wgmma_sp_ss sblock sblock_alloc_buffer sblock_attr
        scan_op sts128 sts32 sts64 tcgen05_cp_warpx4 tcgen05_gemm_blockscaled tcgen05_gemm_sp tcgen05_mma
        tcgen05_mma_blockscaled tcgen05_sf_warp_transpose tile_schedule tma_gather4 tma_gather4_bytes tma_scatter4
        validate_gemm_ab_dtypes wgmma_gemm_sp wgmma_mma
        """,
    ),
    (
        "0.1.14",
        "0.1.14",
        """
        ws_schedule
        """,
    ),
    (
        "0.1.14",
        "0.1.15",
        """
        PartialFragment WSID WSInstr WSOpRef WSPipeline WSRole WSSchedule WSScope WSSync WSSyncKind
        annotate_ws_schedule reducer_init reducer_update ws_op
        """,
    ),
    (
        "0.1.15",
        "0.1.15",
        """
        annotate_ws_pipeline_depth fma fmul gemm_blockscaled get_cluster_dims get_cluster_extent
        get_cluster_extents get_cluster_id get_cluster_ids get_cluster_size warp_specialize
        """,
    ),
    (
        "0.1.7",
        "0.1.13",
        """
        tvm_check_return
        """,
    ),
    (
        "0.1.7",
        "0.1.14",
        """
        sync_global
        """,
    ),
    (
        "0.1.7",
        "0.1.7",
        """
        create_list_of_mbarrier get_mbarrier
        """,
    ),
    (
        "0.1.7",
        "0.1.8",
        """
        gemm_v1 gemm_v2
        """,
    ),
    (
        "0.1.7",
        "0.1.9",
        """
        BufferRegion DataType LetStmt allocate_const ast block block_attr builder check_hip_availability convert
        functools gemm_sp_v2 make_filled_simdgroup_matrix pdl print_op random realize simdgroup_load
        simdgroup_multiply_accumulate simdgroup_store tvm tvm_mfma tvm_mfma_store tvm_rdna_wmma tvm_rdna_wmma_store
        warpgroup
        """,
    ),
    (
        "0.1.8",
        "0.1.15",
        """
        access_ptr fma2 ldg128 ldg256 ldg32 ldg64 stg128 stg256 stg32 stg64
        """,
    ),
    (
        "0.1.8",
        "0.1.8",
        """
        fadd2 fmul2
        """,
    ),
    (
        "0.1.8",
        "0.1.9",
        """
        BarrierType BufferLikeType BufferLikeTypeTuple DType retrieve_ptr
        """,
    ),
    (
        "0.1.9",
        "0.1.15",
        """
        CUDASourceCodeKernel abs2 activemask add2 all_sync alloc_cluster_barrier alloc_global
        annotate_compile_flags annotate_min_blocks_per_sm annotate_pass_configs any_sync async_copy ballot
        ballot_sync bfloat16x16 bfloat16x2 bfloat16x32 bfloat16x4 bfloat16x64 bfloat16x8 block_rank_in_cluster cdiv
        clc_get_first_ctaid_x clc_get_first_ctaid_y clc_get_first_ctaid_z clc_is_canceled clc_try_cancel
        clc_try_cancel_multicast cluster_arrive cluster_arrive_relaxed cluster_sync cluster_wait deallocate_tmem
        make_tensor_from_addr match_all_sync match_any_sync max2 mbarrier_arrive_expect_tx min2 mul2
        ptx_arrive_cluster_barrier ptx_fence_barrier_init sub2 syncthreads_and syncthreads_count syncthreads_or
        tcgen05_after_thread_sync tcgen05_before_thread_sync tcgen05_gemm tfloat32 tfloat32x16 tfloat32x2
        tfloat32x32 tfloat32x4 tfloat32x64 tfloat32x8 tma_copy tma_load_2sm transpose wgmma_gemm
        """,
    ),
    (
        "0.1.9",
        "0.1.9",
        """
        cluster
        """,
    ),
)
"""The first measured version that has the names, the last, and the names."""

NAMES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(_ALWAYS.split(), (MEASURED[0], MEASURED[-1])),
    **{name: (first, last) for first, last, names in _BETWEEN for name in names.split()},
}
"""Each public name of ``tilelang.language``, with the first and the last measured version that have it."""


def position(version: str) -> int:
    """Where a version stands in :data:`VERSIONS`. Raises ``ValueError`` for what is no version or is older than all."""
    number = _number(version)
    found = [at for at, known in enumerate(VERSIONS) if _number(known) <= number]
    if not found:
        raise ValueError(f"TileLang {version} is older than {VERSIONS[0]}, the oldest that is known here")
    return found[-1]


def canonical(version: str) -> str:
    """The version of :data:`VERSIONS` that ``version`` counts as."""
    return VERSIONS[position(version)]


def _number(version: str) -> tuple[int, int, int]:
    parts = version.strip().lstrip("v").split("+")[0].split(".")
    if len(parts) < 2 or not all(part.isdigit() for part in parts[:3]):
        raise ValueError(f"{version!r} is no version of TileLang: write 0.1.15")
    return (int(parts[0]), int(parts[1]), int(parts[2]) if len(parts) > 2 else 0)


def has(name: str, version: str) -> bool | None:
    """Does ``tilelang.language`` of ``version`` have ``name``? ``None`` where no wheel near it was asked."""
    if name not in NAMES:
        return None if name.startswith("_") or position(version) < position(MEASURED[0]) else False
    first, last = NAMES[name]
    at = position(version)
    if position(first) <= at <= position(last):
        return True
    after = [known for known in MEASURED if position(known) > position(last)]
    if after and at >= position(after[0]):
        return False
    before = [known for known in MEASURED if position(known) < position(first)]
    if before and at <= position(before[-1]):
        return False
    return None


STATIC_SHARED_BYTES = 48 << 10
"""Shared memory whose size is fixed when the kernel is compiled (scope ``shared``)."""
SHARED_BYTES = {
    "sm_70": 96 << 10,
    "sm_75": 64 << 10,
    "sm_80": 163 << 10,
    "sm_86": 99 << 10,
    "sm_87": 163 << 10,
    "sm_89": 99 << 10,
    "sm_90": 227 << 10,
    "sm_90a": 227 << 10,
    "sm_100": 227 << 10,
    "sm_100a": 227 << 10,
    "sm_120": 99 << 10,
    "sm_120a": 99 << 10,
}
"""The most shared memory that one block may ask for when it is launched (CUDA C++ programming guide, table 27)."""
TMEM_COLUMNS = 512
"""Columns of Tensor Memory of 128 lanes by 32 bits; an allocation takes a power of two, at least 32."""
TMEM_LEAST = 32
TMEM_ARCHITECTURES = ("sm_100", "sm_100a")
DEFAULT_ARCHITECTURE = "sm_80"
