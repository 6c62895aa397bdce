"""A kernel under the decorators that steer the old compiler."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


@ncc.enable_stack_allocator(log_level=20)
@ncc.skip_middle_end_transformations
@nki.jit
def incremented(x):
    """(P, F) plus one."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    one_more = nl.add(tile, 1.0)
    nl.store(out, value=one_more)
    return out


@nki.compiler.skip_middle_end_transformations
@nki.jit(mode="auto", additional_compile_opt="--disable-internal-io-dge")
def decremented(x):
    """(P, F) minus one."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    one_less = nl.subtract(tile, 1.0)
    nl.store(out, value=one_less)
    return out
