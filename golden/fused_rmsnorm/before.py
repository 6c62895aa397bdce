"""RMS norm and the matrix product that follows it, in one pass, with every address chosen by hand."""

import math

import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def fused_rmsnorm(tokens, weights, eps=1e-6):
  """(S, D) tokens and (D, N) weights give (S, N): each token over its root mean square, times the weights."""
  count, dim = tokens.shape
  width = weights.shape[1]
  rows = nl.tile_size.pmax
  assert dim % rows == 0 and width <= nl.tile_size.gemm_moving_fmax
  tiles, chunks = math.ceil(count / rows), dim // rows
  out = nl.ndarray((count, width), dtype=tokens.dtype, buffer=nl.shared_hbm)
  i_p, i_d = nl.mgrid[0:rows, 0:dim]
  i_w = nl.mgrid[0:rows, 0:width]
  i_t = nl.mgrid[0:rows, 0:rows]

  identity = nl.ndarray((par_dim(rows), rows), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0))
  identity[...] = nl.load(nl.shared_constant(np.identity(128, dtype=np.int8), dtype=nl.bfloat16))
  zero = nl.ndarray((par_dim(rows), 1), dtype=np.float32, buffer=ncc.sbuf.mod_alloc(base_addr=2*rows))
  zero[...] = 0.0
  addr = 2*rows + 4  # from here on: the weights, two buffers of tokens, the work space
  gains = nl.ndarray((chunks, par_dim(rows), width), dtype=nl.bfloat16,
                     buffer=ncc.sbuf.mod_alloc(base_addr=addr, num_free_tiles=(chunks,)))
  addr += chunks * width * 2
  in_bufs = nl.ndarray((tiles, par_dim(rows), dim), dtype=nl.bfloat16,
                       buffer=ncc.sbuf.mod_alloc(base_addr=addr, num_free_tiles=(2,)))
  addr += 2 * dim * 2

  for c in nl.affine_range(chunks):
    gains[c, i_w.p, i_w.x] = nl.load(weights[c*rows + i_w.p, i_w.x])

  for t in nl.affine_range(tiles):
    squares = nl.ndarray((par_dim(rows), dim), dtype=np.float32, buffer=ncc.sbuf.mod_alloc(base_addr=addr))
    addr += dim * 4
    scale = nl.ndarray((par_dim(rows), 1), dtype=np.float32, buffer=ncc.sbuf.mod_alloc(base_addr=addr))
    addr += 4
    normed = nl.ndarray((par_dim(rows), dim), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=addr))
    addr += dim * 2
    turned = nl.ndarray((par_dim(rows), dim), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=addr))
    addr += dim * 2
    result = nl.ndarray((par_dim(rows), width), dtype=tokens.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=addr))

    # the tail of the last tile is zero
    in_bufs[t] = 0.0
    in_bufs[t, i_p, i_d] = nl.load(tokens[t*rows + i_p, i_d], mask=(t*rows + i_p < count))
    squares[...] = nisa.activation_reduce(op=nl.square, data=in_bufs[t], reduce_op=np.add,
                                          reduce_res=scale[...], bias=zero[...])
    scale[...] = nisa.tensor_scalar(scale[...], np.multiply, 1.0 / dim, op1=np.add, operand1=eps)
    scale[...] = nisa.activation(op=nl.rsqrt, data=scale[...], bias=zero[...])
    normed[...] = nl.multiply(in_bufs[t], scale)

    # all the transposes go through bank 0, the sum of products stays in bank 7
    flipped = nl.ndarray((chunks, par_dim(rows), rows), dtype=np.float32,
                         buffer=ncc.psum.mod_alloc(base_bank=0, num_bank_tiles=(1,)))
    for c in nl.affine_range(chunks):
      flipped[c, i_t.p, i_t.x] = nisa.nc_matmul(normed[i_t.p, c*rows + i_t.x], identity[...])
      turned[i_t.p, c*rows + i_t.x] = nl.copy(flipped[c], dtype=nl.bfloat16)
    product = nl.ndarray((1, par_dim(rows), width), dtype=np.float32,
                         buffer=ncc.psum.mod_alloc(base_bank=7, num_bank_tiles=(1,)))
    for c in nl.affine_range(chunks):
      product[0] += nisa.nc_matmul(turned[i_t.p, c*rows + i_t.x], gains[c, i_w.p, i_w.x])
    result[...] = nl.copy(product[0])
    nl.store(out[t*rows + i_w.p, i_w.x], value=result, mask=(t*rows + i_w.p < count))
  return out
