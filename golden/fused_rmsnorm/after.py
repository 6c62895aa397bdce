"""RMS norm and the matrix product that follows it, in one pass, with every address chosen by hand."""

import math

import nki
import nki.isa as nisa
import nki.language as nl
import nki.meta.tensor as ntensor


@nki.jit
def fused_rmsnorm(tokens, weights, eps=1e-6):
  """(S, D) tokens and (D, N) weights give (S, N): each token over its root mean square, times the weights."""
  count, dim = tokens.shape
  width = weights.shape[1]
  rows = nl.tile_size.pmax
  assert dim % rows == 0 and width <= nl.tile_size.gemm_moving_fmax
  tiles, chunks = math.ceil(count / rows), dim // rows
  out = nl.ndarray((count, width), dtype=tokens.dtype, buffer=nl.shared_hbm)

  identity = nl.ndarray((rows, rows), dtype=nl.bfloat16, buffer=nl.sbuf, address=(0, 0))
  constant = nl.shared_constant(ntensor.identity(128, dtype=nl.int8))
  nisa.dma_copy(dst=identity, src=constant)
  zero = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, 2 * rows))
  nisa.memset(dst=zero, value=0.0)
  addr = 2*rows + 4  # from here on: the weights, two buffers of tokens, the work space
  gains = nl.ndarray((rows, chunks, width), dtype=nl.bfloat16, buffer=nl.sbuf, address=(0, addr))
  addr += chunks * width * 2
  in_bufs = nl.ndarray((rows, 2, dim), dtype=nl.bfloat16, buffer=nl.sbuf, address=(0, addr))
  addr += 2 * dim * 2

  for c in nl.affine_range(chunks):
    nisa.dma_copy(dst=gains[:, c, :], src=weights[nl.ds(c * rows, rows), :])

  addr_before_loop = addr
  for t in nl.affine_range(tiles):
    addr = addr_before_loop
    squares = nl.ndarray((rows, dim), dtype=nl.float32, buffer=nl.sbuf, address=(0, addr))
    addr += dim * 4
    scale = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, addr))
    addr += 4
    normed = nl.ndarray((rows, dim), dtype=nl.bfloat16, buffer=nl.sbuf, address=(0, addr))
    addr += dim * 2
    turned = nl.ndarray((rows, dim), dtype=nl.bfloat16, buffer=nl.sbuf, address=(0, addr))
    addr += dim * 2
    result = nl.ndarray((rows, width), dtype=tokens.dtype, buffer=nl.sbuf, address=(0, addr))

    # the tail of the last tile is zero
    nisa.memset(dst=in_bufs[:, t % 2, :], value=0.0)
    i_p_size = min(rows, count - t * rows)
    nisa.dma_copy(dst=in_bufs[0:i_p_size, t % 2, :], src=tokens[nl.ds(t * rows, i_p_size), :])
    nisa.activation_reduce(
        dst=squares, op=nl.square, data=in_bufs[:, t % 2, :], reduce_op=nl.add, reduce_res=scale, bias=zero
    )
    nisa.tensor_scalar(dst=scale, data=scale, op0=nl.multiply, operand0=1.0 / dim, op1=nl.add, operand1=eps)
    nisa.activation(dst=scale, op=nl.rsqrt, data=scale, bias=zero)
    nisa.tensor_scalar(dst=normed, data=in_bufs[:, t % 2, :], op0=nl.multiply, operand0=scale)

    # all the transposes go through bank 0, the sum of products stays in bank 7
    for c in nl.affine_range(chunks):
      flipped = nl.ndarray((rows, rows), dtype=nl.float32, buffer=nl.psum, address=(0, 0))
      nisa.nc_matmul(dst=flipped, stationary=normed[:, nl.ds(c * rows, rows)], moving=identity)
      nisa.tensor_copy(dst=turned[:, nl.ds(c * rows, rows)], src=flipped)
    product = [nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.psum, address=(0, 7 * 2048))]
    for c in nl.affine_range(chunks):
      nisa.nc_matmul(dst=product[0], stationary=turned[:, nl.ds(c * rows, rows)], moving=gains[:, c, :])
    nisa.tensor_copy(dst=result, src=product[0])
    nl.store(out[nl.ds(t * rows, i_p_size), :], value=result[0:i_p_size, :])
  return out
