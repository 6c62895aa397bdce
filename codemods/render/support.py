"""Definitions that a rewritten module gets for what Beta 2 has no way to ask.

Functions that kernels call are written in what Beta 2 allows; the class is host code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.dtypes import LIMITS

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..project.program import Module

ITEMSIZE = '''def {name}(dtype):
    """Bytes of one element of a data type."""
    name = str(dtype)
    if name == str({nl}.float32) or name == str({nl}.int32) or name == str({nl}.uint32):
        return 4
    if name == str({nl}.bfloat16) or name == str({nl}.float16) or name == str({nl}.int16) or name == str({nl}.uint16):
        return 2
    if name == str({nl}.int8) or name == str({nl}.uint8) or name == str({nl}.bool_):
        return 1
    if name == str({nl}.float8_e4m3) or name == str({nl}.float8_e5m2):
        return 1
    assert False, "itemsize: unknown data type"
'''

PROMOTED = '''def {name}(a, b):
    """The data type of an operation on two data types, as NKI Beta 1 chose it."""
    x = str(a)
    y = str(b)
    if x == y:
        return a
    if x == str({nl}.float32) or y == str({nl}.float32):
        return {nl}.float32
    if x == str({nl}.tfloat32) or y == str({nl}.tfloat32):
        return {nl}.tfloat32
    half_a = x == str({nl}.bfloat16) or x == str({nl}.float16)
    half_b = y == str({nl}.bfloat16) or y == str({nl}.float16)
    if half_a and half_b:
        return {nl}.float32
    if half_a or half_b:
        return a if half_a else b
    quarter_a = x == str({nl}.float8_e4m3) or x == str({nl}.float8_e5m2)
    quarter_b = y == str({nl}.float8_e4m3) or y == str({nl}.float8_e5m2)
    if quarter_a and quarter_b:
        return {nl}.bfloat16
    if quarter_a or quarter_b:
        return a if quarter_a else b
    signed_a = x == str({nl}.int8) or x == str({nl}.int16) or x == str({nl}.int32)
    signed_b = y == str({nl}.int8) or y == str({nl}.int16) or y == str({nl}.int32)
    bytes_a = {itemsize}(a)
    bytes_b = {itemsize}(b)
    if signed_a == signed_b:
        return a if bytes_a > bytes_b or y == str({nl}.bool_) else b
    signed = bytes_a if signed_a else bytes_b
    unsigned = bytes_b if signed_a else bytes_a
    needed = signed if signed > unsigned else 2 * unsigned
    if needed == 2:
        return {nl}.int16
    return {nl}.int32 if needed == 4 else {nl}.float32
'''

PRODUCT = '''def {name}(sizes):
    """The product of some sizes."""
    result = 1
    for size in sizes:
        result = result * size
    return result
'''

EXPANDED_SHAPE = '''def {name}(shape, axes):
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
    assert taken == len(shape) and sizes[0] == shape[0], "{name}: axes that are no free dimensions of the result"
    return tuple(sizes)
'''

TILE_SHAPE = '''def {name}(shape):
    """The shape of the tile that a part of ``shape`` is loaded into: it has two dimensions at least."""
    if len(shape) > 1:
        return shape
    return (shape[0], 1) if len(shape) == 1 else (1, 1)
'''

COMBINED = '''def {name}(dst, a, b, op, ordered=False):
    """``a op b`` of tiles of one shape, or of which one has one element in each partition."""
    free_a = {product}(a.shape[1:])
    free_b = {product}(b.shape[1:])
    assert a.shape[0] == b.shape[0], "{name}: tiles of different partitions"
    if free_a == free_b:
        assert a.shape == b.shape or free_a == 1, "{name}: tiles of different shapes"
        {nisa}.tensor_tensor(dst=dst, data1=a, data2=b, op=op)
    elif free_b == 1:
        {nisa}.tensor_scalar(dst=dst, data=a, op0=op, operand0=b)
    else:
        assert free_a == 1, "{name}: tiles of different sizes"
        {nisa}.tensor_scalar(dst=dst, data=b, op0=op, operand0=a, reverse0=ordered)
'''

WIDER_SHAPE = '''def {name}(a, b):
    """The larger one of the shapes of two tiles, of which one may have one element in each partition."""
    return a if {product}(a[1:]) >= {product}(b[1:]) else b
'''

REDUCED_SHAPE = '''def {name}(shape, axes):
    """What a reduction over ``axes``, one or several of the last dimensions, leaves of ``shape``."""
    first = len(shape) - (1 if isinstance(axes, int) else len(axes))
    return shape[0:first] if first > 1 else (shape[0], 1)
'''

REDUCED_AXES = '''def {name}(shape, axes):
    """``axes``, one or several of the last dimensions of ``shape``, as Beta 2 counts them: as if there were five."""
    given = [axes] if isinstance(axes, int) else axes
    rank = len(shape)
    first = rank - len(given)
    assert first > 0 and first < rank, "{name}: no free dimensions"
    for d in range(first, rank):
        assert d in given or d - rank in given, "{name}: written for reductions over the last dimensions"
    return [[4], [3, 4], [2, 3, 4], [1, 2, 3, 4]][rank - first - 1]
'''

BROADCAST_ROWS = '''def {name}(dst, src):
    """Copy the one row of ``src`` to every partition of ``dst``, 32 at a time."""
    for first in range(0, dst.shape[0], 32):
        rows = min(32, dst.shape[0] - first)
        {nisa}.nc_stream_shuffle(dst=dst[first : first + rows], src=src, shuffle_mask=[0] * 32)
'''

ON_ROWS = '''def {name}(src, rows):
    """``src``, or a copy of its one row on each of ``rows`` partitions."""
    if src.shape[0] == rows:
        return src
    assert src.shape[0] == 1, "{name}: a broadcast of several rows"
    dst = {nl}.ndarray((rows, src.shape[1]), dtype=src.dtype, buffer={nl}.sbuf)
    {broadcast_rows}(dst=dst, src=src)
    return dst
'''

TRANSPOSED = '''def {name}(dst, data, engine={nisa}.engine.unknown):
    """Transpose ``data`` into ``dst``, whatever its type: the instruction itself converts none."""
    if str(dst.dtype) == str(data.dtype):
        {nisa}.nc_transpose(dst=dst, data=data, engine=engine)
    else:
        tile = {nl}.ndarray(dst.shape, dtype=data.dtype, buffer={nl}.psum)
        {nisa}.nc_transpose(dst=tile, data=data, engine=engine)
        {nisa}.tensor_copy(dst=dst, src=tile)
'''

ALL_REDUCED = '''def {name}(dst, src, op):
    """Reduce ``src`` over the programs of the launch, one or two, into the ``dst`` of each."""
    if {nl}.num_programs(axes=0) == 1:
        {nisa}.tensor_copy(dst=dst, src=src)
    else:
        other = 1 - {nl}.program_id(axis=0)
        received = {nl}.ndarray(src.shape, dtype=src.dtype, buffer={nl}.sbuf)
        {nisa}.sendrecv(src=src, dst=received, send_to_rank=other, recv_from_rank=other, pipe_id=0)
        {nisa}.tensor_tensor(dst=dst, data1=src, data2=received, op=op)
'''

AFFINE_CONSTANT = '''def {name}(shape, steps, offset, operator, dtype):
    """Ones in HBM where ``operator(offset + sum(index * step), 0)`` holds for the indices of ``shape``, else zeros."""
    last = 0
    for d in range(1, len(shape)):
        if steps[d] != 0:
            last = d
    columns = 1
    repeats = 1
    pattern = []
    for d in range(1, len(shape)):
        if d <= last:
            columns = columns * shape[d]
            pattern.append([steps[d], shape[d]])
        else:
            repeats = repeats * shape[d]
    if last == 0:
        pattern.append([0, 1])
    constant = {nl}.ndarray(shape, dtype=dtype, buffer={nl}.hbm)
    for first in range(0, shape[0], 128):
        rows = min(128, shape[0] - first)
        ones = {nl}.ndarray((rows, columns), dtype=dtype, buffer={nl}.sbuf)
        {nisa}.memset(dst=ones, value=1)
        chosen = {nl}.ndarray((rows, columns), dtype=dtype, buffer={nl}.sbuf)
        {nisa}.affine_select(
            dst=chosen,
            pattern=pattern,
            offset=offset + first * steps[0],
            channel_multiplier=steps[0],
            on_true_tile=ones,
            on_false_value=0,
            cmp_op=operator,
        )
        {nisa}.dma_copy(
            dst=constant.ap(
                pattern=[[columns * repeats, rows], [repeats, columns], [1, repeats]], offset=first * columns * repeats
            ),
            src=chosen.ap(pattern=[[columns, rows], [1, columns], [0, repeats]]),
        )
    return constant
'''

DTYPE_NAMED = '''def {name}(name):
    """The data type that has a name."""
{lines}
    assert False, "{name}: no data type has this name"
'''

FLOOR_DIVIDED = '''def {name}(dst, src, divisor):
    """``src // divisor`` of whole numbers below 2**24: a rounded quotient, corrected by what it leaves."""
    assert isinstance(divisor, int) and divisor > 0, "{name}: a divisor that is no positive integer"
    quotient = {nl}.ndarray(src.shape, dtype={nl}.int32, buffer={nl}.sbuf)
    {nisa}.tensor_scalar(dst=quotient, data=src, op0={nl}.multiply, operand0=1.0 / divisor)
    rest = {nl}.ndarray(src.shape, dtype={nl}.float32, buffer={nl}.sbuf)
    {nisa}.scalar_tensor_tensor(
        dst=rest, data=quotient, op0={nl}.multiply, operand0=-1 * divisor, op1={nl}.add, operand1=src
    )
    below = {nl}.ndarray(src.shape, dtype={nl}.float32, buffer={nl}.sbuf)
    {nisa}.tensor_scalar(dst=below, data=rest, op0={nl}.less, operand0=0.0)
    step = {nl}.ndarray(src.shape, dtype={nl}.float32, buffer={nl}.sbuf)
    {nisa}.scalar_tensor_tensor(
        dst=step, data=rest, op0={nl}.greater_equal, operand0=divisor, op1={nl}.subtract, operand1=below
    )
    {nisa}.tensor_tensor(dst=dst, data1=quotient, data2=step, op={nl}.add)
'''

IS_FLOAT = '''def {name}(dtype):
    """Is a data type one of floating-point numbers?"""
    name = str(dtype)
    signed = name == str({nl}.int8) or name == str({nl}.int16) or name == str({nl}.int32)
    unsigned = name == str({nl}.uint8) or name == str({nl}.uint16) or name == str({nl}.uint32)
    return not (signed or unsigned or name == str({nl}.bool_))
'''

LIMIT = '''def {name}(dtype):
    """{what} of a floating point type."""
    name = str(dtype)
{lines}
    assert False, "{name}: unknown data type"
'''
_NAMED = "float32 bfloat16 float16 float8_e4m3 float8_e5m2 int32 int16 int8 uint32 uint16 uint8".split()
_LIMITS = {
    "min": ("smallest_of", "The smallest finite number"),
    "max": ("largest_of", "The largest finite number"),
    "eps": ("epsilon_of", "The step from 1 to the next number"),
}

SEQUENCES = {
    "sum": '''def {name}(values):
    """The sum of a list or tuple."""
    result = 0
    for value in values:
        result = result + value
    return result
''',
    "any": '''def {name}(values):
    """Is one of a list or tuple true?"""
    found = False
    for value in values:
        if value:
            found = True
    return found
''',
    "all": '''def {name}(values):
    """Are all of a list or tuple true?"""
    missing = False
    for value in values:
        if not value:
            missing = True
    return not missing
''',
    "sorted": '''def {name}(values):
    """The elements of a list or tuple, the smallest first."""
    result = []
    for value in values:
        result.append(value)
    for turn in range(len(result)):
        for place in range(1, len(result)):
            if result[place] < result[place - 1]:
                value = result[place]
                result[place] = result[place - 1]
                result[place - 1] = value
    return result
''',
}
_SEQUENCE_NAMES = {"sum": "total", "any": "any_of", "all": "all_of", "sorted": "in_order"}

KEYED = {
    "sorted": '''def {name}(values, keys):
    """The elements of a list in the order of their keys, the smallest first; equal ones stay as they stand."""
    for turn in range(len(keys)):
        for place in range(1, len(keys)):
            if keys[place] < keys[place - 1]:
                key = keys[place]
                keys[place] = keys[place - 1]
                keys[place - 1] = key
                value = values[place]
                values[place] = values[place - 1]
                values[place - 1] = value
    return values
''',
    "min": '''def {name}(values, keys):
    """The first element of a list that has the smallest key."""
    best = 0
    for place in range(1, len(keys)):
        if keys[place] < keys[best]:
            best = place
    return values[best]
''',
    "max": '''def {name}(values, keys):
    """The first element of a list that has the greatest key."""
    best = 0
    for place in range(1, len(keys)):
        if keys[place] > keys[best]:
            best = place
    return values[best]
''',
}
_KEYED_NAMES = {"sorted": "in_order_of", "min": "least_of", "max": "greatest_of"}


def itemsize_function(scope: Scope) -> str:
    """Name of the module's function for the size of a data type that is known only when the kernel is traced."""
    return _function(scope, "itemsize", ITEMSIZE)


def promoted_function(scope: Scope) -> str:
    """Name of the module's function for Beta 1's promotion of two data types (``runtime/spec/dtypes.promote``)."""
    return _function(scope, "promoted_dtype", PROMOTED, itemsize=itemsize_function(scope))


def is_float_function(scope: Scope) -> str:
    """Name of the module's function that tells floating-point types from integers."""
    return _function(scope, "is_float", IS_FLOAT)


def product_function(scope: Scope) -> str:
    """Name of the module's function for ``np.prod`` and ``math.prod``."""
    return _function(scope, "product", PRODUCT)


def expanded_shape_function(scope: Scope) -> str:
    """Name of the module's function for the shape that ``expand_dims`` gives."""
    return _function(scope, "expanded_shape", EXPANDED_SHAPE)


def tile_shape_function(scope: Scope) -> str:
    """The name of the function that gives the shape of a loaded tile, which the module gets where it has none."""
    return _function(scope, "tile_shape", TILE_SHAPE)


def reduced_shape_function(scope: Scope) -> str:
    """Name of the module's function for the shape of a reduction whose axes only a trace tells."""
    return _function(scope, "reduced_shape", REDUCED_SHAPE)


def reduced_axes_function(scope: Scope) -> str:
    """Name of the module's function for such axes, which it checks."""
    return _function(scope, "reduced_axes", REDUCED_AXES)


def combined_function(scope: Scope) -> str:
    """Name of the module's function for an operation on two tiles of which a trace tells how one is repeated."""
    return _function(scope, "combined", COMBINED, nisa=scope.nisa, product=product_function(scope))


def wider_shape_function(scope: Scope) -> str:
    """Name of the module's function for the shape of such an operation."""
    return _function(scope, "wider_shape", WIDER_SHAPE, product=product_function(scope))


def broadcast_rows_function(scope: Scope) -> str:
    """Name of the module's function that copies a tile of one partition to all partitions of another one."""
    return _function(scope, "broadcast_rows", BROADCAST_ROWS, nisa=scope.nisa)


def on_rows_function(scope: Scope) -> str:
    """Name of the module's function for a tile whose one row, where it has no more, goes to all partitions."""
    broadcast_rows = broadcast_rows_function(scope)
    return _function(scope, "on_rows", ON_ROWS, broadcast_rows=broadcast_rows)


def affine_constant_function(scope: Scope) -> str:
    """Name of the module's function that fills a tensor in HBM with ones where a comparison of indices holds."""
    return _function(scope, "affine_constant", AFFINE_CONSTANT, nisa=scope.nisa)


def dtype_named_function(scope: Scope) -> str:
    """Name of the module's function that gives the data type of a name."""
    lines = (f'    if name == "{dtype}":\n        return {scope.nl}.{dtype}' for dtype in _NAMED)
    return _function(scope, "dtype_named", DTYPE_NAMED, lines="\n".join(lines))


def floor_divided_function(scope: Scope) -> str:
    """Name of the module's function that divides a tile of integers by a number."""
    return _function(scope, "floor_divided", FLOOR_DIVIDED, nisa=scope.nisa)


def transposed_function(scope: Scope) -> str:
    """Name of the module's function that transposes a tile into another one of any type."""
    return _function(scope, "transposed", TRANSPOSED, nisa=scope.nisa)


def all_reduced_function(scope: Scope) -> str:
    """Name of the module's function that reduces a tile over the programs of a launch."""
    return _function(scope, "all_reduced", ALL_REDUCED, nisa=scope.nisa)


def limit_function(scope: Scope, limit: str) -> str:
    """Name of the module's function for ``finfo(dtype).<limit>`` of a type that only a trace tells."""
    name, what = _LIMITS[limit]
    lines = (f"    if name == str({scope.nl}.{dtype}):\n        return {LIMITS[dtype][limit]!r}" for dtype in LIMITS)
    return _function(scope, name, LIMIT, what=what, lines="\n".join(lines))


def sequence_function(scope: Scope, builtin: str) -> str:
    """Name of the module's function that stands for ``sum``, ``any``, ``all`` or ``sorted``."""
    return _function(scope, _SEQUENCE_NAMES[builtin], SEQUENCES[builtin])


def keyed_function(scope: Scope, builtin: str) -> str:
    """Name of the module's function that stands for ``sorted``, ``min`` or ``max`` of elements with keys."""
    return _function(scope, _KEYED_NAMES[builtin], KEYED[builtin])


def _function(scope: Scope, function: str, text: str, **others: str) -> str:
    return _defined(scope.module, function, text, nl=scope.nl, **others)


def _defined(module: Module, definition: str, text: str, **others: str) -> str:
    if definition not in module.support_names:
        name = module.fresh(definition)
        module.program.draft.put(module.support_names, definition, name)
        module.program.draft.put(module.support, name, text.format(name=name, **others))
    return module.support_names[definition]
