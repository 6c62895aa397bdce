"""Selections by the position of an element."""

from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

WIDTH = 64


@nki.jit
def triangles(x, low):
    """(P, N) gives (2, P, N): ``low`` above the diagonal, and zero left of the line that falls two columns a row."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(rows)[:, None]
    i_f = nl.arange(WIDTH)[None, :]
    for c in nl.affine_range(columns // WIDTH):
        tile = nl.load(x[i_p, c * WIDTH + i_f])
        lower = nl.ndarray((nl.par_dim(rows), WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        lower[i_p, i_f] = nisa.affine_select(
            pred=(i_p >= c * WIDTH + i_f), on_true_tile=tile[i_p, i_f], on_false_value=low, dtype=x.dtype)
        nl.store(out[0, i_p, c * WIDTH + i_f], value=lower)
        right = nisa.affine_select(c * WIDTH + i_f > 2 * i_p, tile, 0.0)
        nl.store(out[1, i_p, c * WIDTH + i_f], value=right)
    return out


@nki.jit
def causal(q, k, window):
    """(D, N) twice gives (N, N): the products where 0 <= row - column < window, else a large negative number."""
    _, size = q.shape
    out = nl.ndarray((size, size), dtype=nl.float32, buffer=nl.shared_hbm)
    queries = nl.load(q)
    keys = nl.load(k)
    i_q, i_k = nl.mgrid[0:size, 0:size]
    # predicates in variables; TensorE leaves the product in PSUM
    not_later = i_q >= i_k
    near = i_k > i_q - window
    product = nisa.nc_matmul(queries, keys)
    before = nisa.affine_select(pred=not_later, on_true_tile=product, on_false_value=-9984.0)
    selected = nl.ndarray((nl.par_dim(size), size), dtype=nl.bfloat16, buffer=nl.sbuf)
    selected[i_q, i_k] = nisa.affine_select(near, before[i_q, i_k], -9984.0, dtype=nl.bfloat16)
    # a vector that does not start at 0
    i_late = nl.arange(1, size + 1)[None, :]
    selected[i_q, i_k] = nisa.affine_select(i_q + 3 >= i_late, selected, 0.0, dtype=nl.bfloat16)
    nl.store(out, value=nl.add(selected, nl.zeros((nl.par_dim(size), size), dtype=nl.float32)))
    return out
