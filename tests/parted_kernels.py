"""A kernel in the old form and one in the new form of each change that matters, for tests of ranges of versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """One form of a construct in a kernel of ``x`` (128, 64): its body gives ``y`` from the tile ``t``."""

    body: str = "nisa.tensor_copy(dst=y, src=t)"
    jit: str = "@nki.jit"
    head: str = "def kernel(x):"
    output: str = "nl.shared_hbm"
    above: str = ""
    host: str = ""

    @property
    def source(self) -> str:
        lines = [
            "import nki",
            "import nki.collectives as ncc",
            "import nki.isa as nisa",
            "import nki.language as nl",
            *self.above.split("\n"),
            "",
            *([self.jit] if self.jit else []),
            self.head,
            f"    out = nl.ndarray((128, 64), dtype=nl.float32, buffer={self.output})",
            "    t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)",
            "    y = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)",
            "    nisa.dma_copy(dst=t, src=x)",
            *(f"    {line}" for line in self.body.split("\n")),
            "    nisa.dma_copy(dst=out, src=y)",
            "    return out",
            "",
            *self.host.split("\n"),
        ]
        return "\n".join(lines).rstrip("\n") + "\n"


PLAIN = Form()
_HALF = "h = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
_INTS = "i = nl.ndarray((128, 64), dtype=nl.int32, buffer=nl.sbuf)\n"
_PSUM = "p = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)\nnisa.tensor_copy(dst=p, src=t)\n"
_ONE = "n = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)\nnisa.memset(dst=n, value=4)\n"
_COPY = "\nnisa.tensor_copy(dst=y, src=t)"
_BACK = "\nnisa.tensor_copy(dst=y, src=i)"
_WIDE = "w = nl.ndarray((1, 128, 64), dtype=nl.float32, buffer=nl.hbm)\n"
_SELECT = "nisa.affine_select(y, [[-1, 64]], {})"
_BOUNDS = (
    "low = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\nnisa.memset(dst=low, value=2.0)\n"
    "high = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\nnisa.memset(dst=high, value=9.0)\n"
    "most = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
    "nisa.range_select(dst=y, on_true_tile=t, comp_op0=nl.greater_equal, comp_op1=nl.less, bound0=low, bound1=high, "
    "{}reduce_res=most, reduce_op=nl.maximum, range_start=0)\n"
)
_SQUARE = "sq = nl.ndarray((128, 8, 8), dtype=nl.float32, buffer=nl.sbuf)\nnisa.tensor_copy(dst=sq, src=t)\n"
_PACKED = "q = nl.ndarray((128, 16), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)\n"
_SCALES = (
    f"{_PACKED}s = nl.ndarray((128, 16), dtype=nl.uint8, buffer=nl.sbuf)\n"
    "h = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)\nnisa.tensor_copy(dst=h, src=t)\n"
)
_MATMUL = (
    "ones = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)\nnisa.memset(dst=ones, value=1.0)\n"
    "p = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)\n"
    "nisa.nc_matmul(p, ones, t, {})\nnisa.tensor_copy(dst=y, src=p)"
)
_RANGE = "for k in nl.dynamic_range(2):\n    {}"
_CUBE = (
    "c = nl.ndarray((128, 1, 64), dtype=nl.bfloat16, buffer=nl.hbm)\nnisa.dma_copy(dst=c, src=t)\n"
    "staged = nl.ndarray((64, 128), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
)
_REGISTER = f"{_ONE}r = nisa.register_alloc(0)\nnisa.register_load(r, n)\nnisa.memset(dst=y, value=0.0)\n"
_MOVING = "(dst=y[:, 0:8], src=t.ap([[64, 128], [1, 8]], scalar_offset=r, indirect_dim=1))"
_PART = "nisa.memset(dst=y, value=0.0)\n"
_TURNED = "z = nl.ndarray((64, 128), dtype=nl.float32, buffer=nl.psum)\nnisa.nc_transpose(dst=z, data=t{})"
_SHIFTED = "nisa.tensor_copy(dst=y[:, 0:8], src={})"

EXAMPLES: dict[str, tuple[Form, ...]] = {
    "platform-target": (Form(jit='@nki.jit(platform_target="trn2")'), PLAIN),
    "jit-mode": (Form(jit='@nki.jit(mode="auto")'), PLAIN),
    "dma-of-psum": (
        Form(f"{_PSUM}nisa.dma_copy(dst=y, src=p)"),
        Form(f"{_PSUM}nisa.tensor_copy(dst=y, src=p)"),
    ),
    "hardware-dge-types": (
        Form(f"{_HALF}nisa.dma_copy(dst=h, src=t, dge_mode=nisa.dge_mode.hwdge)\nnisa.tensor_copy(dst=y, src=h)"),
        Form(f"{_HALF}nisa.dma_copy(dst=h, src=t, dge_mode=nisa.dge_mode.swdge)\nnisa.tensor_copy(dst=y, src=h)"),
    ),
    "dma-accumulation": (
        Form("nisa.tensor_copy(dst=y, src=t)\nnisa.dma_copy(dst=y, src=t, dst_rmw_op=nl.add)"),
        Form("nisa.tensor_copy(dst=y, src=t)\nnisa.dma_compute(dst=y, srcs=[t, y], reduce_op=nl.add)"),
    ),
    "memset-literal": (
        Form(f"{_INTS}nisa.memset(dst=i, value=2.0){_BACK}"),
        Form(f"{_INTS}nisa.memset(dst=i, value=2){_BACK}"),
    ),
    "memset-packed": (
        Form(f"{_PACKED}nisa.memset(dst=q, value=1){_COPY}"),
        Form(f"{_PACKED}nisa.memset(dst=q, value=0){_COPY}"),
    ),
    "reduce-axes": (
        Form(f"{_SQUARE}r = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)\n"
             f"nisa.tensor_reduce(dst=r, op=nl.add, data=sq, axis=1){_COPY}"),
        Form(f"{_SQUARE}r = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)\n"
             f"nisa.tensor_reduce(dst=r, op=nl.add, data=sq, axis=2){_COPY}"),
        Form(f"{_SQUARE}r = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)\n"
             f"nisa.tensor_reduce(dst=r, op=nl.add, data=sq, axis=-1){_COPY}"),
        Form(f"{_SQUARE}r = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
             f"nisa.tensor_reduce(dst=r, op=nl.add, data=sq, axis=[1, 2]){_COPY}"),
        Form(f"{_SQUARE}r = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)\nf = nisa.tensor_reduce\n"
             f"f(dst=r, op=nl.add, data=sq, axis=2){_COPY}"),
        Form(f"{_SQUARE}r = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)\nhow = {{'axis': 2}}\n"
             f"nisa.tensor_reduce(dst=r, op=nl.add, data=sq, **how){_COPY}"),
    ),
    "dma-compute-order": (
        Form("nisa.dma_compute(y, [t, t], [1.0, 1.0], nl.add)"),
        Form("nisa.dma_compute(y, [t, t], nl.add, [1.0, 1.0])"),
        Form("f = nisa.dma_compute\nf(y, [t, t], nl.add, [1.0, 1.0])"),
        Form("how = ([t, t], nl.add, [1.0, 1.0])\nnisa.dma_compute(y, *how)"),
        Form("nisa.dma_compute(dst=y, srcs=[t, t], reduce_op=nl.add, scales=[1.0, 1.0])"),
    ),
    "sendrecv-engine": (
        Form("nisa.sendrecv(src=t, dst=y, send_to_rank=0, recv_from_rank=0, pipe_id=0, use_gpsimd_dma=True)"),
        Form("nisa.sendrecv(src=t, dst=y, send_to_rank=0, recv_from_rank=0, pipe_id=0, "
             "dma_engine=nisa.dma_engine.gpsimd_dma)"),
    ),
    "affine-select-offset": (
        Form(_SELECT.format("0, 1, t, 0.0, nl.greater_equal")),
        Form(_SELECT.format("1, t, 0.0, nl.greater_equal, 0")),
        Form("f = nisa.affine_select\nf(y, [[-1, 64]], 1, t, 0.0, nl.greater_equal, 0)"),
        Form("nisa.affine_select(dst=y, pattern=[[-1, 64]], channel_multiplier=1, on_true_tile=t, on_false_value=0.0)"),
    ),
    "register-move": (
        Form(f"r = nisa.register_alloc(0)\nnisa.register_move(r, imm=42){_COPY}"),
        Form(f"r = nisa.register_alloc(0)\nnisa.register_move(r, src=nisa.register_alloc(42)){_COPY}"),
    ),
    "register-alloc": (
        Form(f"{_ONE}r = nisa.register_alloc(n){_COPY}"),
        Form(f"{_ONE}r = nisa.register_alloc(0)\nnisa.register_load(r, n){_COPY}"),
    ),
    "channels": (
        Form("r = ncc.collective_permute_implicit_current_processing_rank_id(0, [[0, 1]], channel_id=0, "
             f"num_channels=1){_COPY}"),
        Form(f"r = ncc.collective_permute_implicit_current_processing_rank_id(0, [[0, 1]], channel_id=0){_COPY}"),
    ),
    "shared-outputs": (Form(output="nl.hbm"), PLAIN),
    "enum-members": (
        Form("nisa.dma_copy(dst=y, src=t, dge_mode=1)"),
        Form("nisa.dma_copy(dst=y, src=t, dge_mode=nisa.dge_mode.swdge)"),
    ),
    "buffer-objects": (
        Form('y = nl.ndarray((128, 64), nl.float32, buffer="sbuf")\nnisa.tensor_copy(dst=y, src=t)'),
        Form("y = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)\nnisa.tensor_copy(dst=y, src=t)"),
    ),
    "dma-engine-alias": (
        Form("nisa.tensor_copy(dst=y, src=t, engine=nisa.dma_engine)"),
        Form("nisa.tensor_copy(dst=y, src=t, engine=nisa.engine.dma)"),
    ),
    "keyword-only": (Form(head="def kernel(x, *, flag=True):"), Form(head="def kernel(x, flag=True):")),
    "identity": (
        Form("if flag is True:\n    nisa.tensor_copy(dst=y, src=t)", head="def kernel(x, flag=True):"),
        Form("if flag == True:\n    nisa.tensor_copy(dst=y, src=t)", head="def kernel(x, flag=True):"),
    ),
    "list-arguments": (Form(head="def kernel(x, step=[1, 2]):"), Form(head="def kernel(x, step=(1, 2)):")),
    "range-select": (
        Form(_BOUNDS.format("reduce_cmd=nisa.reduce_cmd.idle, on_false_value=0.0, ")),
        Form(_BOUNDS.format("reduce_cmd=nisa.reduce_cmd.reset_reduce, on_false_value=-3.4028235e38, ")),
        Form(_BOUNDS.format("")),
        Form(_BOUNDS.replace("nisa.range_select(", "f = nisa.range_select\nf(").format("")),
    ),
    "copy-type": (
        Form("nisa.tensor_copy(dst=y, src=t, dtype=nl.float32)"),
        Form("nisa.tensor_copy(dst=y, src=t)"),
    ),
    "pointer-views": (
        Form(f"v = t.view(nl.int32, (128, 64)){_COPY}"),
        Form(f"v = t.view(nl.int32){_COPY}"),
    ),
    "tensor-address": (Form(f"v = t.pattern{_COPY}"), Form(f"v = t.get_pattern(){_COPY}")),
    "placement": (
        Form("y = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf, address=(0, 0))\nnisa.tensor_copy(dst=y, src=t)"),
        PLAIN,
    ),
    "partition-index": (
        Form("row = t[0]\nnisa.tensor_copy(dst=y, src=t)"),
        Form("row = t[0:1]\nnisa.tensor_copy(dst=y, src=t)\nassert len(row.shape) == 2"),
        Form("nisa.tensor_copy(dst=y, src=t)\nrow = t[32]\nnisa.tensor_copy(dst=y[0:1, 0:64], src=row)"),
        Form("nisa.tensor_copy(dst=y, src=t)\nk = 32\nn = len(t[k].shape)\nnisa.memset(dst=y, value=n)"),
        Form("nisa.memset(dst=y, value=rank(t[32]))", above="\n\ndef rank(part):\n    return len(part.shape)\n"),
        Form("taken(y, t)", above="\n\ndef taken(y, part):\n    nisa.memset(dst=y, value=len(part[0].shape))\n"),
    ),
    "stepped-slices": (
        Form("nisa.memset(dst=y, value=0.0)\nnisa.tensor_copy(dst=y[:, 0:32], src=t[:, 0:64:2])"),
        Form("nisa.memset(dst=y, value=0.0)\nnisa.tensor_copy(dst=y[:, 0:32], src=t[:, 0:64:2])"),
    ),
    "positions": (
        Form(_MATMUL.format("False, False, False, (0, 0), (128, 128)")),
        Form(_MATMUL.format("False, False, False, False, (0, 0), (128, 128)")),
        Form("nisa.dma_copy(y, t, None, nisa.oob_mode.error)"),
    ),
    "constants": (
        Form(f"c = nl.shared_constant(meta.identity(8), dtype=nl.float32){_COPY}", above="import nki.meta as meta"),
        Form(f"c = nl.shared_constant(meta.identity(8)){_COPY}", above="import nki.meta as meta"),
    ),
    "names": (
        Form("y = nl.ndarray((nl.par_dim(128), 64), nl.float32, buffer=nl.sbuf)\nnisa.tensor_copy(dst=y, src=t)"),
        Form("y = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)\nnisa.tensor_copy(dst=y, src=t)"),
    ),
    "transposed-ranks": (
        Form(f"{_CUBE}nisa.dma_transpose(dst=staged, src=c, axes=(2, 1, 0)){_COPY}"),
        Form(f"{_CUBE}nisa.dma_transpose(dst=staged.reshape((64, 1, 128)), src=c, axes=(2, 1, 0)){_COPY}"),
    ),
    "transpose-engine": (
        Form(_TURNED.format(", engine=nisa.engine.vector") + _COPY),
        Form(_TURNED.format("") + _COPY),
        Form(f"{_TURNED.format(', engine=nisa.engine.tensor')}{_COPY}"),
        Form("z = nl.ndarray((32, 32), dtype=nl.float32, buffer=nl.sbuf)\n"
             f"nisa.nc_transpose(dst=z, data=t[0:32, 0:32], engine=nisa.engine.tensor){_COPY}"),
    ),
    "dynamic-copies": (
        Form(f"{_REGISTER}nisa.tensor_copy_dynamic_src{_MOVING}"),
        Form(f"{_REGISTER}nisa.tensor_copy{_MOVING}"),
    ),
    "positions-of-priority": (
        Form("nisa.dma_copy(y, t, nisa.oob_mode.skip)"),
        Form("nisa.dma_copy(y, t, None, nisa.oob_mode.skip)"),
    ),
    "jit-parameters": (Form(jit='@nki.jit(mode="auto")'), PLAIN),
    "namespace": (Form(above="import neuronxcc.nki.language as nl"), PLAIN),
    "jit-function": (
        Form(jit="", head="def traced(x):", host="kernel = nki.jit(func=traced)"),
        Form(jit="", head="def traced(x):", host="kernel = nki.jit(fn=traced)"),
    ),
    "induction-variable": (
        Form(_RANGE.format("nisa.register_move(k, src=nisa.register_alloc(1))\n    nisa.tensor_copy(dst=y, src=t)")),
        Form(_RANGE.format("nisa.tensor_copy(dst=y, src=t)")),
    ),
    "rsqrt-of-psum": (
        Form(f"{_PSUM}y = nl.rsqrt(p)"),
        Form(f"{_PSUM}nisa.activation(dst=y, op=nl.rsqrt, data=p)"),
    ),
    "reshape-count": (Form(f"v = t.reshape((128, 32)){_COPY}"), Form(f"v = t[:, 0:32]{_COPY}")),
    "reshape-keyword": (
        Form(f"v = t.reshape(new_shape=(128, 8, 8)){_COPY}"),
        Form(f"v = t.reshape(shape=(128, 8, 8)){_COPY}"),
    ),
    "psum-size": (
        Form(f"assert nl.tile_size.psum_fmax_bytes > 0{_COPY}"),
        Form(f"assert nl.tile_size.psum_bank_fmax_bytes > 0{_COPY}"),
    ),
    "block-scale": (
        Form(f"{_SCALES}nisa.quantize_mx(dst=q, src=h, dst_scale=s){_COPY}"),
        Form(f"{_SCALES}nisa.quantize_mx(dst=q, src=h, dst_scale=s){_COPY}"),
    ),
    "random-engines": (
        Form(f"{_INTS}nisa.rng(dst=i){_BACK}"),
        Form(f"{_INTS}nisa.rng(dst=i, engine=nisa.engine.vector){_BACK}"),
        Form(f"{_INTS}f = nisa.rng\nf(dst=i){_BACK}"),
        Form(f"s = nl.ndarray((128, 6), dtype=nl.uint32, buffer=nl.sbuf)\nnisa.rand_get_state(dst=s){_COPY}"),
    ),
    "pattern-offset": (
        Form(_PART + _SHIFTED.format("t[:, 8:16].ap([[64, 128], [1, 8]])")),
        Form(_PART + _SHIFTED.format("t.ap([[64, 128], [1, 8]], offset=8)")),
        Form(f"{_PART}part = t[:, 8:16]\n" + _SHIFTED.format("part.ap([[64, 128], [1, 8]])")),
        Form(f"{_PART}shifted(y, t[:, 8:16])",
             above="\n\ndef shifted(y, part):\n    " + _SHIFTED.format("part.ap([[64, 128], [1, 8]])") + "\n"),
    ),
    "two-dimensions": (
        Form("nisa.tensor_copy(dst=y, src=t)\ncol = t[:, 3]\nnisa.memset(dst=y, value=len(col.shape))"),
        Form("nisa.tensor_copy(dst=y, src=t)\nnisa.tensor_copy(dst=y[:, 0], src=t[:, 3])"),
        Form("nisa.memset(dst=y, value=rank(t[:, 3]))", above="\n\ndef rank(part):\n    return len(part.shape)\n"),
        Form("taken(y, t)", above="\n\ndef taken(y, part):\n    nisa.memset(dst=y, value=len(part[:, 3].shape))\n"),
    ),
    "tensor-internals": (Form(f"v = t.is_identity(){_COPY}"), Form(f"v = t.is_contiguous(){_COPY}")),
    "exact-copy": (
        Form(f"{_PSUM}z = nl.copy(p)\nnisa.tensor_copy(dst=y, src=z)"),
        Form(f"{_INTS}nisa.memset(dst=i, value=16777217)\nz = nl.copy(i)\nnisa.tensor_copy(dst=y, src=z)"),
        Form(f"{_INTS}nisa.memset(dst=i, value=16777217)\nz = nl.copy(i)\nnisa.tensor_copy(dst=y, src=z)"),
        Form(f"{_INTS}nisa.memset(dst=i, value=16777217)\nz = copied(i)\nnisa.tensor_copy(dst=y, src=z)",
             above="\n\ndef copied(part):\n    return nl.copy(part)\n"),
    ),
}  # fmt: skip
"""By the name of the change: the old form, the new one, and others of the later version, some of them in disguise."""
