"""Rows centred and scaled by helpers that reduce the dimensions which a parameter names."""

import nki
import nki.isa as nisa
import nki.language as nl


def reduced_axes(shape, axes):
    """``axes``, one or several of the last dimensions of ``shape``, counted from 0."""
    given = [axes] if isinstance(axes, int) else axes
    rank = len(shape)
    first = rank - len(given)
    assert first > 0 and first < rank, "reduced_axes: no free dimensions"
    for d in range(first, rank):
        assert d in given or d - rank in given, "reduced_axes: written for reductions over the last dimensions"
    found = []
    for d in range(first, rank):
        found.append(d)
    return found


def reduced_shape(shape, axes):
    """What a reduction over ``axes``, one or several of the last dimensions, leaves of ``shape``."""
    first = len(shape) - (1 if isinstance(axes, int) else len(axes))
    return shape[0:first] if first > 1 else (shape[0], 1)


def expanded_shape(shape, axes):
    """``shape`` with a dimension of size 1 at each of ``axes``, one or several, which count in the result."""
    given = [axes] if isinstance(axes, int) else axes
    rank = len(shape) + len(given)
    sizes = []
    taken = 0
    for d in range(rank):
        if d in given or d - rank in given:
            sizes.append(1)
        else:
            sizes.append(shape[taken])
            taken = taken + 1
    assert taken == len(shape) and sizes[0] == shape[0], "expanded_shape: axes that are no free dimensions of the result"
    return tuple(sizes)


def product(sizes):
    """The product of some sizes."""
    result = 1
    for size in sizes:
        result = result * size
    return result


def combined(dst, a, b, op, ordered=False):
    """``a op b`` of tiles of one shape, or of which one has one element in each partition."""
    free_a = product(a.shape[1:])
    free_b = product(b.shape[1:])
    assert a.shape[0] == b.shape[0], "combined: tiles of different partitions"
    if free_a == free_b:
        assert a.shape == b.shape or free_a == 1, "combined: tiles of different shapes"
        nisa.tensor_tensor(dst=dst, data1=a, data2=b, op=op)
    elif free_b == 1:
        nisa.tensor_scalar(dst=dst, data=a, op0=op, operand0=b)
    else:
        assert free_a == 1, "combined: tiles of different sizes"
        nisa.tensor_scalar(dst=dst, data=b, op0=op, operand0=a, reverse0=ordered)


def repeated(reduced, tile):
    """What a reduction left, with as many dimensions as ``tile`` has."""
    values = []
    for item in range(len(reduced.shape), len(tile.shape)):
        values.append(item)
    return reduced.reshape(expanded_shape(reduced.shape, tuple(values)))


def scaled(tile, axes):
    """Each row less its mean over ``axes``, over its largest absolute value."""
    counted = 1
    for axis in axes:
        counted = counted * tile.shape[axis]
    total = nl.ndarray(reduced_shape(tile.shape, axes), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=reduced_axes(tile.shape, axes))
    mean = nl.multiply(total, 1.0 / counted)
    repeated_result = repeated(mean, tile)
    centred = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    combined(dst=centred, a=tile, b=repeated_result, op=nl.subtract, ordered=True)
    abs_tile = nl.abs(centred)
    largest = nl.ndarray(reduced_shape(tile.shape, axes), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(
        dst=largest, op=nl.maximum, data=abs_tile, axis=reduced_axes(tile.shape, axes)
    )
    largest_reciprocal = nl.reciprocal(largest)
    multiply_tile = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    combined(
        dst=multiply_tile,
        a=centred,
        b=largest_reciprocal.reshape(expanded_shape(largest_reciprocal.shape, -1)),
        op=nl.multiply,
    )
    return multiply_tile


@nki.jit
def normalized(x, planes, axes):
    """(P, planes * F): every partition is scaled on its own, or every plane of it."""
    partitions, columns = x.shape
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    x_tile = nl.load(x)
    tile = x_tile.reshape((partitions, planes, columns // planes))
    assert len(tile.shape) == 3 and (tile.shape[1] * tile.shape[2]) == columns
    result = scaled(tile, axes)
    assert (
        result.shape[0] == partitions
    ), "rewritten for a reshape that keeps the partitions"
    nl.store(out, result.reshape((partitions, (result.shape[1] * result.shape[2]))))
    return out
