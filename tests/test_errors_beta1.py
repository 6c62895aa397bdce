"""The documented errors of Beta 1 (``nki/api/nki.errors.rst`` of aws-neuron-sdk at v2.26.1): 36 names.

Each is raised by a small kernel of ours that deserves it, at the line marked with ``# here``; one of them only when
asked for (:data:`STRICT`). The names are those of the vendor's page; the kernels are not.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime import shims
from nki_migrate.runtime.beta1.launch import launch
from nki_migrate.runtime.errors import KernelError

HEADER = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt
import numpy as np

def out_of(tile):
    # no kernel gets here with a tile
    return tile
"""

STRICT = ("err_leading_dimension_of_tensor_must_be_partition",)
"""Only with ``emulate --strict``: the compiler announces it for tensors with block dimensions, which 2.26.1's own
direct allocation guide and nki-samples at 0898a77 still use (279 tensors)."""

KERNELS = {
    "err_1d_arange_not_supported": """
def kernel(x):
    t = nl.load(x)
    rows = nl.arange(16)
    return out_of(nl.exp(t[rows, 0]))  # here
""",
    "err_activation_bias_invalid_type": """
def kernel(x):
    bias = nisa.memset((64, 1), 2, dtype=nl.int8)
    return out_of(nisa.activation(op=nl.exp, data=nl.load(x), bias=bias))  # here
""",
    "err_activation_scale_invalid_type": """
def kernel(x):
    scale = nisa.memset((64, 1), 2, dtype=nl.float16)
    return out_of(nisa.activation(op=nl.exp, data=nl.load(x), scale=scale))  # here
""",
    "err_activation_scale_scalar_or_vector": """
def kernel(x):
    scale = nisa.memset((64, 32), 2, dtype=nl.float32)
    return out_of(nisa.activation(op=nl.exp, data=nl.load(x), scale=scale))  # here
""",
    "err_ambiguous_tensor_truth_value": """
def kernel(x):
    t = nl.load(x)
    if t:  # here
        t = nl.exp(t)
    return out_of(t)
""",
    "err_annotation_shape_mismatch": """
def kernel(x):
    t: nt.tensor[64, 64] = nl.load(x)  # here
    return out_of(t)
""",
    "err_bias_tensor_must_be_specified_in_allocation": """
def kernel(x):
    t = nl.ndarray((nl.par_dim(64), 32), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    t[...] = nl.load(x)
    t[...] = nisa.activation(op=nl.exp, data=t)  # here
    return out_of(t)
""",
    "err_cannot_assign_to_index": """
def kernel(x):
    columns = nl.arange(32)[None, :]
    columns[0, 3] = 7  # here
    return out_of(nl.load(x))
""",
    "err_cannot_update_immutable_parameter": """
def kernel(x):
    nl.store(x, value=nl.exp(nl.load(x)))  # here
    return x
""",
    "err_control_flow_condition_depending_on_arange": """
def kernel(x):
    t = nl.load(x)
    columns = nl.arange(32)[None, :]
    if columns < 16:  # here
        t = nl.exp(t)
    return out_of(t)
""",
    "err_copy_dynamic_indirect_indices_not_natively_supported": """
def kernel(x):
    t = nl.load(x)
    picked = nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.sbuf)
    index = nisa.memset((8, 1), 3, dtype=nl.int32)
    rows = nl.arange(8)[:, None]
    picked[...] = t[rows, index]  # here
    return out_of(picked)
""",
    "err_dynamic_control_flow_not_supported": """
def kernel(x):
    t = nl.load(x)
    first = nl.copy(t[0:1, 0:1])
    if first:  # here
        t = nl.exp(t)
    return out_of(t)
""",
    "err_exceed_max_supported_dimension": """
def kernel(x):
    t = nl.zeros((64, 4, 8), dtype=nl.float32, buffer=nl.sbuf)
    return out_of(nl.transpose(t))  # here
""",
    "err_failed_to_infer_tile_from_local_tensor": """
def kernel(x):
    blocks = nl.zeros((3, nl.par_dim(64), 32), dtype=nl.float32, buffer=nl.sbuf)
    return out_of(nl.exp(blocks))  # here
""",
    "err_hbm_tensor_with_init_value_not_supported": """
def kernel(x):
    return nl.zeros((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)  # here
""",
    "err_indirect_indices_are_not_supported_with_nki_api": """
def kernel(x):
    index = nisa.memset((16, 1), 3, dtype=nl.int32)
    columns = nl.arange(32)[None, :]
    return out_of(nl.load_transpose2d(x[index, columns]))  # here
""",
    "err_indirect_indices_free_dim": """
def kernel(x):
    index = nisa.memset((16, 32), 3, dtype=nl.int32)
    rows = nl.arange(16)[:, None]
    return out_of(nl.load(x[rows, index]))  # here
""",
    "err_leading_dimension_of_tensor_must_be_partition": """
def kernel(x):
    blocks = nl.ndarray((3, nl.par_dim(64), 32), dtype=nl.float32, buffer=nl.sbuf)  # here
    return out_of(blocks[0])
""",
    "err_local_variable_used_out_of_scope": """
def kernel(x):
    total = nl.load(x)
    for i in nl.sequential_range(3):
        total = nl.add(total, 1.0)
    return out_of(nl.exp(total))  # here
""",
    "err_mutable_parameter_not_returned": """
@nki.jit  # here
def kernel(x: nt.mutable_tensor):
    out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(x, value=nl.exp(t))
    nl.store(out, value=t)
    return out
""",
    "err_nested_kernel_with_spmd_grid": """
@nki.jit
def inner(x):
    return out_of(nl.load(x))

def kernel(x):
    return inner[2](x)  # here
""",
    "err_nki_api_outside_of_nki_kernel": """
def kernel(x):
    return out_of(nl.load(x))

EAGER = nl.zeros((64, 32), dtype=nl.float32, buffer=nl.sbuf)  # here
""",
    "err_num_partition_exceed_arch_limit": """
def kernel(x):
    t = nl.zeros((129, 32), dtype=nl.float32, buffer=nl.sbuf)  # here
    return out_of(t)
""",
    "err_num_partition_mismatch": """
def kernel(x):
    row = nl.zeros((1, 32), dtype=nl.float32, buffer=nl.sbuf)
    return out_of(nisa.tensor_tensor(nl.load(x), row, op=nl.add))  # here
""",
    "err_shared_hbm_must_in_kernel_level": """
def kernel(x):
    t = nl.load(x)
    for i in nl.affine_range(2):
        out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)  # here
        nl.store(out, value=t)
    return out
""",
    "err_size_of_dimension_exceed_arch_limit": """
def kernel(x):
    wide = nl.zeros((64, 256), dtype=nl.float32, buffer=nl.sbuf)
    return out_of(nl.transpose(wide))  # here
""",
    "err_store_dst_shape_smaller_than_other_shape": """
def kernel(x):
    narrow = nl.ndarray((64, 1), dtype=nl.float32, buffer=nl.sbuf)
    narrow[...] = nl.load(x)  # here
    return out_of(narrow)
""",
    "err_tensor_access_out_of_bound": """
def kernel(x):
    rows, columns = nl.arange(64)[:, None], nl.arange(32)[None, :]
    return out_of(nl.load(x[rows, columns + 1]))  # here
""",
    "err_tensor_creation_on_scratchpad_with_init_value_not_supported": """
def kernel(x):
    t = nl.zeros((nl.par_dim(64), 32), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0))  # here
    return out_of(t)
""",
    "err_tensor_output_not_written_to": """
def kernel(x):
    out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)  # here
    for i in nl.affine_range(64 // 65):
        nl.store(out, value=nl.load(x))
    return out
""",
    "err_transpose_on_tensor_engine_not_allowed_in_allocated_kernel": """
def kernel(x):
    t = nl.ndarray((nl.par_dim(64), 32), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    turned = nl.ndarray((nl.par_dim(32), 64), dtype=nl.float32, buffer=ncc.psum.mod_alloc(base_bank=0))
    t[...] = nl.load(x)
    turned[...] = nisa.nc_transpose(t)  # here
    return out_of(turned)
""",
    "err_unexpected_output_dependencies": """
def kernel(x):
    out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in nl.affine_range(3):
        nl.store(out, value=nl.add(nl.load(x), i))  # here
    return out
""",
    "err_unsupported_expression_in_mask": """
def kernel(x):
    t = nl.load(x)
    for i in nl.affine_range(4):
        t = nl.exp(t, mask=nl.arange(32)[None, :] % 4 < 2)  # here
    return out_of(t)
""",
    "err_unsupported_memory": """
def kernel(x):
    return out_of(nl.exp(x))  # here
""",
    "err_unsupported_mixing_basic_advanced_tensor_indexing": """
def kernel(x):
    t = nl.load(x)
    rows = nl.arange(64)[:, None]
    return out_of(nl.exp(t[rows, :]))  # here
""",
    "err_while_loop_requires_unconditional_entry": """
def kernel(x):
    t = nl.copy(nl.load(x)[0:1, 0:1])
    while t < 3.0:  # here
        t = nl.add(t, 1.0)
    return out_of(t)
""",
}

DOCUMENTED = 36


def raised(source: str, path: Path) -> KernelError:
    """What the kernel of ``source``, written to ``path``, raises when it is loaded and run."""
    path.write_text(HEADER + source)
    with shims.installed(), pytest.raises(KernelError) as caught:
        module = loaded(path)
        from neuronxcc.nki import jit

        launch(jit(module.kernel), {"x": np.ones((64, 32), np.float32)})
    return caught.value


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("kernel_of_a_test", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def marked_line(source: str) -> int:
    lines = (HEADER + source).splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if line.endswith("# here")]
    return found


def test_every_documented_error_is_here() -> None:
    assert len(KERNELS) == DOCUMENTED


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_a_kernel_that_deserves_it_raises_the_documented_error_at_its_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in STRICT:
        monkeypatch.setenv("NKI_MIGRATE_STRICT", "1")
    path = tmp_path / "kernel.py"
    error = raised(KERNELS[name], path)
    assert (error.code, error.file, error.line) == (name, str(path), marked_line(KERNELS[name]))
    assert error.text and str(error) == f"{path}:{error.line}: {name}: {error.text}"


LEGAL = {
    "block dimensions": """
def kernel(x):
    out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    blocks = nl.ndarray((2, nl.par_dim(64), 32), dtype=nl.float32, buffer=nl.sbuf)
    blocks[1] = nl.load(x)
    nl.store(out, value=blocks[1])
    return out
""",
    "shared_hbm tensors of a comprehension and under a condition of Python's": """
def kernel(x, wanted=True):
    outs = [nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm) for _ in range(2)]
    if wanted:
        outs.append(nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm))
    for out in outs:
        nl.store(out, value=nl.load(x))
    return outs
""",
    "a shared_hbm tensor of a kernel with a decorator of its own": """
import functools

def logged(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)
    return call

@logged
def kernel(x):
    out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
""",
    "an index on the partitions, on a block, and one element beside index vectors": """
def kernel(x):
    out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    rows, columns = nl.arange(64)[:, None], nl.arange(32)[None, :]
    index = nisa.iota(rows, dtype=nl.int32)
    one = nisa.memset((1, 1), 0, dtype=nl.int32)
    nl.store(out[index[rows, 0], columns], value=nl.load(x[index, columns]))
    nl.store(out[rows, one[0, 0] + columns], value=nl.load(x[rows, one[0, 0] + columns]))
    nl.store(out[one[0, 0], :], value=nl.load(x[one[0, 0], 0:32]))
    return out
""",
}


@pytest.mark.parametrize("name", sorted(LEGAL))
def test_a_legal_kernel_raises_nothing(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(HEADER + LEGAL[name])
    x = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    with shims.installed():
        module = loaded(path)
        from neuronxcc.nki import jit

        found = launch(jit(module.kernel), {"x": x}).outputs
    assert found and all(np.array_equal(out, x) for out in found)
